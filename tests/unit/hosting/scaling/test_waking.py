"""
Scale to zero: the whole set, both halves, and what it costs.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    ManagedInstanceScaling,
    Model,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    ScalableTarget,
    ScalingStep,
)
from tests.unit.hosting.scaling.made import (
    ONE,
    component_on,
    copies_of,
    instances_of,
    metric,
)
from tests.unit.hosting.written import codes_of, warnings_of, written

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
ALARM = "AWS::CloudWatch::Alarm"


def expected_set(target: str, component: object) -> dict[str, Any]:
    """
    Return what wakes a component, as it is written.
    """
    return {
        f"{target}Wake": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {
                "PolicyName": "Wake",
                "PolicyType": "StepScaling",
                "ScalingTargetId": f"${{{target}}}",
                "StepScalingPolicyConfiguration": {
                    "AdjustmentType": "ExactCapacity",
                    "Cooldown": 60,
                    "MetricAggregationType": "Maximum",
                    "StepAdjustments": [
                        {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
                    ],
                },
            },
        },
        f"{target}WakeAlarm": {
            "Type": ALARM,
            "Properties": {
                "AlarmActions": [f"${{{target}Wake}}"],
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "DatapointsToAlarm": 1,
                "Dimensions": [{"Name": "InferenceComponentName", "Value": component}],
                "EvaluationPeriods": 1,
                "MetricName": "NoCapacityInvocationFailures",
                "Namespace": "AWS/SageMaker",
                "Period": 30,
                "Statistic": "Maximum",
                "Threshold": 1,
                "TreatMissingData": "missing",
            },
        },
    }


def test_a_minimum_of_zero_makes_the_whole_set(stack: Stack) -> None:
    """
    The target, what wakes it, and the instances' own minimum.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.2xlarge",
        min_instance_count=0,
        max_instance_count=2,
    )
    chat = host.add_model("Chat", model=ZEPHYR)
    copies = chat.auto_scale_copy_count(min_capacity=0, max_capacity=2)
    copies.scale_on_concurrency("Load", per_copy=4)
    found = written(stack)
    name = {"Fn::Select": [1, {"Fn::Split": ["/", "${HostChatComponent}"]}]}
    target = "HostChatComponentScaling"

    assert {k: v for k, v in found.items() if "Wake" in k} == expected_set(target, name)
    assert found[target]["Properties"]["MinCapacity"] == 0
    assert found[f"{target}Load"]["Properties"]["PolicyType"] == "TargetTrackingScaling"
    (variant,) = found["HostConfig"]["Properties"]["ProductionVariants"]
    assert variant["InitialInstanceCount"] == 1
    assert variant["ManagedInstanceScaling"] == {
        "Status": "ENABLED",
        "MinInstanceCount": 0,
        "MaxInstanceCount": 2,
    }
    assert chat.scaling is copies
    assert copies.waking is not None
    assert copies.waking.cfn_alarm.threshold == 1


def test_a_building_block_makes_it_too(stack: Stack) -> None:
    """
    For a component that was made elsewhere, of whose host nothing is known.
    """
    copies = copies_of(stack, 0)
    copies.scale_on_concurrency("Load", per_copy=4)
    found = written(stack)

    assert {k: v for k, v in found.items() if "Wake" in k} == expected_set(
        "Count", "llama"
    )
    assert codes_of(stack) == []


def test_an_imported_component_scales_to_zero(stack: Stack) -> None:
    """
    Its host may be anything, so that nothing is said of it.
    """
    component = InferenceComponent.from_inference_component_name(
        stack,
        "Imported",
        "llama",
        endpoint=Endpoint.from_endpoint_name(stack, "Endpoint", "chat"),
    )
    copies = component.auto_scale_copy_count(min_capacity=0, max_capacity=2)
    copies.scale_on_concurrency("Load", per_copy=4)
    found = written(stack)

    assert {k: v for k, v in found.items() if "Wake" in k} == expected_set(
        "ImportedScaling", "llama"
    )
    assert codes_of(stack) == []
    with pytest.raises(ValueError, match="Test/Imported: LLM301 the copies are scaled"):
        component.auto_scale_copy_count(max_capacity=2)


@pytest.mark.parametrize("bounds", [(1, 2), (0, 0)])
def test_nothing_wakes_what_is_not_asleep_or_off(
    stack: Stack, bounds: tuple[int, int]
) -> None:
    """
    A maximum of zero switches it off.
    """
    assert copies_of(stack, *bounds).waking is None
    Template.from_stack(stack).resource_count_is(ALARM, 0)


@pytest.mark.parametrize("host", [{}, {"max_instance_count": 2}])
def test_fails_if_the_host_says_nothing(stack: Stack, host: dict[str, int]) -> None:
    """
    The error names the other half.
    """
    component = component_on(stack, **host)

    with pytest.raises(
        ValueError,
        match="^Test/Host/Gpt/Component: LLM305 min_capacity=0 lets the copies go to "
        "zero, .*; pass min_instance_count=0 to the host, or min_instance_count=1",
    ):
        component.auto_scale_copy_count(min_capacity=0, max_capacity=2)
    # Nothing was made, so that it can be called again.
    assert component.auto_scale_copy_count(max_capacity=2).waking is None


@pytest.mark.parametrize("count", [0, 1])
def test_a_host_may_say_that_its_instances_stay(stack: Stack, count: int) -> None:
    """
    Copies may go without them.
    """
    component = component_on(stack, min_instance_count=count)
    copies = component.auto_scale_copy_count(min_capacity=0, max_capacity=2)
    copies.scale_on_concurrency("Load", per_copy=4)

    Template.from_stack(stack).resource_count_is(ALARM, 1)


@pytest.mark.parametrize("bounds", [None, (0, 2), (1, 2)])
def test_building_blocks_say_it_by_managed_scaling(
    stack: Stack, bounds: tuple[int, int] | None
) -> None:
    """
    Their bounds are always chosen; a fixed number says nothing.
    """
    managed = bounds and ManagedInstanceScaling(
        min_instance_count=bounds[0], max_instance_count=bounds[1]
    )
    model = Model(stack, "Model", serving=LmiVllm(), model=HuggingFaceModel("gpt2"))
    variant = ProductionVariant(
        instance_type="ml.g5.12xlarge", managed_instance_scaling=managed or None
    )
    config = EndpointConfig(
        stack, "Config", variants=[variant], execution_role=model.role
    )
    component = InferenceComponent(
        stack,
        "Component",
        endpoint=Endpoint(stack, "Endpoint", endpoint_config=config),
        model=model,
        resources=ONE,
    )
    if bounds is None:
        with pytest.raises(ValueError, match="LLM305 min_capacity=0 lets the copies"):
            component.auto_scale_copy_count(min_capacity=0, max_capacity=2)
    else:
        component.auto_scale_copy_count(min_capacity=0, max_capacity=2)


def slept(**components: int | None) -> App:
    """
    Define components on a host that may go to zero, with such minima; none unscaled.
    """
    app = App()
    host = InferenceComponentEndpoint(
        Stack(app, "Test"),
        "Host",
        instance_type="ml.g5.12xlarge",
        min_instance_count=0,
    )
    for name, least in components.items():
        made = host.add_model(name, model=HuggingFaceModel("gpt2"), resources=ONE)
        if least is not None:
            made.auto_scale_copy_count(min_capacity=least, max_capacity=2)
    return app


@pytest.mark.parametrize("least", [None, 1])
def test_fails_at_synth_if_no_component_goes_to_zero(least: int | None) -> None:
    """
    The error names the other half, and who lacks it.
    """
    with pytest.raises(
        RuntimeError,
        match="LLM305 min_instance_count is 0, and no component ever goes to zero: "
        r"Test/Host/Gpt/Component; call auto_scale_copy_count\(min_capacity=0",
    ):
        slept(Gpt=least).synth()


def test_scaling_of_ones_own_may_take_the_copies_away(stack: Stack) -> None:
    """
    A building block, or a plain resource, on the same component.
    """
    component = component_on(stack, min_instance_count=0)
    name = component.inference_component_name
    appscaling.CfnScalableTarget(
        stack,
        "Own",
        service_namespace="sagemaker",
        resource_id=f"inference-component/{name}",
        scalable_dimension="sagemaker:inference-component:DesiredCopyCount",
        min_capacity=0,
        max_capacity=2,
    )

    assert written(stack)


def test_fails_at_synth_if_scaling_of_ones_own_keeps_a_copy() -> None:
    """
    It would have to begin with a minimum of zero.
    """
    app = slept(Gpt=None)
    (stack,) = (each for each in app.node.children if isinstance(each, Stack))
    appscaling.CfnScalableTarget(
        stack,
        "Own",
        service_namespace="sagemaker",
        resource_id="inference-component/gpt",
        scalable_dimension="sagemaker:inference-component:DesiredCopyCount",
        min_capacity=1,
        max_capacity=2,
    )

    with pytest.raises(RuntimeError, match="LLM305 min_instance_count is 0, and no"):
        app.synth()


def test_fails_at_synth_though_another_hosts_component_goes_to_zero() -> None:
    """
    It lets its own host's instances go, and no other's.
    """
    app = slept(Gpt=None)
    (stack,) = (each for each in app.node.children if isinstance(each, Stack))
    other = InferenceComponentEndpoint(
        stack, "Other", instance_type="ml.g5.12xlarge", min_instance_count=0
    )
    other.add_model(
        "Sleeping", model=HuggingFaceModel("gpt2"), resources=ONE
    ).auto_scale_copy_count(min_capacity=0, max_capacity=2)

    with pytest.raises(RuntimeError, match="LLM305 .*to zero: Test/Host/Gpt/Component"):
        app.synth()


def test_warns_if_some_components_keep_the_instances() -> None:
    """
    Instances go only when all are without a copy.
    """
    app = slept(Sleeping=0, Awake=1)
    (stack,) = (each for each in app.node.children if isinstance(each, Stack))
    app.synth()

    found = [text for path, text in warnings_of(stack) if "LLM404" in text]
    assert len(found) == 1
    assert "never go to zero: Test/Host/Awake/Component; call" in found[0]


def test_a_host_may_get_its_components_elsewhere(stack: Stack) -> None:
    """
    None at all, or such as start without copies and are scaled by hand.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", min_instance_count=0
    )
    host.add_model(
        "ByHand",
        model=HuggingFaceModel("gpt2"),
        resources=ResourceRequirements(accelerators=1, copies=0),
    )

    assert slept().synth()
    assert written(stack)


def test_a_scheduled_zero_is_one(stack: Stack) -> None:
    """
    Of the host's error, too.
    """
    component = component_on(stack, min_instance_count=0)
    copies = component.auto_scale_copy_count(max_capacity=2)
    copies.scale_on_schedule(
        "Off", schedule="rate(1 day)", min_capacity=0, max_capacity=0
    )

    assert written(stack)


def test_a_minimum_that_deployment_decides_may_be_zero(stack: Stack) -> None:
    """
    Nothing is guessed of it.
    """
    number: Any = CfnParameter(stack, "Number", type="Number").value_as_number
    component = component_on(stack, min_instance_count=0)
    component.auto_scale_copy_count(min_capacity=number, max_capacity=2)

    assert codes_of(stack) == [("/Test/Host/Gpt/Component", "LLM816")]


def test_steps_to_an_exact_number_may_take_copies_away(stack: Stack) -> None:
    """
    From a higher number they lead down.
    """
    copies = component_on(stack, min_instance_count=0).auto_scale_copy_count(
        min_capacity=0, max_capacity=2
    )
    copies.scale_by_steps(
        "Idle",
        metric=metric(),
        steps=[ScalingStep(upper=0, change=0)],
        adjustment_type=appscaling.AdjustmentType.EXACT_CAPACITY,
    )

    assert "LLM403" not in {code for _, code in codes_of(stack)}


def test_warns_if_nothing_takes_copies_away(stack: Stack) -> None:
    """
    Waking alone leads to no sleep: its exact number is one.
    """
    copies = component_on(stack, min_instance_count=0).auto_scale_copy_count(
        min_capacity=0, max_capacity=2
    )
    copies.scale_on_invocations("Load", per_minute=4, disable_scale_in=True)
    found = [text for _, text in warnings_of(stack) if "LLM403" in text]

    assert len(found) == 1
    assert found[0] == (
        "min_capacity is 0, and no policy or schedule takes copies away; call "
        "scale_on_concurrency [ack: cdk-sagemaker-llm:LLM403]"
    )


def told(stack: Stack) -> str:
    """
    Return what is said of waking.
    """
    (found,) = [text for _, text in warnings_of(stack) if "LLM402" in text]
    return found


def zephyr_on(stack: Stack, model: HuggingFaceModel | S3Model, least: int) -> str:
    """
    Let a model sleep, and return what waking it takes.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.2xlarge", min_instance_count=least
    )
    chat = host.add_model("Chat", model=model, resources=ONE)
    copies = chat.auto_scale_copy_count(min_capacity=0, max_capacity=1)
    copies.scale_on_concurrency("Load", per_copy=4)
    return told(stack)


def test_waking_is_told_in_minutes(stack: Stack) -> None:
    """
    67 s, 201 s, 213 s and, for 14.5 GB from the Hub, 176 s: 657 s are 11 minutes.
    """
    assert zephyr_on(stack, ZEPHYR, 0) == (
        "waking from zero takes about 11 minutes (1 for the alarm, 3 for an instance, "
        "4 for its image, 3 for the start with 14.5 GB of weights), and requests fail "
        "until then; have clients try again, or keep min_capacity=1 "
        "[ack: cdk-sagemaker-llm:LLM402]"
    )


def test_an_instance_that_stays_costs_no_time(stack: Stack) -> None:
    """
    67 s and 176 s are 4 minutes.
    """
    assert zephyr_on(stack, ZEPHYR, 1).startswith(
        "waking from zero takes about 4 minutes (1 for the alarm, 3 for the start with "
        "14.5 GB of weights)"
    )


def test_weights_on_s3_come_faster(stack: Stack) -> None:
    """
    67 s, 201 s, 213 s and 71 s: 9 minutes.
    """
    on_s3 = S3Model("s3://bucket/zephyr/", architecture="mistralai/Mistral-7B-v0.1")

    assert zephyr_on(stack, on_s3, 0).startswith(
        "waking from zero takes about 9 minutes (1 for the alarm, 3 for an instance, 4 "
        "for its image, 1 for the start with 14.5 GB of weights)"
    )


def test_weights_that_are_not_known_are_not_guessed(stack: Stack) -> None:
    """
    The start is the usual one.
    """
    assert "2 for the start with its weights)" in zephyr_on(
        stack, HuggingFaceModel("org/unknown"), 0
    )


def test_fails_if_real_time_instances_are_to_go(
    stack: Stack, endpoint: LlmEndpoint
) -> None:
    """
    The way out is a component.
    """
    with pytest.raises(
        ValueError,
        match="LLM105 min_capacity must be at least 1, got 0: an endpoint that answers "
        "in real time keeps an instance; host the model as an inference component",
    ):
        endpoint.auto_scale_instance_count(min_capacity=0, max_capacity=2)
    with pytest.raises(ValueError, match="LLM105 min_capacity must be at least 1"):
        instances_of(stack, 0)


def test_asynchronous_instances_may_go(stack: Stack) -> None:
    """
    What wakes them is a policy of its own.
    """
    instances_of(stack, 0, is_asynchronous=True)

    assert [*written(stack)] == ["Count"]
    assert written(stack)["Count"]["Properties"]["MinCapacity"] == 0


@pytest.mark.parametrize(
    ("dimension", "fails"),
    [
        ("sagemaker:inference-component:DesiredCopyCount", False),
        ("sagemaker:variant:DesiredInstanceCount", True),
        ("sagemaker:variant:DesiredProvisionedConcurrency", True),
        ("${Token[TOKEN.1]}", False),
    ],
)
def test_the_dimension_says_whether_zero_is_taken(
    stack: Stack, dimension: str, *, fails: bool
) -> None:
    """
    Where deployment decides it, nothing is said.
    """
    given: dict[str, Any] = {
        "resource_id": "endpoint/a/variant/b" if fails else "inference-component/a",
        "scalable_dimension": dimension,
        "min_capacity": 0,
        "max_capacity": 2,
    }
    if fails:
        with pytest.raises(ValueError, match="LLM105 min_capacity must be at least 1"):
            ScalableTarget(stack, "Target", **given)
    else:
        ScalableTarget(stack, "Target", **given)


def test_fails_if_copies_are_scaled_twice(stack: Stack) -> None:
    """
    In words of ours, not of the tree's.
    """
    component = component_on(stack)
    component.auto_scale_copy_count(max_capacity=2)

    with pytest.raises(
        ValueError,
        match="^Test/Host/Gpt/Component: LLM301 the copies are scaled already: "
        "auto_scale_copy_count was called before; call the scale_on_ methods",
    ):
        component.auto_scale_copy_count(max_capacity=3)


def test_fails_if_instances_are_scaled_twice(endpoint: LlmEndpoint) -> None:
    """
    Also when the only variant is named the second time.
    """
    endpoint.auto_scale_instance_count(max_capacity=2)

    with pytest.raises(ValueError, match="LLM301 the instances of 'AllTraffic' are sc"):
        endpoint.auto_scale_instance_count(max_capacity=2)
    with pytest.raises(ValueError, match="LLM301 the instances of 'AllTraffic' are sc"):
        endpoint.endpoint.auto_scale_instance_count(
            max_capacity=2, variant_name="AllTraffic"
        )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"min_instance_count": 0}, (0, 1)),
        ({"min_instance_count": 1}, (1, 1)),
        ({"min_instance_count": 1, "instance_count": 2}, (1, 2)),
        ({"max_instance_count": 3}, (1, 3)),
        ({}, None),
    ],
)
def test_a_minimum_switches_managed_scaling_on(
    stack: Stack, given: dict[str, Any], expected: tuple[int, int] | None
) -> None:
    """
    The most is what starts, where it is left out.
    """
    InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge", **given)
    (variant,) = written(stack)["HostConfig"]["Properties"]["ProductionVariants"]
    found = variant.get("ManagedInstanceScaling")

    if expected is None:
        assert found is None
    else:
        assert (found["MinInstanceCount"], found["MaxInstanceCount"]) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_instance_count": -1}, "min_instance_count must be at least 0, got -1"),
        (
            {"min_instance_count": 2, "max_instance_count": 1},
            "max_instance_count must be at least min_instance_count",
        ),
        (
            {"min_instance_count": 2},
            "max_instance_count must be at least min_instance_count",
        ),
    ],
)
def test_fails_if_the_minimum_is_wrong(
    stack: Stack, given: dict[str, Any], message: str
) -> None:
    """
    The instances that start are the most, where nothing else is said.
    """
    with pytest.raises(ValueError, match=f"LLM105 {message}"):
        InferenceComponentEndpoint(
            stack, "Host", instance_type="ml.g5.12xlarge", **given
        )
