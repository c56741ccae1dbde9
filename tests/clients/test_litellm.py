"""
litellm: both its providers, at once and streamed, synchronous and not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import (
    LMI_28,
    LMI_36,
    TGI,
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Program


@pytest.mark.parametrize("image", [TGI, LMI_28, LMI_36], ids=["tgi", "lmi28", "lmi36"])
def test_completions_of_a_prompt(
    aws: EmbeddedAws, program: Program, image: str
) -> None:
    """
    ``sagemaker/``: the four ways give one text.
    """
    endpoint = serve(aws, image)

    answers = program("litellm", "litellm_completions", "sagemaker", endpoint)
    assert_alike(answers)
    assert answers["streamed"]["chunks"] > 5
    assert answers["streamed_later"]["chunks"] > 5


def test_completions_of_a_component(aws: EmbeddedAws, program: Program) -> None:
    """
    ``model_id`` names the inference component.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    component = make_component(aws, endpoint, model=make_model(aws, image=TGI))

    answers = program(
        "litellm", "litellm_completions", "sagemaker", endpoint, component
    )
    assert_alike(answers)


@pytest.mark.parametrize("image", [TGI_3, LMI_36], ids=["tgi3", "lmi36"])
def test_chat_completions(aws: EmbeddedAws, program: Program, image: str) -> None:
    """
    ``sagemaker_chat/``: messages in, OpenAI's chunks out.
    """
    endpoint = serve(aws, image)

    answers = program("litellm", "litellm_completions", "sagemaker_chat", endpoint)
    assert_alike(answers)
    assert {answer["reason"] for answer in answers.values()} == {"length"}
    assert answers["streamed"]["chunks"] > 5
    assert answers["streamed_later"]["chunks"] > 5


def test_chat_completions_of_the_default_engine(
    default_endpoint: str, program: Program
) -> None:
    """
    vLLM in AWS's own image streams server-sent events.
    """
    answers = program(
        "litellm", "litellm_completions", "sagemaker_chat", default_endpoint
    )
    assert_alike(answers)
    assert {answer["reason"] for answer in answers.values()} == {"length"}
    assert answers["streamed"]["chunks"] > 5
    assert answers["streamed_later"]["chunks"] > 5


def assert_alike(answers: dict[str, dict[str, Any]]) -> None:
    """
    Hold that there is a text and that every way of asking gives the same.

    But for the space before it, which litellm takes off a stream.
    """
    (text,) = {answer["text"].strip() for answer in answers.values()}
    assert text
