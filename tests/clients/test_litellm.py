"""
litellm: both its providers, at once and streamed, synchronous and not.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.conftest import REGION, ROOT
from tests.local.hosting_requests import (
    LMI_28,
    LMI_36,
    REGISTRY,
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
    from tests.clients.conftest import Program, Run

EXAMPLE = ROOT / "examples" / "openai_compatible" / "ask_with_litellm.py"
VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"


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


def test_the_example(aws: EmbeddedAws, run: Run) -> None:
    """
    It finds the endpoint by the parameter that its stack would have stored.
    """
    environment = {"SM_VLLM_MODEL": "Qwen/Qwen3-4B"}
    model = make_model(aws, image=VLLM, container={"Environment": environment})
    variant = {"ModelName": model, "InstanceType": "ml.g6.2xlarge"}
    endpoint = make_endpoint(aws, make_config(aws, variant=variant))
    settings = {"model": f"sagemaker_chat/{endpoint}", "aws_region_name": REGION}
    aws.client("ssm").put_parameter(
        Name="/llm/assistant", Type="String", Value=json.dumps({"litellm": settings})
    )

    done = run("litellm", "python", str(EXAMPLE), "Who is Roger Federer?")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 20
