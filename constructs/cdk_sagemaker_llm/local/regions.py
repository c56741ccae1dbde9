"""
The services of each account and region, put together: SageMaker, CodeBuild and what
watches them, beside moto's.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from moto.applicationautoscaling.models import applicationautoscaling_backends
from moto.cloudwatch.models import cloudwatch_backends
from moto.core.exceptions import ServiceException
from moto.logs.models import logs_backends
from moto.s3.models import FakeKey, s3_backends
from moto.sns.models import sns_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.clock import CLOCK, now
from cdk_sagemaker_llm.local.aws.faults import Faults
from cdk_sagemaker_llm.local.aws.forwards import Forwards
from cdk_sagemaker_llm.local.aws.settings import Latency, Settings
from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.codebuild import CODEBUILD, CodeBuild
from cdk_sagemaker_llm.local.builds.functions import publish
from cdk_sagemaker_llm.local.hosting.service import SAGEMAKER, SageMaker
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.scaling.scalable_targets import NAMESPACE
from cdk_sagemaker_llm.local.scaling.watching import WATCHING, Watching
from cdk_sagemaker_llm.permissions import ALARMS_SERVICE, PUBLISH, lets_service

# Of the process, as its clock is; what goes wrong does so in every region.
_SETTINGS = [Settings()]
_FAULTS = Faults()


@functools.cache
def exists(account: str, region: str) -> bool:
    """
    Tell whether AWS has such a region.
    """
    return region in applicationautoscaling_backends[account]


@SAGEMAKER.finder
def sagemaker(account: str, region: str) -> SageMaker:
    """
    Return the SageMaker of a region; it lives as long as the process.
    """
    return _region(account, region)[0]


@WATCHING.finder
def watching(account: str, region: str) -> Watching:
    """
    Return what watches a region, from the first look at its SageMaker on.
    """
    return _region(account, region)[1]


@CODEBUILD.finder
@functools.cache
def codebuild(account: str, region: str) -> CodeBuild:
    """
    Return the CodeBuild of a region; it lives as long as the process.
    """
    partition = get_partition(region)
    around = MotoSurroundings(account, region, partition)
    return CodeBuild(account, region, partition, around)


@functools.cache
def _region(account: str, region: str) -> tuple[SageMaker, Watching]:
    partition = get_partition(region)
    around = MotoSurroundings(account, region, partition)
    world = World(region, account, partition, around, faults=_FAULTS)
    settings = _SETTINGS[-1]
    world.times = settings.fleet_times
    world.latency = settings.latency or Latency()
    if settings.is_by_hand:
        world.latency = Latency(first_token=0.0, per_token=0.0)
    world.forwards = Forwards(settings.forward)
    hosting = SageMaker(world)
    cloudwatch: Untyped = cloudwatch_backends[account][region]
    timeline = None if CLOCK.speed is None else CLOCK.timeline
    return hosting, Watching(hosting, cloudwatch.publish, now, timeline)


def configure(settings: Settings) -> None:
    """
    Set how time passes and what goes wrong, before anything is made.
    """
    _SETTINGS.append(settings)
    if settings.is_by_hand:
        CLOCK.run_by_hand()
    else:
        CLOCK.run_at(settings.speed)
    for fault in settings.faults:
        _FAULTS.put(fault)


class MotoSurroundings:
    """
    moto's S3, SNS and Application Auto Scaling, as hosting sees them.
    """

    def __init__(self, account: str, region: str, partition: str) -> None:
        self._account, self._region = account, region
        self._scaling = applicationautoscaling_backends[account][region]
        self._s3 = s3_backends[account][partition]
        self._cloudwatch = cloudwatch_backends[account][region]
        self._sns = sns_backends[account][region]

    def read_object(self, location: Location) -> bytes | None:
        found = self._object(location)
        return None if found is None else bytes(found.value)

    def write_object(self, location: Location, contents: bytes) -> None:
        if location.bucket in self._s3.buckets:
            self._s3.put_object(location.bucket, location.key, contents)

    def publish(self, topic: str, message: str) -> bool:
        try:
            self._sns.publish(message=message, arn=topic)
        except ServiceException:
            return False
        return True

    def publish_for_alarm(
        self, topic: str, message: str, subject: str, alarm: str
    ) -> bool:
        context = {
            "aws:sourceaccount": self._account,
            "aws:sourceowner": self._account,
            "aws:sourcearn": alarm,
            "aws:securetransport": "true",
        }
        try:
            policy = json.loads(self._sns.get_topic(topic).policy)
            if not lets_service(policy, ALARMS_SERVICE, PUBLISH, context):
                return False
            self._sns.publish(message=message, arn=topic, subject=subject)
        except ServiceException:
            return False
        return True

    def object_version(self, location: Location) -> str | None:
        found = self._object(location)
        return None if found is None else f"{found.version_id} {found.etag}"

    def has_objects(self, prefix: Location) -> bool:
        bucket = self._s3.buckets.get(prefix.bucket)
        return bucket is not None and any(
            key.startswith(prefix.key) and isinstance(bucket.keys[key], FakeKey)
            for key in bucket.keys
        )

    def objects_under(self, prefix: Location) -> tuple[str, ...]:
        bucket = self._s3.buckets.get(prefix.bucket)
        found = bucket.keys if bucket is not None else ()
        return tuple(
            key.removeprefix(prefix.key)
            for key in found
            if key.startswith(prefix.key) and key != prefix.key
        )

    def write_log(
        self, group: str, stream: str, lines: Sequence[str], moment: float
    ) -> None:
        logs = logs_backends[self._account][self._region]
        if group not in logs.groups:
            logs.create_log_group(group, {})
        if stream not in logs.groups[group].streams:
            logs.create_log_stream(group, stream)
        stamp = int(moment * 1000)
        events = [{"timestamp": stamp, "message": line} for line in lines]
        # Not by the service, which takes nothing of two hours ahead of the wall.
        logs.groups[group].put_log_events(stream, events)

    def notify(
        self, source: str, kind: str, detail: dict[str, Any], resource: str
    ) -> None:
        place = (self._account, self._region)
        publish(*place, source, kind, detail, resource)

    def scalable_targets(self) -> set[str]:
        targets = self._scaling.describe_scalable_targets(NAMESPACE, None, None)
        return {target.resource_id for target in targets}

    def deregister(self, resource_id: str) -> None:
        targets = self._scaling.describe_scalable_targets(
            NAMESPACE, [resource_id], None
        )
        for target in targets:
            self._scaling.deregister_scalable_target(
                NAMESPACE, resource_id, target.scalable_dimension
            )

    def has_gone_off(self, alarm: str, since: float) -> bool:
        """
        Tell whether a CloudWatch alarm is in ALARM, or was after a time.

        One that is set by hand, or of a single minute, may be over by the next look.
        """
        if any(
            one.state_value == "ALARM"
            for one in self._cloudwatch.get_alarms_by_alarm_names([alarm])
        ):
            return True
        alarms = watching(self._account, self._region).alarms
        return alarms is not None and any(
            change.alarm == alarm and change.after == "ALARM" and change.time >= since
            for change in alarms.history
        )

    def _object(self, location: Location) -> FakeKey | None:
        if location.bucket not in self._s3.buckets:
            return None
        return self._s3.get_object(location.bucket, location.key)
