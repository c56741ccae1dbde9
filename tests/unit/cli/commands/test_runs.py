"""
Other settings than the app's, for one run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.app.playing import RunSettings
from cdk_sagemaker_llm.cli.app.simulated import HostedVariant, read_hosted
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings
from cdk_sagemaker_llm.cli.commands._runs import (
    ComparingOptions,
    ServingOptions,
    Subject,
    with_changes,
)
from cdk_sagemaker_llm.simulation.scaling import Bounds, TargetTracking
from tests.unit.cli.app.templates import (
    COPIES,
    components,
    stepping,
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


SETTINGS = RunSettings(
    traffic=TrafficSettings(shape="constant", rate=0.1, even=True), duration=60.0
)
COMPONENT = "inference-component/${Llama.InferenceComponentName}"
MANAGED = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}


@pytest.mark.parametrize(
    ("hosts", "settings", "count"),
    [
        # The instances of components are not scaled with the copies.
        (components(), ["copies=3"], (1, 1, 1, 3)),
        (components(), ["copies=0"], (1, 1, 1, 0)),
        (components(), ["instances=3"], (3, 3, 3, 1)),
        (components(), ["instances=1"], (1, 1, 1, 1)),
        (components(), ["max-instances=3"], (1, 1, 1, 1)),
        # Those that SageMaker manages keep their bounds, unless more are set.
        (components(ManagedInstanceScaling=MANAGED), ["instances=2"], (2, 1, 2, 1)),
        (components(ManagedInstanceScaling=MANAGED), ["instances=3"], (3, 1, 3, 1)),
        (components(ManagedInstanceScaling=MANAGED), ["max-instances=1"], (1, 1, 1, 1)),
        (
            components(ManagedInstanceScaling={**MANAGED, "MaxInstanceCount": 1}),
            ["instances=2"],
            (2, 1, 2, 1),
        ),
        # A model that fills its instances has a copy on each, whatever copies are set.
        (variant(), ["copies=3"], (1, 1, 1, 1)),
        (variant(InitialInstanceCount=2), ["instances=1"], (1, 1, 1, 1)),
    ],
)
def test_copies_and_instances_are_set_as_the_variant_has_them(
    hosts: dict[str, dict[str, object]],
    settings: list[str],
    count: tuple[int, ...],
    tmp_path: Path,
) -> None:
    """
    Instances, the fewest, the most, and copies.
    """
    (after,) = with_changes(one(tmp_path, hosts), "--set", settings)

    found = (after.instances, after.minimum, after.maximum, after.models[0].copies)
    assert found == count


def test_bounds_of_copies_leave_instances_alone(tmp_path: Path) -> None:
    """
    They are those of the component, at their limits too.
    """
    before = one(tmp_path, components(), target(COMPONENT, COPIES))
    (after,) = with_changes(before, "--set", ["min=1", "max=1"])

    assert (after.instances, after.minimum, after.maximum) == (1, 1, 1)
    assert after.models[0].scaling is not None
    assert after.models[0].scaling.bounds == Bounds(minimum=1, maximum=1)
    (asleep,) = with_changes(before, "--set", ["min=0"])
    assert asleep.models[0].scaling is not None
    assert asleep.models[0].scaling.bounds == Bounds(minimum=0, maximum=4)


def test_a_step_policy_stays_beside_a_target_that_is_set(tmp_path: Path) -> None:
    """
    Its cooldown is one of its own.
    """
    before = one(
        tmp_path, components(), target(COMPONENT, COPIES), tracking(), stepping()
    )
    settings = ["target=9", "scale-in-cooldown=2m", "scale-out-cooldown=0s"]
    (after,) = with_changes(before, "--set", settings)
    old, new = before[0].models[0].scaling, after.models[0].scaling

    assert old is not None
    assert new is not None
    assert new.bounds == old.bounds
    assert new.policies[1:] == old.policies[1:] != ()
    track = new.policies[0]
    assert isinstance(track, TargetTracking)
    assert track.name == "Track"
    assert (track.target, track.scale_out_cooldown) == (9.0, 0.0)
    assert track.scale_in_cooldown == 120.0


@pytest.mark.parametrize(
    ("parts", "settings", "why"),
    [
        (
            [variant()],
            ["target=8", "scale-in-cooldown=1m"],
            (
                "--compare-with scale-in-cooldown, target changes a target tracking "
                "policy, and the app has none"
            ),
        ),
        (
            [variant(), target()],
            ["scale-out-cooldown=1m"],
            (
                "--compare-with scale-out-cooldown changes a target tracking policy, "
                "and the app has none"
            ),
        ),
        (
            [components(), target(COMPONENT, COPIES), stepping()],
            ["target=1"],
            (
                "--compare-with target changes a target tracking policy, and the app "
                "has none"
            ),
        ),
        (
            [variant()],
            ["min=0", "max=3"],
            (
                "--compare-with max, min changes the bounds of scaling, and the app "
                "scales nothing"
            ),
        ),
        (
            [variant(), target()],
            ["max=0"],
            "--compare-with max must be a whole number of at least 1, got '0'",
        ),
        (
            [variant()],
            ["max-instances=0"],
            (
                "--compare-with max-instances must be a whole number of at least 1, "
                "got '0'"
            ),
        ),
        (
            [components()],
            ["copies=-1"],
            "--compare-with copies must be a whole number of at least 0, got '-1'",
        ),
        (
            [variant(), target(), tracking()],
            ["scale-out-cooldown=5"],
            (
                "--compare-with scale-out-cooldown must be a time with its unit, such "
                "as 90s, 4m, 1h30m or 7d, got '5'"
            ),
        ),
        (
            [variant()],
            ["8"],
            (
                "--compare-with must be one of target=8, scale-out-cooldown=30s, "
                "scale-in-cooldown=300s, min=1, max=6, instances=2, copies=2, "
                "max-instances=8, got '8'"
            ),
        ),
    ],
)
def test_what_cannot_be_set_is_said_with_its_option(
    parts: list[dict[str, dict[str, object]]],
    settings: list[str],
    why: str,
    tmp_path: Path,
) -> None:
    """
    And with every name that it is of.
    """
    before = one(tmp_path, *parts)

    with pytest.raises(ValueError, match=".") as raised:
        with_changes(before, "--compare-with", settings)
    assert str(raised.value) == why


def test_bounds_may_be_set_where_one_variant_of_several_scales(tmp_path: Path) -> None:
    """
    The others stay as they are.
    """
    hosts = variant()
    variants = hosts["Config"]["Properties"]["ProductionVariants"]
    variants.append({**variants[0], "VariantName": "Green"})
    before = one(tmp_path, hosts, target(), tracking())
    blue, green = with_changes(before, "--set", ["max=6", "target=2"])

    assert policy(blue).target == 2.0
    assert (blue.maximum, green) == (6, before[1])


def test_how_it_is_served_is_read(tmp_path: Path) -> None:
    """
    Nothing is measured or limited where nothing is said.
    """
    nothing = ServingOptions()

    assert (nothing.measured(), nothing.way(), nothing.limits()) == ((), None, {})
    assert ServingOptions(method="requests").way() == "requests"
    assert ServingOptions(method="aggregate").way() == "aggregate"
    available = ["ml.g5.xlarge=2", "ml.g6.xlarge=0"]
    assert ServingOptions(available=available).limits() == {
        "ml.g5.xlarge": 2,
        "ml.g6.xlarge": 0,
    }
    path = tmp_path / "none.json"
    with pytest.raises(ValueError, match=".") as raised:
        ServingOptions(service_times=[path]).measured()
    assert str(raised.value) == (
        f"--service-times {path} cannot be read: No such file or directory; leave it "
        "out to estimate them"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "ml.g5.xlarge",
            "--available must be such as ml.g5.xlarge=2, got 'ml.g5.xlarge'",
        ),
        (
            "g5.xlarge=2",
            "--available must be such as ml.g5.xlarge=2, got 'g5.xlarge=2'",
        ),
        (
            "ml.g5.xlarge=two",
            "--available ml.g5.xlarge must be a whole number of at least 0, got 'two'",
        ),
    ],
)
def test_fails_if_available_instances_are_no_number_of_a_type(
    text: str, why: str
) -> None:
    """
    With an example.
    """
    with pytest.raises(ValueError, match=".") as raised:
        ServingOptions(available=["ml.g6.xlarge=1", text]).limits()
    assert str(raised.value) == why


def test_a_method_that_there_is_not_is_said() -> None:
    """
    An empty one too.
    """
    with pytest.raises(ValueError, match="must be requests or aggregate, got ''$"):
        ServingOptions(method="").way()


def test_what_is_set_beside_an_app_is_named_after_what_differs(tmp_path: Path) -> None:
    """
    Another app with the same settings, and the same app with further ones.
    """
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = template(tmp_path / "a", {**variant(), **target(), **tracking()})
    other = template(
        tmp_path / "b", {**variant(InitialInstanceCount=2), **target(), **tracking()}
    )
    options = ComparingOptions(
        setting=["target=3"], compare=other, compare_with=["max=2", "instances=2"]
    )
    subject = options.subject(first, "HOST")
    run, others = subject.run(SETTINGS), subject.others(SETTINGS)

    assert [each.name for each in (run, *others)] == [
        f"{first} target=3",
        f"{other} target=3",
        "with target=3 max=2 instances=2",
    ]
    hosted = [each.results[0].hosted for each in (run, *others)]
    assert [(each.instances, each.maximum) for each in hosted] == [
        (1, 4),
        (2, 4),
        (2, 2),
    ]
    assert [policy(each).target for each in hosted] == [3.0, 3.0, 3.0]
    alone = ComparingOptions().subject(first, None)
    assert (alone.run(SETTINGS).name, alone.others(SETTINGS)) == (str(first), [])
    with pytest.raises(ValueError, match="^--compare-with max must be"):
        ComparingOptions(compare_with=["max=0"]).subject(first, None).others(SETTINGS)
    with pytest.raises(ValueError, match="^--set max must be"):
        ComparingOptions(setting=["max=0"], compare=other).subject(first, None).others(
            SETTINGS
        )


def test_what_was_assumed_and_left_out_of_an_app_is_in_its_run(tmp_path: Path) -> None:
    """
    After what the run itself says.
    """
    hosts = variant(InitialVariantWeight=0)
    variants = hosts["Config"]["Properties"]["ProductionVariants"]
    variants.append({**variants[0], "VariantName": "Green"})
    hosts["Config"]["Properties"]["ShadowProductionVariants"] = [{"VariantName": "S"}]
    path = template(tmp_path, hosts)
    run = Subject(path, None, (), None, ()).run(SETTINGS)

    assert [one.notes[-1] for one in run.results] == [
        "of Host/Host, no variant has a weight: all get the same"
    ] * 2
    assert all(len(one.notes) > 1 for one in run.results)
    assert run.left_out == ("Host/Host: its shadow variants are not simulated",)


def test_endpoints_are_chosen_by_a_part_of_their_names(tmp_path: Path) -> None:
    """
    In any case; all where none is named.
    """
    hosts = variant()
    hosts["Chat"] = hosts["Host"]
    path = template(tmp_path, hosts)

    def chosen(endpoint: str | None) -> list[str]:
        run = Subject(path, endpoint, (), None, ()).run(SETTINGS)
        return [one.hosted.endpoint for one in run.results]

    assert chosen(None) == ["Host/Host", "Host/Chat"]
    assert chosen("") == ["Host/Host", "Host/Chat"]
    assert chosen("CHAT") == ["Host/Chat"]
    with pytest.raises(ValueError, match=".") as raised:
        chosen("talk")
    assert str(raised.value) == (
        "--endpoint must be in one of these names: Host/Host, Host/Chat; got 'talk'"
    )


def test_an_app_that_hosts_nothing_is_refused_with_each_reason(tmp_path: Path) -> None:
    """
    A line each.
    """
    hosts = variant(ServerlessConfig={})
    hosts["Other"] = {
        "Type": "AWS::SageMaker::Endpoint",
        "Properties": {"EndpointConfigName": "old"},
    }
    path = template(tmp_path, hosts)
    with pytest.raises(ValueError, match=".") as raised:
        Subject(path, "none", (), None, ()).run(SETTINGS)

    assert str(raised.value).splitlines() == [
        f"{path} hosts no endpoint that can be played out",
        "Host/Host: serverless variant AllTraffic is not simulated",
        "Host/Other: its configuration is not in the app: old",
    ]


def test_capacity_may_be_limited_of_any_type_of_both_apps(tmp_path: Path) -> None:
    """
    Of every pool, and of no other type.
    """
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = template(
        tmp_path / "a",
        variant(
            InstanceType=None,
            InstancePools=[
                {"InstanceType": "ml.g6.xlarge", "Priority": 2},
                {"InstanceType": "ml.g5.xlarge", "Priority": 1},
            ],
        ),
    )
    other = template(tmp_path / "b", variant(InstanceType="ml.g5.2xlarge"))

    def run(kind: str, beside: Path | None) -> None:
        limited = replace(SETTINGS, available={kind: 5})
        Subject(first, None, (), beside, ()).run(limited)

    for kind in ("ml.g5.xlarge", "ml.g6.xlarge"):
        run(kind, None)
    run("ml.g5.2xlarge", other)
    with pytest.raises(ValueError, match=".") as raised:
        run("ml.g5.2xlarge", None)
    assert str(raised.value) == (
        "--available must be of an instance type that the app uses, got "
        "ml.g5.2xlarge; it uses ml.g5.xlarge, ml.g6.xlarge"
    )
