"""
The SageMaker InferenceComponent of a LoRA adapter on the copies of a base model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn
from weakref import WeakKeyDictionary

from aws_cdk import Fn, Stack
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IDependable

from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of, raise_errors
from cdk_sagemaker_llm.hosting.common.limits import count_findings
from cdk_sagemaker_llm.hosting.common.names import take_name, twice_findings
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import belongs, stack_of
from cdk_sagemaker_llm.hosting.components.component_base import (
    AdapterIdentity,
    InferenceComponentBase,
    derived_name,
)
from cdk_sagemaker_llm.hosting.components.component_checks import (
    COMPONENT_NAME,
    component_name_findings,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
from cdk_sagemaker_llm.hosting.models.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.models.model import Model, ModelBase
from cdk_sagemaker_llm.hosting.roles.access import RoleAccess, access_of
from cdk_sagemaker_llm.hosting.roles.statements import read_statements
from cdk_sagemaker_llm.models import class_of, kind_of
from cdk_sagemaker_llm.serving.adapters import (
    ADAPTER_ARTIFACT,
    ARCHIVE,
    NOT_OF_ADAPTERS,
    SCHEME,
    AdapterHost,
    adapter_findings,
    address_findings,
)
from cdk_sagemaker_llm.serving.checks import config_of
from cdk_sagemaker_llm.serving.families import adapter_host, added_findings
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import RemovalPolicy
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3

    from cdk_sagemaker_llm.hosting.scaling.counts import ScalableCopyCount

_Component = sagemaker.CfnInferenceComponent

# CloudFormation takes 500 resources in a stack, of which each adapter is one.
_MANY = 400

UNKNOWN_READER = Rule(
    "LLM420",
    "the role that reads an adapter is not known, so that it cannot be allowed to",
)
MANY_ADAPTERS = Rule(
    "LLM421",
    "a stack's adapters come near to all the resources that a stack may have",
    "CloudFormation user guide, quotas",
)

# The policies to wait for, by role and by what they let it read: hundreds of adapters
# need the same.
_policies: WeakKeyDictionary[RoleAccess, dict[tuple[str, ...], list[IDependable]]] = (
    WeakKeyDictionary()
)
_counts: WeakKeyDictionary[Stack, int] = WeakKeyDictionary()


class AdapterInferenceComponent(InferenceComponentBase):
    """
    A LoRA adapter on the copies of a base: it has a name of its own to be invoked by,
    and no accelerators of its own.

    The base is set to take adapters unless its definition sets that itself, and the
    endpoint's role may read what lies beside the adapter.

    Args:
        base: The component of the foundation model, defined here or imported.

        artifact:
            Where the adapter's files are: ``s3://bucket/adapter.tar.gz``,
            ``s3://bucket/folder/``, or a ``LoraAdapter``.

        inference_component_name:
            A name of at most 63 letters, digits and inner hyphens.
            If omitted, CloudFormation makes one.

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
        found = list(adapter_artifact_findings(adapter))
        if isinstance(base, AdapterInferenceComponent):
            found.append(
                NOT_OF_ADAPTERS.finding(
                    "base must be the component of a foundation model, got an adapter",
                    "add the adapter to its base",
                )
            )
        found += [
            *of_base,
            *component_name_findings(name, prefix),
            *twice_findings(scope, COMPONENT_NAME, name),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        belongs(self, scope)
        take_name(self, COMPONENT_NAME, name)
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
        else:
            # The endpoint was made elsewhere, and so was its role.
            unknown = UNKNOWN_READER.finding(
                f"the execution role of {base.node.id}'s endpoint is not known here: "
                f"nothing lets it read {adapter.uri}",
                "allow it s3:GetObject and s3:ListBucket where it is made",
            )
            annotate(self, [unknown])
        self.inference_component_arn: str = self.cfn_inference_component.ref
        annotate(self, [one for one in of_base if one not in errors_of(of_base)])
        annotate(self, adapter_count_findings(self))

    # The name costs a call into Node, and few adapters' names are used.
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
        policies = _policies.setdefault(access, {})
        if key not in policies:
            needed = read_statements(
                "Adapters",
                adapter.bucket_name,
                adapter.readable,
                why="adapters of one folder come and go without a new policy",
                key=adapter.kms_key,
            )
            policies[key] = access.allow(needed)
        return policies[key]

    def apply_removal_policy(self, policy: RemovalPolicy) -> None:
        """
        Set what happens to the adapter when it is no longer defined.

        Args:
            policy: What becomes of it when it leaves the stack.
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


@dataclass(frozen=True, slots=True)
class LoraAdapter:
    """
    A LoRA adapter's files on S3: ``adapter_config.json`` beside
    ``adapter_model.safetensors``, as PEFT saves them.

    ``LoraAdapter("s3://my-bucket/adapters/tenant-a.tar.gz", rank=16)``
    ``LoraAdapter.from_bucket(bucket, "adapters/tenant-a.tar.gz")``

    Args:
        uri: One ``tar.gz`` of the files, as SageMaker documents it, or their folder
            with a slash at its end, which works and is not documented.

        rank:
            The adapter's rank, ``r`` in its ``adapter_config.json``.
            If omitted, it is not held against what the base takes.

        kms_key:
            The key that encrypts the objects.
            If omitted, the role may not decrypt with any.
    """

    uri: str
    _: KW_ONLY
    rank: int | None = None
    kms_key: kms.IKey | None = field(default=None)

    def __post_init__(self) -> None:
        hold_kinds(self)

    @classmethod
    @held
    def from_bucket(
        cls, bucket: s3.IBucket, key: str, *, rank: int | None = None
    ) -> LoraAdapter:
        """
        Name the folder or the ``tar.gz`` in a bucket, whose own encryption key is used.

        Args:
            bucket: The bucket that holds the adapter.

            key: The object's key, or the prefix of its files.
        """
        uri = f"{SCHEME}{bucket.bucket_name}/{key}"
        return cls(uri, rank=rank, kms_key=bucket.encryption_key)

    @property
    def bucket_name(self) -> str:
        """
        The bucket's part of the URI.
        """
        return self.uri.removeprefix(SCHEME).partition("/")[0]

    @property
    def key(self) -> str:
        """
        What follows the bucket.
        """
        return self.uri.removeprefix(SCHEME).partition("/")[2]

    @property
    def readable(self) -> str:
        """
        What the role may read for the adapter: all that lies beside it.

        The adapters of one folder share a permission, so that hundreds fit into a
        policy, and one more changes none. At the top of a bucket it is this one alone.
        """
        folder, slash, _ = self.key.rstrip("/").rpartition("/")
        if slash:
            return f"{folder}/*"
        return self.key if self.key.endswith(ARCHIVE) else f"{self.key}*"


def _role_of(base: InferenceComponentBase) -> iam.IRole | None:
    """
    Return the role that reads an adapter: the endpoint's, which is the base's model's.
    """
    endpoint = base.endpoint
    if isinstance(endpoint, Endpoint) and endpoint.endpoint_config.execution_role:
        return endpoint.endpoint_config.execution_role
    return None if base.model is None else base.model.role


def base_findings(base: InferenceComponentBase, rank: int | None) -> list[Finding]:
    """
    Check that a base takes an adapter; of an imported one nothing is known.
    """
    definition, host = _host_of(base)
    if definition is None or host is None:
        return []
    found = list(adapter_findings(host, rank))
    if not found and host.switches:
        found += added_findings(
            host.switches,
            replace(definition.container, environment=definition.variables),
            accelerators=None,
            architecture=config_of(kind_of(definition.model)),
        )
    return found


def switch_on(base: InferenceComponentBase) -> None:
    """
    Set a base to take adapters, unless its definition does so already.
    """
    model = base.model
    definition, host = _host_of(base)
    if definition is None or host is None or not isinstance(model, Model):
        return
    if not host.switches:
        return
    model.definition = replace(
        definition, variables={**definition.variables, **host.switches}
    )
    for name, value in host.switches.items():
        path = f"PrimaryContainer.Environment.{name}"
        model.cfn_model.add_property_override(path, value)


def adapter_count_findings(scope: Construct) -> list[Finding]:
    """
    Count an adapter of a stack, and warn once of a stack that has nearly all it may.
    """
    stack = stack_of(scope)
    count = _counts[stack] = _counts.get(stack, 0) + 1
    if count != _MANY:
        return []
    return [
        MANY_ADAPTERS.finding(
            f"this stack defines {_MANY} adapters and more, and CloudFormation takes "
            "500 resources in a stack",
            "define further ones in a stack of their own, which may refer to the base",
        )
    ]


def _host_of(
    base: InferenceComponentBase,
) -> tuple[ModelDefinition | None, AdapterHost | None]:
    definition = None if base.model is None else base.model.definition
    if definition is None:
        return None, None
    architecture = class_of(kind_of(definition.model))
    return definition, adapter_host(
        definition.container, definition.variables, architecture=architecture
    )


def adapter_artifact_findings(adapter: LoraAdapter) -> Iterator[Finding]:
    """
    Check where an adapter is, as far as that is known at synth, and its rank.
    """
    yield from count_findings("rank", 1 if adapter.rank is None else adapter.rank, 1)
    if is_unresolved(adapter.uri) and not (
        adapter.uri.startswith(SCHEME) and adapter.key
    ):
        yield ADAPTER_ARTIFACT.finding(
            "artifact is known only at deployment, and its bucket must be known apart "
            "from what is in it",
            "pass LoraAdapter.from_bucket(Bucket.from_bucket_name(...), key)",
        )
        return
    yield from address_findings(adapter.uri)
