"""
Which code is behind which resource type, moto's classes among them.

Some of those moto makes by CloudFormation and deletes by API alone.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Iterable

from moto.awslambda.models import LambdaFunction
from moto.cloudformation.parsing import generate_resource_name, get_model_map
from moto.core.common_models import CloudFormationModel
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ecr.models import ecr_backends
from moto.iam.models import Group, ManagedPolicy, Role, User, iam_backends
from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.catalog import resource_types
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.custom_resources import (
    CustomResourceType,
    NotEmulated,
)
from cdk_sagemaker_llm.local.cloudformation.hosting_types import HOSTING_TYPES
from cdk_sagemaker_llm.local.cloudformation.plain_types import PLAIN_TYPES
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Importable,
    Properties,
    Resource,
    ResourceError,
    ResourceType,
    Scope,
    changed_names,
)
from cdk_sagemaker_llm.local.cloudformation.scaling_types import SCALING_TYPES
from cdk_sagemaker_llm.local.cloudformation.stack_types import (
    NestedStackType,
    WaitConditionHandleType,
    WaitConditionType,
)

NESTED = "AWS::CloudFormation::Stack"
_CUSTOM = "AWS::CloudFormation::CustomResource"
_SILENT = frozenset({"AWS::CDK::Metadata"})
_OWN: dict[str, ResourceType] = {
    **HOSTING_TYPES,
    **PLAIN_TYPES,
    **SCALING_TYPES,
    "AWS::CloudFormation::WaitCondition": WaitConditionType(),
    "AWS::CloudFormation::WaitConditionHandle": WaitConditionHandleType(),
    # moto has a class for it, which would bypass the lifecycle of this package.
    NESTED: NestedStackType(),
}
_FUNCTION = "AWS::Lambda::Function"
# What a function has whose template says nothing; moto keeps what it had.
_FUNCTION_DEFAULTS: Properties = {
    "Description": "",
    "Environment": {"Variables": {}},
    "Layers": [],
    "MemorySize": 128,
    "Timeout": 3,
    "VpcConfig": {},
}
# moto's class takes tags as CreateKey does, and CloudFormation spells them otherwise.
_TAGS_AS_IN_THE_API = frozenset({"AWS::KMS::Key"})
_REPOSITORY = "AWS::ECR::Repository"
_SSM_PARAMETER = "AWS::SSM::Parameter"
_VPC_ENDPOINT = "AWS::EC2::VPCEndpoint"


def type_names() -> Iterable[str]:
    """
    Return the types that are made: ours and moto's.
    """
    return {*_OWN, *get_model_map()}


def importable_names() -> set[str]:
    """
    Return the types of which a stack can take over what exists.
    """
    return {name for name, kind in _OWN.items() if isinstance(kind, Importable)}


@functools.cache
def resource_type(name: str) -> ResourceType:
    """
    Return the code behind a type: ours, moto's, or what stands in for neither.
    """
    if name in _OWN:
        return _OWN[name]
    if is_custom(name):
        return CustomResourceType()
    model = get_model_map().get(name)
    if model is None:
        return NotEmulated(silent=name in _SILENT)
    return MotoType(name, model)


def _delete_repository(resource: Resource, scope: Scope) -> None:
    # moto refuses one with images, whatever the property says.
    empties = str(resource.properties.get("EmptyOnDelete")).lower() == "true"
    ecr = ecr_backends[scope.account][scope.region]
    ecr.delete_repository(resource.physical_resource_id, force=empties)


def must_replace(name: str, before: Properties, after: Properties) -> bool:
    """
    Tell whether a change of properties needs a new physical resource.

    The registry says so, and moto's limits do.
    """
    if resource_types.replaces(name, before, after):
        return True
    kind = resource_type(name)
    return isinstance(kind, MotoType) and kind.has_no_update(before, after)


def is_custom(name: str) -> bool:
    """
    Tell whether a type is a custom resource, behind which stands a function.
    """
    return name.startswith("Custom::") or name == _CUSTOM


class MotoType:
    """
    A type whose resources moto creates, updates and deletes.
    """

    def __init__(self, name: str, model: type[CloudFormationModel]) -> None:
        self._name = name
        self._model = model

    def has_no_update(self, before: Properties, after: Properties) -> bool:
        """
        Tell whether moto cannot make a change in place: of the name, or of this type.
        """
        name = self._model.cloudformation_name_type()
        if name and before.get(name) != after.get(name):
            return True
        # No type of AWS is replaced for its tags.
        return not self._changes_in_place and changed_names(before, after) != {"Tags"}

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        name = self._resource_name(properties) or self._made_name(
            declaration, properties, scope
        )
        native = self._model.create_from_cloudformation_json(
            name,
            self._document(properties, name),
            scope.account,
            scope.region,
            LogicalId=declaration.logical_id,
            StackId=scope.stack_id,
            ResourceType=self._name,
        )
        resource = Resource(
            declaration,
            properties,
            _physical_id(native),
            lambda attribute: _attribute(resource, attribute),
            native,
        )
        return resource

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Let moto change the resource; the name stays unless the template changes it.
        """
        if not self._changes_in_place:
            # Its tags, which moto cannot change: they are in the template alone.
            return
        native = resource.native
        physical_id = getattr(native, "name", None) or resource.physical_resource_id
        name = self._resource_name(properties) or physical_id
        if self._name == _FUNCTION:
            properties = _function_after(properties)
        resource.native = self._model.update_from_cloudformation_json(
            original_resource=native,
            new_resource_name=name,
            cloudformation_json=self._document(properties, name),
            account_id=scope.account,
            region_name=scope.region,
        )
        resource.physical_resource_id = _physical_id(resource.native)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Let moto delete the resource; it leaves some behind if it is asked this way.
        """
        _check_bucket_is_empty(resource, scope)
        by_api = _DELETIONS.get(self._name)
        own = getattr(resource.native, "delete", None)
        if by_api is not None:
            by_api(ec2_backends[scope.account][scope.region], resource)
        elif self._name == _REPOSITORY:
            _delete_repository(resource, scope)
        elif isinstance(resource.native, ManagedPolicy):
            _delete_policy(resource.native, scope)
        elif own is None:
            self._delete_by_name(resource, scope)
        else:
            own(scope.account, scope.region)

    @property
    def _changes_in_place(self) -> bool:
        update = self._model.update_from_cloudformation_json
        return not hasattr(update, "__isabstractmethod__")

    def _made_name(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> str:
        # As the service: a name that starts with "aws" or "ssm" would be refused.
        stack = "CFN" if self._name == _SSM_PARAMETER else scope.stack_name
        made: str = generate_resource_name(self._name, stack, declaration.logical_id)
        if self._name == _REPOSITORY:
            # It refuses capital letters, of which CloudFormation makes small ones.
            return made.lower()
        is_fifo = any(
            str(properties.get(key)).lower() == "true"
            for key in ("FifoQueue", "FifoTopic")
        )
        return f"{made}.fifo" if is_fifo else made

    def _delete_by_name(self, resource: Resource, scope: Scope) -> None:
        delete = self._model.delete_from_cloudformation_json
        if not hasattr(delete, "__isabstractmethod__"):
            delete(
                resource.physical_resource_id,
                self._document(resource.properties, resource.physical_resource_id),
                scope.account,
                scope.region,
            )

    def _document(self, properties: Properties, name: str) -> dict[str, Untyped]:
        # Some of moto's classes look for the name among the properties alone.
        key = self._model.cloudformation_name_type()
        document = {key: name, **properties} if key else dict(properties)
        tags, policy = document.get("Tags"), document.get("PolicyDocument")
        if self._name in _TAGS_AS_IN_THE_API and tags is not None:
            document["Tags"] = [
                {"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in tags
            ]
        if self._name == _SSM_PARAMETER and isinstance(tags, dict):
            # A map in CloudFormation, and a list in the API.
            document["Tags"] = [{"Key": k, "Value": v} for k, v in tags.items()]
        if self._name == _VPC_ENDPOINT and isinstance(policy, dict):
            # An object in CloudFormation, and a text in the API.
            document["PolicyDocument"] = json.dumps(policy)
        return {"Type": self._name, "Properties": document}

    def _resource_name(self, properties: Properties) -> str | None:
        name = self._model.cloudformation_name_type()
        return properties.get(name) if name else None


def _function_after(properties: Properties) -> Properties:
    # moto packs inline code where it creates a function, and not where it updates one.
    code = properties["Code"]
    if "ZipFile" in code:
        packed = LambdaFunction._create_zipfile_from_plaintext_code(code["ZipFile"])  # noqa: SLF001 - as moto does
        code = {"ZipFile": base64.b64encode(packed)}
    after = {**_FUNCTION_DEFAULTS, **properties, "Code": code}
    after["Environment"] = {"Variables": {}, **after["Environment"]}
    return after


def _physical_id(native: Untyped) -> str:
    physical = getattr(native, "physical_resource_id", None)
    return str(physical if physical is not None else getattr(native, "name", ""))


def _attribute(resource: Resource, attribute: str) -> Untyped:
    try:
        return resource.native.get_cfn_attribute(attribute)
    except Exception as error:
        # An SSM parameter's Value and its like, which moto has no attribute for.
        if attribute in resource.properties:
            return resource.properties[attribute]
        raise ResourceError(
            f"moto's {resource.declaration.type} has no attribute {attribute}"
        ) from error


def _check_bucket_is_empty(resource: Resource, scope: Scope) -> None:
    if resource.declaration.type != "AWS::S3::Bucket":
        return
    buckets = s3_backends[scope.account][get_partition(scope.region)].buckets
    bucket = buckets.get(resource.physical_resource_id)
    # With objects, or with versions of objects.
    if bucket is not None and bucket.keys:
        raise ResourceError(
            'Resource handler returned message: "The bucket you tried to delete is not '
            'empty (Service: S3, Status Code: 409)"'
        )


def _detach(ec2: EC2Backend, resource: Resource) -> None:
    gateway_id = resource.properties.get("InternetGatewayId")
    if gateway_id:
        ec2.detach_internet_gateway(gateway_id, resource.properties["VpcId"])


# What of a network moto leaves behind if it is asked to delete it by CloudFormation.
_DELETIONS: dict[str, Callable[[EC2Backend, Resource], object]] = {
    "AWS::EC2::EIP": lambda ec2, r: ec2.release_address(r.physical_resource_id),
    "AWS::EC2::InternetGateway": (
        lambda ec2, r: ec2.delete_internet_gateway(r.physical_resource_id)
    ),
    "AWS::EC2::NatGateway": (
        lambda ec2, r: ec2.delete_nat_gateway(r.physical_resource_id)
    ),
    "AWS::EC2::NetworkInterface": (
        lambda ec2, r: ec2.delete_network_interface(r.physical_resource_id)
    ),
    "AWS::EC2::RouteTable": (
        lambda ec2, r: ec2.delete_route_table(r.physical_resource_id)
    ),
    "AWS::EC2::VPCEndpoint": (
        lambda ec2, r: ec2.delete_vpc_endpoints([r.physical_resource_id])
    ),
    "AWS::EC2::VPCGatewayAttachment": _detach,
}


def _delete_policy(policy: ManagedPolicy, scope: Scope) -> None:
    iam = iam_backends[scope.account][get_partition(scope.region)]
    holders: list[Role | User | Group] = [
        *iam.roles.values(),
        *iam.users.values(),
        *iam.groups.values(),
    ]
    for holder in holders:
        if policy.arn in holder.managed_policies:
            policy.detach_from(holder)
    iam.delete_policy(policy.arn)
