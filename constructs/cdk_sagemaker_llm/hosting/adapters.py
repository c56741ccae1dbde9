"""
The SageMaker InferenceComponent of a LoRA adapter: another voice of a model that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn
from weakref import WeakKeyDictionary

from aws_cdk import Fn
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IDependable

from cdk_sagemaker_llm.findings import Finding, errors_of, raise_errors
from cdk_sagemaker_llm.hosting.access import RoleAccess, access_of
from cdk_sagemaker_llm.hosting.adapter_artifact import (
    LoraAdapter,
    artifact_findings,
    reading_statements,
)
from cdk_sagemaker_llm.hosting.adapter_checks import (
    base_findings,
    count_findings,
    role_findings,
    switch_on,
)
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.component_base import InferenceComponentBase
from cdk_sagemaker_llm.hosting.component_checks import (
    COMPONENT_NAME,
    component_name_findings,
)
from cdk_sagemaker_llm.hosting.component_identity import AdapterIdentity, derived_name
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scope import belongs
from cdk_sagemaker_llm.hosting.taken import take_name, twice_findings
from cdk_sagemaker_llm.serving.adapter_specification import NOT_OF_ADAPTERS

if TYPE_CHECKING:
    from aws_cdk import RemovalPolicy
    from aws_cdk import aws_iam as iam

    from cdk_sagemaker_llm.hosting.model_base import ModelBase
    from cdk_sagemaker_llm.hosting.scaling import ScalableCopyCount

_Component = sagemaker.CfnInferenceComponent

# The policies to wait for, by the access and what was allowed: hundreds of adapters
# ask for the same.
_allowed: WeakKeyDictionary[RoleAccess, dict[tuple[str, ...], list[IDependable]]] = (
    WeakKeyDictionary()
)


class AdapterInferenceComponent(InferenceComponentBase):
    """
    A LoRA adapter on the copies of a base: invoked by a name of its own, with no
    accelerators of its own.

    The base is told to take adapters where its definition says nothing of it, and the
    endpoint's role may read what lies beside the adapter.

    Args:
        base: The component of the foundation model, defined here or imported.

        artifact:
            Where the adapter's files are: ``s3://bucket/folder/``,
            ``s3://bucket/adapter.tar.gz``, or a ``LoraAdapter``.

        inference_component_name:
            A name of at most 63 letters, digits and inner hyphens.
            If left out, CloudFormation makes one.

        inference_component_name_prefix:
            In place of a name, the beginning of one, of at most 54 characters: what
            follows changes with the base, and with nothing else.

    Raises:
        ValueError: If the service would refuse it, or the base cannot serve it; all
            reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        base: InferenceComponentBase,
        artifact: str | LoraAdapter,
        inference_component_name: str | None = None,
        inference_component_name_prefix: str | None = None,
    ) -> None:
        adapter = (
            artifact if isinstance(artifact, LoraAdapter) else LoraAdapter(artifact)
        )
        name, prefix = inference_component_name, inference_component_name_prefix
        of_base = base_findings(base, adapter.rank)
        found = [
            *artifact_findings(adapter),
            *_kind_findings(base),
            *of_base,
            *component_name_findings(name, prefix),
            *twice_findings(scope, COMPONENT_NAME, name),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        belongs(self, scope)
        take_name(scope, COMPONENT_NAME, name)
        self.base = base
        """The component whose copies answer."""
        self.endpoint: EndpointBase = base.endpoint
        self.artifact = adapter
        """Where its files are."""
        switch_on(base)
        role = _role_of(base)
        self.cfn_inference_component = self._resource(name, prefix, scope)
        """The resource itself, for what this class does not offer."""
        if role is not None:
            policies = self._policies(role)
            # It loads its files the moment that it is made.
            self.cfn_inference_component.node.add_dependency(*policies)
        self.inference_component_arn: str = self.cfn_inference_component.ref
        annotate(self, [] if role else role_findings(base, adapter.uri))
        annotate(self, [one for one in of_base if one not in errors_of(of_base)])
        annotate(self, count_findings(self))

    # The name is asked of Node, and most adapters are asked by nobody.
    @property
    def inference_component_name(self) -> str:  # type: ignore[override]  # read like the attribute
        """
        The name that applications call, beside the endpoint's.
        """
        return Fn.select(1, Fn.split("/", self.inference_component_arn))

    def _running(self) -> ModelBase | None:
        return self.base.model

    def _resource(
        self, name: str | None, prefix: str | None, scope: Construct
    ) -> sagemaker.CfnInferenceComponent:
        identity = AdapterIdentity(
            base=self.base,
            base_id=self.base.resource_id or self.base.inference_component_name,
            name=name,
            is_part=scope is self.base,
        )
        return _Component(
            self,
            identity.resource_id(self),
            endpoint_name=self.endpoint.endpoint_name,
            inference_component_name=name
            if prefix is None
            else derived_name(prefix, self, identity),
            specification=_Component.InferenceComponentSpecificationProperty(
                # Its base's copies run it: it has no resources, and no copies.
                base_inference_component_name=self.base.inference_component_name,
                container=_Component.InferenceComponentContainerSpecificationProperty(
                    artifact_url=self.artifact.uri
                ),
            ),
        )

    def _policies(self, role: iam.IRole) -> list[IDependable]:
        adapter, access = self.artifact, access_of(self, role)
        key = (adapter.bucket_name, adapter.readable, str(id(adapter.kms_key)))
        allowed = _allowed.setdefault(access, {})
        if key not in allowed:
            allowed[key] = access.allow(reading_statements(adapter))
        return allowed[key]

    def apply_removal_policy(self, policy: RemovalPolicy) -> None:
        """
        Say what becomes of the adapter when it is no longer defined.
        """
        # Its resource has no fixed id, by which the CDK would find it.
        self.cfn_inference_component.apply_removal_policy(policy)

    def auto_scale_copy_count(
        self,
        *,
        max_capacity: int,  # noqa: ARG002 - the base class's signature
        min_capacity: int = 1,  # noqa: ARG002
    ) -> ScalableCopyCount:
        """
        Refuse: an adapter has no copies of its own.

        Raises:
            ValueError: Always.
        """
        self._refuse_scaling()

    def grant_scale(
        self,
        grantee: iam.IGrantable,  # noqa: ARG002 - the base class's signature
        *,
        scalable_target: bool = False,  # noqa: ARG002
    ) -> iam.Grant:
        """
        Refuse: an adapter has no copies of its own.

        Raises:
            ValueError: Always.
        """
        self._refuse_scaling()

    def _refuse_scaling(self) -> NoReturn:
        fault = NOT_OF_ADAPTERS.finding(
            "an adapter has no copies of its own to scale",
            "scale its base, whose copies answer for all adapters",
        )
        raise_errors(self.node.path, [fault])
        raise AssertionError


def _kind_findings(base: InferenceComponentBase) -> list[Finding]:
    if not isinstance(base, AdapterInferenceComponent):
        return []
    return [
        NOT_OF_ADAPTERS.finding(
            "base must be the component of a foundation model, got an adapter",
            "add the adapter to its base",
        )
    ]


def _role_of(base: InferenceComponentBase) -> iam.IRole | None:
    """
    Return the role that reads an adapter: the endpoint's, which is the base's model's.
    """
    endpoint = base.endpoint
    if isinstance(endpoint, Endpoint) and endpoint.endpoint_config.execution_role:
        return endpoint.endpoint_config.execution_role
    return None if base.model is None else base.model.role
