"""
Writing the environment of a TGI container.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, S3Model, Tgi
from cdk_sagemaker_llm.serving.tgi.base import (
    EnvironmentValue,
    count_findings,
    model_id,
    repeated_variable_findings,
    variable_texts,
    wrong_counts,
)

NUMBER_AT_DEPLOYMENT = int(-1.8881545897087e289)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        ("True", "True"),
        (0, "0"),
        (4, "4"),
        (0.5, "0.5"),
        ([1, 2], "1,2"),
        (("a", "b"), "a,b"),
        ([], ""),
    ],
    ids=repr,
)
def test_a_value_is_written_as_the_launcher_reads_it(
    value: EnvironmentValue, text: str
) -> None:
    """
    Rust's switches are in small letters, its lists joined by commas.
    """
    assert variable_texts({"A": value}) == {"A": text}


def test_a_model_is_a_repository_or_a_path() -> None:
    """
    SageMaker itself brings what is on S3.
    """
    hub, on_s3 = HuggingFaceModel("a/b"), S3Model("s3://b/p/")

    assert [model_id(m) for m in (hub, on_s3, None)] == ["a/b", "/opt/ml/model", None]
    containers = [Tgi("3.3.6").prepare(m, 1).container for m in (hub, on_s3)]
    assert [c and c.weights_uri for c in containers] == [None, "s3://b/p/"]


def test_counts_are_at_least_1_and_known() -> None:
    """
    In the order given.
    """
    counts = {"a": 1, "b": 0, "c": -2, "d": NUMBER_AT_DEPLOYMENT, "e": 7}

    assert wrong_counts(counts) == ["b", "c", "d"]
    assert [str(f) for f in count_findings(counts)] == [
        "LLM111 b must be at least 1, got 0",
        "LLM111 c must be at least 1, got -2",
        "LLM114 d is known only at deployment, and is checked at synth; pass a number",
    ]


@pytest.mark.parametrize(
    ("typed", "given", "twice"),
    [
        ({"A": 1}, [{"B": 1}, {"C": 1}], []),
        ({"A": 1}, [{"A": 1}], ["A"]),
        ({}, [{"A": 1}, {"A": 1}], ["A"]),
        ({"HF_MODEL_QUANTIZE": "x"}, [{"QUANTIZE": "x"}], ["QUANTIZE"]),
        ({"NUM_SHARD": 1}, [{}, {"SM_NUM_GPUS": 1}], ["SM_NUM_GPUS"]),
        ({"A": 1}, [{"A": 1}, {"A": 1}], ["A", "A"]),
    ],
)
def test_nothing_is_set_twice(
    typed: dict[str, EnvironmentValue],
    given: list[dict[str, EnvironmentValue]],
    twice: list[str],
) -> None:
    """
    Under neither of its names.
    """
    assert [str(f) for f in repeated_variable_findings(typed, *given)] == [
        f"LLM163 {name} is set twice: a parameter or another option sets it already; "
        "keep one of them"
        for name in twice
    ]
