"""
Configurations of models that people deploy.
"""

from __future__ import annotations

import datetime as dt

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.architectures import known_config, model_names

TABLES = load("architectures.json")


def test_every_name_has_a_configuration_and_every_configuration_a_name() -> None:
    """
    Models of one shape share one.
    """
    assert set(TABLES["models"].values()) == set(TABLES["configs"])


def test_no_two_names_differ_only_in_case() -> None:
    """
    Names are looked up in any case.
    """
    assert len({name.lower() for name in model_names()}) == len(model_names())


def test_a_name_is_known_in_any_case_and_only_whole() -> None:
    """
    A version less is another model.
    """
    name = "mistralai/Mistral-7B-v0.1"

    assert known_config(name.upper()) == known_config(name) is not None
    assert known_config(name.removesuffix("-v0.1")) is None


@pytest.mark.parametrize("name", model_names())
def test_every_model_is_counted(name: str) -> None:
    """
    With heads that divide each other, so that one accelerator is always possible.
    """
    found = ModelArchitecture.of(name)

    assert found.parameter_count >= found.active_parameter_count
    assert found.tensor_parallel_degrees[0] == 1
    # Models that make embeddings or rank are small.
    assert found.active_parameter_count > (10**8 if found.keeps_cache else 10**7)
    assert found.context_length >= (2048 if found.keeps_cache else 512)


def test_the_catalogue_says_where_it_comes_from_and_when() -> None:
    """
    Facts have a source and a date.
    """
    written = dt.date.fromisoformat(TABLES["date"])

    assert written.year >= 2026
    assert "Hugging Face Hub" in TABLES["about"]
