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

from cdk_sagemaker_llm.local import regions
from cdk_sagemaker_llm.local.sagemaker.world import World
from cdk_sagemaker_llm.local.untyped import Untyped

VARIANT_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
COMPONENT_DIMENSION = "sagemaker:inference-component:DesiredCopyCount"

# Which predefined metric belongs to which dimension: facts of the service's guide
# "endpoint-auto-scaling-add-code-define".
_METRIC_PREFIX = {
    VARIANT_DIMENSION: "SageMakerVariant",
    COMPONENT_DIMENSION: "SageMakerInferenceComponent",
}


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
            _refuse_capacity(dimension, settings)
            world = regions.sagemaker(self.account_id, self.region_name).world
            if not _is_there(world, r_id):
                raise AWSValidationException(
                    f"SageMaker has no resource with resource ID: {r_id}"
                )
        return super().register_scalable_target(namespace, r_id, dimension, **settings)

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
            _refuse_metric(scalable_dimension, policy_body)
        return super().put_scaling_policy(
            policy_name,
            service_namespace,
            resource_id,
            scalable_dimension,
            policy_body,
            policy_type,
        )


def install() -> None:
    """
    Put SageMaker's rules into moto, before any backend is made.
    """
    models.applicationautoscaling_backends.backend = EmbeddedScaling
    # An enumeration cannot be extended, so moto's is replaced where it is looked up.
    names = {member.name: member.value for member in ScalableDimensionValueSet}
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


def _refuse_capacity(dimension: str, settings: dict[str, Any]) -> None:
    least, most = settings.get("min_capacity"), settings.get("max_capacity")
    if least is not None and most is not None and least > most:
        raise AWSValidationException(
            "Maximum capacity cannot be less than minimum capacity"
        )
    # Only inference components and asynchronous endpoints can go to zero.
    if dimension == VARIANT_DIMENSION and most == 0:
        raise AWSValidationException("Maximum capacity must be at least 1")


def _refuse_metric(dimension: str, policy: dict[str, Any]) -> None:
    metric = (policy.get("PredefinedMetricSpecification") or {}).get(
        "PredefinedMetricType", ""
    )
    prefix = _METRIC_PREFIX.get(dimension)
    if metric and prefix and not metric.startswith(prefix):
        raise AWSValidationException(
            f"Predefined metric {metric} is not supported for scalable dimension: "
            f"{dimension}"
        )
