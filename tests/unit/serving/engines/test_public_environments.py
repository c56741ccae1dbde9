"""
What people deploy is not refused: environments of public notebooks and recipes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving import check_environment

DATA = Path(__file__).parents[3] / "data" / "public_environments.json"
ROWS: list[dict[str, Any]] = json.loads(DATA.read_text("utf-8"))["environments"]
RUNNING = [row for row in ROWS if "broken" not in row]
BROKEN = [row for row in ROWS if "broken" in row]


def name(row: Mapping[str, Any]) -> str:
    """
    Return a row's short name.
    """
    return f"{Path(row['path']).stem}-{row['container']}-{row['version']}"


def errors(row: Mapping[str, Any]) -> list[str]:
    """
    Return what is refused of an environment.
    """
    found = check_environment(
        row["environment"],
        container=row["container"],
        version=row["version"],
        accelerators=row["accelerators"],
        instance_type=row["instance_type"],
    )
    return [str(one) for one in found if one.severity is Severity.ERROR]


def test_there_are_over_a_hundred() -> None:
    """
    Of every engine and of both distributors.
    """
    assert len(RUNNING) > 100
    engines = {
        release.engine
        for row in ROWS
        if (release := find_engine_release(row["container"], row["version"]))
    }
    assert engines == {
        *("vllm", "sglang", "llama.cpp", "tei"),
        *("vllm-omni", "vllm-neuron"),
    }


@pytest.mark.parametrize("row", RUNNING, ids=name)
def test_what_runs_is_not_refused(row: Mapping[str, Any]) -> None:
    """
    Warnings may be.
    """
    assert errors(row) == []


@pytest.mark.parametrize("row", BROKEN, ids=name)
def test_what_does_not_start_is_refused(row: Mapping[str, Any]) -> None:
    """
    For what its reason says.
    """
    assert errors(row)


def test_a_broken_word_is_refused_in_any_of_them() -> None:
    """
    They are checked indeed: an argument that no release has is an error in each.
    """
    prefixes = {"vllm": "SM_VLLM_", "sglang": "SM_SGLANG_"}
    for row in RUNNING:
        prefix = prefixes.get(row["container"].removesuffix("-server"))
        if prefix is not None:
            environment = {**row["environment"], f"{prefix}NO_SUCH_WORD": "1"}
            assert errors({**row, "environment": environment})
