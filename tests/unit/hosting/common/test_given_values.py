"""
What is given to a definition: it stays as it was given, and a subclass may add to it.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Optional

import pytest
from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2

import cdk_sagemaker_llm
from cdk_sagemaker_llm import (
    AlarmOptions,
    CustomContainer,
    HuggingFaceModel,
    InstanceCapacity,
    InstancePool,
    LmiVllm,
    Network,
    ResourceRequirements,
    Rollout,
    Tgi,
    Vllm,
)

URI = "111111111111.dkr.ecr.us-east-1.amazonaws.com/own:1"
GIVEN: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "Vllm.options": (lambda one: Vllm(options=one).options, {"max_model_len": 2048}),
    "Tgi.options": (
        lambda one: Tgi("1.4.5", options=one).options,
        {"MAX_BATCH_SIZE": "4"},
    ),
    "LmiVllm.unchecked_options": (
        lambda one: LmiVllm(unchecked_options=one).unchecked_options,
        {"option.x": "1"},
    ),
    "CustomContainer.environment": (
        lambda one: CustomContainer.from_uri(URI, environment=one).environment,
        {"A": "b"},
    ),
    "Vllm.speculative_config": (
        lambda one: Vllm(speculative_config=one).speculative_config,
        {"method": "ngram", "num_speculative_tokens": 3},
    ),
    "InstanceCapacity.pools": (
        lambda one: InstanceCapacity(pools=one).pools,
        [InstancePool("ml.g5.2xlarge", priority=1)],
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_was_given_stays_when_the_caller_changes_it(name: str) -> None:
    """
    A definition that is frozen is what it was when it was made.
    """
    define, given = GIVEN[name]
    before = repr(given)
    kept = define(given)
    given.clear()

    assert repr(kept) == before


def test_what_was_given_empty_stays_empty() -> None:
    """
    Though the caller fills it later.
    """
    options: dict[str, Any] = {}
    actions: list[Any] = []
    serving, alarms = Vllm(options=options), AlarmOptions(alarm_actions=actions)
    options["max_model_len"] = 2048
    actions.append("page")

    assert serving.options == {}
    assert list(alarms.alarm_actions) == []


def test_what_is_nested_stays_too() -> None:
    """
    JSON goes deep.
    """
    sizes = [1]
    serving = Vllm(speculative_config={"method": "ngram", "sizes": {"a": sizes}})
    sizes.append(2)

    assert serving.speculative_config == {"method": "ngram", "sizes": {"a": [1]}}


def test_groups_and_alarms_stay(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    Lists of constructs are lists.
    """
    groups = [ec2.SecurityGroup(stack, "Group", vpc=vpc)]
    network = Network(vpc=vpc, security_groups=groups)
    alarms = [
        cloudwatch.Alarm.from_alarm_name(stack, name, name) for name in ("A", "B")
    ]
    rollout = Rollout(rollback_on=alarms)
    groups.clear()
    alarms.clear()

    assert len(network.security_groups) == 1
    kept = rollout.rollback_on
    assert isinstance(kept, Sequence)
    assert len(kept) == 2


def test_every_public_definition_keeps_what_it_is_given() -> None:
    """
    None has a field that is a list or a mapping, and does not copy it.
    """
    every = [getattr(cdk_sagemaker_llm, name) for name in cdk_sagemaker_llm.__all__]
    with_lists = {
        one.__name__
        for one in every
        if isinstance(one, type) and dataclasses.is_dataclass(one)
        if any(
            "Mapping" in str(each.type) or "Sequence" in str(each.type)
            for each in dataclasses.fields(one)
        )
        if not hasattr(one, "__post_init__")
    }

    assert with_lists == set()


@dataclass(frozen=True, kw_only=True)
class OwnVllm(Vllm):
    """
    A subclass in a module that postpones no annotations.
    """

    team: str = "search"
    tier: Optional[int] = None  # noqa: UP045 - as users write it
    size: Literal["small", "large"] = "small"
    tags: dict[str, str] | None = None
    any: object = None


@dataclass(frozen=True, kw_only=True)
class OwnNetwork(Network):
    """
    Another.
    """

    name: str = ""


@dataclass(frozen=True, kw_only=True)
class OwnRequirements(ResourceRequirements):
    """
    Another.
    """

    reason: str = ""


def test_a_subclass_may_declare_fields_where_annotations_are_objects(
    vpc: ec2.IVpc,
) -> None:
    """
    They are held to their kinds like those that are text.
    """
    prepared = OwnVllm(team="chat", tags={"a": "b"}).prepare(
        HuggingFaceModel("gpt2"), 1
    )
    assert prepared.container is not None
    assert OwnNetwork(vpc=vpc, name="models").name == "models"
    assert OwnRequirements(accelerators=1, reason="tests").accelerators == 1

    with pytest.raises(ValueError, match="team must be text, got 3"):
        OwnVllm(team=3)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="size must be 'small' or 'large', got 'tiny'"):
        OwnVllm(size="tiny")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="tier must be a whole number, got '1'"):
        OwnVllm(tier="1")  # type: ignore[arg-type]  # what is refused
