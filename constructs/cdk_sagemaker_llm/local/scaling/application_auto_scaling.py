"""
Application Auto Scaling for endpoints and inference components.

The targets and policies live in moto's backend, so that every client sees them. moto
lacks the dimension of inference components, lets any resource id in, and keeps the
policies of a target that is deregistered.
"""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Callable
from typing import Any

from moto.applicationautoscaling import models, responses, urls
from moto.applicationautoscaling.exceptions import AWSValidationException
from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    FakeApplicationAutoscalingPolicy,
    FakeScalableTarget,
    ScalableDimensionValueSet,
)
from moto.cloudwatch.models import CloudWatchBackend, cloudwatch_backends
from moto.core.exceptions import JsonRESTError
from moto.iam.models import iam_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError, validation
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.hosting.service import SAGEMAKER
from cdk_sagemaker_llm.local.scaling.cloudwatch import page_start
from cdk_sagemaker_llm.local.scaling.scalable_targets import (
    NAMESPACE,
    ScalingEntry,
    Targets,
    put_alarms,
)
from cdk_sagemaker_llm.local.scaling.scaling_rules import (
    COMPONENT_DIMENSION,
    CONCURRENCY_DIMENSION,
    refuse_action,
    refuse_capacity,
    refuse_configurations,
    refuse_followed,
    refuse_policy,
    refuse_resource,
)
from cdk_sagemaker_llm.local.scaling.watching import WATCHING

# Of results that one answer has, but for policies; API reference.
_MOST, _MOST_POLICIES = 50, 10
_PRINCIPAL = "sagemaker.application-autoscaling.amazonaws.com"
_LINKED_ROLE = (
    f"arn:{{}}:iam::{{}}:role/aws-service-role/{_PRINCIPAL}/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": _PRINCIPAL},
            "Action": "sts:AssumeRole",
        }
    ],
}
_UNSUPPORTED = "Unsupported service namespace, resource type or scalable dimension"
# What tells a target from others, as moto's keywords.
_PLACE = ("service_namespace", "resource_id", "scalable_dimension")
_NO_TARGET = (
    "No scalable target registered for service namespace: {}, resource ID: {}, "
    "scalable dimension: {}"
)


class EmbeddedScaling(ApplicationAutoscalingBackend):
    """
    moto's Application Auto Scaling with SageMaker's rules.
    """

    # moto derives it from the name of the module the class is in.
    _url_module: Untyped = urls

    def register_scalable_target(  # type: ignore[override]  # keywords of moto's own
        self, namespace: str, r_id: str, dimension: str, **settings: Untyped
    ) -> FakeScalableTarget:
        """
        Register a target whose endpoint variant or component is there. Whatever role is
        named, the service uses the one that is linked with it.
        """
        if namespace == NAMESPACE:
            refuse_resource(r_id, dimension)
            self._refuse_target(r_id, dimension, settings)
            partition = get_partition(self.region_name)
            settings["role_arn"] = _LINKED_ROLE.format(partition, self.account_id)
            _make_linked_role(self.account_id, partition)
        is_new = not self._scalable_target_exists(r_id, dimension)
        try:
            target = super().register_scalable_target(
                namespace, r_id, dimension, **settings
            )
        except (IndexError, ValueError) as error:
            # moto takes resource ids apart and counts on their form.
            raise AWSValidationException(_UNSUPPORTED) from error
        if namespace == NAMESPACE:
            if is_new:
                target.creation_time = self._now
            if self._acting:
                self._acting.register(target)
        return target

    def tag(self, arn: str, tags: dict[str, str]) -> None:
        """
        Put tags on a scalable target.
        """
        self._tags[arn] = {**self.tags_of(arn), **tags}

    def tags_of(self, arn: str) -> dict[str, str]:
        """
        Return the tags of a scalable target; none of one that is not there.
        """
        return self._tags.get(arn, {})

    @functools.cached_property
    def _tags(self) -> dict[str, dict[str, str]]:
        return {}

    def describe_scalable_targets(
        self, namespace: str, r_ids: list[str] | None, dimension: str | None
    ) -> list[FakeScalableTarget]:
        """
        Return targets with the bounds that schedules have given them.
        """
        if self._acting:
            self._acting.settle()
        return super().describe_scalable_targets(namespace, r_ids, dimension)

    def deregister_scalable_target(
        self, namespace: str, r_id: str, dimension: str
    ) -> None:
        """
        Remove a target, its policies and scheduled actions, as the service does.
        """
        super().deregister_scalable_target(namespace, r_id, dimension)
        for policy in list(self.policies.values()):
            if (policy.resource_id, policy.scalable_dimension) == (r_id, dimension):
                self.delete_scaling_policy(
                    policy.policy_name, namespace, r_id, dimension
                )
        for action in list(self.scheduled_actions):
            if (action.resource_id, action.scalable_dimension) == (r_id, dimension):
                self.delete_scheduled_action(
                    namespace, action.scheduled_action_name, r_id, dimension
                )
        if self._acting:
            self._acting.deregister((r_id, dimension))

    def put_scaling_policy(  # type: ignore[override]  # keywords of moto's own
        self, **settings: Untyped
    ) -> FakeApplicationAutoscalingPolicy:
        place = [settings[name] for name in _PLACE]
        namespace, resource_id, dimension = place
        name, body = settings["policy_name"], settings["policy_body"]
        key = FakeApplicationAutoscalingPolicy.formulate_key(
            namespace, resource_id, dimension, name
        )
        before = self.policies.get(key)
        if namespace == NAMESPACE:
            if not self._scalable_target_exists(resource_id, dimension):
                raise AWSValidationException(_NO_TARGET.format(*place))
            # What is left out of a policy that exists stays as it is.
            if body or before is None:
                refuse_policy(dimension, settings["policy_type"], body)
                others = [
                    each.target_tracking_scaling_policy_configuration or {}
                    for each in self.policies.values()
                    if (each.resource_id, each.scalable_dimension)
                    == (resource_id, dimension)
                    and each.policy_name != name
                ]
                refuse_followed(body or {}, others)
        try:
            policy = super().put_scaling_policy(**settings)
        except ValueError as error:
            # As above.
            raise AWSValidationException(_UNSUPPORTED) from error
        if before is not None:
            # moto would make another ARN.
            policy.policy_arn = before.policy_arn
        if namespace == NAMESPACE:
            self._set_up(policy, before)
        return policy

    def policies_of(
        self, request: dict[str, Any]
    ) -> list[FakeApplicationAutoscalingPolicy]:
        """
        Return policies, those of steps with the alarms whose action they are.
        """
        names = request.get("PolicyNames") or []
        place = [request.get(name) for name in ("ResourceId", "ScalableDimension")]
        found = []
        for policy in self.policies.values():
            its = policy.resource_id, policy.scalable_dimension
            if (
                policy.service_namespace == request["ServiceNamespace"]
                and (not names or policy.policy_name in names)
                and all(a in {None, b} for a, b in zip(place, its, strict=True))
            ):
                found.append(policy)
                if policy.policy_type == "StepScaling":
                    policy.alarms = [
                        alarm
                        for alarm in self._cloudwatch.alarms.values()
                        if policy.policy_arn in (alarm.alarm_actions or ())
                    ]
        return found

    def delete_scaling_policy(
        self,
        policy_name: str,
        service_namespace: str,
        resource_id: str,
        scalable_dimension: str,
    ) -> None:
        """
        Delete a policy, with the alarms that were made for it.
        """
        key = FakeApplicationAutoscalingPolicy.formulate_key(
            service_namespace, resource_id, scalable_dimension, policy_name
        )
        policy = self.policies.get(key)
        if policy is not None:
            if policy.policy_type == "StepScaling":
                policy.alarms = []  # They are the client's.
            if self._acting:
                self._acting.delete_policy(policy)
        super().delete_scaling_policy(
            policy_name, service_namespace, resource_id, scalable_dimension
        )

    def put_scheduled_action(self, **settings: Untyped) -> None:  # type: ignore[override]  # keywords of moto's own
        place = [settings[name] for name in _PLACE]
        names: Untyped = [settings["scheduled_action_name"]]
        if settings["service_namespace"] == NAMESPACE:
            schedule = settings["schedule"] or None
            bounds = settings["scalable_target_action"] or None
            if not self._scalable_target_exists(*place[1:]):
                raise JsonRESTError(
                    "ObjectNotFoundException", _NO_TARGET.format(*place)
                )
            before = self.describe_scheduled_actions(names, *place)
            if not before and not (schedule and bounds):
                raise AWSValidationException(
                    "Schedule and ScalableTargetAction are required for a new "
                    "scheduled action"
                )
            window = settings["start_time"], settings["end_time"]
            refuse_action(schedule, settings["timezone"], window, bounds)
        super().put_scheduled_action(**settings)
        for action in self.describe_scheduled_actions(names, *place):
            action.creation_time = self._now
            if self._acting:
                self._acting.schedule(action)

    def delete_scheduled_action(
        self,
        service_namespace: str,
        scheduled_action_name: str,
        resource_id: str,
        scalable_dimension: str,
    ) -> None:
        super().delete_scheduled_action(
            service_namespace, scheduled_action_name, resource_id, scalable_dimension
        )
        if self._acting:
            key = resource_id, scalable_dimension
            self._acting.unschedule(key, scheduled_action_name)

    def describe_scaling_activities(
        self, request: dict[str, Any]
    ) -> list[ScalingEntry]:
        """
        Return what was done, the newest first.
        """
        if not self._acting or request["ServiceNamespace"] != NAMESPACE:
            return []
        resource_id = request.get("ResourceId")
        dimension = request.get("ScalableDimension")
        refused_too = request.get("IncludeNotScaledActivities")
        return [
            entry
            for entry in self._acting.entries()
            if resource_id in {None, entry.resource_id}
            and dimension in {None, entry.dimension}
            and (refused_too or not entry.activity.not_scaled)
        ]

    @property
    def _acting(self) -> Targets | None:
        # None where no time runs: then no policy acts.
        return WATCHING.at(self.account_id, self.region_name).targets

    @property
    def _now(self) -> float:
        return WATCHING.at(self.account_id, self.region_name).now()

    @property
    def _cloudwatch(self) -> CloudWatchBackend:
        return cloudwatch_backends[self.account_id][self.region_name]

    def _set_up(
        self,
        policy: FakeApplicationAutoscalingPolicy,
        before: FakeApplicationAutoscalingPolicy | None,
    ) -> None:
        # The same policy goes on, with its alarms.
        names = []
        policy.creation_time = self._now
        if before is not None:
            policy.creation_time = before.creation_time
            if before.policy_type == "TargetTrackingScaling":
                names = [alarm.name for alarm in before.alarms]
        if policy.policy_type == "TargetTrackingScaling":
            policy.alarms = put_alarms(self._cloudwatch, policy, names)
        kept = {alarm.name for alarm in policy.alarms}
        self._cloudwatch.delete_alarms([name for name in names if name not in kept])
        if self._acting:
            self._acting.put_policy(policy)

    def _refuse_target(
        self, r_id: str, dimension: str, settings: dict[str, Any]
    ) -> None:
        world = SAGEMAKER.at(self.account_id, self.region_name).world
        kind, name, *rest = r_id.split("/")
        endpoint = world.endpoints.find(name)
        if kind == "inference-component":
            is_there = world.components.find("/".join([name, *rest])) is not None
        else:
            is_there = endpoint is not None and rest[-1] in endpoint.fleets
        if not is_there:
            raise AWSValidationException(
                f"SageMaker has no resource with resource ID: {r_id}"
            )
        target = self.targets.get(dimension, {}).get(r_id)
        least, most = settings.get("min_capacity"), settings.get("max_capacity")
        if target is not None:
            least = target.min_capacity if least is None else least
            most = target.max_capacity if most is None else most
        # Of variants only those of asynchronous endpoints go to zero.
        to_zero = endpoint is not None and "AsyncInferenceConfig" in endpoint.config
        refuse_capacity(dimension, least, most, to_zero=to_zero)


def refuse_request(operation: str, request: dict[str, Any]) -> None:
    """
    Refuse a call that is not as the API's model says.
    """
    service = "application-autoscaling"
    if not shapes.has_operation(service, operation):
        raise AwsError("UnknownOperationException", f"unknown operation {operation}")
    shapes.refuse_wrong_types(service, operation, request)
    shapes.check(service, operation, request)
    if operation == "PutScalingPolicy":
        try:
            refuse_configurations(request)
        except AWSValidationException as error:
            raise validation(error.message) from error


def _make_linked_role(account: str, partition: str) -> None:
    """
    Make the role that is linked with the service, as it does itself at its first use.
    """
    name = _LINKED_ROLE.rpartition("/")[2]
    iam = iam_backends[account][partition]
    if name not in {role.name for role in iam.get_roles()}:
        iam.create_role(
            name,
            json.dumps(_TRUST),
            f"/aws-service-role/{_PRINCIPAL}/",
            permissions_boundary=None,
            description="",
            tags=[],
            max_session_duration="3600",
            linked_service=_PRINCIPAL,
        )


def install() -> None:
    """
    Put SageMaker's rules into moto, before any backend is made.
    """
    models.applicationautoscaling_backends.backend = EmbeddedScaling
    answers: Untyped = responses.ApplicationAutoScalingResponse
    answers.describe_scaling_activities = _describe_scaling_activities
    answers.describe_scalable_targets = _describe_scalable_targets
    answers.describe_scaling_policies = _describe_scaling_policies
    answers.describe_scheduled_actions = _describe_scheduled_actions
    register = answers.register_scalable_target
    answers.register_scalable_target = lambda one: _register_tagged(one, register)
    answers.list_tags_for_resource = _list_tags
    # An enumeration cannot be extended, so moto's is replaced where it is looked up.
    names = {member.name: member.value for member in ScalableDimensionValueSet}
    names["SAGEMAKER_VARIANT_CONCURRENCY"] = CONCURRENCY_DIMENSION
    names["SAGEMAKER_COMPONENT_DESIRED_COPY_COUNT"] = COMPONENT_DIMENSION
    extended = enum.Enum("ScalableDimensionValueSet", names)  # type: ignore[misc]  # members are known at run time
    for module in (models, responses):
        module.ScalableDimensionValueSet = extended  # type: ignore[attr-defined]  # see above


def _describe_scalable_targets(response: Untyped) -> str:
    response._validate_params()  # noqa: SLF001 - as moto's own answer does
    request: dict[str, Any] = json.loads(response.body)
    found = response.applicationautoscaling_backend.describe_scalable_targets(
        request["ServiceNamespace"],
        request.get("ResourceIds"),
        request.get("ScalableDimension"),
    )
    return _page(request, "ScalableTargets", found, responses._build_target)  # noqa: SLF001 - as above


def _register_tagged(response: Untyped, register: Callable[[Untyped], str]) -> str:
    # moto takes no notice of a target's tags.
    answer = register(response)
    tags = json.loads(response.body).get("Tags")
    if tags:
        response.applicationautoscaling_backend.tag(
            json.loads(answer)["ScalableTargetARN"], tags
        )
    return answer


def _list_tags(response: Untyped) -> str:
    arn = json.loads(response.body)["ResourceARN"]
    return json.dumps({"Tags": response.applicationautoscaling_backend.tags_of(arn)})


def _describe_scaling_policies(response: Untyped) -> str:
    request: dict[str, Any] = json.loads(response.body)
    found = response.applicationautoscaling_backend.policies_of(request)
    build = responses._build_policy  # noqa: SLF001 - as moto's own answer does
    return _page(request, "ScalingPolicies", found, build, _MOST_POLICIES)


def _describe_scheduled_actions(response: Untyped) -> str:
    request: dict[str, Any] = json.loads(response.body)
    found = response.applicationautoscaling_backend.describe_scheduled_actions(
        request.get("ScheduledActionNames"),
        request["ServiceNamespace"],
        request.get("ResourceId"),
        request.get("ScalableDimension"),
    )
    build = responses._build_scheduled_action  # noqa: SLF001 - as moto's own answer does
    return _page(request, "ScheduledActions", found, build)


def _describe_scaling_activities(response: Untyped) -> str:
    request: dict[str, Any] = json.loads(response.body)
    found = response.applicationautoscaling_backend.describe_scaling_activities(request)
    return _page(request, "ScalingActivities", found, ScalingEntry.as_answer)


def _page(
    request: dict[str, Any],
    member: str,
    found: list[Untyped],
    build: Callable[[Untyped], dict[str, Any]],
    limit: int = _MOST,
) -> str:
    most = request.get("MaxResults", limit)
    if not 1 <= most <= limit:
        raise AWSValidationException(f"MaxResults must be between 1 and {limit}")
    start = page_start(request.get("NextToken"))
    if start is None:
        raise JsonRESTError("InvalidNextTokenException", "NextToken is not valid")
    built = [build(one) for one in found[start : start + most]]
    answer: dict[str, Any] = {
        member: [{k: v for k, v in one.items() if v is not None} for one in built]
    }
    if start + most < len(found):
        answer["NextToken"] = str(start + most)
    return json.dumps(answer)
