"""
Moves of endpoints and components to another version, minute by minute: what serves at
each stage, and what is left of one that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.hosting.states import look
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_28,
    TGI,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unique,
)

_COMES = 400
_TRIPPED = "One or more alarms were triggered during the deployment: {}."


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


def version(
    aws: HandRunAws, name: str = "Main", instances: int = 4, image: str = TGI
) -> str:
    """
    Configure an endpoint of a model of its own.
    """
    variant = {
        "VariantName": name,
        "ModelName": make_model(aws, image=image),
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": instances,
    }
    return make_config(aws, variant=variant)


def serving(aws: HandRunAws, config: str) -> str:
    """
    Make an endpoint and wait until it serves.
    """
    endpoint = make_endpoint(aws, config)
    aws.run(_COMES)
    return endpoint


def batches(number: int, kind: str = "INSTANCE_COUNT") -> dict[str, Any]:
    """
    Write a policy of batches of so many, with five minutes between them.
    """
    size = {"Type": kind, "Value": number}
    return {"MaximumBatchSize": size, "WaitIntervalInSeconds": 300}


def guarded(aws: HandRunAws) -> tuple[str, dict[str, Any]]:
    """
    Make an alarm, and write how it turns a deployment back.
    """
    name = unique("alarm")
    aws.client("cloudwatch").put_metric_alarm(
        AlarmName=name,
        Namespace="Shop",
        MetricName="Orders",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=5.0,
        ComparisonOperator="GreaterThanThreshold",
    )
    return name, {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": name}]}}


def trip(aws: HandRunAws, alarm: str) -> None:
    """
    Have an alarm go off.
    """
    aws.client("cloudwatch").set_alarm_state(
        AlarmName=alarm, StateValue="ALARM", StateReason="a drill"
    )


def told(sagemaker: Untyped, endpoint: str) -> tuple[str, str | None, int, int | None]:
    """
    Return the status of an endpoint, why it failed, how many instances of its
    configuration serve, and how many of the one that it moves to.
    """
    found = sagemaker.describe_endpoint(EndpointName=endpoint)
    (now,) = found["ProductionVariants"]
    (new,) = found.get("PendingDeploymentSummary", {}).get("ProductionVariants", [{}])
    return (
        found["EndpointStatus"],
        found.get("FailureReason"),
        now["CurrentInstanceCount"],
        new.get("CurrentInstanceCount"),
    )


class TestEndpoints:
    """
    Endpoints that move.
    """

    def test_batch_by_batch(self, aws: HandRunAws, sagemaker: Untyped) -> None:
        """
        The old instances of a batch go when its new ones serve.
        """
        endpoint = serving(aws, version(aws))
        later = version(aws)
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=later,
            DeploymentConfig={"RollingUpdatePolicy": batches(2)},
        )

        seen = [told(sagemaker, endpoint)]
        for seconds in (399, 1, 299, 1 + _COMES, 299, 60):
            aws.run(seconds)
            seen.append(told(sagemaker, endpoint))
        assert seen == [
            ("Updating", None, 4, 0),
            ("Updating", None, 4, 0),
            ("Updating", None, 2, 2),
            ("Updating", None, 2, 2),
            ("Updating", None, 0, 4),
            ("Updating", None, 0, 4),
            ("InService", None, 4, None),
        ]
        found = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert found["EndpointConfigName"] == later

    def test_an_alarm_turns_batches_back(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        The old instances come again before the new ones go.
        """
        first = version(aws)
        endpoint = serving(aws, first)
        alarm, guardrails = guarded(aws)
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=version(aws),
            DeploymentConfig={"RollingUpdatePolicy": batches(2), **guardrails},
        )
        aws.run(_COMES)
        trip(aws, alarm)

        why = _TRIPPED.format(alarm)
        aws.run(10)
        assert told(sagemaker, endpoint) == ("RollingBack", why, 2, 2)
        aws.run(_COMES - 1)
        assert told(sagemaker, endpoint) == ("RollingBack", why, 2, 2)
        aws.run(1)
        assert told(sagemaker, endpoint)[:3] == ("RollingBack", why, 4)
        aws.run(40)
        assert told(sagemaker, endpoint) == ("InService", why, 4, None)
        found = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert found["EndpointConfigName"] == first

    def test_a_way_back_without_instances_fails(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        Half of it serves: the rollback has failed, and another update mends it.
        """
        first = version(aws)
        endpoint = serving(aws, first)
        alarm, guardrails = guarded(aws)
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=version(aws),
            DeploymentConfig={"RollingUpdatePolicy": batches(2), **guardrails},
        )
        aws.run(_COMES)
        aws.hosting.world.faults.put(Fault(kind="no-capacity"))
        trip(aws, alarm)
        aws.run(2000)
        aws.hosting.world.faults.clear()

        why = _TRIPPED.format(alarm)
        assert told(sagemaker, endpoint) == ("UpdateRollbackFailed", why, 2, None)
        sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=first)
        aws.run(600)
        assert told(sagemaker, endpoint) == ("InService", None, 4, None)

    def test_batches_of_a_variant_of_another_name(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        The old one stays as it is until all of the new one serves.
        """
        endpoint = serving(aws, version(aws))
        later = version(aws, "Other")
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=later,
            DeploymentConfig={"RollingUpdatePolicy": batches(2)},
        )

        aws.run(_COMES)
        assert told(sagemaker, endpoint) == ("Updating", None, 4, 2)
        aws.run(1100)
        assert told(sagemaker, endpoint) == ("InService", None, 4, None)
        found = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert found["EndpointConfigName"] == later

    def test_a_move_may_take_too_long(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        Then it is turned back, with the seconds that it had.
        """
        endpoint = serving(aws, version(aws, instances=2))
        shift = {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 300}
        policy = {
            "TrafficRoutingConfiguration": shift,
            "MaximumExecutionTimeoutInSeconds": 600,
        }
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=version(aws),
            DeploymentConfig={"BlueGreenUpdatePolicy": policy},
        )

        aws.run(599)
        assert told(sagemaker, endpoint) == ("Updating", None, 2, 4)
        aws.run(100)
        assert told(sagemaker, endpoint) == (
            "InService",
            "The deployment took longer than 600 seconds.",
            2,
            None,
        )

    def test_a_canary_gets_its_share_of_the_requests(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        One of four instances, so two of eight requests; then all of them.
        """
        endpoint = serving(aws, version(aws))
        shift = {
            "Type": "CANARY",
            "CanarySize": {"Type": "INSTANCE_COUNT", "Value": 1},
            "WaitIntervalInSeconds": 300,
        }
        policy = {
            "TrafficRoutingConfiguration": shift,
            "TerminationWaitInSeconds": 120,
        }
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=version(aws, image=LMI_28),
            DeploymentConfig={"BlueGreenUpdatePolicy": policy},
        )
        runtime = aws.client("sagemaker-runtime")

        def new_ones() -> int:
            answers = [
                runtime.invoke_endpoint(EndpointName=endpoint, Body=prompt("Who?"))
                for _ in range(8)
            ]
            # TGI answers with a list, LMI with an object.
            return sum(one["Body"].read().startswith(b"{") for one in answers)

        shares = [new_ones()]
        for seconds in (_COMES, 299, 1):
            aws.run(seconds)
            shares.append(new_ones())
        assert shares == [0, 2, 2, 8]
        # Five minutes to bake, and two before the old instances go.
        aws.run(419)
        assert told(sagemaker, endpoint)[0] == "Updating"
        aws.run(60)
        assert told(sagemaker, endpoint)[0] == "InService"

    def test_maintenance_comes_and_goes(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        The endpoint serves meanwhile.
        """
        endpoint = serving(aws, version(aws, instances=1))
        world = aws.hosting.world
        world.faults.put(Fault(kind="maintenance", target=endpoint))
        look(world, world.endpoints.get(endpoint))
        assert told(sagemaker, endpoint) == ("SystemUpdating", None, 1, None)
        look(world, world.endpoints.get(endpoint))
        assert told(sagemaker, endpoint) == ("SystemUpdating", None, 1, None)
        world.faults.clear()
        look(world, world.endpoints.get(endpoint))
        assert told(sagemaker, endpoint) == ("InService", None, 1, None)


class TestComponents:
    """
    Components that are replaced or scaled.
    """

    @staticmethod
    def host(aws: HandRunAws) -> str:
        """
        Make an endpoint of one instance with four accelerators.
        """
        variant = {"InstanceType": "ml.g5.12xlarge"}
        return serving(aws, make_config(aws, variant=variant))

    @staticmethod
    def told(sagemaker: Untyped, name: str) -> tuple[str, str | None, int, int]:
        """
        Return the status of a component, why it failed, and its copies: how many are
        asked for and how many serve.
        """
        found = sagemaker.describe_inference_component(InferenceComponentName=name)
        copies = found["RuntimeConfig"]
        return (
            found["InferenceComponentStatus"],
            found.get("FailureReason"),
            copies["DesiredCopyCount"],
            copies["CurrentCopyCount"],
        )

    def replace(
        self, aws: HandRunAws, sagemaker: Untyped, name: str, **settings: Untyped
    ) -> None:
        """
        Replace a component's model.
        """
        needs = {"NumberOfAcceleratorDevicesRequired": 1, "MinMemoryRequiredInMb": 1024}
        sagemaker.update_inference_component(
            InferenceComponentName=name,
            Specification={
                "ModelName": make_model(aws),
                "ComputeResourceRequirements": needs,
            },
            **settings,
        )

    def test_in_place_batch_by_batch(self, aws: HandRunAws, sagemaker: Untyped) -> None:
        """
        Without room for both, two old copies end before two new ones come.
        """
        name = make_component(aws, self.host(aws), copies=4)
        aws.run(_COMES)
        deployment = {"RollingUpdatePolicy": batches(2, "COPY_COUNT")}
        self.replace(aws, sagemaker, name, DeploymentConfig=deployment)

        serve = [self.told(sagemaker, name)]
        for seconds in (139, 1, 299, 1, 139, 1, 299, 1):
            aws.run(seconds)
            serve.append(self.told(sagemaker, name))
        assert serve == [
            ("Updating", None, 4, 2),
            ("Updating", None, 4, 2),
            ("Updating", None, 4, 4),
            ("Updating", None, 4, 4),
            ("Updating", None, 4, 2),
            ("Updating", None, 4, 2),
            ("Updating", None, 4, 4),
            ("Updating", None, 4, 4),
            ("InService", None, 4, 4),
        ]

    def test_in_place_one_by_one(self, aws: HandRunAws, sagemaker: Untyped) -> None:
        """
        Each takes 40 s to end, 100 s to come and 300 s to be watched.
        """
        name = make_component(aws, self.host(aws), copies=4)
        aws.run(_COMES)
        deployment = {"RollingUpdatePolicy": batches(1, "COPY_COUNT")}
        self.replace(aws, sagemaker, name, DeploymentConfig=deployment)

        assert self.told(sagemaker, name) == ("Updating", None, 4, 3)
        aws.run(4 * 440 - 1)
        assert self.told(sagemaker, name) == ("Updating", None, 4, 4)
        aws.run(1)
        assert self.told(sagemaker, name) == ("InService", None, 4, 4)

    def test_one_without_copies(self, aws: HandRunAws, sagemaker: Untyped) -> None:
        """
        Is another one at once, and gets the copies that the update names.
        """
        name = make_component(aws, self.host(aws), copies=0)
        aws.run(_COMES)
        self.replace(aws, sagemaker, name)
        assert self.told(sagemaker, name) == ("InService", None, 0, 0)

        self.replace(aws, sagemaker, name, RuntimeConfig={"CopyCount": 2})
        assert self.told(sagemaker, name) == ("Updating", None, 2, 0)
        aws.run(_COMES)
        assert self.told(sagemaker, name) == ("InService", None, 2, 2)

    def test_a_way_back_that_does_not_start_fails(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        Neither version starts: half of the old copies serve, and it says why it turned.
        """
        name = make_component(aws, self.host(aws), copies=4)
        aws.run(_COMES)
        alarm, guardrails = guarded(aws)
        deployment = {"RollingUpdatePolicy": batches(2, "COPY_COUNT"), **guardrails}
        self.replace(aws, sagemaker, name, DeploymentConfig=deployment)
        aws.run(_COMES)
        aws.hosting.world.faults.put(Fault(kind="cannot-start", target=name))
        trip(aws, alarm)
        aws.run(1000)
        aws.hosting.world.faults.clear()

        assert self.told(sagemaker, name) == ("Failed", _TRIPPED.format(alarm), 4, 2)

    def test_copies_that_do_not_start(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        Of none that serves it has failed; of some it is in service, and says why.
        """
        name = make_component(aws, self.host(aws), copies=0)
        aws.run(_COMES)
        why = (
            "CannotStartContainerError. Please ensure the model container for "
            f"inference component {name} starts correctly when invoked with 'docker "
            "run <image> serve'"
        )

        def scaled(copies: int, *, fails: bool) -> tuple[str, str | None, int, int]:
            if fails:
                fault = Fault(kind="cannot-start", target=name)
                aws.hosting.world.faults.put(fault)
            sagemaker.update_inference_component_runtime_config(
                InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": copies}
            )
            aws.run(_COMES)
            aws.hosting.world.faults.clear()
            return self.told(sagemaker, name)

        assert scaled(2, fails=True) == ("Failed", why, 2, 0)
        assert scaled(2, fails=False) == ("InService", None, 2, 2)
        assert scaled(3, fails=True) == ("InService", why, 3, 2)
