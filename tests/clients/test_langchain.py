"""
langchain-aws: its two models for SageMaker, at once and streamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.conftest import LIBRARY
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


def answers(program: Program, *arguments: str) -> dict[str, Any]:
    """
    Ask in three ways: a handler of streams reads whole answers, too.
    """
    name = "langchain_answers"
    said = program("langchain", name, *arguments, PYTHONPATH=LIBRARY)
    assert said["collected"] == said["plain"]
    return said


@pytest.mark.parametrize("image", [TGI, LMI_28, LMI_36], ids=["tgi", "lmi28", "lmi36"])
def test_a_prompt(aws: EmbeddedAws, program: Program, image: str) -> None:
    """
    ``SagemakerEndpoint``: the pieces of the stream are the answer.
    """
    endpoint = serve(aws, image)

    said = answers(program, "prompt", endpoint)
    assert len(said["pieces"]) == 12
    assert "".join(said["pieces"]) == said["plain"]


def test_a_component(aws: EmbeddedAws, program: Program) -> None:
    """
    ``inference_component_name`` names it.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    component = make_component(aws, endpoint, model=make_model(aws, image=TGI))

    said = answers(program, "prompt", endpoint, component)
    assert "".join(said["pieces"]) == said["plain"]


@pytest.mark.parametrize("image", [TGI_3, LMI_36], ids=["tgi3", "lmi36"])
def test_a_conversation(aws: EmbeddedAws, program: Program, image: str) -> None:
    """
    ``ChatSagemakerEndpoint``: messages in, OpenAI's chunks out.
    """
    endpoint = serve(aws, image)

    said = answers(program, "chat", endpoint)
    assert said["plain"]
    assert "".join(said["pieces"]) == said["plain"]


def test_a_conversation_with_the_default_engine(
    default_endpoint: str, program: Program
) -> None:
    """
    vLLM in AWS's own image streams server-sent events.
    """
    said = answers(program, "chat", default_endpoint)
    assert said["plain"]
    assert "".join(said["pieces"]) == said["plain"]
