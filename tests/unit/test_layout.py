"""
The constructs/ folder shares its name with a package that the CDK imports.
"""

from __future__ import annotations

import functools
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
    heavy = ("ec2", "secretsmanager", "kms", "s3", "cloudwatch")

    assert not {f"aws_cdk.aws_{name}" for name in heavy} & modules_of_app(root)


def test_the_reference_app_loads_nothing_that_it_does_not_use(root: Path) -> None:
    """
    Each data class alone takes half a millisecond.
    """
    unused = (
        "catalog.engine_arguments",
        "hosting.components.adapters",
        "hosting.endpoints.asynchronous",
        "hosting.endpoints.data_capture",
        "hosting.endpoints.shadow",
        "hosting.endpoints.subnet_addresses",
        "hosting.scaling.measures",
        "hosting.scaling.stepping",
        "hosting.updates.rollback",
        "hosting.updates.rollout",
        "serving.adapters",
        "serving.engines.checks",
        "serving.lmi.vllm",
        "serving.tgi.neuron",
    )

    assert not {f"cdk_sagemaker_llm.{name}" for name in unused} & modules_of_app(root)


@functools.cache
def modules_of_app(root: Path) -> set[str]:
    """
    Return what is loaded once the reference app is defined.
    """
    done = subprocess.run(
        [sys.executable, "-c", "import sys, app; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    return set(done.stdout.split())
