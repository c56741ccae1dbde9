"""
The public API is a sorted list, and every name on it loads.
"""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import cdk_sagemaker_llm
from cdk_sagemaker_llm import client, serving


def carried_by(public: object) -> str | None:
    """
    Return the name of a class or function; an alias, such as a union, has none.
    """
    if inspect.isclass(public) or inspect.isfunction(public):
        return str(public.__name__)
    return None


def test_the_list_is_sorted_and_without_repeats() -> None:
    """
    A change to the public API shows as one line.
    """
    names = cdk_sagemaker_llm.__all__

    assert sorted(set(names)) == list(names)


def test_every_public_name_loads() -> None:
    """
    Each name leads to the object that carries it; an alias carries none.
    """
    for name in cdk_sagemaker_llm.__all__:
        assert carried_by(getattr(cdk_sagemaker_llm, name)) in {name, None}


@pytest.mark.parametrize("name", ["Case", "Range", "Words", "TYPE_CHECKING", "lazily"])
def test_what_no_user_needs_is_elsewhere(name: str) -> None:
    """
    Parts of a plan are of ``cdk_sagemaker_llm.fit``; what loads names is nobody's.
    """
    assert not hasattr(cdk_sagemaker_llm, name)
    assert name not in dir(cdk_sagemaker_llm)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """
    A mistyped import fails as it does for any module.
    """
    assert not hasattr(cdk_sagemaker_llm, "LlmEndpiont")


@pytest.mark.parametrize(
    "package", [cdk_sagemaker_llm, client, serving], ids=lambda p: p.__name__
)
def test_every_name_on_the_list_has_a_home(package: ModuleType) -> None:
    """
    What is listed is what can be loaded, and is shown by dir().
    """
    listed = list(package.__all__)

    assert sorted(package._HOMES) == listed  # noqa: SLF001 - the list behind the names
    assert set(listed) <= set(dir(package))
    carried = {name: carried_by(getattr(package, name)) for name in listed}
    assert [n for n, own in carried.items() if own not in {n, None}] == []
