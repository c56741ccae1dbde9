"""
Functions refuse what is of no right kind, each in the caller's words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2

from cdk_sagemaker_llm import (
    Assumptions,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ModelArchitecture,
)
from cdk_sagemaker_llm.catalog.images import find_image, image_versions
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.client import gather
from cdk_sagemaker_llm.fit import plan, recommend
from cdk_sagemaker_llm.load import (
    HeadRoom,
    LoadSettings,
    Objective,
    fit_service_times,
    join_load,
    reading_of,
    run_benchmark,
    run_load,
)
from cdk_sagemaker_llm.serving import check_environment, check_properties
from cdk_sagemaker_llm.simulation import (
    estimate_performance,
    estimate_service_times,
    run,
)

MISTRAL, G5 = "mistralai/Mistral-7B-v0.1", "ml.g5.2xlarge"
NONE: Any = None
ONE: Any = 1
LOAD = LoadSettings(endpoint="chat")
ENGINES = (
    "engine must be 'vllm', 'sglang', 'tgi', 'tensorrt-llm', 'llama.cpp' or 'tei', got "
)

planned: Callable[..., Any] = partial(plan, MISTRAL, G5)
recommended: Callable[..., Any] = partial(recommend, MISTRAL, G5)
an_objective: Callable[..., Any] = Objective
in_file: Callable[..., Any] = partial(
    check_properties,
    "engine=Python\n",
    container="djl-lmi",
    version="0.36.0",
    accelerators=1,
)
in_variables: Callable[..., Any] = partial(
    check_environment,
    {"HF_MODEL_ID": "gpt2"},
    container="djl-lmi",
    version="0.36.0",
    accelerators=1,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            partial(planned, assumptions=Assumptions(gpu_memory_utilization=90)),
            "gpu_memory_utilization must be above 0 and at most 1, got 90",
        ),
        (
            partial(planned, assumptions=Assumptions(runtime_gib=-1)),
            "runtime_gib must be a number of at least 0, got -1",
        ),
        (partial(run_load, NONE), "settings must be a LoadSettings, got None"),
        (
            partial(run_benchmark, LOAD, ONE),
            "users must be a list, got 1 (int); write [1]",
        ),
        (partial(fit_service_times, NONE), "rows must be a list, got None"),
        (partial(fit_service_times, [ONE]), "rows[0] must be a Row, got 1 (int)"),
        (
            partial(fit_service_times, []),
            "rows must be a sweep over one number of users at least, got none",
        ),
        (partial(run_benchmark, LOAD, []), "users must have a number for each row"),
        (partial(join_load, ONE), "address must be text, got 1 (int); write '1'"),
        (partial(reading_of, NONE), "benchmark must be a Benchmark, got None"),
        (
            partial(an_objective, latency="5s"),
            "latency must be a finite number, got '5s' (str)",
        ),
        (partial(HeadRoom, growth=NONE), "growth must be a finite number, got None"),
        (partial(run, NONE), "scenario must be a Scenario, got None"),
        (partial(estimate_service_times, NONE), "plan must be a Plan, got None"),
        (
            partial(estimate_performance, NONE, prompt_tokens=1, answer_tokens=1),
            "times must be ServiceTimes(...), got a value of type NoneType",
        ),
        (partial(gather, [ONE]), "tokens[0] must be a token, got 1"),
        (partial(planned, engine="vlm"), ENGINES + "'vlm' (str)"),
        (partial(planned, engine=0), ENGINES + "0 (int)"),
        (partial(planned, engine=[]), ENGINES + "a value of type list"),
        (
            partial(planned, tensor_parallel_degree=math.nan),
            "tensor_parallel_degree must be a whole number, got nan (float)",
        ),
        (
            partial(planned, context_length="x"),
            "context_length must be a whole number, got 'x' (str)",
        ),
        (
            partial(plan, MISTRAL, NONE),
            "instance_type must be an InstanceType or text, got None",
        ),
        (
            partial(recommended, context_length=1.5),
            "context_length must be a whole number, got 1.5 (float)",
        ),
        (partial(find_instance_type, NONE), "name must be text, got None"),
        (partial(find_image, "djl-lmi", NONE), "version must be text, got None"),
        (partial(find_image, ONE, "1"), "family must be text, got 1 (int); write '1'"),
        (partial(image_versions, NONE), "family must be text, got None"),
        (
            partial(ModelArchitecture.from_config, NONE),
            "config must be a mapping, a config.json's text or its path, got None",
        ),
        (partial(ModelArchitecture.of, NONE), "model_id must be text, got None"),
        (
            partial(in_file, accelerators="x"),
            "accelerators must be a whole number, got 'x' (str)",
        ),
        (
            partial(in_file, accelerators=math.nan),
            "accelerators must be a whole number, got nan (float)",
        ),
        (
            partial(in_file, architecture=1),
            (
                "architecture must be a class such as 'MistralForCausalLM', a "
                "config.json as a mapping, or a ModelArchitecture, got 1 (int)"
            ),
        ),
        (
            partial(
                check_environment,
                {"HF_MODEL_ID": ONE},
                container="djl-lmi",
                version="0.36.0",
                accelerators=1,
            ),
            "environment['HF_MODEL_ID'] must be text, got 1 (int); write '1'",
        ),
    ],
)
def test_fails_in_the_callers_words(call: Callable[[], object], message: str) -> None:
    """
    With one ``ValueError`` that names the argument.
    """
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("check", [in_file, in_variables])
def test_finds_a_number_of_devices_below_none(check: Callable[..., Any]) -> None:
    """
    Nothing else can be said of such a copy.
    """
    assert list(map(str, check(accelerators=-1))) == [
        "LLM111 accelerators must be at least 0, got -1"
    ]


def test_no_accelerators_are_a_number_of_them() -> None:
    """
    A host may have none; that the image needs one is a finding elsewhere.
    """
    assert in_file(accelerators=0) == in_file(accelerators=None)


def test_fails_for_an_instance_type_of_ec2(stack: Stack) -> None:
    """
    The CDK's class has the same name, and what is meant is offered.
    """
    message = (
        "E: LLM182 instance_type must be text or an InstanceType, got a value of type "
        "InstanceType; write 'ml.g5.xlarge'"
    )
    wrong: Any = ec2.InstanceType("g5.xlarge")

    with pytest.raises(ValueError, match=f"{re.escape(message)}$"):
        LlmEndpoint(stack, "E", model=HuggingFaceModel("gpt2"), instance_type=wrong)
    with pytest.raises(ValueError, match=r"^instance_type .*; write 'ml\.g5\.xlarge'$"):
        plan(MISTRAL, wrong)


@pytest.mark.parametrize("model", [MISTRAL, "org/of-unknown-size"])
def test_figures_that_no_engine_has_are_refused_where_they_are_given(
    stack: Stack, model: str
) -> None:
    """
    Also of a model whose size is not known, rather than that nothing is checked.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type=G5, max_instance_count=1
    )
    given = HuggingFaceModel(model)

    with pytest.raises(ValueError, match="gpu_memory_utilization must be above 0 and"):
        LlmEndpoint(
            stack,
            "Chat",
            model=given,
            instance_type=G5,
            assumptions=Assumptions(gpu_memory_utilization=90),
        )
    with pytest.raises(ValueError, match="runtime_gib must be a number of at least 0"):
        host.add_model("Chat", model=given, assumptions=Assumptions(runtime_gib=-1))
