"""
The constructs/ folder shares its name with a package that the CDK imports.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import constructs
import pytest

PURE = [
    "catalog",
    "client.reader",
    "findings",
    "fit",
    "load.running",
    "models",
    "pages",
    "serving",
    "simulation.running",
]


def test_constructs_is_the_installed_package() -> None:
    """
    ``import constructs`` finds the CDK's package, not the folder of that name.
    """
    assert "site-packages" in str(constructs.__file__)
    assert hasattr(constructs, "Construct")


def test_the_folder_holds_one_package_and_nothing_else(root: Path) -> None:
    """
    An ``__init__.py`` or a test in there would break every import of the CDK.
    """
    names = {p.name for p in (root / "constructs").iterdir()} - {"__pycache__"}

    assert names == {"cdk_sagemaker_llm"}


def test_the_library_was_imported_by_its_own_name() -> None:
    """
    A twin import through the folder would make twin classes.
    """
    assert "constructs.cdk_sagemaker_llm" not in sys.modules


@pytest.mark.parametrize("module", PURE)
def test_the_pure_half_loads_without_the_cdk(module: str) -> None:
    """
    Checks start without Node: neither the CDK nor jsii is loaded.
    """
    code = (
        f"import sys, cdk_sagemaker_llm.{module};"
        "print([m for m in ('aws_cdk', 'jsii', 'constructs') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_importing_the_package_loads_nothing_heavy() -> None:
    """
    Public names are loaded on first use.
    """
    code = (
        "import sys, cdk_sagemaker_llm as llm;"
        "llm.HuggingFaceModel('a/b');"
        "print('aws_cdk' in sys.modules, 'boto3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False False"


def test_the_reference_app_loads_no_heavy_module_of_the_cdk(root: Path) -> None:
    """
    Secrets Manager loads EC2 and costs a second; no reference stack needs either.
    """
    code = (
        "import sys, app;"
        "print([m for m in ('ec2', 'secretsmanager', 'kms', 's3', 'cloudwatch')"
        " if f'aws_cdk.aws_{m}' in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )

    assert done.stdout.strip() == "[]"
