"""
A dashboard shows what is defined, in CloudWatch's own syntax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Environment, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    AsyncInference,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentBase,
    InferenceComponentEndpoint,
    LlmDashboard,
    LlmEndpoint,
    LmiVllm,
    ManagedInstanceScaling,
    Model,
    Observability,
    ProductionVariant,
    ResourceRequirements,
    ShadowVariant,
)
from tests.unit.hosting.patterns.dashboard_body import body_of, charts_of
from tests.unit.hosting.written import codes_of, properties_of

GPT2 = HuggingFaceModel("gpt2")
SAGEMAKER = "AWS/SageMaker"
COMPONENT = ["InferenceComponentName", "${HostGptComponent}"]
VARIANT = ["EndpointName", "${LlmEndpoint.EndpointName}", "VariantName", "AllTraffic"]
OF_COMPONENT = [
    "Requests a minute",
    "Requests under way on a copy",
    "Copies that serve",
    "Time to an answer (ms)",
    "Requests that fail, a minute",
    "Time beside the container, and to a stream's first part (ms)",
    "GPUs (%)",
    "CPU and memory (%)",
]
OF_VARIANT = [
    "Requests a minute",
    "Requests under way on an instance",
    "Instances that serve",
    *OF_COMPONENT[3:],
    "Estimated spend a day (US$)",
]
OF_HOST = [
    "Reserved by components (%)",
    "Instances: GPUs (%)",
    "Instances: CPU, memory and disk (%)",
]


@pytest.fixture(name="llm")
def _llm(stack: Stack) -> LlmEndpoint:
    return LlmEndpoint(stack, "Llm", model=GPT2, instance_type="ml.g5.12xlarge")


@pytest.fixture(name="host")
def _host(stack: Stack) -> InferenceComponentEndpoint:
    return InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", max_instance_count=2
    )


@pytest.fixture(name="component")
def _component(host: InferenceComponentEndpoint) -> InferenceComponent:
    return host.add_model(
        "Gpt", model=GPT2, resources=ResourceRequirements(accelerators=1)
    )


def imported(stack: Stack, count: int) -> list[InferenceComponentBase]:
    """
    Refer to components that exist.
    """
    host = Endpoint.from_endpoint_name(stack, "Other", "chat")
    return [
        InferenceComponent.from_inference_component_name(
            stack, f"It{number}", f"model-{number}", endpoint=host
        )
        for number in range(count)
    ]


def kinds_in(body: dict[str, Any]) -> list[str]:
    """
    Return the kinds of the widgets in their order.
    """
    return [widget["type"] for widget in body["widgets"]]


@pytest.mark.usefixtures("component")
def test_a_host_and_its_components_are_shown(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    The host's reservations first, then each component by itself.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    body = body_of(stack)

    assert (body["start"], body["periodOverride"]) == ("-PT24H", "inherit")
    assert list(charts_of(body)) == [
        *(f"Host: {title}" for title in OF_HOST),
        *(f"Host/Gpt: {title}" for title in OF_COMPONENT),
    ]
    # What an instance costs is a line of text: instances are not counted here.
    of_host = ["text", *["metric"] * 3, "text"]
    assert kinds_in(body) == ["text", *of_host, "text", *["metric"] * 8]


def test_a_model_that_fills_its_instances_is_shown(
    stack: Stack, llm: LlmEndpoint
) -> None:
    """
    By its variant; the utilisation of 4 GPUs and 48 cores goes to 100.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    charts = charts_of(body_of(stack))

    assert list(charts) == [f"Llm: {title}" for title in OF_VARIANT]
    assert charts["Llm: GPUs (%)"]["metrics"] == [
        [{"expression": "m0 / 4", "id": "e0", "label": "use"}],
        [
            "/aws/sagemaker/Endpoints",
            "GPUUtilization",
            *VARIANT,
            {"stat": "Average", "visible": False, "id": "m0"},
        ],
        [{"expression": "m1 / 4", "id": "e1", "label": "memory"}],
        [
            "/aws/sagemaker/Endpoints",
            "GPUMemoryUtilization",
            *VARIANT,
            {"stat": "Maximum", "visible": False, "id": "m1"},
        ],
    ]
    cpu = charts["Llm: CPU and memory (%)"]
    assert cpu["metrics"][0] == [{"expression": "m0 / 48", "id": "e0", "label": "CPU"}]
    assert cpu["yAxis"] == {"left": {"min": 0, "showUnits": False, "max": 100}}


@pytest.mark.usefixtures("component")
def test_latency_is_in_milliseconds(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    By metric math: the service counts microseconds.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    chart = charts_of(body_of(stack))["Host/Gpt: Time to an answer (ms)"]

    assert chart["metrics"] == [
        row
        for number, (label, statistic) in enumerate(
            (
                ("half of answers", "p50"),
                ("95 % of answers", "p95"),
                ("99 % of answers", "p99"),
            )
        )
        for row in (
            [{"expression": f"m{number} / 1000", "id": f"e{number}", "label": label}],
            [
                SAGEMAKER,
                "ModelLatency",
                *COMPONENT,
                {"stat": statistic, "visible": False, "id": f"m{number}"},
            ],
        )
    ]


@pytest.mark.usefixtures("component")
def test_copies_are_counted_by_their_requests(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    SageMaker publishes no number of them.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    chart = charts_of(body_of(stack))["Host/Gpt: Copies that serve"]

    assert chart["metrics"] == [
        [{"expression": "m0 / d0", "id": "e0", "label": "copies"}],
        [
            SAGEMAKER,
            "Invocations",
            *COMPONENT,
            {"stat": "Sum", "visible": False, "id": "m0"},
        ],
        [
            SAGEMAKER,
            "InvocationsPerCopy",
            *COMPONENT,
            {"stat": "Sum", "visible": False, "id": "d0"},
        ],
    ]
    assert "annotations" not in chart


def levels(chart: dict[str, Any]) -> list[tuple[str, float]]:
    """
    Return the levels that are drawn into a chart.
    """
    found = chart.get("annotations", {}).get("horizontal", [])
    return [(each["label"], each["value"]) for each in found]


def test_what_scaling_aims_at_is_drawn(
    stack: Stack, host: InferenceComponentEndpoint, component: InferenceComponent
) -> None:
    """
    Also if it is defined after the dashboard; each aim in the chart of its metric.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    copies = component.auto_scale_copy_count(min_capacity=1, max_capacity=4)
    copies.scale_on_concurrency("Load", per_copy=6)
    copies.scale_on_invocations("Requests", per_minute=90)
    charts = charts_of(body_of(stack))
    drawn = {title: levels(chart) for title, chart in charts.items() if levels(chart)}

    assert drawn == {
        "Host/Gpt: Requests a minute": [("scaling's aim", 90)],
        "Host/Gpt: Requests under way on a copy": [("scaling's aim", 6)],
        "Host/Gpt: Copies that serve": [
            ("scaling's least", 1),
            ("scaling's most", 4),
        ],
    }


def test_the_scaling_of_instances_is_drawn(stack: Stack, llm: LlmEndpoint) -> None:
    """
    As that of copies is.
    """
    instances = llm.auto_scale_instance_count(min_capacity=2, max_capacity=5)
    instances.scale_on_concurrency("Load", per_instance=16)
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    charts = charts_of(body_of(stack))

    assert levels(charts["Llm: Instances that serve"]) == [
        ("scaling's least", 2),
        ("scaling's most", 5),
    ]
    under_way = charts["Llm: Requests under way on an instance"]
    assert levels(under_way) == [("scaling's aim", 16)]


def test_a_policy_of_ones_own_is_drawn(
    stack: Stack, host: InferenceComponentEndpoint, component: InferenceComponent
) -> None:
    """
    On a metric of the service's, wherever in the stack it is defined.
    """
    policy = appscaling.CfnScalingPolicy
    policy(
        stack,
        "Own",
        policy_name="own",
        policy_type="TargetTrackingScaling",
        resource_id=f"inference-component/{component.inference_component_name}",
        scalable_dimension="sagemaker:inference-component:DesiredCopyCount",
        service_namespace="sagemaker",
        target_tracking_scaling_policy_configuration=policy.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=70,
            customized_metric_specification=policy.CustomizedMetricSpecificationProperty(
                metric_name="GPUUtilizationNormalized",
                namespace="/aws/sagemaker/InferenceComponents",
                statistic="Average",
            ),
        ),
    )
    LlmDashboard(stack, "Dashboard", endpoints=[host])

    assert levels(charts_of(body_of(stack))["Host/Gpt: GPUs (%)"]) == [
        ("scaling's aim", 70)
    ]


def test_the_states_of_all_alarms_are_shown(
    stack: Stack, host: InferenceComponentEndpoint, component: InferenceComponent
) -> None:
    """
    Those of the components and of their host, once each.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[host], components=[component])
    component.add_alarms()
    host.add_alarms()
    (widget,) = (each for each in body_of(stack)["widgets"] if each["type"] == "alarm")
    alarms = widget["properties"]["alarms"]

    assert len(alarms) == len(set(alarms)) == 11
    assert "${HostGptComponentAlarmsServerErrorRate.Arn}" in alarms
    assert "${HostEndpointAlarmsServerErrorRate.Arn}" in alarms


def test_the_alarm_that_wakes_is_shown(stack: Stack) -> None:
    """
    Scaling's own alarms stand in its tree.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.12xlarge",
        min_instance_count=0,
        max_instance_count=2,
    )
    component = host.add_model(
        "Gpt", model=GPT2, resources=ResourceRequirements(accelerators=1)
    )
    copies = component.auto_scale_copy_count(min_capacity=0, max_capacity=4)
    copies.scale_on_concurrency("Load", per_copy=4)
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    body = body_of(stack)
    (widget,) = (each for each in body["widgets"] if each["type"] == "alarm")

    (arn,) = widget["properties"]["alarms"]
    assert "Wak" in arn
    assert levels(charts_of(body)["Host/Gpt: Copies that serve"]) == [
        ("scaling's least", 0),
        ("scaling's most", 4),
    ]


def test_a_component_is_shown_once(
    stack: Stack, host: InferenceComponentEndpoint, component: InferenceComponent
) -> None:
    """
    However often it is named.
    """
    LlmDashboard(
        stack, "Dashboard", endpoints=[host], components=[component, component]
    )

    assert len(charts_of(body_of(stack))) == len(OF_HOST) + len(OF_COMPONENT)
    assert kinds_in(body_of(stack)).count("metric") == len(OF_HOST) + len(OF_COMPONENT)


def test_models_that_come_later_are_shown(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    The dashboard is drawn at synth.
    """
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    host.add_model("Late", model=GPT2, resources=ResourceRequirements(accelerators=1))

    assert "Host/Late: GPUs (%)" in charts_of(body_of(stack))


def test_an_asynchronous_endpoint_is_shown_with_its_queue(stack: Stack) -> None:
    """
    By its own metrics: it publishes no other of requests.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        async_inference=AsyncInference(output="s3://bucket/answers/"),
    )
    instances = llm.auto_scale_instance_count(min_capacity=0, max_capacity=2)
    instances.scale_on_backlog("Backlog", per_instance=5)
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    charts = charts_of(body_of(stack))

    assert list(charts) == [
        "Llm: Requests a minute",
        "Llm: Time of requests (s)",
        "Llm: What fails, a minute",
        "Llm: GPUs (%)",
        "Llm: CPU and memory (%)",
        "Llm, queue: Requests in the queue",
        "Llm, queue: Age of the oldest request (s)",
        "Llm, queue: Requests wait, and no instance is there",
    ]
    queue = charts["Llm, queue: Requests in the queue"]
    assert queue["metrics"][0][2:4] == VARIANT[:2]
    assert levels(queue) == [("scaling's aim", 5)]
    times = charts["Llm: Time of requests (s)"]["metrics"]
    assert [row[0]["expression"] for row in times if len(row) == 1] == [
        "m0 / 1000000",
        "m1 / 1000000",
        "m2 / 1000",
    ]


def test_building_blocks_are_shown(stack: Stack) -> None:
    """
    Each variant of an endpoint, and a component that is named.
    """
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            variant_name=name,
            model=Model(stack, name, model=GPT2, serving=LmiVllm()),
        )
        for name in ("Blue", "Green")
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    endpoint = Endpoint(stack, "Two", endpoint_config=config)
    (component,) = imported(stack, 1)
    LlmDashboard(stack, "Dashboard", endpoints=[endpoint], components=[component])
    charts = charts_of(body_of(stack))

    assert {title.split(":", maxsplit=1)[0] for title in charts} == {
        "Two, Blue",
        "Two, Green",
        "It0",
    }
    first = charts["It0: Requests a minute"]["metrics"][0]
    assert first[:4] == [
        SAGEMAKER,
        "Invocations",
        "InferenceComponentName",
        "model-0",
    ]


def test_hardware_that_is_not_known_is_not_normalised(stack: Stack) -> None:
    """
    The title says what 100 stands for.
    """
    kind = CfnParameter(stack, "Kind").value_as_string
    llm = LlmEndpoint(stack, "Llm", model=GPT2, instance_type=kind)
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    chart = charts_of(body_of(stack))["Llm: GPUs (%, 100 for each)"]

    assert chart["metrics"][0][:2] == ["/aws/sagemaker/Endpoints", "GPUUtilization"]
    assert chart["yAxis"] == {"left": {"min": 0, "showUnits": False}}


def test_instances_are_counted_where_each_has_its_metrics(stack: Stack) -> None:
    """
    With enhanced metrics, against the bounds of managed scaling.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.12xlarge",
        max_instance_count=3,
        observability=Observability(enhanced_metrics=True),
    )
    LlmDashboard(stack, "Dashboard", endpoints=[host])
    chart = charts_of(body_of(stack))["Host: Instances"]
    search, count = (row[0] for row in chart["metrics"])

    assert search["expression"] == (
        'SEARCH(\'Namespace="/aws/sagemaker/Endpoints" MetricName="CPUUtilization" '
        'EndpointName="${HostEndpoint.EndpointName}" VariantName="AllTraffic" '
        "InstanceId', 'Maximum', 60)"
    )
    assert search["visible"] is False
    assert count["expression"] == "SUM(e0 * 0 + 1)"
    assert levels(chart) == [("at least", 1), ("at most", 3)]


def test_instances_of_a_model_are_counted_once(stack: Stack) -> None:
    """
    By their requests, with enhanced metrics too.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.12xlarge",
        observability=Observability(enhanced_metrics=True),
    )
    LlmDashboard(stack, "Dashboard", endpoints=[llm])

    assert list(charts_of(body_of(stack))) == [f"Llm: {each}" for each in OF_VARIANT]


def test_a_fixed_number_of_instances_has_no_bounds(stack: Stack) -> None:
    """
    Nothing scales it.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.12xlarge",
        observability=Observability(enhanced_metrics=True),
    )
    LlmDashboard(stack, "Dashboard", endpoints=[host])

    assert levels(charts_of(body_of(stack))["Host: Instances"]) == []


@pytest.mark.parametrize(
    ("is_on", "words"),
    [
        (False, "which come with `Observability(detailed=True)` alone"),
        (True, "read them with PromQL in CloudWatch's Query Studio"),
    ],
)
def test_it_says_where_tokens_are(stack: Stack, is_on: bool, words: str) -> None:  # noqa: FBT001 - by name
    """
    No metric of CloudWatch's own counts them.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        observability=Observability(detailed=is_on),
    )
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    head = body_of(stack)["widgets"][0]["properties"]["markdown"]

    assert words in head
    assert head.startswith("# Dashboard\n")


def test_thirty_models_have_their_charts(stack: Stack) -> None:
    """
    The most that a reader scrolls through.
    """
    LlmDashboard(stack, "Dashboard", components=imported(stack, 30))

    assert kinds_in(body_of(stack)).count("metric") == 30 * len(OF_COMPONENT)
    assert codes_of(stack) == []


def test_more_models_have_a_line_each(stack: Stack) -> None:
    """
    Fifty to a chart, and a warning says so.
    """
    LlmDashboard(stack, "Dashboard", components=imported(stack, 120))
    body = body_of(stack)

    metrics = [each for each in body["widgets"] if each["type"] == "metric"]
    assert len(metrics) == 5 * 3
    first = metrics[0]["properties"]["metrics"]
    assert len(first) == 50
    assert first[49] == [
        SAGEMAKER,
        "Invocations",
        "InferenceComponentName",
        "model-49",
        {"stat": "Sum", "label": "It49"},
    ]
    assert codes_of(stack) == [("/Test/Dashboard", "LLM445")]


def test_it_ends_where_cloudwatch_does(stack: Stack) -> None:
    """
    Six metrics of each model, eight of each host, and 2500 in all.
    """
    components = imported(stack, 415)
    hosts = [
        InferenceComponentEndpoint(stack, name, instance_type="ml.g5.xlarge")
        for name in ("One", "Two")
    ]
    LlmDashboard(stack, "Most", endpoints=hosts, components=components[:414])

    with pytest.raises(ValueError, match="LLM362 415 models need 2506 metrics in 56"):
        LlmDashboard(stack, "Dashboard", endpoints=hosts, components=components)


def test_models_beyond_the_limit_that_come_later_are_refused(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    At synth, in the same words.
    """
    components = imported(stack, 417)
    known = components[:400]
    LlmDashboard(stack, "Dashboard", endpoints=[host], components=known)
    # A list that grows is what a loop over tenants leaves behind.
    known.extend(components[400:])

    with pytest.raises(RuntimeError, match="LLM362 417 models need"):
        Template.from_stack(stack)


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 255])
def test_a_name_is_passed_on(stack: Stack, llm: LlmEndpoint, name: str) -> None:
    """
    As CloudWatch takes it.
    """
    made = LlmDashboard(stack, "It", endpoints=[llm], dashboard_name=name)

    assert properties_of(stack, "CloudWatch::Dashboard")["DashboardName"] == name
    assert stack.resolve(made.dashboard_name)["Ref"].startswith("It")


@pytest.mark.parametrize("name", ["", "a b", "x" * 256, "a/b", "\u00e4"])
def test_an_impossible_name_is_refused(
    stack: Stack, llm: LlmEndpoint, name: str
) -> None:
    """
    Before anything is made.
    """
    with pytest.raises(ValueError, match="LLM106 dashboard_name must be 1 to 255"):
        LlmDashboard(stack, "It", endpoints=[llm], dashboard_name=name)


def test_a_name_known_at_deployment_is_passed_on(
    stack: Stack, llm: LlmEndpoint
) -> None:
    """
    It is not guessed.
    """
    name = CfnParameter(stack, "Name").value_as_string
    LlmDashboard(stack, "It", endpoints=[llm], dashboard_name=name)

    properties = properties_of(stack, "CloudWatch::Dashboard")
    assert properties["DashboardName"] == "${Name}"


def message(call: Callable[[], object]) -> str:
    """
    Return what a call fails with.
    """
    with pytest.raises(ValueError, match="LLM") as raised:
        call()
    return str(raised.value)


def test_a_dashboard_of_nothing_is_refused(stack: Stack) -> None:
    """
    It would be an empty page.
    """
    assert message(lambda: LlmDashboard(stack, "It")) == (
        "Test/It: LLM364 endpoints or components must name what to show"
    )


def test_an_endpoint_of_which_nothing_is_known_is_refused(stack: Stack) -> None:
    """
    Its variant is named where it is imported, as the dashboard has no place for it.
    """
    other = Endpoint.from_endpoint_name(stack, "Other", "chat")

    assert message(lambda: LlmDashboard(stack, "It", endpoints=[other])) == (
        "Test/Other: LLM123 variant_name must be given: it is not known here, got "
        "None; give it to from_endpoint_name or from_endpoint_arn"
    )


def test_it_shows_what_another_stack_has(llm: LlmEndpoint) -> None:
    """
    By its names, in its region.
    """
    app = llm.node.root
    assert isinstance(app, App)
    environment = Environment(account="111111111111", region="eu-west-1")
    own = Stack(app, "Own", env=environment, cross_region_references=True)
    named = LlmEndpoint(
        Stack(app, "Third", env=Environment(region="us-west-2")),
        "Named",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        endpoint_name="chat",
    )
    LlmDashboard(own, "Dashboard", endpoints=[named])
    charts = charts_of(body_of(own))

    assert charts["Named: Requests a minute"]["region"] == "us-west-2"


def test_bounds_known_at_deployment_are_passed_on(stack: Stack) -> None:
    """
    As numbers, which they will be.
    """
    most = CfnParameter(stack, "Most", type="Number").value_as_number
    config = EndpointConfig(
        stack,
        "Config",
        variants=[
            ProductionVariant(
                instance_type="ml.g5.xlarge",
                managed_instance_scaling=ManagedInstanceScaling(
                    min_instance_count=1,
                    max_instance_count=int(most),
                ),
            )
        ],
        execution_role=InferenceComponentEndpoint(
            stack, "Host", instance_type="ml.g5.xlarge"
        ).role,
        observability=Observability(enhanced_metrics=True),
    )
    endpoint = Endpoint(stack, "It", endpoint_config=config)
    LlmDashboard(stack, "Dashboard", endpoints=[endpoint])
    text = str(properties_of(stack, "CloudWatch::Dashboard")["DashboardBody"])

    assert '"label":"at most","value":${Most}' in text


def test_a_shadow_is_shown_beside_its_variant(stack: Stack) -> None:
    """
    It is there to be compared.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.2xlarge",
        shadow=ShadowVariant(serving=LmiVllm(max_rolling_batch_size=16)),
    )
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    charts = charts_of(body_of(stack))

    assert list(charts) == [
        *(f"Llm: {title}" for title in OF_VARIANT),
        *(f"Llm, Shadow: {title}" for title in OF_VARIANT),
    ]
    first = charts["Llm, Shadow: Requests a minute"]["metrics"][0]
    assert first[2:6] == [*VARIANT[:3], "Shadow"]


@pytest.mark.parametrize("by_arn", [False, True])
def test_an_imported_endpoint_is_shown_where_its_variant_is_named(
    stack: Stack, *, by_arn: bool
) -> None:
    """
    Nothing else is known of it.
    """
    arn = "arn:aws:sagemaker:us-east-1:111111111111:endpoint/chat"
    other = (
        Endpoint.from_endpoint_arn(stack, "Other", arn, variant_name="Blue")
        if by_arn
        else Endpoint.from_endpoint_name(stack, "Other", "chat", variant_name="Blue")
    )
    LlmDashboard(stack, "Dashboard", endpoints=[other])
    charts = charts_of(body_of(stack))

    dimensions = [
        each["metrics"][0][2:6] for each in charts.values() if each["metrics"][0]
    ]
    assert ["EndpointName", "chat", "VariantName", "Blue"] in dimensions
    assert other.metric_invocations().dimensions == {
        "EndpointName": "chat",
        "VariantName": "Blue",
    }
    (alarm, *_) = other.add_alarms().values()
    assert alarm is not None


def test_a_variant_that_the_service_would_refuse_is_refused(stack: Stack) -> None:
    """
    Where it is named.
    """
    with pytest.raises(ValueError, match="LLM106 variant_name must be"):
        Endpoint.from_endpoint_name(stack, "Other", "chat", variant_name="a b")
