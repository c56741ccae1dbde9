"""
What a variant is played out with: bounds, copies, routing, queues, weights and models.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.app.templates import (
    COPIES,
    components,
    name_of,
    resource,
    target,
    tracking,
    variant,
)
from tests.unit.cli.app.test_simulated import TAKEN_FOR_ONE, changed, only, read


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ({}, (2, 2, False)),
        ({"Status": "ENABLED"}, (2, 2, True)),
        ({"Status": "ENABLED", "MinInstanceCount": 1}, (1, 2, True)),
        ({"Status": "ENABLED", "MaxInstanceCount": 5}, (2, 5, True)),
        # A maximum below the minimum is none.
        ({"Status": "ENABLED", "MaxInstanceCount": 1}, (2, 2, True)),
        ({"Status": "ENABLED", "MinInstanceCount": {"Ref": "Open"}}, (2, 2, True)),
        ({"Status": "DISABLED", "MaxInstanceCount": 5}, (2, 2, False)),
    ],
)
def test_instances_stay_between_the_bounds_that_are_written(
    given: dict[str, object], bounds: tuple[object, ...], tmp_path: Path
) -> None:
    """
    What is left open stays as it is at the start.
    """
    hosts = components(InitialInstanceCount=2, ManagedInstanceScaling=given)
    found = only(tmp_path, hosts)

    assert (found.minimum, found.maximum, found.managed) == bounds
    assert found.instances == 2


def test_the_copies_of_a_component_do_not_bound_its_instances(tmp_path: Path) -> None:
    """
    Those of a variant's own model do.
    """
    copies = target(
        "inference-component/${Llama.InferenceComponentName}", COPIES, MinCapacity=0
    )
    by_copies = only(tmp_path, {**components(), **copies})
    by_instances = only(tmp_path, {**variant(), **target(MinCapacity=0)})

    assert (by_copies.minimum, by_copies.maximum) == (1, 1)
    assert (by_instances.minimum, by_instances.maximum) == (0, 4)


@pytest.mark.parametrize(
    ("runtime", "scaled", "copies", "left_out"),
    [
        ({"CopyCount": 3}, None, 3, ()),
        ({"CopyCount": 0}, None, 0, ()),
        ({"CopyCount": 3}, 2, 3, ()),
        # What scaling keeps at least is what it will have.
        ({}, 2, 2, ()),
        ({}, 0, 0, ()),
        (
            {},
            None,
            1,
            ("Host/Llama: its CopyCount is not in the template; taken as 1",),
        ),
    ],
)
def test_copies_are_as_many_as_written_or_the_fewest(
    runtime: dict[str, int],
    scaled: int | None,
    copies: int,
    left_out: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """
    At the start.
    """
    hosts = changed(components(), "Llama", RuntimeConfig=runtime)
    if scaled is not None:
        hosts |= target(
            "inference-component/${Llama.InferenceComponentName}",
            COPIES,
            MinCapacity=scaled,
        )
    found = read(tmp_path, hosts)

    assert [model.copies for model in found.variants[0].models] == [copies]
    assert found.left_out == left_out


@pytest.mark.parametrize(
    ("routing", "found", "left_out"),
    [
        ({}, "RANDOM", ()),
        ({"RoutingStrategy": "RANDOM"}, "RANDOM", ()),
        (
            {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
            "LEAST_OUTSTANDING_REQUESTS",
            (),
        ),
        (
            {"RoutingStrategy": {"Ref": "Open"}},
            "LEAST_OUTSTANDING_REQUESTS",
            (
                (
                    "Host/Host: routing by ${Open}, known at deployment only is "
                    "simulated as LEAST_OUTSTANDING_REQUESTS"
                ),
            ),
        ),
    ],
)
def test_requests_are_routed_as_the_variant_says(
    routing: dict[str, object],
    found: str,
    left_out: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """
    What there is no rule for goes by the fewest outstanding.
    """
    app = read(tmp_path, variant(RoutingConfig=routing))

    assert (app.variants[0].routing, app.left_out) == (found, left_out)


@pytest.mark.parametrize(
    ("at_once", "found"),
    [(0, 1), (1, 1), (7, 7), ({"Ref": "Open"}, 1)],
)
def test_a_queue_sends_at_least_one_request_at_once(
    at_once: object, found: int, tmp_path: Path
) -> None:
    """
    What deployment decides is taken for one, which is told.
    """
    client = {"ClientConfig": {"MaxConcurrentInvocationsPerInstance": at_once}}
    app = read(tmp_path, changed(variant(), "Config", AsyncInferenceConfig=client))

    assert app.variants[0].models[0].at_once == found
    assert app.assumed == ((TAKEN_FOR_ONE,) if isinstance(at_once, dict) else ())
    plain = read(tmp_path, variant())
    assert (plain.variants[0].models[0].at_once, plain.assumed) == (None, ())


def test_a_weight_below_nothing_is_nothing(tmp_path: Path) -> None:
    """
    And one alone gets all, whatever it is.
    """
    hosts = variant()
    (first,) = hosts["Config"]["Properties"]["ProductionVariants"]
    hosts["Config"]["Properties"]["ProductionVariants"] = [
        {**first, "VariantName": "A", "InitialVariantWeight": -1},
        {**first, "VariantName": "B", "InitialVariantWeight": 0.5},
    ]
    found = read(tmp_path, hosts)

    assert [one.share for one in found.variants] == [0.0, 1.0]
    assert found.assumed == ()
    alone = read(tmp_path, variant(InitialVariantWeight=0))
    assert ([one.share for one in alone.variants], alone.assumed) == ([1.0], ())


def test_what_serves_a_variant_is_its_model(tmp_path: Path) -> None:
    """
    Of one that is not in the app nothing is known; of several containers the first
    counts.
    """
    known = {"HF_MODEL_ID": "mistralai/Mistral-7B-v0.1"}
    away = only(tmp_path, variant(ModelName="elsewhere")).models[0].served
    hosts = variant()
    hosts["Model"]["Properties"] = {
        "Containers": [{"Image": "mine:1", "Environment": known}, {"Image": "two"}]
    }
    several = only(tmp_path, hosts).models[0].served

    assert (away.model, away.unknown) == (None, "its model is not in the app")
    assert (several.model, several.image) == (known["HF_MODEL_ID"], "mine:1")


def test_a_component_has_the_container_of_its_own(tmp_path: Path) -> None:
    """
    Before the model that it names; by the first choice of several types.
    """
    known = {"HF_MODEL_ID": "mistralai/Mistral-7B-v0.1"}
    hosts = components()
    llama = hosts["Llama"]["Properties"]
    needs = llama["Specification"]["ComputeResourceRequirements"]
    llama["Specification"]["Container"] = {"Image": "mine:1", "Environment": known}
    own = only(tmp_path, hosts).models[0].served
    del llama["Specification"]
    llama["Specifications"] = [
        {
            "InstanceType": kind,
            "Container": {"Image": f"{kind}:1"},
            "ComputeResourceRequirements": needs,
        }
        for kind in ("ml.g6.xlarge", "ml.g5.xlarge")
    ]
    by_type = only(tmp_path, hosts).models[0]

    assert (own.model, own.image) == (known["HF_MODEL_ID"], "mine:1")
    assert by_type.served.image == "ml.g5.xlarge:1"
    assert by_type.accelerators == 1
    assert only(tmp_path, variant()).models[0].accelerators is None


def test_what_is_scaled_and_not_simulated_is_told(tmp_path: Path) -> None:
    """
    A variant, or a component, that cannot be played out.
    """
    gone = variant(ServerlessConfig={})
    by_variant = read(tmp_path, {**gone, **target(), **tracking()})
    hosts = components()
    copies = target("inference-component/${Llama.InferenceComponentName}", COPIES)
    hosts["Llama"]["Properties"]["EndpointName"] = "elsewhere"
    by_copies = read(tmp_path, {**hosts, **copies})

    assert by_variant.left_out == (
        "Host/Host: serverless variant AllTraffic is not simulated",
        ("Host/Host (AllTraffic): it is scaled, but is not in what is simulated"),
    )
    assert by_copies.left_out == (
        "Host/Host: nothing runs on its variant AllTraffic",
        "Host/Llama: it is scaled, but is not in what is simulated",
    )
    scaled = read(tmp_path, {**variant(), **target(), **tracking()})
    assert scaled.left_out == ()


def test_a_queue_of_one_variant_and_others_are_read_beside_what_is_not(
    tmp_path: Path,
) -> None:
    """
    An endpoint that cannot be played out does not hide the next.
    """
    hosts = variant()
    hosts |= {
        "Away": resource("SageMaker::Endpoint", EndpointConfigName="old"),
        "Asks": resource(
            "SageMaker::EndpointConfig",
            AsyncInferenceConfig={},
            ProductionVariants=[{"VariantName": "A"}, {"VariantName": "B"}],
        ),
        "Queue": resource(
            "SageMaker::Endpoint",
            EndpointConfigName=name_of("Asks", "EndpointConfigName"),
        ),
        "Last": hosts["Host"],
    }
    ordered = {name: hosts[name] for name in sorted(hosts)}
    found = read(tmp_path, ordered)

    assert [one.endpoint for one in found.variants] == ["Host/Host", "Host/Last"]
    assert found.left_out == (
        "Host/Away: its configuration is not in the app: old",
        "Host/Queue: one queue of several variants is not simulated",
    )


def test_what_a_condition_leaves_open_is_there(tmp_path: Path) -> None:
    """
    What it rules out is not.
    """
    hosts = variant()
    for name in ("Perhaps", "Gone"):
        hosts[name] = {**hosts["Host"], "Condition": name}
    found = read(
        tmp_path,
        hosts,
        Parameters={"Open": {"Type": "String"}},
        Conditions={
            "Perhaps": {"Fn::Equals": [{"Ref": "Open"}, "x"]},
            "Gone": {"Fn::Equals": ["x", "y"]},
        },
    )

    assert [one.endpoint for one in found.variants] == ["Host/Host", "Host/Perhaps"]
