"""
Queues of asynchronous endpoints in time: what waits, what it costs, who wakes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.settings import Latency
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.meter import Subject
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import make_config, make_endpoint, make_model, unique
from tests.local.scaled import Scaled
from tests.local.waiting import until

REQUEST = json.dumps({"inputs": "hello", "parameters": {"max_new_tokens": 5}}).encode()
TIMES = FleetTimes(provision=200.0, image_pull=100.0, model_start=60.0)
BACKLOG = "ApproximateBacklogSizePerInstance"
WAKE = "HasBacklogWithoutCapacity"


@pytest.fixture(name="aws")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(times=TIMES) as aws:
        yield aws


class Batch(Scaled):
    """
    An asynchronous endpoint of one instance, on which each request takes a minute.
    """

    def __init__(self, aws: HandRunAws, seconds: int = 60, **client: int) -> None:
        self.bucket = unique("work")
        aws.client("s3").create_bucket(Bucket=self.bucket)
        aws.client("s3").put_object(Bucket=self.bucket, Key="in.json", Body=REQUEST)
        config = {
            "OutputConfig": {
                "S3OutputPath": f"s3://{self.bucket}/out",
                "S3FailurePath": f"s3://{self.bucket}/failed",
            },
            "ClientConfig": client,
        }
        variant = {
            "ModelName": make_model(aws),
            "InstanceType": "ml.g5.xlarge",
            "InitialInstanceCount": 1,
        }
        name = make_endpoint(
            aws, make_config(aws, variant=variant, AsyncInferenceConfig=config)
        )
        super().__init__(aws, Subject(name, "AllTraffic"))
        while not self.capacity.is_settled:
            aws.run(10)
        aws.hosting.world.latency = Latency(first_token=seconds, per_token=0.0)

    def send(self, **settings: Untyped) -> str:
        """
        Put a request into the queue; return where its answer will be.
        """
        told = self.aws.client("sagemaker-runtime").invoke_endpoint_async(
            EndpointName=self.subject.endpoint,
            InputLocation=f"s3://{self.bucket}/in.json",
            **settings,
        )
        return str(told["OutputLocation"])

    def is_there(self, url: str) -> bool:
        """
        Tell whether an object is there, by its address or its key.
        """
        key = url.removeprefix(f"s3://{self.bucket}/")
        try:
            self.aws.client("s3").head_object(Bucket=self.bucket, Key=key)
        except ClientError:
            return False
        return True

    def backlog(self) -> int:
        """
        Return how many requests wait or are in work.
        """
        return self.aws.hosting.world.endpoints.get(self.subject.endpoint).backlog.size

    def measured(self, name: str, statistic: str, *, by_variant: bool) -> list[float]:
        """
        Return the values of a metric, minute by minute.
        """
        endpoint, variant, _ = self.subject
        dimensions = {"EndpointName": endpoint}
        if by_variant:
            dimensions["VariantName"] = variant
        found = self.cloudwatch.get_metric_statistics(
            Namespace="AWS/SageMaker",
            MetricName=name,
            Dimensions=[{"Name": k, "Value": v} for k, v in dimensions.items()],
            StartTime=self.aws.wall() - 3600,
            EndTime=self.aws.wall(),
            Period=60,
            Statistics=[statistic],
        )["Datapoints"]
        return [each[statistic] for each in sorted(found, key=lambda d: d["Timestamp"])]

    def to_zero(self, target: float) -> None:
        """
        Set up what the guide asks for: a target, two policies and an alarm.
        """
        self.register(0, 4)
        dimensions = [{"Name": "EndpointName", "Value": self.subject.endpoint}]
        self.track_own(
            target,
            {
                "Namespace": "AWS/SageMaker",
                "MetricName": BACKLOG,
                "Dimensions": dimensions,
                "Statistic": "Average",
            },
        )
        wake = self.step(Cooldown=300, MetricAggregationType="Average")
        self.cloudwatch.put_metric_alarm(
            AlarmName=unique("wake"),
            Namespace="AWS/SageMaker",
            MetricName=WAKE,
            Dimensions=dimensions,
            Statistic="Average",
            Period=60,
            EvaluationPeriods=2,
            DatapointsToAlarm=2,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            TreatMissingData="missing",
            AlarmActions=[wake],
        )


def test_requests_are_answered_one_after_the_other(aws: HandRunAws) -> None:
    """
    Of two, the second is there a minute after the first.
    """
    batch = Batch(aws)
    first, second = batch.send(), batch.send()

    assert batch.backlog() == 2
    aws.run(59)
    assert not batch.is_there(first)
    aws.run(2)
    assert batch.is_there(first)
    assert not batch.is_there(second)
    assert batch.backlog() == 1
    aws.run(60)
    assert batch.is_there(second)
    assert batch.backlog() == 0


def test_an_instance_takes_as_many_as_are_configured(aws: HandRunAws) -> None:
    """
    At the same time.
    """
    batch = Batch(aws, MaxConcurrentInvocationsPerInstance=2)
    first, second, third = batch.send(), batch.send(), batch.send()
    aws.run(61)

    assert batch.is_there(first)
    assert batch.is_there(second)
    assert not batch.is_there(third)


def test_the_guides_metrics_are_published(aws: HandRunAws) -> None:
    """
    By endpoint what waits, by variant what was done; and none of those that wait.
    """
    batch = Batch(aws)
    aws.run_to_the_hour()
    for _ in range(3):
        batch.send()
    aws.run(4 * 60)

    size = batch.measured("ApproximateBacklogSize", "Minimum", by_variant=False)
    age = batch.measured("ApproximateAgeOfOldestRequest", "Maximum", by_variant=False)
    assert size[-3:] == [2, 1, 0]
    assert age[-3:] == [110, 170, 0]
    processed = batch.measured("InvocationsProcessed", "Sum", by_variant=True)
    waited = batch.measured("TimeInBacklog", "Maximum", by_variant=True)
    total = batch.measured("TotalProcessingTime", "Maximum", by_variant=True)
    latency = batch.measured("ModelLatency", "Average", by_variant=True)
    failed = batch.measured("InvocationFailures", "Sum", by_variant=True)

    assert processed == [1, 1, 1]
    assert failed == [0, 0, 0]
    assert waited == [0, 60e6, 120e6]
    assert total == [60e3, 120e3, 180e3]
    assert latency == [60e6] * 3
    for name in ("Invocations", "InvocationsPerInstance", "OverheadLatency"):
        assert batch.measured(name, "Sum", by_variant=True) == []


def test_one_that_waits_too_long_fails(aws: HandRunAws) -> None:
    """
    By the time that its caller gives it.
    """
    batch = Batch(aws, seconds=300)
    batch.send()
    late = batch.send(RequestTTLSeconds=60, InferenceId="late")
    aws.run(600)

    assert not batch.is_there(late)
    assert batch.is_there("failed/late-error.out")
    assert sum(batch.measured("ExpiredRequests", "Sum", by_variant=True)) == 1
    missing = batch.measured("RequestDownloadFailures", "Sum", by_variant=True)
    assert sum(missing) == 0
    assert sum(batch.measured("InvocationFailures", "Sum", by_variant=True)) == 1


def test_one_that_takes_too_long_fails(aws: HandRunAws) -> None:
    """
    After as long as its caller waits.
    """
    batch = Batch(aws, seconds=120)
    batch.send(InvocationTimeoutSeconds=119, InferenceId="slow")
    good = batch.send(InvocationTimeoutSeconds=121)
    aws.run(300)

    assert batch.is_there("failed/slow-error.out")
    assert batch.is_there(good)


def test_to_zero_and_back_by_the_backlog(aws: HandRunAws) -> None:
    """
    Idle to none; a request waits, the alarm wakes the first instance, it is answered.
    """
    batch = Batch(aws)
    batch.to_zero(5)
    aws.run(40 * 60)
    assert batch.capacity.desired == 0
    assert batch.capacity.running == 0

    answer = batch.send()
    aws.run(60)
    assert batch.backlog() == 1
    aws.run(20 * 60)
    back = batch.activities()[1]

    assert batch.is_there(answer)
    assert batch.backlog() == 0
    assert "desired instance count to 1" in back["Description"]
    assert max(batch.measured(WAKE, "Average", by_variant=False)) == 1


def test_more_instances_come_for_what_waits(aws: HandRunAws) -> None:
    """
    As many as the target asks for, at most the bound; and none is lost.
    """
    batch = Batch(aws)
    batch.to_zero(5)
    answers = [batch.send() for _ in range(40)]
    aws.run(10 * 60)
    assert batch.capacity.desired == 4
    aws.run(30 * 60)

    assert all(map(batch.is_there, answers))
    aws.run(60 * 60)
    assert batch.capacity.desired == 0


class Server:
    """
    The same endpoint, on a server of its own.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._aws = aws
        self._s3 = aws.client("s3")
        self._s3.create_bucket(Bucket="work")
        self._s3.put_object(Bucket="work", Key="in.json", Body=REQUEST)
        variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.xlarge"}
        output = {"OutputConfig": {"S3OutputPath": "s3://work/out"}}
        config = make_config(aws, variant=variant, AsyncInferenceConfig=output)
        self.name = make_endpoint(aws, config)
        until(lambda: self.instances == 1)

    @property
    def instances(self) -> int:
        """
        How many instances run.
        """
        described = self._aws.client("sagemaker").describe_endpoint(
            EndpointName=self.name
        )
        return int(described["ProductionVariants"][0]["CurrentInstanceCount"])

    def to_zero(self) -> None:
        """
        Set up the guide's two policies and their alarm.
        """
        scaling = self._aws.client("application-autoscaling")
        key = {
            "ServiceNamespace": "sagemaker",
            "ResourceId": f"endpoint/{self.name}/variant/AllTraffic",
            "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        }
        watched = {
            "Namespace": "AWS/SageMaker",
            "Dimensions": [{"Name": "EndpointName", "Value": self.name}],
            "Statistic": "Average",
        }
        scaling.register_scalable_target(**key, MinCapacity=0, MaxCapacity=4)
        scaling.put_scaling_policy(
            **key,
            PolicyName="Backlog",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": 5.0,
                "CustomizedMetricSpecification": {**watched, "MetricName": BACKLOG},
            },
        )
        step = {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}
        policy = scaling.put_scaling_policy(
            **key,
            PolicyName="Wake",
            PolicyType="StepScaling",
            StepScalingPolicyConfiguration={
                "AdjustmentType": "ChangeInCapacity",
                "Cooldown": 300,
                "StepAdjustments": [step],
            },
        )
        self._aws.client("cloudwatch").put_metric_alarm(
            **watched,
            AlarmName="wake",
            MetricName=WAKE,
            Period=60,
            EvaluationPeriods=2,
            DatapointsToAlarm=2,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            AlarmActions=[policy["PolicyARN"]],
        )

    def send(self) -> str:
        """
        Put a request into the queue; return the key of its answer.
        """
        told = self._aws.client("sagemaker-runtime").invoke_endpoint_async(
            EndpointName=self.name, InputLocation="s3://work/in.json"
        )
        return str(told["OutputLocation"]).removeprefix("s3://work/")

    def is_there(self, key: str) -> bool:
        """
        Tell whether an object is there.
        """
        found = self._s3.list_objects_v2(Bucket="work", Prefix=key)
        return bool(found["KeyCount"])


@pytest.mark.whole
def test_a_real_server_goes_to_zero_and_wakes() -> None:
    """
    Over sockets, ten minutes a second: what is asked of none is answered all the same.
    """
    latency = Latency(first_token=1.0, per_token=0.0)
    with EmbeddedAws(speed=600.0, times=TIMES, latency=latency) as aws:
        batch = Server(aws)
        batch.to_zero()
        until(lambda: batch.instances == 0)
        answer = batch.send()
        until(lambda: batch.is_there(answer))


def test_an_asynchronous_endpoint_goes_while_time_passes(aws: HandRunAws) -> None:
    """
    Its backlog is looked at until its last instance is gone.
    """
    batch, hosting = Batch(aws), aws.client("sagemaker")
    hosting.delete_endpoint(EndpointName=batch.subject.endpoint)
    aws.run(10)
    shown = hosting.describe_endpoint(EndpointName=batch.subject.endpoint)
    aws.run(600)

    assert shown["EndpointStatus"] == "Deleting"
    assert not hosting.list_endpoints(NameContains=batch.subject.endpoint)["Endpoints"]
