"""
Rules of an endpoint's events: what they match, and in which order they are updated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import PhysicalName, Stack
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sns as sns

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Tgi,
)
from tests.unit.hosting.written import properties_of, written

Named = Callable[[Stack, "str | None"], Any]
STATES = "SageMaker Endpoint State Change"


def filled(stack: Stack, name: str | None) -> LlmEndpoint:
    """
    Define an endpoint of one model.
    """
    return LlmEndpoint(
        stack,
        "It",
        model=HuggingFaceModel("gpt2"),
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.xlarge",
        endpoint_name=name,
    )


def shared(stack: Stack, name: str | None) -> InferenceComponentEndpoint:
    """
    Define a host of components.
    """
    return InferenceComponentEndpoint(
        stack, "It", instance_type="ml.g5.xlarge", endpoint_name=name
    )


def plain(stack: Stack, name: str | None) -> Endpoint:
    """
    Define an endpoint of a configuration that is there.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "mine")
    return Endpoint(stack, "It", endpoint_config=config, endpoint_name=name)


DEFINED = pytest.mark.parametrize(
    ("define", "config"),
    [
        (filled, "${ItConfig.EndpointConfigName}"),
        (shared, "${ItConfig.EndpointConfigName}"),
        (plain, "mine"),
    ],
)


@DEFINED
def test_an_endpoint_on_another_configuration_than_the_templates_was_rolled_back(
    stack: Stack, define: Named, config: str
) -> None:
    """
    And so is one whose rollback has failed; the endpoint is updated after the rule.
    """
    topic = sns.Topic(stack, "Pager")
    define(stack, "chat").on_rollback(
        "Told", target=targets.SnsTopic(topic), description="Wakes somebody"
    )

    rule = properties_of(stack, "Events::Rule")
    assert rule == {
        "Description": "Wakes somebody",
        "EventPattern": {
            "source": ["aws.sagemaker"],
            "detail-type": [STATES],
            "detail": {
                "EndpointName": ["chat"],
                "$or": [
                    {"EndpointStatus": ["UPDATE_ROLLBACK_FAILED"]},
                    {
                        "EndpointStatus": ["IN_SERVICE"],
                        "EndpointConfigName": [{"anything-but": [config]}],
                    },
                ],
            },
        },
        "State": "ENABLED",
        "Targets": [{"Arn": "${Pager}", "Id": "Target0"}],
    }
    (endpoint,) = written(stack, "SageMaker::Endpoint").values()
    assert [name for name in endpoint["DependsOn"] if "Told" in name]


@DEFINED
@pytest.mark.parametrize(
    "name", [None, PhysicalName.GENERATE_IF_NEEDED], ids=["none", "generated"]
)
def test_a_rollback_is_told_of_endpoints_with_a_name(
    stack: Stack, define: Named, config: str, name: str | None
) -> None:
    """
    A rule that referred to the endpoint would be updated after it: too late.
    """
    assert config
    made = define(stack, name)
    words = "LLM339 on_rollback needs a name that is known before .* pass endpoint_name"

    with pytest.raises(ValueError, match=words):
        made.on_rollback("Told")


@DEFINED
def test_every_state_is_told_where_none_is_named(
    stack: Stack, define: Named, config: str
) -> None:
    """
    Also of an endpoint that CloudFormation names; a target can follow.
    """
    assert config
    rule = define(stack, None).on_state_change("Told")
    rule.add_target(targets.SnsTopic(sns.Topic(stack, "Pager")))

    made = properties_of(stack, "Events::Rule")
    (name,) = written(stack, "SageMaker::Endpoint")
    assert made["EventPattern"] == {
        "source": ["aws.sagemaker"],
        "detail-type": [STATES],
        "detail": {"EndpointName": [f"${{{name}.EndpointName}}"]},
    }
    assert [each["Arn"] for each in made["Targets"]] == ["${Pager}"]


def test_states_are_told_of_an_endpoint_that_was_made_elsewhere(stack: Stack) -> None:
    """
    In the words of events, not of the API.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "It", "chat")
    endpoint.on_state_change(
        "Told",
        target=targets.SnsTopic(sns.Topic(stack, "Pager")),
        statuses=["Failed", "RollingBack", "UpdateRollbackFailed", "SystemUpdating"],
    )

    detail = properties_of(stack, "Events::Rule")["EventPattern"]["detail"]
    assert detail == {
        "EndpointName": ["chat"],
        "EndpointStatus": [
            "FAILED",
            "ROLLING_BACK",
            "UPDATE_ROLLBACK_FAILED",
            "SYSTEM_UPDATING",
        ],
    }


def test_fails_if_there_is_no_such_state(stack: Stack) -> None:
    """
    Also if it is written as events write it.
    """
    given: Any = ["IN_SERVICE"]

    with pytest.raises(ValueError, match="must be 'OutOfService', .*got 'IN_SERVICE'"):
        plain(stack, "chat").on_state_change("Told", statuses=given)
