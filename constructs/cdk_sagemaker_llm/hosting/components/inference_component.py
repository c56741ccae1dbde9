"""
The SageMaker InferenceComponent: copies of a model on an endpoint's shared instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import Fn, Resource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.common.elsewhere import (
    Used,
    bound_findings,
    elsewhere_findings,
)
from cdk_sagemaker_llm.hosting.common.limits import seconds
from cdk_sagemaker_llm.hosting.common.names import take_name, twice_findings
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import Connectable
from cdk_sagemaker_llm.hosting.components.component_base import (
    ComponentIdentity,
    InferenceComponentBase,
    derived_name,
)
from cdk_sagemaker_llm.hosting.components.component_checks import (
    COMPONENT_NAME,
    AvailabilityZoneBalance,
    ComponentDefinition,
    PlacementStrategy,
    Scheduling,
    define_component,
    endpoint_findings,
    host_of,
    models_by_type,
    override_findings,
    resource_findings,
)
from cdk_sagemaker_llm.hosting.components.sizing import by_type, by_type_findings
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
from cdk_sagemaker_llm.hosting.endpoints.placements import Placement
from cdk_sagemaker_llm.hosting.models.model import Model, ModelBase
from cdk_sagemaker_llm.hosting.models.model_weights import moving_findings
from cdk_sagemaker_llm.hosting.scaling.counts import HostedCopyCount, ScalableCopyCount
from cdk_sagemaker_llm.hosting.scaling.zero import CopyHost
from cdk_sagemaker_llm.hosting.variants.variant import START_UP_SECONDS
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration, RemovalPolicy
    from aws_cdk import aws_ec2 as ec2

    from cdk_sagemaker_llm.hosting.components.adapters import (
        AdapterInferenceComponent,
        LoraAdapter,
    )
    from cdk_sagemaker_llm.hosting.updates.rollout import Rolling

_Component = sagemaker.CfnInferenceComponent

STARTS_OUTSIDE = Rule(
    "LLM248", "the copies that start lie outside the bounds of their scaling"
)


@jsii.implements(iam.IGrantable, Connectable)
class InferenceComponent(InferenceComponentBase):
    """
    A SageMaker InferenceComponent.

    Args:
        endpoint: The endpoint, defined here or imported; it must host components.

        model:
            What each copy runs, defined here or imported; its role and network must be
            the endpoint's.

        resources: What each copy reserves, and how many copies start; or that for each
            type of the endpoint's instance pools.

        variant_name: The variant whose instances are shared.

        inference_component_name:
            A name of at most 63 letters, digits and inner hyphens.
            If omitted, CloudFormation makes one.
            The service can change neither name nor endpoint nor variant of a
            component, so that a new one is created before the old is deleted: with
            the same name that fails.

        inference_component_name_prefix:
            In place of a name, the beginning of one, of at most 54 characters: what
            follows changes with endpoint and variant, and with nothing else, so that
            the component can be moved.

        container_startup_health_check_timeout:
            How long a copy may take to answer, 60 to 3600 seconds.
            If omitted, it is 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            If omitted, it follows the size of weights that SageMaker downloads; for
            a tarball alone the service's default applies.

        rollout:
            How an update reaches the copies: ``Rolling``, batch by batch.
            If omitted, all new copies start beside the old ones, or in their place
            where there is no room.

        retain_copy_count:
            Whether an update leaves alone how many copies run, which scaling may have
            changed: the template has no number of copies then.
            Set it from the second deployment on; what the service starts without a
            number is not documented.

        model_overrides:
            Models for types of the endpoint's instance pools, in place of ``model``.
            If omitted, copies run the same on all types.

        placement_strategy:
            Whether copies spread over instances, or share as few as possible.
            If omitted, the service's default applies.

        availability_zone_balance:
            How evenly copies are spread over zones, beside a placement strategy.
            If omitted, zones are balanced where capacity allows, as a strategy asks.

        data_caching:
            Whether instances keep image and model data for further copies.
            If omitted, the service decides by the instances' storage.

    Raises:
        ValueError: If the service would refuse it; all reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint: EndpointBase,
        model: ModelBase,
        resources: ResourceRequirements | Mapping[str, ResourceRequirements],
        variant_name: str = "AllTraffic",
        inference_component_name: str | None = None,
        inference_component_name_prefix: str | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        model_data_download_timeout: Duration | None = None,
        rollout: Rolling | None = None,
        retain_copy_count: bool = False,
        model_overrides: Mapping[str, ModelBase] | None = None,
        placement_strategy: PlacementStrategy | None = None,
        availability_zone_balance: AvailabilityZoneBalance | None = None,
        data_caching: bool | None = None,
    ) -> None:
        host = host_of(endpoint, variant_name)
        models = models_by_type(host, model, resources, model_overrides)
        types = () if host is None else tuple(models)
        report(scope, id, by_type_findings("resources", resources, types))
        needs = by_type(resources, models)
        definitions = {name: one.definition for name, one in models.items()}
        placement = None
        if isinstance(endpoint, Endpoint):
            placement = endpoint.placements.beside(variant_name, id, *needs.values())
        definition = define_component(
            ComponentDefinition(
                resources=next(iter(needs.values())),
                by_type=needs if len(needs) > 1 else {},
                variant_name=variant_name,
                inference_component_name=inference_component_name,
                inference_component_name_prefix=inference_component_name_prefix,
                start_up=container_startup_health_check_timeout,
                download=model_data_download_timeout,
                rollout=rollout,
                retain_copy_count=retain_copy_count,
                scheduling=Scheduling(
                    placement_strategy=placement_strategy,
                    availability_zone_balance=availability_zone_balance,
                    data_caching=data_caching,
                ),
            ),
            list(definitions.values()),
            host=host,
            placement=placement,
        )
        used = [
            Used("endpoint", endpoint, is_of_account=True),
            *(Used("model", one, is_of_account=True) for one in models.values()),
        ]
        found = [
            *endpoint_findings(endpoint, variant_name, *models.values()),
            *override_findings(host, model_overrides, models),
            *resource_findings(resources, host, definitions),
            *twice_findings(scope, COMPONENT_NAME, inference_component_name),
            *definition.findings,
            *elsewhere_findings(scope, used),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        take_name(self, COMPONENT_NAME, inference_component_name)
        self._write(definition, endpoint, models, is_part=False)
        self._take_place(placement)
        own = [("model", one) for one in models.values() if isinstance(one, Model)]
        annotate(self, bound_findings(self, own))

    def _write(
        self,
        definition: ComponentDefinition,
        endpoint: EndpointBase,
        models: Mapping[str, ModelBase],
        *,
        is_part: bool,
    ) -> None:
        self.definition = definition
        """What was checked, and is written here."""
        self.endpoint = endpoint
        self.model: ModelBase = next(iter(models.values()))
        """What each copy runs, on instances of the first choice."""
        self.resources = definition.resources
        self.variant_name = definition.variant_name
        identity = ComponentIdentity(
            endpoint=endpoint,
            variant_name=definition.variant_name,
            name=definition.inference_component_name,
            is_part=is_part,
        )
        self.resource_id = identity.resource_id(self)
        name, prefix = (
            definition.inference_component_name,
            definition.inference_component_name_prefix,
        )
        if prefix is not None:
            name = derived_name(prefix, self, identity)
        self.cfn_inference_component = _Component(
            self,
            self.resource_id,
            endpoint_name=endpoint.endpoint_name,
            variant_name=definition.variant_name,
            inference_component_name=name,
            runtime_config=None
            if definition.retain_copy_count
            else _Component.InferenceComponentRuntimeConfigProperty(
                copy_count=definition.resources.copies
            ),
            **_specification(definition, self.model, models if len(models) > 1 else {}),
        )
        """The resource itself, for what this class does not offer."""
        self.inference_component_arn: str = self.cfn_inference_component.ref
        # CloudFormation has no attribute for the name, which ends the ARN.
        self.inference_component_name = Fn.select(
            1, Fn.split("/", self.inference_component_arn)
        )
        annotate(self, definition.findings)
        if definition.rollout is not None:
            self._roll_out(definition.rollout, name or "")

    def _roll_out(self, rollout: Rolling, name: str) -> None:
        from cdk_sagemaker_llm.hosting.updates.rollback_alarms import (  # noqa: PLC0415 - who has a rollout has it
            Watched,
            alarms_of,
            let_look,
        )

        resource = self.cfn_inference_component
        watched = Watched(name=name, dimensions={"InferenceComponentName": name})
        alarms = alarms_of(self, rollout.rollback_on, [watched])
        resource.deployment_config = rollout.to_component_property(alarms.names)
        roles = [self.model.role] if isinstance(self.model, Model) else []
        annotate(self, let_look(self, roles, alarms, resource))

    def _take_place(self, placement: Placement | None) -> None:
        if isinstance(self.endpoint, Endpoint):
            placements = self.endpoint.placements
            annotate(self, placements.keep(self.variant_name, placement, self))

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """
        Its model's execution role, so that other constructs can grant to it.
        """
        if isinstance(self.model, Model):
            return self.model.grant_principal
        unknown: Any = iam.UnknownPrincipal(resource=self)
        principal: iam.IPrincipal = unknown
        return principal

    @property
    def connections(self) -> ec2.Connections:
        """
        Its model's security groups, where it runs in a VPC.
        """
        if isinstance(self.model, Model):
            return self.model.connections
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        return ec2.Connections()

    def apply_removal_policy(self, policy: RemovalPolicy) -> None:
        """
        Set what happens to the component when it is no longer defined.

        Args:
            policy: What becomes of it when it leaves the stack.
        """
        # Its resource has no fixed id, by which the CDK would find it.
        self.cfn_inference_component.apply_removal_policy(policy)

    @checked
    def auto_scale_copy_count(
        self, *, max_capacity: int, min_capacity: int = 1
    ) -> ScalableCopyCount:
        """
        Let the number of copies follow their load.

        With ``min_capacity=0`` the first request that finds no copy fails and starts
        one, which takes minutes: a step policy and its alarm are defined as well. The
        host needs ``min_instance_count=0`` then.

        Args:
            max_capacity: Copies that run at most.

            min_capacity: Copies that always run; 0 lets the last one go.

        Raises:
            ValueError: If the bounds are wrong, the host does not define whether its
                instances may go to zero, or the copies are scaled already.
        """
        host = CopyHost(
            hosts=host_of(self.endpoint, self.variant_name),
            resources=[*self.definition.by_type.values()] or [self.resources],
            model=self.model.definition,
        )
        found = self._twice_findings()
        if min_capacity == 0:
            found += host.zero_findings("min_capacity=0")
        report(self, "", found)
        self.scaling = HostedCopyCount(
            self,
            "Scaling",
            host=host,
            inference_component_name=self.inference_component_name,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        moving = []
        if self.model.definition is not None:
            moving = moving_findings(self.model.definition.model, max_capacity)
        annotate(
            self,
            [
                *host.room_findings("max_capacity", max_capacity),
                *self._start_findings(min_capacity, max_capacity),
                *moving,
            ],
        )
        rollout = self.definition.rollout
        if rollout is not None:
            from cdk_sagemaker_llm.hosting.updates.rollout_checks import (  # noqa: PLC0415 - who has a rollout has it
                retained_findings,
                scaled_findings,
            )

            is_retained = self.definition.retain_copy_count
            scaled = scaled_findings(rollout, min_capacity, max_capacity, "copies")
            annotate(self, [*scaled, *retained_findings(is_retained=is_retained)])
        return self.scaling

    @checked
    def add_adapter(
        self,
        id: str,
        *,
        artifact: str | LoraAdapter,
        inference_component_name: str | None = None,
        inference_component_name_prefix: str | None = None,
    ) -> AdapterInferenceComponent:
        """
        Serve a LoRA adapter on this component's copies, as a component of its own.

        A base that sets nothing about LoRA is set to take adapters, which restarts it
        where it runs already. ``LmiVllm(enable_lora=True)`` takes them from the start,
        as does ``Vllm(enable_lora=True)`` beside
        ``environment={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true"}``.

        Args:
            id: The construct's id.

            artifact:
                Where the adapter's files are: ``s3://bucket/folder/``,
                ``s3://bucket/adapter.tar.gz``, or a ``LoraAdapter``.

            inference_component_name:
                A name of your own.
                If omitted, CloudFormation makes one.

            inference_component_name_prefix:
                In place of a name, the beginning of one: what follows changes where
                the adapter has to be replaced.

        Raises:
            ValueError: If the service would refuse it, or the base cannot serve it; all
                reasons at once.
        """
        from cdk_sagemaker_llm.hosting.components.adapters import (  # noqa: PLC0415 - who has an adapter has it
            AdapterInferenceComponent,
        )

        return AdapterInferenceComponent(
            self,
            id,
            base=self,
            artifact=artifact,
            inference_component_name=inference_component_name,
            inference_component_name_prefix=inference_component_name_prefix,
        )

    def _start_findings(self, least: int, most: int) -> list[Finding]:
        copies = self.resources.copies
        if is_unresolved((copies, least, most)) or least <= copies <= most:
            return []
        return [
            STARTS_OUTSIDE.finding(
                f"{copies} copies start, and scaling keeps {least} to {most}: they are "
                "changed as soon as they run",
                "let copies lie between min_capacity and max_capacity",
            )
        ]


class DefinedInferenceComponent(InferenceComponent):
    """
    A component whose definition was made and reported by a pattern.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        definition: ComponentDefinition,
        *,
        endpoint: EndpointBase,
        models: Mapping[str, ModelBase],
        placement: Placement | None,
    ) -> None:
        Resource.__init__(self, scope, id)
        take_name(self, COMPONENT_NAME, definition.inference_component_name)
        self._write(definition, endpoint, models, is_part=True)
        self._take_place(placement)


def _specification(
    definition: ComponentDefinition, model: ModelBase, by_type: Mapping[str, ModelBase]
) -> dict[str, Any]:
    resources = definition.resources
    needs = definition.by_type or dict.fromkeys(by_type, resources)
    models = by_type or dict.fromkeys(needs, model)
    if all(one == resources for one in needs.values()) and all(
        one is model for one in models.values()
    ):
        return {
            "specification": _Component.InferenceComponentSpecificationProperty(
                **_contents(definition, model, resources)
            )
        }
    return {
        "specifications": [
            _Component.InferenceComponentSpecificationForInstanceTypeProperty(
                instance_type=name,
                **_contents(definition, models[name], needs[name]),
            )
            for name in needs
        ]
    }


def _contents(
    definition: ComponentDefinition, model: ModelBase, resources: ResourceRequirements
) -> dict[str, Any]:
    scheduling = definition.scheduling
    return {
        "model_name": model.model_name,
        "compute_resource_requirements": (
            _Component.InferenceComponentComputeResourceRequirementsProperty(
                number_of_accelerator_devices_required=resources.accelerators,
                number_of_cpu_cores_required=resources.cpus,
                min_memory_required_in_mb=resources.memory_mib,
            )
        ),
        "startup_parameters": _Component.InferenceComponentStartupParametersProperty(
            container_startup_health_check_timeout_in_seconds=seconds(
                definition.start_up
            )
            or START_UP_SECONDS,
            model_data_download_timeout_in_seconds=seconds(definition.download),
        ),
        "scheduling_config": scheduling.scheduling_property(),
        "data_cache_config": scheduling.caching_property(),
    }
