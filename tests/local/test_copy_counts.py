"""
The number of a component's copies in a template, when the stack changes.
"""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING

import pytest

from tests.local.hosting_requests import REGISTRY, unique
from tests.local.stacks import Stacks, Template, hosting_components

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

OTHER = f"{REGISTRY}/other:1"


class Deployed:
    """
    A stack with a component of two copies, of which scaling has made four.

    Args:
        aws: Where it is.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._aws = aws
        self._stacks = Stacks(aws)
        self._name = unique("stack")
        self._stacks.create(self._name, hosting_components(copies=2))
        self._component = self._stacks.outputs(self._name)["Component"]
        self._stacks.sagemaker.update_inference_component_runtime_config(
            InferenceComponentName=self._component,
            DesiredRuntimeConfig={"CopyCount": 4},
        )

    def after(self, template: Template) -> tuple[int, bool]:
        """
        Update the stack; return how many copies run, and whether they were replaced.
        """
        assert self._stacks.update(self._name, template) == "UPDATE_COMPLETE"
        shown = self._stacks.sagemaker.describe_inference_component(
            InferenceComponentName=self._component
        )
        with urllib.request.urlopen(f"{self._aws.url}/_embedded/log") as answer:  # noqa: S310 - ours
            # Each version of a component has a number behind its name.
            is_replaced = f"{self._component}#1" in answer.read().decode()
        return shown["RuntimeConfig"]["CurrentCopyCount"], is_replaced


@pytest.fixture(name="deployed")
def _deployed(embedded_aws: EmbeddedAws) -> Deployed:
    return Deployed(embedded_aws)


def without_number(template: Template) -> Template:
    """
    Leave the number of copies out of a template.
    """
    del template["Resources"]["Component"]["Properties"]["RuntimeConfig"]
    return template


def test_a_number_that_changes_alone_replaces_no_copy(deployed: Deployed) -> None:
    """
    The handler has an operation for it.
    """
    assert deployed.after(hosting_components(copies=3)) == (3, False)


def test_a_number_counts_again_when_something_else_changes(deployed: Deployed) -> None:
    """
    The worst of what the handler may do.
    """
    assert deployed.after(hosting_components(copies=2, image=OTHER)) == (2, True)


def test_no_number_leaves_the_copies_alone(deployed: Deployed) -> None:
    """
    While they are replaced, too.
    """
    template = without_number(hosting_components(image=OTHER))
    assert deployed.after(template) == (4, True)


def test_a_number_that_goes_keeps_the_copies(deployed: Deployed) -> None:
    """
    Nothing is asked for, and the copies are replaced by the same ones.
    """
    assert deployed.after(without_number(hosting_components())) == (4, True)
