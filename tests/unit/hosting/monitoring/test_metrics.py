"""
One method for each metric that the service publishes, with its dimensions.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack, Token
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk_sagemaker_llm import (
    AsyncInference,
    CustomContainer,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentBase,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    InstanceType,
    LlmEndpoint,
    LmiVllm,
    Model,
    ProductionVariant,
    ResourceRequirements,
    ShadowVariant,
)
from cdk_sagemaker_llm.catalog.metrics import (
    COMPONENT,
    ENDPOINT,
    VARIANT,
    published_metrics,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
from tests.unit.hosting.written import properties_of

GPT2 = HuggingFaceModel("gpt2")
ENDPOINTS = "/aws/sagemaker/Endpoints"
COMPONENTS = "/aws/sagemaker/InferenceComponents"
SAGEMAKER = "AWS/SageMaker"

# Method, namespace, name, statistic that is read, unit that the docstring says.
OF_BOTH = [
    ("invocations", SAGEMAKER, "Invocations", "Sum", "counted"),
    ("invocation_4xx_errors", SAGEMAKER, "Invocation4XXErrors", "Sum", "counted"),
    ("invocation_5xx_errors", SAGEMAKER, "Invocation5XXErrors", "Sum", "counted"),
    ("invocation_model_errors", SAGEMAKER, "InvocationModelErrors", "Sum", "counted"),
    ("mid_stream_errors", SAGEMAKER, "MidStreamErrors", "Sum", "counted"),
    ("model_latency", SAGEMAKER, "ModelLatency", "Average", "microseconds"),
    ("overhead_latency", SAGEMAKER, "OverheadLatency", "Average", "microseconds"),
    ("first_chunk_latency", SAGEMAKER, "FirstChunkLatency", "Average", "microseconds"),
    (
        "first_chunk_model_latency",
        SAGEMAKER,
        "FirstChunkModelLatency",
        "Average",
        "microseconds",
    ),
    (
        "first_chunk_overhead_latency",
        SAGEMAKER,
        "FirstChunkOverheadLatency",
        "Average",
        "microseconds",
    ),
]
OF_COMPONENTS = [
    *OF_BOTH,
    ("invocations_per_copy", SAGEMAKER, "InvocationsPerCopy", "Sum", "counted"),
    (
        "concurrent_requests_per_copy",
        SAGEMAKER,
        "ConcurrentRequestsPerCopy",
        "Maximum",
        "Requests under way",
    ),
    (
        "no_capacity_invocation_failures",
        SAGEMAKER,
        "NoCapacityInvocationFailures",
        "Sum",
        "counted",
    ),
    *(
        (method, COMPONENTS, name, "Average", "percent from 0 to 100.")
        for method, name in (
            ("cpu_utilization_normalized", "CPUUtilizationNormalized"),
            ("gpu_utilization_normalized", "GPUUtilizationNormalized"),
            ("gpu_memory_utilization_normalized", "GPUMemoryUtilizationNormalized"),
            ("memory_utilization_normalized", "MemoryUtilizationNormalized"),
        )
    ),
]
OF_VARIANTS = [
    *OF_BOTH,
    ("invocations_per_instance", SAGEMAKER, "InvocationsPerInstance", "Sum", "counted"),
    (
        "concurrent_requests_per_model",
        SAGEMAKER,
        "ConcurrentRequestsPerModel",
        "Maximum",
        "Requests under way",
    ),
    ("model_setup_time", SAGEMAKER, "ModelSetupTime", "Average", "microseconds"),
    ("cpu_utilization", ENDPOINTS, "CPUUtilization", "Average", "100 times the cores"),
    ("gpu_utilization", ENDPOINTS, "GPUUtilization", "Average", "100 times the GPUs"),
    (
        "gpu_memory_utilization",
        ENDPOINTS,
        "GPUMemoryUtilization",
        "Average",
        "100 times the GPUs",
    ),
    *(
        (method, ENDPOINTS, name, "Average", "percent from 0 to 100.")
        for method, name in (
            ("cpu_reservation", "CPUReservation"),
            ("gpu_reservation", "GPUReservation"),
            ("memory_reservation", "MemoryReservation"),
            ("memory_utilization", "MemoryUtilization"),
            ("disk_utilization", "DiskUtilization"),
            ("cpu_utilization_normalized", "CPUUtilizationNormalized"),
            ("gpu_utilization_normalized", "GPUUtilizationNormalized"),
            ("gpu_memory_utilization_normalized", "GPUMemoryUtilizationNormalized"),
        )
    ),
]
OF_QUEUES = [
    (
        "approximate_backlog_size",
        SAGEMAKER,
        "ApproximateBacklogSize",
        "Average",
        "The requests in the queue",
    ),
    (
        "approximate_backlog_size_per_instance",
        SAGEMAKER,
        "ApproximateBacklogSizePerInstance",
        "Average",
        "for each instance",
    ),
    (
        "approximate_age_of_oldest_request",
        SAGEMAKER,
        "ApproximateAgeOfOldestRequest",
        "Average",
        "in seconds",
    ),
    (
        "has_backlog_without_capacity",
        SAGEMAKER,
        "HasBacklogWithoutCapacity",
        "Average",
        "1 if so, else 0",
    ),
]
OF_ASYNC = [
    *(
        (method, SAGEMAKER, name, "Sum", "counted")
        for method, name in (
            ("request_download_failures", "RequestDownloadFailures"),
            ("response_upload_failures", "ResponseUploadFailures"),
            ("notification_failures", "NotificationFailures"),
            ("expired_requests", "ExpiredRequests"),
            ("invocation_failures", "InvocationFailures"),
            ("invocations_processed", "InvocationsProcessed"),
        )
    ),
    *(
        (method, SAGEMAKER, name, "Average", "in microseconds")
        for method, name in (
            ("request_download_latency", "RequestDownloadLatency"),
            ("response_upload_latency", "ResponseUploadLatency"),
            ("time_in_backlog", "TimeInBacklog"),
        )
    ),
    (
        "total_processing_time",
        SAGEMAKER,
        "TotalProcessingTime",
        "Average",
        "in milliseconds",
    ),
]
Rows = list[tuple[str, str, str, str, str]]


@pytest.fixture(name="filled")
def _filled(stack: Stack) -> LlmEndpoint:
    return LlmEndpoint(stack, "Llm", model=GPT2, instance_type="ml.g5.12xlarge")


@pytest.fixture(name="shared")
def _shared(stack: Stack) -> InferenceComponentEndpoint:
    return InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")


@pytest.fixture(name="component")
def _component(shared: InferenceComponentEndpoint) -> InferenceComponent:
    return shared.add_model(
        "Gpt", model=GPT2, resources=ResourceRequirements(accelerators=1)
    )


def methods_of(owner: type) -> set[str]:
    """
    Return the metrics that a class has methods for.
    """
    names = (name for name, _ in inspect.getmembers(owner, inspect.isfunction))
    return {n.removeprefix("metric_") for n in names if n.startswith("metric_")}


def names_by(*sets: tuple[str, ...], is_async: bool = False) -> set[tuple[str, str]]:
    """
    Return namespace and name of what the catalogue has by some dimensions.
    """
    return {
        (row.namespace, row.name)
        for row in published_metrics()
        if {*sets} & {*row.dimensions} and (is_async or row.applies_to != {"async"})
    }


EVERY = [*OF_VARIANTS, *OF_ASYNC, *OF_QUEUES]


@pytest.mark.parametrize(
    ("owner", "rows", "names"),
    [
        (InferenceComponentBase, OF_COMPONENTS, names_by(COMPONENT)),
        (InferenceComponentEndpoint, OF_VARIANTS, names_by(VARIANT)),
        (EndpointBase, EVERY, names_by(VARIANT, ENDPOINT, is_async=True)),
        (LlmEndpoint, EVERY, names_by(VARIANT, ENDPOINT, is_async=True)),
    ],
)
def test_each_row_has_its_method_and_each_method_its_row(
    owner: type, rows: Rows, names: set[tuple[str, str]]
) -> None:
    """
    A metric that AWS adds is missed here, and so is a method without one.
    """
    assert {(space, name) for _, space, name, *_ in rows} == names
    assert {method for method, *_ in rows} == methods_of(owner)


def test_no_row_is_left_out() -> None:
    """
    Whatever dimensions a row has, some class reads it.
    """
    read_by = names_by(COMPONENT, VARIANT, ENDPOINT, is_async=True)

    assert {(row.namespace, row.name) for row in published_metrics()} == read_by


@pytest.mark.parametrize("row", [*OF_ASYNC, *OF_QUEUES], ids=lambda row: row[0])
def test_an_asynchronous_endpoints_metric_is_the_services(
    stack: Stack, row: tuple[str, str, str, str, str]
) -> None:
    """
    Those of the queue by the endpoint alone.
    """
    method, namespace, name, statistic, unit = row
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        async_inference=AsyncInference(output="s3://bucket/answers/"),
    )
    dimensions = {"EndpointName": llm.endpoint_name}
    if row in OF_ASYNC:
        dimensions["VariantName"] = "AllTraffic"
    for owner in (llm, llm.endpoint):
        metric = getattr(owner, f"metric_{method}")()

        assert (metric.namespace, metric.metric_name) == (namespace, name)
        assert metric.dimensions == dimensions
        assert metric.statistic == statistic
    assert unit in said(getattr(EndpointBase, f"metric_{method}"))


def test_another_endpoint_has_no_queue(filled: LlmEndpoint) -> None:
    """
    A graph of it would stay empty.
    """
    with pytest.raises(ValueError, match="LLM361 ApproximateBacklogSize is published"):
        filled.metric_approximate_backlog_size()
    with pytest.raises(ValueError, match="of asynchronous endpoints; define it with"):
        filled.metric_time_in_backlog()


def test_an_imported_endpoint_may_have_a_queue(stack: Stack) -> None:
    """
    Nothing is known of it.
    """
    other = Endpoint.from_endpoint_name(stack, "Other", "chat")
    metric = other.metric_approximate_backlog_size(variant_name="AllTraffic")

    assert metric.dimensions == {"EndpointName": "chat"}


@pytest.mark.parametrize("row", OF_COMPONENTS, ids=lambda row: row[0])
def test_a_components_metric_is_the_services(
    component: InferenceComponent, row: tuple[str, str, str, str, str]
) -> None:
    """
    By namespace, name, dimension, statistic and a period of a minute.
    """
    method, namespace, name, statistic, unit = row
    metric = getattr(component, f"metric_{method}")()

    assert (metric.namespace, metric.metric_name) == (namespace, name)
    assert metric.dimensions == {
        "InferenceComponentName": component.inference_component_name
    }
    assert metric.statistic == statistic
    assert metric.period.to_seconds() == 60
    assert unit in said(getattr(InferenceComponentBase, f"metric_{method}"))


@pytest.mark.parametrize("row", OF_VARIANTS, ids=lambda row: row[0])
def test_a_variants_metric_is_the_services(
    shared: InferenceComponentEndpoint, row: tuple[str, str, str, str, str]
) -> None:
    """
    The same on the pattern and on its endpoint.
    """
    method, namespace, name, statistic, unit = row
    for owner in (shared, shared.endpoint):
        metric = getattr(owner, f"metric_{method}")()

        assert (metric.namespace, metric.metric_name) == (namespace, name)
        assert metric.dimensions == {
            "EndpointName": shared.endpoint_name,
            "VariantName": "AllTraffic",
        }
        assert metric.statistic == statistic
    assert unit in said(getattr(EndpointBase, f"metric_{method}"))


def said(method: Callable[..., object]) -> str:
    """
    Return a method's docstring in one line.
    """
    return re.sub(r"\s+", " ", method.__doc__ or "")


@pytest.mark.parametrize(
    ("method", "raw", "expression"),
    [
        ("metric_gpu_utilization_normalized", "GPUUtilization", "raw / 4"),
        ("metric_gpu_memory_utilization_normalized", "GPUMemoryUtilization", "raw / 4"),
        ("metric_cpu_utilization_normalized", "CPUUtilization", "raw / 48"),
    ],
)
def test_what_is_not_published_normalised_is_computed(
    filled: LlmEndpoint, method: str, raw: str, expression: str
) -> None:
    """
    An ml.g5.12xlarge has 4 GPUs and 48 cores.
    """
    metric = getattr(filled, method)(
        statistic="Maximum", period=Duration.minutes(5), color="#ff0000"
    )

    assert isinstance(metric, cloudwatch.MathExpression)
    assert metric.expression == expression
    assert metric.period.to_seconds() == 300
    assert (metric.label, metric.color) == (f"{raw}Normalized", "#ff0000")
    (inner,) = metric.using_metrics.values()
    assert isinstance(inner, cloudwatch.Metric)
    assert (inner.namespace, inner.metric_name) == (ENDPOINTS, raw)
    assert inner.statistic == "Maximum"


def test_what_is_not_known_is_not_divided_by(stack: Stack) -> None:
    """
    Nor is zero.
    """
    kind = CfnParameter(stack, "Kind").value_as_string
    unknown = LlmEndpoint(stack, "Unknown", model=GPT2, instance_type=kind)
    none = LlmEndpoint(
        stack,
        "None",
        serving=CustomContainer.from_uri(
            "111111111111.dkr.ecr.us-east-1.amazonaws.com/mine:1"
        ),
        instance_type=InstanceType.of(
            "ml.c99.xlarge", accelerators=0, vcpus=4, memory_gib=8
        ),
    )

    assert message(unknown.metric_gpu_utilization_normalized) == (
        "Test/Unknown/Endpoint: LLM361 GPUUtilizationNormalized is computed from the "
        "number of accelerators of an instance, which is not known; read "
        "GPUUtilization, which goes to 100 times that number"
    )
    assert "which is 0 for ml.c99.xlarge" in message(
        none.metric_gpu_utilization_normalized
    )
    assert "accelerators of an instance, which is not known; read" in message(
        unknown.metric_gpu_utilization_normalized, instance_type=kind
    )
    known = unknown.metric_gpu_utilization_normalized(instance_type="ml.g5.12xlarge")
    assert isinstance(known, cloudwatch.MathExpression)


def test_a_pool_without_gpus_says_so(stack: Stack) -> None:
    """
    That its types differ is not the reason.
    """
    types = [
        InstanceType.of(name, accelerators=0, vcpus=4, memory_gib=8)
        for name in ("ml.c98.xlarge", "ml.c99.xlarge")
    ]
    none = LlmEndpoint(
        stack,
        "None",
        serving=CustomContainer.from_uri(
            "111111111111.dkr.ecr.us-east-1.amazonaws.com/mine:1"
        ),
        capacity=InstanceCapacity(
            pools=[
                InstancePool(one, priority=rank)
                for rank, one in enumerate(types, start=1)
            ]
        ),
    )

    assert message(none.metric_gpu_utilization_normalized).endswith(
        "which is 0 for ml.c98.xlarge; read GPUUtilization, which goes to 100 times "
        "that number"
    )


def message(call: Callable[..., object], **options: object) -> str:
    """
    Return what a call fails with.
    """
    with pytest.raises(ValueError, match="LLM") as raised:
        call(**options)
    return str(raised.value)


@pytest.mark.parametrize("method", ["metric_cpu_reservation", "metric_gpu_reservation"])
def test_what_hosts_of_components_alone_publish_is_refused_elsewhere(
    filled: LlmEndpoint, shared: InferenceComponentEndpoint, method: str
) -> None:
    """
    A graph of it would stay empty, and an alarm silent.
    """
    assert getattr(shared, method)().namespace == ENDPOINTS
    with pytest.raises(ValueError, match="Test/Llm/Endpoint: LLM361 .* a model fills"):
        getattr(filled, method)()


@pytest.mark.parametrize(
    ("method", "statistic", "valid"),
    [
        ("metric_invocations", "Average", "must be Sum, got"),
        (
            "metric_concurrent_requests_per_copy",
            "Average",
            "must be Minimum or Maximum",
        ),
        (
            "metric_overhead_latency",
            "p99",
            "must be Average, Sum, Minimum, Maximum or SampleCount, got 'p99'",
        ),
        (
            "metric_model_latency",
            "tm99",
            "SampleCount or a percentile such as p99, got 'tm99'",
        ),
    ],
)
def test_a_statistic_that_a_metric_lacks_is_refused(
    component: InferenceComponent, method: str, statistic: str, valid: str
) -> None:
    """
    With those that it has.
    """
    with pytest.raises(ValueError, match="LLM360 statistic of") as raised:
        getattr(component, method)(statistic=statistic)

    assert valid in str(raised.value)


def test_options_are_passed_on(stack: Stack, component: InferenceComponent) -> None:
    """
    Each as the CDK and the service have it.
    """
    metric = component.metric_model_latency(
        statistic="p99",
        period=Duration.minutes(5),
        label="slow",
        color="#ff0000",
        instance_type="ml.g5.2xlarge",
        dimensions_map={"InstanceId": "i-1"},
    )

    assert (metric.statistic, metric.label, metric.color) == ("p99", "slow", "#ff0000")
    assert metric.period.to_seconds() == 300
    assert metric.dimensions == {
        "InferenceComponentName": component.inference_component_name,
        "InstanceType": "ml.g5.2xlarge",
        "InstanceId": "i-1",
    }
    cloudwatch.Alarm(stack, "Slow", metric=metric, threshold=1, evaluation_periods=1)
    (query,) = properties_of(stack, "CloudWatch::Alarm")["Metrics"]
    assert query["MetricStat"]["Stat"] == "p99"


def test_the_type_of_a_pool_says_its_devices(filled: LlmEndpoint) -> None:
    """
    An ml.g5.48xlarge has 8 GPUs.
    """
    metric = filled.metric_gpu_utilization_normalized(instance_type="ml.g5.48xlarge")

    assert isinstance(metric, cloudwatch.MathExpression)
    assert metric.expression == "raw / 8"


def test_a_shadow_has_metrics_of_its_own(stack: Stack) -> None:
    """
    Under its variant's name; without a name it is the variant that answers.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.2xlarge",
        shadow=ShadowVariant(instance_type="ml.g5.48xlarge"),
    )
    shadow = llm.metric_model_latency(variant_name="Shadow")
    gpus = llm.metric_gpu_utilization_normalized(variant_name="Shadow")
    own = llm.metric_model_latency()
    alarms = llm.add_alarms("OfShadow", variant_name="Shadow")

    assert (shadow.dimensions or {})["VariantName"] == "Shadow"
    assert (own.dimensions or {})["VariantName"] == "AllTraffic"
    assert isinstance(gpus, cloudwatch.MathExpression)
    assert gpus.expression == "raw / 8"
    assert len(alarms) == 5
    assert message(lambda: llm.metric_model_latency(variant_name="Green")).endswith(
        "LLM123 variant_name must be one of AllTraffic, Shadow, got 'Green'"
    )


def test_the_types_of_a_pool_may_differ(stack: Stack) -> None:
    """
    What they have in common is known, and no more.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        capacity=InstanceCapacity(
            pools=[
                InstancePool("ml.g5.2xlarge", priority=1),
                InstancePool("ml.g5.4xlarge", priority=2),
            ]
        ),
    )
    gpus = llm.metric_gpu_utilization_normalized()
    cpus = llm.metric_cpu_utilization_normalized(instance_type="ml.g5.4xlarge")

    assert isinstance(gpus, cloudwatch.MathExpression)
    assert isinstance(cpus, cloudwatch.MathExpression)
    assert (gpus.expression, cpus.expression) == ("raw / 1", "raw / 16")
    assert message(llm.metric_cpu_utilization_normalized).endswith(
        "number of vcpus of an instance, which is not the same for all types; choose "
        "one with instance_type"
    )


WRONG: Mapping[str, tuple[Mapping[str, object], str]] = {
    "statistic": ({"statistic": 1}, "statistic must be text, got 1 (int)"),
    "period": ({"period": 60}, "period must be a Duration, got 60 (int); write"),
    "label": ({"label": True}, "label must be text, got True (bool)"),
    "colour": ({"color": 1.5}, "color must be text, got 1.5 (float)"),
    "dimensions": ({"dimensions_map": []}, "dimensions_map must be a mapping"),
    "type": ({"instance_type": None}, "instance_type must be text, got None"),
    "no time": ({"period": Duration.seconds(0)}, "or a multiple of 60 seconds, got 0"),
    "half": ({"period": Duration.millis(1500)}, "must be of whole seconds, got 1.5"),
    "other": ({"period": Duration.seconds(20)}, "period must be 1, 5, 10, 30 or a"),
    "deployed": (
        {"period": Duration.seconds(Token.as_number({"Ref": "Seconds"}))},
        "period must be known at synth",
    ),
    "hue": ({"color": "red"}, "color must be # and six hexadecimal digits, got 'red'"),
    "no dimension": (
        {"dimensions_map": {"InstanceId": ""}},
        "dimensions_map['InstanceId'] must be 1 to 255 characters of ASCII",
    ),
    "long dimension": (
        {"dimensions_map": {"InstanceId": "i" * 256}},
        "dimensions_map['InstanceId'] must be 1 to 255 characters of ASCII",
    ),
    "blank name": (
        {"dimensions_map": {" ": "i"}},
        "the name ' ' in dimensions_map must be 1 to 255 characters of ASCII",
    ),
}


@pytest.mark.parametrize(("options", "words"), WRONG.values(), ids=WRONG)
def test_wrong_kinds_are_named(
    component: InferenceComponent, options: Mapping[str, Any], words: str
) -> None:
    """
    In the caller's words, before Node is asked.
    """
    assert words in message(lambda: component.metric_invocations(**options))


RIGHT: Mapping[str, Mapping[str, object]] = {
    "short": {"period": Duration.seconds(1)},
    "minutes": {"period": Duration.minutes(7)},
    "hue": {"color": "#1f77B4"},
    "long dimension": {"dimensions_map": {"InstanceId": "i" * 255}},
    "deployed": {"dimensions_map": {"InstanceId": Token.as_string({"Ref": "It"})}},
}


@pytest.mark.parametrize("options", RIGHT.values(), ids=RIGHT)
def test_what_the_service_takes_is_taken(
    component: InferenceComponent, options: Mapping[str, Any]
) -> None:
    """
    On the other side of each limit.
    """
    assert component.metric_invocations(**options)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (["a"], "variant_name must be text, got a value of type list"),
        ("", "variant_name must be at most 63 letters, digits and inner hyphens"),
        (
            Token.as_string({"Ref": "Name"}),
            "one of AllTraffic, got a value that is known only at deployment",
        ),
    ],
    ids=["list", "empty", "deployed"],
)
def test_a_name_that_no_variant_has_is_named(
    filled: LlmEndpoint, name: object, words: str
) -> None:
    """
    Whatever it is.
    """
    options: dict[str, Any] = {"variant_name": name}

    assert words in message(lambda: filled.metric_invocations(**options))


def test_an_option_that_no_metric_has_is_an_error(
    component: InferenceComponent,
) -> None:
    """
    As for any keyword; a component has no variants either.
    """
    with pytest.raises(TypeError, match="a metric has no option 'statistics'"):
        component.metric_invocations(statistics="Sum")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="variant_name is for metrics of endpoints"):
        component.metric_invocations(variant_name="Blue")


def test_a_variant_is_named_where_there_are_several(stack: Stack) -> None:
    """
    One of them is found by itself.
    """
    variants = [
        ProductionVariant(
            instance_type=kind,
            variant_name=name,
            model=Model(stack, name, model=GPT2, serving=LmiVllm()),
        )
        for name, kind in (("Blue", "ml.g5.12xlarge"), ("Green", "ml.g5.48xlarge"))
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    endpoint = Endpoint(stack, "It", endpoint_config=config)
    green = endpoint.metric_gpu_utilization_normalized(variant_name="Green")

    assert isinstance(green, cloudwatch.MathExpression)
    assert green.expression == "raw / 8"
    blue = endpoint.metric_invocations(variant_name="Blue")
    assert blue.dimensions == {
        "EndpointName": endpoint.endpoint_name,
        "VariantName": "Blue",
    }
    assert "LLM123 variant_name must be one of Blue, Green, got None" in message(
        endpoint.metric_invocations
    )


def test_an_imported_endpoint_has_metrics_of_a_named_variant(stack: Stack) -> None:
    """
    Nothing is known of it, and nothing refused.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Other", "chat")
    metric = endpoint.metric_gpu_reservation(variant_name="AllTraffic")

    assert metric.dimensions == {"EndpointName": "chat", "VariantName": "AllTraffic"}
    assert "variant_name must be given" in message(endpoint.metric_invocations)
    normal = endpoint.metric_gpu_utilization_normalized(variant_name="AllTraffic")
    assert isinstance(normal, cloudwatch.Metric)


def test_an_imported_component_has_metrics(stack: Stack) -> None:
    """
    By its name.
    """
    component = InferenceComponent.from_inference_component_name(
        stack,
        "Other",
        "llama",
        endpoint=Endpoint.from_endpoint_name(stack, "Host", "chat"),
    )

    assert component.metric_invocations_per_copy().dimensions == {
        "InferenceComponentName": "llama"
    }


def test_a_type_of_ones_own_says_its_devices(stack: Stack) -> None:
    """
    As the catalogue's do.
    """
    own = InstanceType.of("ml.p9.48xlarge", accelerators=16, vcpus=192, memory_gib=2048)
    endpoint = LlmEndpoint(stack, "Llm", model=GPT2, instance_type=own)
    metric = endpoint.metric_gpu_utilization_normalized()

    assert isinstance(metric, cloudwatch.MathExpression)
    assert metric.expression == "raw / 16"


def test_cloudwatch_is_loaded_where_it_is_used() -> None:
    """
    An app without metrics does not wait for it.
    """
    code = (
        "import sys; from cdk_sagemaker_llm import LlmEndpoint, InferenceComponent;"
        "print('aws_cdk.aws_cloudwatch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"
