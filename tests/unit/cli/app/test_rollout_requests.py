"""
What the service would refuse of models and of how endpoints are updated, in any
template.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.unit.cli.app.templates import INSTANCES, Resources, resource, variant
from tests.unit.cli.app.test_requests import OPEN, TARGET, found_in

ALARMS = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "a"}]}}
HALF = {"Type": "CAPACITY_PERCENT", "Value": 50}


def canary(size: object = None, wait: object = 300, **policy: Untyped) -> Untyped:
    """
    Write how a canary rolls out.
    """
    return {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {
                "Type": "CANARY",
                "CanarySize": size or HALF,
                "WaitIntervalInSeconds": wait,
            },
            **policy,
        }
    }


def linear(value: object) -> Untyped:
    """
    Write how steps roll out.
    """
    shape = canary()
    routing = shape["BlueGreenUpdatePolicy"]["TrafficRoutingConfiguration"]
    routing["Type"] = "LINEAR"
    routing["LinearStepSize"] = {**HALF, "Value": value}
    del routing["CanarySize"]
    return shape


def at_once(wait: object) -> Untyped:
    """
    Write how a whole fleet rolls out.
    """
    return {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE"},
            "TerminationWaitInSeconds": wait,
        }
    }


def rolling(value: object = 50, **policy: Untyped) -> Untyped:
    """
    Write how batches roll out.
    """
    return {
        "RollingUpdatePolicy": {
            "MaximumBatchSize": {**HALF, "Value": value},
            "WaitIntervalInSeconds": 60,
            **policy,
        }
    }


def rolled(deployment: object, **given: object) -> Resources:
    """
    Write an endpoint of two instances that is updated so.
    """
    resources = variant(**{"InitialInstanceCount": 2, **given})
    resources["Host"]["Properties"]["DeploymentConfig"] = deployment
    return resources


@pytest.mark.parametrize(
    ("deployment", "given", "code", "words"),
    [
        (canary(wait=3601), {}, "LLM111", "WaitIntervalInSeconds must be 0 to 3600"),
        (
            canary(TerminationWaitInSeconds=3601),
            {},
            "LLM111",
            "TerminationWaitInSeconds must be 0 to 3600",
        ),
        (
            canary(MaximumExecutionTimeoutInSeconds=599),
            {},
            "LLM111",
            "MaximumExecutionTimeoutInSeconds must be 600 to 28800",
        ),
        (canary({**HALF, "Value": 51}), {}, "LLM111", "Value must be 1 to 50, got 51"),
        (canary({**HALF, "Value": 0}), {}, "LLM111", "Value must be 1 to 50, got 0"),
        (linear(9), {}, "LLM111", "Value must be 10 to 50, got 9"),
        (linear(51), {}, "LLM111", "Value must be 10 to 50, got 51"),
        (rolling(51), {}, "LLM111", "Value must be 5 to 50, got 51"),
        (rolling(4), {}, "LLM111", "Value must be 5 to 50, got 4"),
        (
            canary(
                wait=300,
                TerminationWaitInSeconds=300,
                MaximumExecutionTimeoutInSeconds=600,
            ),
            {},
            "LLM337",
            "must be above the 600 seconds that the update waits at least, got 600",
        ),
        (
            {**canary(wait=0), **ALARMS},
            {},
            "LLM426",
            "is watched while the update waits, and it waits 0 seconds",
        ),
        ({**at_once(0), **ALARMS}, {}, "LLM426", "waits 0 seconds"),
        (
            canary(),
            {"InitialInstanceCount": 1},
            "LLM336",
            "half of the instances at a time, and variant 'AllTraffic' has 1",
        ),
        (rolling(), {"InitialInstanceCount": 1}, "LLM336", "ROLLING moves at most"),
        (
            canary(),
            {"InstanceType": "ml.inf1.xlarge"},
            "LLM338",
            "CANARY is not for ml.inf1.xlarge: Inf1 moves all at once",
        ),
    ],
)
def test_an_update_that_the_service_refuses_is_an_error_of_the_endpoint(
    tmp_path: Path, deployment: object, given: Untyped, code: str, words: str
) -> None:
    """
    In the API's words, and nothing else is.
    """
    found = found_in(tmp_path, rolled(deployment, **given))

    assert set(found) == {"Host"}
    assert [one.code for one in found["Host"]] == [code]
    assert words in str(found["Host"][0])


@pytest.mark.parametrize(
    ("deployment", "given"),
    [
        (canary(wait=0), {}),
        (canary(wait=3600, TerminationWaitInSeconds=3600), {}),
        (canary(MaximumExecutionTimeoutInSeconds=600), {}),
        (canary(MaximumExecutionTimeoutInSeconds=28800), {}),
        (
            canary(
                wait=300,
                TerminationWaitInSeconds=300,
                MaximumExecutionTimeoutInSeconds=601,
            ),
            {},
        ),
        (canary({**HALF, "Value": 1}), {}),
        (canary({"Type": "INSTANCE_COUNT", "Value": 60}), {}),
        (canary(wait=OPEN, MaximumExecutionTimeoutInSeconds=600), {}),
        ({**canary(wait=1), **ALARMS}, {}),
        ({**canary(wait=OPEN), **ALARMS}, {}),
        ({**at_once(1), **ALARMS}, {}),
        (at_once(0), {"InitialInstanceCount": 1}),
        (linear(10), {}),
        (rolling(5), {}),
        (rolling(), {"InitialInstanceCount": OPEN}),
        (canary(), {"InitialInstanceCount": OPEN}),
        (at_once(60), {"InstanceType": "ml.inf1.xlarge"}),
        (OPEN, {}),
    ],
)
def test_an_update_at_the_bounds_is_let_through(
    tmp_path: Path, deployment: object, given: Untyped
) -> None:
    """
    As is what deployment decides.
    """
    found = found_in(
        tmp_path, rolled(deployment, **given), Parameters={"Parameter": {}}
    )

    assert found == {}


def test_batches_are_for_one_variant(tmp_path: Path) -> None:
    """
    Blue and green take several.
    """
    for deployment, codes in ((rolling(), ["LLM338"]), (canary(), [])):
        resources = rolled(deployment)
        variants = resources["Config"]["Properties"]["ProductionVariants"]
        variants.append({**variants[0], "VariantName": "Other"})
        found = found_in(tmp_path, resources)

        assert [one.code for one in found.get("Host", [])] == codes


def test_how_many_instances_a_scaled_fleet_has_is_left_open(tmp_path: Path) -> None:
    """
    Its number in the template is where it began.
    """
    resources = rolled(canary(), InitialInstanceCount=1)
    resources["Host"]["Properties"]["EndpointName"] = "mine"
    resources["Target"] = resource(
        TARGET,
        ServiceNamespace="sagemaker",
        ScalableDimension=INSTANCES,
        ResourceId={"Fn::Sub": "endpoint/${Host.EndpointName}/variant/AllTraffic"},
        MinCapacity=2,
        MaxCapacity=4,
    )

    assert found_in(tmp_path, resources) == {}

    # That of another endpoint says nothing of this one's.
    place = "endpoint/another/variant/AllTraffic"
    resources["Target"]["Properties"]["ResourceId"] = place
    found = found_in(tmp_path, resources)
    assert [one.code for one in found["Host"]] == ["LLM336"]


def modelled(environment: object) -> Resources:
    """
    Write a model with these variables.
    """
    resources = variant()
    container = {"Environment": environment}
    resources["Model"]["Properties"] = {"PrimaryContainer": container}
    return resources


@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        (
            {f"V{number}": "" for number in range(101)},
            "LLM120",
            "at most 100 variables, got 101",
        ),
        ({"V": "x" * 1025}, "LLM120", "V must be at most 1024 characters long"),
        (
            {f"V{number:02}": "x" * 1022 for number in range(32)},
            "LLM120",
            "at most 32768 bytes of names and values together, got 32800",
        ),
    ],
)
def test_an_environment_that_the_service_refuses_is_an_error(
    tmp_path: Path, environment: object, code: str, words: str
) -> None:
    """
    Of its model.
    """
    found = found_in(tmp_path, modelled(environment))

    assert [one.code for one in found["Model"]] == [code]
    assert words in str(found["Model"][0])


@pytest.mark.parametrize(
    "environment",
    [
        {f"V{number}": "" for number in range(100)},
        {"V": "x" * 1024},
        {f"V{number:02}": "x" * 1021 for number in range(32)},
        {"V": OPEN},
        OPEN,
    ],
)
def test_an_environment_at_the_bounds_is_let_through(
    tmp_path: Path, environment: object
) -> None:
    """
    As is what deployment decides.
    """
    resources = modelled(environment)

    assert found_in(tmp_path, resources, Parameters={"Parameter": {}}) == {}
