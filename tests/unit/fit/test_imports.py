"""
What a plan loads before it starts.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from cdk_sagemaker_llm import fit


def test_a_plan_loads_neither_backends_nor_the_cdk_nor_the_catalogue() -> None:
    """
    It starts in a fraction of what they take.
    """
    code = (
        "import sys\n"
        "from cdk_sagemaker_llm.fit import plan\n"
        "from cdk_sagemaker_llm.catalog._data import load\n"
        "heavy = ('aws_cdk', 'jsii', 'cdk_sagemaker_llm.serving', 'boto3')\n"
        "print([m for m in heavy if m in sys.modules], load.cache_info().currsize)\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.strip() == "[] 0"


# What stands for a type has no name of its own.
ALIASES = {"EngineName", "Traffic", "Units"}


@pytest.mark.parametrize("name", fit.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """
    Also those that are loaded when they are asked for.
    """
    found = getattr(fit, name)

    assert name in ALIASES or found.__name__ == name


def test_fails_if_a_name_is_none() -> None:
    """
    As any module does.
    """
    with pytest.raises(AttributeError, match="has no attribute 'guess'"):
        _ = fit.guess
