"""
Rollouts: what each becomes in the template, and every limit from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack

from cdk_sagemaker_llm import (
    AllAtOnce,
    Canary,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    Linear,
    LlmEndpoint,
    ManagedInstanceScaling,
    Model,
    ProductionVariant,
    ResourceRequirements,
    Rolling,
    Rollout,
    Tgi,
)
from tests.unit.hosting.written import codes_of, properties_of

GPT2 = HuggingFaceModel("gpt2")
TGI = Tgi("3.3.6")
ONE = ResourceRequirements(accelerators=1)


def filled(
    stack: Stack,
    rollout: Rollout,
    *,
    instances: int = 4,
    **given: Any,  # noqa: ANN401 - what the construct takes
) -> LlmEndpoint:
    """
    Define an endpoint of one model.
    """
    return LlmEndpoint(
        stack,
        "Llm",
        **{"model": GPT2, "serving": TGI, "instance_type": "ml.g5.xlarge", **given},
        instance_count=instances,
        rollout=rollout,
    )


def shared(stack: Stack, rollout: Rolling, copies: int = 8) -> InferenceComponent:
    """
    Define a component of eight copies.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )
    return host.add_model(
        "Gpt", model=GPT2, serving=TGI, resources=ONE, copies=copies, rollout=rollout
    )


def shares(kind: str, **settings: object) -> dict[str, Any]:
    """
    Return a blue/green policy as CloudFormation has it.
    """
    whole = {"TerminationWaitInSeconds", "MaximumExecutionTimeoutInSeconds"}
    around = {name: value for name, value in settings.items() if name in whole}
    inner = {name: value for name, value in settings.items() if name not in whole}
    return {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {"Type": kind, **inner},
            **around,
        }
    }


def size(kind: str, value: int) -> dict[str, Any]:
    """
    Return a size as CloudFormation has it.
    """
    return {"Type": kind, "Value": value}


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        (
            AllAtOnce(),
            shares(
                "ALL_AT_ONCE", WaitIntervalInSeconds=0, TerminationWaitInSeconds=300
            ),
        ),
        (
            AllAtOnce(
                termination_wait=Duration.seconds(0),
                maximum_execution_timeout=Duration.hours(1),
            ),
            shares(
                "ALL_AT_ONCE",
                WaitIntervalInSeconds=0,
                TerminationWaitInSeconds=0,
                MaximumExecutionTimeoutInSeconds=3600,
            ),
        ),
        (
            Canary(percent=20),
            shares(
                "CANARY",
                CanarySize=size("CAPACITY_PERCENT", 20),
                WaitIntervalInSeconds=300,
                TerminationWaitInSeconds=0,
            ),
        ),
        (
            Linear(
                instances=2,
                wait_interval=Duration.minutes(2),
                termination_wait=Duration.minutes(10),
                maximum_execution_timeout=Duration.hours(2),
            ),
            shares(
                "LINEAR",
                LinearStepSize=size("INSTANCE_COUNT", 2),
                WaitIntervalInSeconds=120,
                TerminationWaitInSeconds=600,
                MaximumExecutionTimeoutInSeconds=7200,
            ),
        ),
        (
            Rolling(instances=1, rollback_percent=100),
            {
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": size("INSTANCE_COUNT", 1),
                    "RollbackMaximumBatchSize": size("CAPACITY_PERCENT", 100),
                    "WaitIntervalInSeconds": 300,
                }
            },
        ),
        (
            Rolling(
                percent=25,
                wait_interval=Duration.seconds(0),
                rollback_instances=2,
                maximum_execution_timeout=Duration.minutes(10),
            ),
            {
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": size("CAPACITY_PERCENT", 25),
                    "MaximumExecutionTimeoutInSeconds": 600,
                    "RollbackMaximumBatchSize": size("INSTANCE_COUNT", 2),
                    "WaitIntervalInSeconds": 0,
                }
            },
        ),
    ],
    ids=["all at once", "at once", "canary", "linear", "rolling", "rolling by percent"],
)
def test_each_is_the_service_s_own_policy(
    stack: Stack, rollout: Rollout, expected: dict[str, Any]
) -> None:
    """
    Whole, with waits of five minutes where none is said.
    """
    endpoint = filled(stack, rollout).endpoint

    written = properties_of(stack, "SageMaker::Endpoint")
    assert written["DeploymentConfig"] == expected
    assert endpoint.rollout is rollout
    assert codes_of(stack) == [("/Test/Llm/Model", "LLM201")]


def test_a_component_rolls_by_copies(stack: Stack) -> None:
    """
    With every setting that its policy has.
    """
    shared(
        stack,
        Rolling(
            copies=4,
            rollback_copies=8,
            wait_interval=Duration.hours(1),
            maximum_execution_timeout=Duration.hours(8),
        ),
    )

    written = properties_of(stack, "SageMaker::InferenceComponent")
    assert written["DeploymentConfig"] == {
        "RollingUpdatePolicy": {
            "MaximumBatchSize": size("COPY_COUNT", 4),
            "MaximumExecutionTimeoutInSeconds": 28800,
            "RollbackMaximumBatchSize": size("COPY_COUNT", 8),
            "WaitIntervalInSeconds": 3600,
        }
    }
    assert written["RuntimeConfig"] == {"CopyCount": 8}


@pytest.mark.parametrize(
    ("rollout", "instances"),
    [
        (AllAtOnce(), 1),
        (AllAtOnce(termination_wait=Duration.hours(1)), 1),
        (Canary(percent=1), 2),
        (Canary(percent=50), 2),
        (Canary(instances=1), 2),
        (Canary(instances=3), 7),
        (Linear(percent=10), 2),
        (Linear(percent=50), 3),
        (Linear(instances=1), 10),
        (Linear(instances=2), 11),
        (Rolling(percent=5), 2),
        (Rolling(percent=50), 2),
        (Rolling(instances=1), 20),
        (Rolling(instances=2), 21),
        (Canary(percent=50, wait_interval=Duration.hours(1)), 2),
        (Rolling(percent=50, maximum_execution_timeout=Duration.seconds(600)), 2),
        (
            Canary(
                percent=50,
                wait_interval=Duration.seconds(300),
                termination_wait=Duration.seconds(300),
                maximum_execution_timeout=Duration.seconds(601),
            ),
            2,
        ),
        (
            Linear(percent=30, maximum_execution_timeout=Duration.seconds(901)),
            4,
        ),
    ],
)
def test_what_the_service_takes_is_taken(
    stack: Stack, rollout: Rollout, instances: int
) -> None:
    """
    The last value inside each limit.
    """
    filled(stack, rollout, instances=instances)


PERCENT = "percent of {} must be {} to 50, got {}"
SECONDS = "{} must be {} seconds, got {}"


@pytest.mark.parametrize(
    ("rollout", "instances", "words"),
    [
        (Canary(percent=0), 4, PERCENT.format("Canary", 1, 0)),
        (Canary(percent=51), 4, PERCENT.format("Canary", 1, 51)),
        (Linear(percent=9), 4, PERCENT.format("Linear", 10, 9)),
        (Linear(percent=51), 4, PERCENT.format("Linear", 10, 51)),
        (Rolling(percent=4), 4, PERCENT.format("Rolling", 5, 4)),
        (Rolling(percent=51), 4, PERCENT.format("Rolling", 5, 51)),
        (Rolling(instances=0), 4, "instances of Rolling must be at least 1, got 0"),
        (
            Rolling(percent=5, rollback_percent=101),
            4,
            "percent of the rollback of Rolling must be 1 to 100, got 101",
        ),
        (
            Rolling(percent=5, rollback_instances=0),
            4,
            "instances of the rollback of Rolling must be at least 1, got 0",
        ),
        (
            Canary(percent=5, wait_interval=Duration.seconds(3601)),
            4,
            SECONDS.format("wait_interval", "0 to 3600", 3601),
        ),
        (
            AllAtOnce(termination_wait=Duration.seconds(3601)),
            1,
            SECONDS.format("termination_wait", "0 to 3600", 3601),
        ),
        (
            Rolling(percent=5, maximum_execution_timeout=Duration.seconds(599)),
            4,
            SECONDS.format("maximum_execution_timeout", "600 to 28800", 599),
        ),
        (
            Rolling(percent=5, maximum_execution_timeout=Duration.seconds(28801)),
            4,
            SECONDS.format("maximum_execution_timeout", "600 to 28800", 28801),
        ),
        (
            Canary(percent=5, wait_interval=Duration.millis(1500)),
            4,
            "LLM129 wait_interval must be of whole seconds, got 1.5",
        ),
        (
            Canary(
                percent=50,
                wait_interval=Duration.seconds(300),
                termination_wait=Duration.seconds(300),
                maximum_execution_timeout=Duration.seconds(600),
            ),
            2,
            "LLM337 maximum_execution_timeout must be above the 600 seconds",
        ),
        (
            Linear(percent=30, maximum_execution_timeout=Duration.seconds(900)),
            4,
            "LLM337 maximum_execution_timeout must be above the 900 seconds",
        ),
        (
            Rolling(percent=5, maximum_execution_timeout=Duration.seconds(5700)),
            4,
            "LLM337 maximum_execution_timeout must be above the 5700 seconds",
        ),
        (
            AllAtOnce(
                termination_wait=Duration.seconds(600),
                maximum_execution_timeout=Duration.seconds(600),
            ),
            1,
            "LLM337 maximum_execution_timeout must be above the 600 seconds",
        ),
        (
            Canary(),
            4,
            (
                "LLM335 Canary must have either percent or instances, got neither; "
                "pass one of them"
            ),
        ),
        (
            Linear(percent=10, instances=1),
            4,
            (
                "LLM335 Linear must have either percent or instances, got "
                "percent=10 and instances=1"
            ),
        ),
        (
            Rolling(copies=1),
            4,
            "LLM335 Rolling counts the instances of an endpoint, got copies=1",
        ),
        (
            Rolling(percent=5, rollback_percent=5, rollback_instances=1),
            4,
            "LLM335 the rollback of Rolling must have either percent or instances",
        ),
        (
            Canary(percent=50),
            1,
            (
                "LLM336 Canary moves at most half of the instances at a time, and "
                "there is 1; have at least 2 instances, or use AllAtOnce"
            ),
        ),
        (Linear(percent=50), 1, "LLM336 Linear moves at most half"),
        (Rolling(instances=1), 1, "LLM336 Rolling moves at most half"),
        (
            Canary(instances=4),
            7,
            (
                "LLM336 instances of Canary must be 1 to 50 percent of all, and "
                "there are 7, got 4; pass 1 to 3"
            ),
        ),
        (
            Linear(instances=1),
            11,
            (
                "LLM336 instances of Linear must be 10 to 50 percent of all, and "
                "there are 11, got 1; pass 2 to 5"
            ),
        ),
        (
            Rolling(instances=2),
            3,
            (
                "LLM336 instances of Rolling must be 5 to 50 percent of all, and "
                "there are 3, got 2; pass 1"
            ),
        ),
    ],
)
def test_fails_where_the_service_refuses(
    stack: Stack, rollout: Rollout, instances: int, words: str
) -> None:
    """
    The first value outside of each limit, in the caller's words.
    """
    with pytest.raises(ValueError, match="^Test/Llm: ") as caught:
        filled(stack, rollout, instances=instances)

    assert words in str(caught.value)
    assert not stack.node.children


def test_all_that_is_wrong_is_told_at_once(stack: Stack) -> None:
    """
    With what is wrong of the endpoint itself.
    """
    with pytest.raises(ValueError, match=r"3 errors") as caught:
        filled(
            stack,
            Canary(percent=51, wait_interval=Duration.hours(2)),
            endpoint_name="a_b",
        )

    assert [word for word in str(caught.value).split() if word.startswith("LLM")] == [
        "LLM106",
        "LLM111",
        "LLM111",
    ]


def test_what_deployment_decides_is_not_guessed(stack: Stack) -> None:
    """
    Sizes, times and counts that are placeholders pass.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    filled(
        stack,
        Canary(
            percent=number,  # type: ignore[arg-type]  # a placeholder is a float
            wait_interval=Duration.seconds(number),
            maximum_execution_timeout=Duration.seconds(number),
        ),
        instances=number,  # type: ignore[arg-type]  # as above
    )

    policy = properties_of(stack, "SageMaker::Endpoint")["DeploymentConfig"]
    assert policy == {
        "BlueGreenUpdatePolicy": {
            "MaximumExecutionTimeoutInSeconds": "${Number}",
            "TerminationWaitInSeconds": 0,
            "TrafficRoutingConfiguration": {
                "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": "${Number}"},
                "Type": "CANARY",
                "WaitIntervalInSeconds": "${Number}",
            },
        }
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rollout": "canary"}, "an AllAtOnce, a Canary, a Linear or a Rolling"),
        ({"rollout": Canary}, r"write Canary\(...\)"),
    ],
)
def test_fails_if_it_is_no_rollout(
    stack: Stack, given: dict[str, Any], words: str
) -> None:
    """
    With what to write instead.
    """
    with pytest.raises(ValueError, match=f"rollout must be .*{words}"):
        filled(stack, **given)


@pytest.mark.parametrize("rollout", [Canary(percent=50), AllAtOnce()])
def test_fails_if_a_component_is_to_move_by_shares(
    stack: Stack, rollout: Rollout
) -> None:
    """
    Components roll, and nothing else.
    """
    with pytest.raises(ValueError, match=r"rollout must be a Rolling.*percent=\.\.\."):
        shared(stack, rollout)  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize(
    ("rollout", "copies"),
    [
        (Rolling(copies=1), 2),
        (Rolling(percent=5), 2),
        (Rolling(copies=4), 8),
        (Rolling(copies=4), 9),
    ],
)
def test_a_component_takes_up_to_half_of_its_copies(
    stack: Stack, rollout: Rolling, copies: int
) -> None:
    """
    The last value inside.
    """
    assert shared(stack, rollout, copies).definition.rollout is rollout


@pytest.mark.parametrize(
    ("rollout", "copies", "words"),
    [
        (
            Rolling(copies=1),
            1,
            (
                "LLM336 Rolling moves at most half of the copies at a time, and "
                "there is 1; have at least 2 copies, or leave rollout out"
            ),
        ),
        (Rolling(percent=50), 1, "LLM336 Rolling moves at most half of the copies"),
        (
            Rolling(copies=5),
            8,
            (
                "LLM336 copies of Rolling must be 5 to 50 percent of all, and there "
                "are 8, got 5; pass 1 to 4"
            ),
        ),
        (
            Rolling(instances=1),
            8,
            "LLM335 Rolling counts the copies of a component, got instances=1",
        ),
        (
            Rolling(copies=1, rollback_instances=1),
            8,
            "LLM335 the rollback of Rolling counts the copies of a component",
        ),
        (Rolling(percent=51), 8, "percent of Rolling must be 5 to 50, got 51"),
    ],
)
def test_fails_if_a_component_cannot_roll(
    stack: Stack, rollout: Rolling, copies: int, words: str
) -> None:
    """
    The first value outside.
    """
    with pytest.raises(ValueError, match="^Test/Host/Gpt: ") as caught:
        shared(stack, rollout, copies)

    assert words in str(caught.value)


def test_fails_if_scaling_can_leave_too_few_instances(stack: Stack) -> None:
    """
    At its minimum of one no canary is possible; at two it is.
    """
    endpoint = filled(stack, Canary(percent=50))
    with pytest.raises(ValueError, match=r"LLM336 .*and min_capacity is 1; have"):
        endpoint.auto_scale_instance_count(min_capacity=1, max_capacity=4)

    endpoint.auto_scale_instance_count(min_capacity=2, max_capacity=40)
    assert codes_of(stack) == [
        ("/Test/Llm/Endpoint/Scaling", "LLM816"),
        ("/Test/Llm/Model", "LLM201"),
    ]


def test_warns_if_scaling_can_leave_too_many_instances(stack: Stack) -> None:
    """
    One of eleven is no tenth any more; of ten it is.
    """
    endpoint = filled(stack, Linear(instances=1))
    endpoint.auto_scale_instance_count(min_capacity=2, max_capacity=11)

    assert ("/Test/Llm/Endpoint/Scaling", "LLM425") in codes_of(stack)


@pytest.mark.parametrize(
    ("least", "most", "codes"),
    [
        (1, 4, {"LLM425", "LLM429", "LLM816"}),
        (2, 20, {"LLM429", "LLM816"}),
        (2, 21, {"LLM425", "LLM429", "LLM816"}),
    ],
)
def test_warns_of_what_scaling_can_leave_of_a_component(
    stack: Stack, least: int, most: int, codes: set[str]
) -> None:
    """
    What an update of a single copy, or of none, does is not documented.
    """
    component = shared(stack, Rolling(copies=1))
    before = set(codes_of(stack))
    component.auto_scale_copy_count(min_capacity=least, max_capacity=most)

    told = {code for _, code in set(codes_of(stack)) - before}
    assert told - {"LLM203", "LLM248"} == codes


def test_a_component_keeps_its_copies_where_the_template_has_no_number(
    stack: Stack,
) -> None:
    """
    Nothing is left to set back, and nothing to warn of.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )
    component = host.add_model(
        "Gpt",
        model=GPT2,
        serving=TGI,
        resources=ONE,
        copies=2,
        rollout=Rolling(copies=1),
        retain_copy_count=True,
    )
    component.auto_scale_copy_count(min_capacity=2, max_capacity=4)

    assert "RuntimeConfig" not in properties_of(stack, "SageMaker::InferenceComponent")
    assert "LLM429" not in {code for _, code in codes_of(stack)}


@pytest.mark.parametrize(
    ("bounds", "codes"),
    [((2, 3), set()), ((1, 2), {"LLM425"})],
    ids=["always enough", "not at the least"],
)
def test_a_host_is_checked_at_its_bounds(
    stack: Stack, bounds: tuple[int, int], codes: set[str]
) -> None:
    """
    How many instances an update finds is for the components to say.
    """
    least, most = bounds
    InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.p4d.24xlarge",
        instance_count=least,
        max_instance_count=most,
        rollout=Canary(percent=50),
    )

    assert {code for _, code in codes_of(stack)} == codes


def test_fails_if_a_host_is_always_too_small(stack: Stack) -> None:
    """
    By its maximum, or by its number without one.
    """
    variant = ProductionVariant(
        instance_type="ml.p4d.24xlarge",
        managed_instance_scaling=ManagedInstanceScaling(
            min_instance_count=1, max_instance_count=1
        ),
    )
    role = shared(stack, Rolling(copies=1)).model.role
    config = EndpointConfig(stack, "Config", variants=[variant], execution_role=role)
    with pytest.raises(ValueError, match=r"LLM336 .*and max_instance_count is 1"):
        Endpoint(stack, "It", endpoint_config=config, rollout=Rolling(percent=50))
    with pytest.raises(ValueError, match=r"LLM336 .*and there is 1"):
        InferenceComponentEndpoint(
            stack, "Small", instance_type="ml.g5.xlarge", rollout=Rolling(percent=50)
        )


def _several(stack: Stack) -> EndpointConfig:
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            variant_name=name,
            initial_instance_count=2,
            model=Model(stack, name, model=GPT2, serving=TGI),
        )
        for name in ("Blue", "Green")
    ]
    return EndpointConfig(stack, "Config", variants=variants)


def test_fails_if_several_variants_are_to_roll(stack: Stack) -> None:
    """
    The guide excludes it; a canary is for several.
    """
    config = _several(stack)
    with pytest.raises(ValueError, match="LLM338 Rolling is for endpoints of one"):
        Endpoint(stack, "It", endpoint_config=config, rollout=Rolling(percent=50))

    Endpoint(stack, "That", endpoint_config=config, rollout=Canary(percent=50))


@pytest.mark.parametrize(
    "rollout", [Canary(percent=50), Linear(percent=50), Rolling(percent=50)]
)
def test_fails_if_inf1_is_to_move_bit_by_bit(stack: Stack, rollout: Rollout) -> None:
    """
    The guide excludes it; all at once is for all.
    """
    name = type(rollout).__name__
    with pytest.raises(ValueError, match=rf"LLM338 {name} is not for ml\.inf1\.xlarge"):
        filled(
            stack,
            rollout,
            instance_type="ml.inf1.xlarge",
            serving=None,
        )


def test_without_a_rollout_nothing_is_written(stack: Stack) -> None:
    """
    The service's own way is the same as before.
    """
    LlmEndpoint(stack, "Llm", model=GPT2, serving=TGI, instance_type="ml.g5.xlarge")

    assert properties_of(stack, "SageMaker::Endpoint") == {
        "EndpointConfigName": "${LlmConfig.EndpointConfigName}"
    }


def test_an_imported_configuration_can_be_rolled_out(stack: Stack) -> None:
    """
    How many instances it has is not known, and nothing is said of it.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Theirs", "theirs")
    endpoint = Endpoint(
        stack, "It", endpoint_config=config, rollout=Canary(instances=5)
    )

    assert codes_of(stack) == []
    with pytest.raises(ValueError, match=r"LLM336 instances of Canary .*pass 1 to 4"):
        endpoint.auto_scale_instance_count(
            variant_name="Blue", min_capacity=9, max_capacity=20
        )
    endpoint.auto_scale_instance_count(
        variant_name="Blue", min_capacity=10, max_capacity=20
    )
