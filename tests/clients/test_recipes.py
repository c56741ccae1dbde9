"""
The guides for other libraries: their stacks are deployed, and their programs run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clients.conftest import Deployed, Pasted

# An import of these libraries takes up to half a minute on a loaded machine.
pytestmark = pytest.mark.timeout(600)


def test_langchain(deployed: Deployed, pasted: Pasted) -> None:
    """
    A whole answer with its counts and its reason, and a stream.
    """
    deployed("langchain")

    answer, counts, streamed = pasted("langchain", "langchain").splitlines()
    assert len(answer.split()) > 5
    assert "'output_tokens': 32" in counts
    assert counts.endswith(" length")
    assert len(streamed.split()) > 5


def test_litellm(deployed: Deployed, pasted: Pasted) -> None:
    """
    An inference component, asked at once and streamed.
    """
    deployed("litellm")

    printed = pasted("litellm", "litellm", LITELLM_LOCAL_MODEL_COST_MAP="True")
    answer, streamed = printed.splitlines()[-2:]
    assert len(answer.split()) > 5
    assert len(streamed.split()) > 5


def test_openais_sdk_with_a_token(deployed: Deployed, pasted: Pasted) -> None:
    """
    A chat at once and streamed, at SageMaker's own route.
    """
    deployed("openai-sdk")

    answer, streamed = pasted("sagemaker_v3", "openai-sdk", 0).splitlines()
    assert len(answer.split()) > 5
    assert streamed == answer


def test_litellm_with_a_token(deployed: Deployed, pasted: Pasted) -> None:
    """
    The same route, at an inference component.
    """
    deployed("litellm")

    printed = pasted("litellm", "litellm", 1, LITELLM_LOCAL_MODEL_COST_MAP="True")
    assert len(printed.splitlines()[-1].split()) > 5


def test_chat_openai_with_a_token(deployed: Deployed, pasted: Pasted) -> None:
    """
    The same route: an answer at once, and the same one streamed.
    """
    deployed("langchain")

    answer, streamed = pasted("langchain", "langchain", 1).splitlines()
    assert len(answer.split()) > 5
    assert streamed == answer


@pytest.mark.parametrize("client", ["litellm", "langchain"], ids=["2", "3"])
def test_openais_sdk_by_invocations(
    deployed: Deployed, pasted: Pasted, client: str
) -> None:
    """
    A chat at once and streamed, without a token, with both versions of the SDK.
    """
    deployed("openai-sdk")

    answer, streamed = pasted(client, "openai-sdk", 1).splitlines()
    assert len(answer.split()) > 5
    assert len(streamed.split()) > 5
