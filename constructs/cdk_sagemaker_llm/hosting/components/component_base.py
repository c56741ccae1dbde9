"""
What all inference components have in common, imported ones too: their names, and what
the service cannot change in place, so that a new component replaces them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from aws_cdk import Resource
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.elsewhere import far_place, scaled_findings
from cdk_sagemaker_llm.hosting.common.names import name_in, named
from cdk_sagemaker_llm.hosting.common.reporting import checked, report
from cdk_sagemaker_llm.hosting.common.scope import is_defined, stack_of, stage_of
from cdk_sagemaker_llm.hosting.endpoints.connection import Connected, Connection
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
from cdk_sagemaker_llm.hosting.models.model import ModelBase, dialect_of
from cdk_sagemaker_llm.hosting.monitoring.alarms import MetricAlarms
from cdk_sagemaker_llm.hosting.monitoring.canned_metrics import ComponentMetrics
from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
from cdk_sagemaker_llm.hosting.roles.grants import ComponentGrants
from cdk_sagemaker_llm.hosting.scaling.counts import ScalableCopyCount
from cdk_sagemaker_llm.hosting.scaling.target_base import twice_finding
from cdk_sagemaker_llm.tokens import is_unresolved

_KIND = "inference-component"
_USUAL_VARIANT = "AllTraffic"
_USUAL_ID = "Resource"
_DIGITS = 8


class InferenceComponentBase(
    Resource, ComponentMetrics, MetricAlarms, Connected, ComponentGrants
):
    """
    What inference components defined here and imported ones have in common.
    """

    endpoint: EndpointBase
    """The endpoint that hosts it."""
    inference_component_name: str
    """The name that applications call, beside the endpoint's."""
    inference_component_arn: str
    """The ARN."""
    scaling: ScalableCopyCount | None = None
    """How its copies scale; ``None`` where they do not."""
    model: ModelBase | None = None
    """What its copies run; ``None`` where nothing is known of it."""
    resource_id: str | None = None
    """Its resource's id below it, which changes where it must be replaced."""

    @staticmethod
    @checked
    def from_inference_component_name(
        scope: Construct,
        id: str,
        inference_component_name: str,
        *,
        endpoint: EndpointBase,
    ) -> InferenceComponentBase:
        """
        Refer to an existing component in the stack's account and region.

        Args:
            scope: Where it is referred to.

            id: Its id there.

            inference_component_name: Its name.

            endpoint: The endpoint that hosts it, defined here or imported.

        Raises:
            ValueError: If the service would refuse the name.
        """
        arn = named(scope, id, _KIND, inference_component_name)
        return _ImportedComponent(scope, id, inference_component_name, arn, endpoint)

    @staticmethod
    @checked
    def from_inference_component_arn(
        scope: Construct,
        id: str,
        inference_component_arn: str,
        *,
        endpoint: EndpointBase,
    ) -> InferenceComponentBase:
        """
        Refer to an existing component anywhere.

        Args:
            scope: Where it is referred to.

            id: Its id there.

            inference_component_arn: Its ARN.

            endpoint: The endpoint that hosts it, defined here or imported.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        name = name_in(scope, id, _KIND, inference_component_arn)
        return _ImportedComponent(scope, id, name, inference_component_arn, endpoint)

    @property
    def connection(self) -> Connection:
        """
        How an application reaches the component.
        """
        running = self._running()
        dialect = dialect_of(None if running is None else running.definition)
        return Connection(
            endpoint_name=self.endpoint.endpoint_name,
            inference_component_name=self.inference_component_name,
            region=self.env.region,
            schema=dialect.schema,
            takes_chats=dialect.takes_chats,
        )

    def _running(self) -> ModelBase | None:
        return self.model

    def _endpoint_arn(self) -> str:
        return self.endpoint.endpoint_arn

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
            ValueError: If the bounds are wrong, or the copies are scaled already.
        """
        report(self, "", [*self._twice_findings(), *scaled_findings(self)])
        self.scaling = ScalableCopyCount(
            self,
            "Scaling",
            inference_component_name=self.inference_component_name,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        return self.scaling

    def _twice_findings(self) -> list[Finding]:
        if self.scaling is None or not is_defined(self.scaling):
            return []
        return [twice_finding("the copies", "auto_scale_copy_count")]

    def _metric_subject(self, variant_name: str | None) -> Subject:
        if variant_name is not None:
            raise TypeError(
                f"variant_name is for metrics of endpoints, got {variant_name!r} for "
                "those of an inference component; leave it out"
            )
        dimensions = {"InferenceComponentName": self.inference_component_name}
        return Subject(construct=self, dimensions=dimensions)


class _ImportedComponent(InferenceComponentBase):
    def __init__(
        self, scope: Construct, id: str, name: str, arn: str, endpoint: EndpointBase
    ) -> None:
        super().__init__(scope, id, environment_from_arn=arn)
        self.inference_component_name = name
        self.inference_component_arn = arn
        self.endpoint = endpoint

    def _metric_subject(self, variant_name: str | None) -> Subject:
        account, region = far_place(self)
        subject = super()._metric_subject(variant_name)
        return replace(subject, account=account, region=region)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentIdentity:
    """
    Where a component runs, and what it is called.

    Args:
        is_part: Whether endpoint and component are parts of one pattern, so that the
            component's own path changes with its endpoint.
    """

    endpoint: EndpointBase
    variant_name: str
    name: str | None
    is_part: bool

    def resource_id(self, scope: Construct) -> str:
        """
        Choose the resource's id.

        Placeholders count by the construct that they refer to, never by their text,
        which changes with every construct before them.
        """
        endpoint = self.endpoint
        chosen = endpoint.chosen_name if isinstance(endpoint, Endpoint) else None
        variant = None if self.variant_name == _USUAL_VARIANT else self.variant_name
        return _id_of(
            _settled(scope, chosen),
            _settled(scope, self.name),
            _settled(scope, variant),
            None if self.is_part else _path(endpoint),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterIdentity:
    """
    Which base an adapter is for, and what it is called.

    Args:
        base_id: What its endpoint, variant and name make of its resource's id; its name
            if it was made elsewhere.

        is_part: Whether the adapter is defined below its base, so that its own path
            changes with it.
    """

    base: Construct
    base_id: str
    name: str | None
    is_part: bool

    def resource_id(self, scope: Construct) -> str:
        """
        Choose the resource's id, which is another one wherever the base's is.
        """
        return _id_of(
            None if self.base_id == _USUAL_ID else _settled(scope, self.base_id),
            _settled(scope, self.name),
            None if self.is_part else _path(self.base),
        )


def derived_name(
    prefix: str, scope: Construct, identity: ComponentIdentity | AdapterIdentity
) -> str:
    """
    Complete a prefix to a name that is another one wherever the component is replaced:
    a replacement is created before its predecessor is gone.
    """
    return f"{prefix}-{_digest(f'{scope.node.path}/{identity.resource_id(scope)}')}"


def _id_of(*parts: str | None) -> str:
    fixed = "/".join(filter(None, parts))
    return f"{_USUAL_ID}{_digest(fixed)}" if fixed else _USUAL_ID


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _settled(scope: Construct, name: str | None) -> str | None:
    if not is_unresolved(name):
        return name
    try:
        return json.dumps(stack_of(scope).resolve(name), sort_keys=True)
    except RuntimeError:
        # A name that the CDK makes where another environment asks for it: the same as
        # long as the construct's path is.
        return "generated"


def _path(construct: Construct) -> str:
    """
    Return where something is defined, from its stage on: the same in every stage.
    """
    return construct.node.path.removeprefix(f"{stage_of(construct).node.path}/")
