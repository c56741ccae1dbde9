"""
The public API is a sorted list, and every name on it loads.
"""

from __future__ import annotations

import cdk_sagemaker_llm


def test_the_list_is_sorted_and_without_repeats() -> None:
    """
    A change to the public API shows as one line.
    """
    names = cdk_sagemaker_llm.__all__

    assert sorted(set(names)) == list(names)


def test_every_public_name_loads() -> None:
    """
    Each name leads to the object that carries it.
    """
    for name in cdk_sagemaker_llm.__all__:
        assert getattr(cdk_sagemaker_llm, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    """
    A mistyped import fails as it does for any module.
    """
    assert not hasattr(cdk_sagemaker_llm, "LlmEndpiont")
