"""
How many copies served, where nobody can be asked.
"""

from __future__ import annotations

import sys

import pytest

from cdk_sagemaker_llm.load.copies import Counting
from cdk_sagemaker_llm.load.settings import LoadSettings


def test_without_boto3_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It says so, and what to write.
    """
    monkeypatch.setitem(sys.modules, "boto3", None)

    assert Counting(LoadSettings(endpoint="chat")).found() == {
        "copies": None,
        "copies_untold": (
            "how many copies served could not be read (boto3 is missing); say it with "
            "--copies"
        ),
    }


def test_without_a_region_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    As boto3 calls it.
    """
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    found = Counting(LoadSettings(endpoint="chat")).found()

    assert "could not be read (NoRegionError)" in found["copies_untold"]
