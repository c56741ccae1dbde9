"""
Values of wrong kinds, in every keyword of everything public.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial

import pytest
from aws_cdk import Stack
from constructs import Construct

import cdk_sagemaker_llm
from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    Model,
    NeuronX,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    ServingArtifact,
    TensorRtLlm,
)
from cdk_sagemaker_llm.arguments import kind_of
from tests.unit.public_calls import CALLS, GPT2, TYPE

WRONG: Mapping[str, object] = {
    "None": None,
    "text": "text",
    "float": 1.5,
    "bool": True,
    "NaN": math.nan,
    "infinity": math.inf,
    "huge": 2**64,
    "minus infinity": -math.inf,
    "list": [math.nan],
    "mapping": {"name": math.nan},
    "object": object(),
    "class": LmiVllm,
}
# Which of those an annotation declares to be right.
RIGHT = {
    "None": {"None"},
    "bool": {"bool"},
    "float": {"float"},
    "str": {"text"},
    "PropertyValue": {"text", "float", "bool"},
    "EnvironmentValue": {"text", "float", "bool"},
    "ArgumentValue": {"text", "float", "bool", "list", "mapping"},
}
# What is handed out, or has no initialiser that users call.
NOT_CALLED = {
    "WeightFormat",
    "Accelerators",
    "ArgumentValue",
    "AsyncTopic",
    "BacklogScaling",
    "BuildMetricOptions",
    "CacheType",
    "CaptureMode",
    "Connection",
    "ConnectionParameterBase",
    "Container",
    "Copies",
    "EndpointBase",
    "EndpointConfigBase",
    "EndpointStatus",
    "EngineName",
    "EnvironmentValue",
    "Finding",
    "ImageDistribution",
    "ImageRelease",
    "InferenceComponentBase",
    "MemoryTerms",
    "MetricOptions",
    "ModelArchitecture",
    "ModelBase",
    "ModelSource",
    "Outcome",
    "PlacementStrategy",
    "Plan",
    "Prepared",
    "Processor",
    "Reserve",
    "Tier",
    "Windows",
    "PropertyValue",
    "Registry",
    "Release",
    "Rollout",
    "RoutingStrategy",
    "ScalableTargetBase",
    "ScaleInStrategy",
    "Schema",
    "ServingConfiguration",
    "Setting",
    "Severity",
    "Statement",
    "Units",
    "VariantMetricOptions",
    "choose",
    "find_image",
    "find_instance_type",
}
_NOT_KEYWORDS = {"self", "scope", "id"}


def wrongly(
    function: Callable[..., object], *args: object, **given: object
) -> Callable[..., object]:
    """
    Give arguments that no type checker would let pass.
    """
    return partial(function, *args, **given)


def keywords() -> list[tuple[str, str, str]]:
    """
    List every keyword of every call, with its annotation.
    """
    return [
        (call, one.name, str(one.annotation))
        for call, (function, _) in CALLS.items()
        for one in inspect.signature(_called(function)).parameters.values()
        if one.name not in _NOT_KEYWORDS
    ]


def _called(function: Callable[..., object]) -> Callable[..., object]:
    # jsii's metaclass hides the signature of a construct.
    is_construct = isinstance(function, type) and issubclass(function, Construct)
    return function.__init__ if is_construct else function


def right_for(annotation: str) -> set[str]:
    """
    Return which of the wrong values an annotation takes all the same.
    """
    return set().union(*(RIGHT.get(part, set()) for part in annotation.split(" | ")))


def test_everything_public_is_called_here() -> None:
    """
    What is new is tried as well.
    """
    called = {name.split(".")[0] for name in CALLS}

    assert called | NOT_CALLED == set(cdk_sagemaker_llm.__all__)


@pytest.mark.parametrize(
    "annotation", sorted({annotation for *_, annotation in keywords()})
)
def test_every_annotation_says_a_kind(annotation: str) -> None:
    """
    A new class gets its words.
    """
    assert kind_of(annotation).words


@pytest.mark.parametrize(
    ("call", "keyword", "annotation"), keywords(), ids=lambda part: part[:40]
)
def test_fails_in_the_callers_words(
    stack: Stack, call: str, keyword: str, annotation: str
) -> None:
    """
    The keyword is named, whatever was given: no error comes from deep inside.
    """
    build = CALLS[call][1](stack)
    for label in WRONG.keys() - right_for(annotation):
        with pytest.raises((ValueError, TypeError)) as caught:
            build(**{keyword: WRONG[label]})

        assert keyword in str(caught.value), label
        assert "must be" in str(caught.value), label


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            wrongly(LlmEndpoint, instance_type=TYPE, instance_count="2"),
            "instance_count must be a whole number, got '2' (str); write 2",
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, instance_count=True),
            "instance_count must be a whole number, got True (bool)",
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, model="mistralai/Mistral-7B"),
            (
                "model must be a HuggingFaceModel or an S3Model, got a value of type "
                "str; write HuggingFaceModel('mistralai/Mistral-7B')"
            ),
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, model="s3://bucket/model/"),
            (
                "model must be a HuggingFaceModel or an S3Model, got a value of type "
                "str; write S3Model('s3://bucket/model/')"
            ),
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, serving=LmiVllm),
            (
                "serving must be a serving configuration such as Vllm(), got the class "
                "LmiVllm; write LmiVllm(...)"
            ),
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, serving="vllm"),
            "serving must be a serving configuration such as Vllm(), got 'vllm' (str)",
        ),
        (
            wrongly(LlmEndpoint, instance_type=5),
            "instance_type must be text or an InstanceType, got 5 (int); write '5'",
        ),
        (
            wrongly(
                LlmEndpoint,
                instance_type=TYPE,
                container_startup_health_check_timeout=1800,
            ),
            (
                "container_startup_health_check_timeout must be a Duration, got 1800 "
                "(int); write Duration.seconds(1800)"
            ),
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, environment={"A": 5}),
            "environment['A'] must be text, got 5 (int); write '5'",
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, environment={"A": True}),
            "environment['A'] must be text, got True (bool); write 'true'",
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, environment=["A=5"]),
            "environment must be a mapping from text, got a value of type list",
        ),
        (
            wrongly(LlmEndpoint, instance_type=TYPE, kms_key="alias/key"),
            (
                "kms_key must be a KMS key, got 'alias/key' (str); write "
                "Key.from_key_arn(...)"
            ),
        ),
        (
            wrongly(ServingArtifact, files={"a": "text"}),
            (
                "files['a'] must be bytes, got a value of type str; write b'...', or "
                "encode the text"
            ),
        ),
    ],
)
def test_fails_with_one_message(
    stack: Stack, build: Callable[..., object], message: str
) -> None:
    """
    What it is called, what it must be, what was got, and the way out.
    """
    with pytest.raises(ValueError, match=r"^Test/It: LLM182 ") as caught:
        build(stack, "It")

    assert str(caught.value) == f"Test/It: LLM182 {message}"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            wrongly(ProductionVariant, instance_type=TYPE, routing_strategy="random"),
            (
                "routing_strategy must be a RoutingStrategy or a PrefixAwareRouting, "
                "got 'random' (str); write RoutingStrategy.RANDOM"
            ),
        ),
        (
            wrongly(ProductionVariant, instance_type=TYPE, volume_size=30),
            "volume_size must be a Size, got 30 (int); write Size.gibibytes(30)",
        ),
        (
            wrongly(ResourceRequirements, copies="2", cpus=math.nan),
            (
                "copies must be a whole number, got '2' (str); write 2; cpus must be a "
                "finite number, got nan (float)"
            ),
        ),
        (
            wrongly(HuggingFaceModel, 5),
            "model_id must be text, got 5 (int); write '5'",
        ),
        (
            wrongly(S3Model, None),
            "uri must be text, got None",
        ),
        (
            wrongly(LmiVllm, max_model_len="4096"),
            "max_model_len must be a whole number, got '4096' (str); write 4096",
        ),
        (
            wrongly(LmiVllm, enforce_eager="yes"),
            "enforce_eager must be True or False, got 'yes' (str)",
        ),
        (
            wrongly(LmiVllm, tensor_parallel_degree="all"),
            "tensor_parallel_degree must be a whole number or 'max', got 'all' (str)",
        ),
        (
            wrongly(LmiVllm, options={"option.max_model_len": None}),
            (
                "options['option.max_model_len'] must be text, a finite number or "
                "True or False, got None; leave it out"
            ),
        ),
        (
            wrongly(TensorRtLlm, "0.26.0", batch_scheduler_policy="max"),
            (
                "batch_scheduler_policy must be 'max_utilization' or "
                "'guaranteed_no_evict', got 'max' (str)"
            ),
        ),
        (
            wrongly(NeuronX, "0.29.0", context_length_estimate=128),
            "context_length_estimate must be a list, got 128 (int); write [128]",
        ),
    ],
)
def test_fails_where_it_is_written(build: Callable[..., object], message: str) -> None:
    """
    Before it reaches a construct.
    """
    with pytest.raises(ValueError, match="must be") as caught:
        build()

    assert str(caught.value) == message


@pytest.mark.parametrize("copies", [-1, -2])
def test_fails_for_fewer_copies_than_none(stack: Stack, copies: int) -> None:
    """
    With the path of the model.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type=TYPE)
    resources = ResourceRequirements(accelerators=1)
    with pytest.raises(ValueError, match="LLM105") as caught:
        host.add_model("It", model=GPT2, resources=resources, copies=copies)

    assert str(caught.value) == (
        f"Test/Host/It: LLM105 copies must be at least 0, got {copies}"
    )


def test_fails_for_fewer_devices_than_none(stack: Stack) -> None:
    """
    None at all is a container on a host's CPU.
    """
    with pytest.raises(
        ValueError,
        match=r"^Test/It: LLM105 accelerators must be at least 0, got -1$",
    ):
        Model(stack, "It", serving=LmiVllm(), model=GPT2, accelerators=-1)


@pytest.mark.parametrize(
    ("count", "most", "message"),
    [
        (-1, 2, "initial_instance_count must be at least 1, got -1"),
        (1, 0, "max_instance_count must be at least 1, got 0"),
    ],
)
def test_one_number_is_told_of_once(
    stack: Stack, count: int, most: int, message: str
) -> None:
    """
    Though it is a start and a bound.
    """
    with pytest.raises(ValueError, match="LLM105") as caught:
        InferenceComponentEndpoint(
            stack,
            "It",
            instance_type=TYPE,
            instance_count=count,
            max_instance_count=most,
        )

    assert str(caught.value) == f"Test/It: LLM105 {message}"


def test_never_repeats_a_secret() -> None:
    """
    A plain token is named by its type alone.
    """
    secret = "hf_" + "a" * 34
    with pytest.raises(ValueError, match="token must be a secret") as caught:
        HuggingFaceModel("gpt2", token=secret)  # type: ignore[arg-type] # the mistake

    assert secret not in str(caught.value)


def test_tells_all_faults_of_a_call(stack: Stack) -> None:
    """
    One run shows everything.
    """
    with pytest.raises(ValueError, match="2 errors") as caught:
        wrongly(LlmEndpoint, instance_type=TYPE, instance_count=1.5, network="vpc")(
            stack, "It"
        )

    assert str(caught.value) == (
        "Test/It: 2 errors\n"
        "  - LLM182 instance_count must be a whole number, got 1.5 (float)\n"
        "  - LLM182 network must be a Network, got 'vpc' (str); write "
        "Network(vpc=...)"
    )
