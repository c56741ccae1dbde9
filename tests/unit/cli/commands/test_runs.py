"""
Other settings than the app's, for one run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.app.simulated import HostedVariant, read_hosted
from cdk_sagemaker_llm.cli.commands._runs import with_changes
from cdk_sagemaker_llm.simulation.scaling import Bounds, TargetTracking
from tests.unit.cli.app.templates import (
    COPIES,
    components,
    target,
    template,
    tracking,
    variant,
)


def one(
    folder: Path, *parts: dict[str, dict[str, object]]
) -> tuple[HostedVariant, ...]:
    """
    Read the variant of a template, put together from parts.
    """
    resources = {name: each for part in parts for name, each in part.items()}
    return read_hosted(template(folder, resources)).variants


def policy(hosted: HostedVariant) -> TargetTracking:
    """
    Return the only policy of the only model.
    """
    scaling = hosted.models[0].scaling
    assert scaling is not None
    (found,) = scaling.policies
    assert isinstance(found, TargetTracking)
    return found


def test_a_policy_has_another_target_and_other_cooldowns(tmp_path: Path) -> None:
    """
    What is not named stays.
    """
    before = one(tmp_path, variant(), target(), tracking(ScaleInCooldown=100))
    settings = ["target=8", "scale-out-cooldown=1m"]
    (after,) = with_changes(before, "--set", settings)

    found = policy(after)
    assert (found.target, found.scale_out_cooldown) == (8.0, 60.0)
    assert found.scale_in_cooldown == 100.0
    assert policy(before[0]).target == 5.0


def test_bounds_and_instances_go_together(tmp_path: Path) -> None:
    """
    A variant that scales has its instances between its bounds.
    """
    before = one(tmp_path, variant(), target(), tracking())
    (after,) = with_changes(before, "--set", ["min=2", "max=6", "instances=3"])

    assert (after.instances, after.minimum, after.maximum) == (3, 2, 6)
    assert after.models[0].copies == 3
    assert after.models[0].scaling is not None
    assert after.models[0].scaling.bounds == Bounds(minimum=2, maximum=6)


def test_fewer_instances_than_the_minimum_are_the_fewest(tmp_path: Path) -> None:
    """
    So many there are at first, until scaling brings the others.
    """
    before = one(tmp_path, variant(InitialInstanceCount=3), target(MinCapacity=3))
    (after,) = with_changes(before, "--set", ["instances=2"])

    assert (after.instances, after.minimum, after.maximum) == (2, 2, 4)


def test_what_does_not_scale_keeps_as_many_as_are_set(tmp_path: Path) -> None:
    """
    All of them, all the time.
    """
    (after,) = with_changes(one(tmp_path, variant()), "--set", ["instances=3"])

    assert (after.instances, after.minimum, after.maximum) == (3, 3, 3)


def test_components_have_other_copies_and_more_instances(tmp_path: Path) -> None:
    """
    On instances that SageMaker manages.
    """
    managed = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
    before = one(
        tmp_path,
        components(ManagedInstanceScaling=managed),
        target("inference-component/${Llama.InferenceComponentName}", COPIES),
    )
    (after,) = with_changes(before, "--set", ["copies=2", "max-instances=5"])

    assert (after.instances, after.minimum, after.maximum) == (1, 1, 5)
    assert after.models[0].copies == 2


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("target=0", "--set target must be a number above 0"),
        ("scale-in-cooldown=5", "--set scale-in-cooldown must be a time with its unit"),
        ("min=-1", "--set min must be a whole number of at least 0"),
        ("min=5", "--set must leave min at most max, got 5 and 4"),
        ("instances=0", "--set instances must be a whole number of at least 1"),
        ("size=1", "--set must be one of target=8"),
    ],
)
def test_fails_if_a_setting_cannot_be(setting: str, why: str, tmp_path: Path) -> None:
    """
    And says what it must be.
    """
    before = one(tmp_path, variant(), target(), tracking())

    with pytest.raises(ValueError, match=why):
        with_changes(before, "--set", [setting])
