"""
Application Auto Scaling for endpoints and inference components.

The targets and policies live in moto's backend, so that every client sees them. moto
lacks the dimension of inference components, lets any resource id in, and keeps the
policies of a target that is deregistered.
"""

from __future__ import annotations

import enum
from typing import Any

from moto.applicationautoscaling import models, responses
from moto.applicationautoscaling.exceptions import AWSValidationException
from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    FakeApplicationAutoscalingPolicy,
    FakeScalableTarget,
    ScalableDimensionValueSet,
)
from moto.core.exceptions import JsonRESTError

from cdk_sagemaker_llm.local import regions, shapes
from cdk_sagemaker_llm.local.errors import AwsError, validation
from cdk_sagemaker_llm.local.sagemaker.world import World
from cdk_sagemaker_llm.local.scaling_rules import (
    COMPONENT_DIMENSION,
    CONCURRENCY_DIMENSION,
    refuse_capacity,
    refuse_configurations,
    refuse_policy,
    refuse_resource,
)
from cdk_sagemaker_llm.local.schedules import refuse_action
from cdk_sagemaker_llm.local.untyped import Untyped


class EmbeddedScaling(ApplicationAutoscalingBackend):
    """
    moto's Application Auto Scaling with SageMaker's rules.
    """

    @property
    def _url_module(self) -> Untyped:
        # moto derives it from the name of the module the class is in.
        from moto.applicationautoscaling import urls  # noqa: PLC0415 - as moto does

        return urls

    def register_scalable_target(  # type: ignore[override]  # keywords of moto's own
        self, namespace: str, r_id: str, dimension: str, **settings: Untyped
    ) -> FakeScalableTarget:
        """
        Register a target whose endpoint variant or component is there.
        """
        if namespace == regions.NAMESPACE:
            refuse_resource(r_id, dimension)
            self._refuse_target(r_id, dimension, settings)
        try:
            return super().register_scalable_target(
                namespace, r_id, dimension, **settings
            )
        except (IndexError, ValueError) as error:
            # moto takes resource ids apart and counts on their form.
            raise AWSValidationException(
                "Unsupported service namespace, resource type or scalable dimension"
            ) from error

    def deregister_scalable_target(
        self, namespace: str, r_id: str, dimension: str
    ) -> None:
        """
        Remove a target, and its policies as the service does.
        """
        super().deregister_scalable_target(namespace, r_id, dimension)
        for policy in list(self.policies.values()):
            if (policy.resource_id, policy.scalable_dimension) == (r_id, dimension):
                self.delete_scaling_policy(
                    policy.policy_name, namespace, r_id, dimension
                )

    def put_scaling_policy(  # noqa: PLR0917 - moto's signature
        self,
        policy_name: str,
        service_namespace: str,
        resource_id: str,
        scalable_dimension: str,
        policy_body: dict[str, Any],
        policy_type: str | None,
    ) -> FakeApplicationAutoscalingPolicy:
        """
        Keep a policy of a registered target.
        """
        if service_namespace == regions.NAMESPACE:
            if not self._scalable_target_exists(resource_id, scalable_dimension):
                raise AWSValidationException(
                    "No scalable target registered for service namespace: "
                    f"{service_namespace}, resource ID: {resource_id}, scalable "
                    f"dimension: {scalable_dimension}"
                )
            key = FakeApplicationAutoscalingPolicy.formulate_key(
                service_namespace, resource_id, scalable_dimension, policy_name
            )
            # What is left out of a policy that exists stays as it is.
            if policy_body or key not in self.policies:
                refuse_policy(scalable_dimension, policy_type, policy_body)
        return super().put_scaling_policy(
            policy_name,
            service_namespace,
            resource_id,
            scalable_dimension,
            policy_body,
            policy_type,
        )

    def put_scheduled_action(  # noqa: PLR0917 - moto's signature
        self,
        service_namespace: str,
        schedule: str,
        timezone: str,
        scheduled_action_name: str,
        resource_id: str,
        scalable_dimension: str,
        start_time: str,
        end_time: str,
        scalable_target_action: str,
    ) -> None:
        """
        Keep a scheduled action of a registered target.
        """
        if service_namespace == regions.NAMESPACE:
            if not self._scalable_target_exists(resource_id, scalable_dimension):
                raise JsonRESTError(
                    "ObjectNotFoundException",
                    "No scalable target registered for service namespace: "
                    f"{service_namespace}, resource ID: {resource_id}, scalable "
                    f"dimension: {scalable_dimension}",
                )
            before = self.describe_scheduled_actions(
                [scheduled_action_name],  # type: ignore[arg-type]  # a list to moto too
                service_namespace,
                resource_id,
                scalable_dimension,
            )
            if not before and not (schedule and scalable_target_action):
                raise AWSValidationException(
                    "Schedule and ScalableTargetAction are required for a new "
                    "scheduled action"
                )
            wanted: Untyped = scalable_target_action or None
            window = start_time, end_time
            refuse_action(schedule or None, timezone, window, wanted)
        super().put_scheduled_action(
            service_namespace,
            schedule,
            timezone,
            scheduled_action_name,
            resource_id,
            scalable_dimension,
            start_time,
            end_time,
            scalable_target_action,
        )

    def _refuse_target(
        self, r_id: str, dimension: str, settings: dict[str, Any]
    ) -> None:
        world = regions.sagemaker(self.account_id, self.region_name).world
        if not _is_there(world, r_id):
            raise AWSValidationException(
                f"SageMaker has no resource with resource ID: {r_id}"
            )
        known = self.targets.get(dimension, {}).get(r_id)
        least, most = settings.get("min_capacity"), settings.get("max_capacity")
        if known is not None:
            least = known.min_capacity if least is None else least
            most = known.max_capacity if most is None else most
        refuse_capacity(dimension, least, most, to_zero=_is_async(world, r_id))


def refuse_request(operation: str, request: dict[str, Any]) -> None:
    """
    Refuse a call that is not as the API's model says.

    Raises:
        AwsError: If it is not.
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


def install() -> None:
    """
    Put SageMaker's rules into moto, before any backend is made.
    """
    models.applicationautoscaling_backends.backend = EmbeddedScaling
    # An enumeration cannot be extended, so moto's is replaced where it is looked up.
    names = {member.name: member.value for member in ScalableDimensionValueSet}
    names["SAGEMAKER_VARIANT_CONCURRENCY"] = CONCURRENCY_DIMENSION
    names["SAGEMAKER_COMPONENT_DESIRED_COPY_COUNT"] = COMPONENT_DIMENSION
    extended = enum.Enum("ScalableDimensionValueSet", names)  # type: ignore[misc]  # members are known at run time
    for module in (models, responses):
        module.ScalableDimensionValueSet = extended  # type: ignore[attr-defined]  # see above


def _is_there(world: World, resource_id: str) -> bool:
    parts = resource_id.split("/")
    if parts[0] == "inference-component":
        return world.components.find("/".join(parts[1:])) is not None
    endpoint = world.endpoints.find(parts[1])
    return endpoint is not None and parts[-1] in endpoint.fleets


def _is_async(world: World, resource_id: str) -> bool:
    # Only asynchronous endpoints and inference components go to zero.
    endpoint = world.endpoints.find(resource_id.split("/")[1])
    return endpoint is not None and "AsyncInferenceConfig" in endpoint.config
