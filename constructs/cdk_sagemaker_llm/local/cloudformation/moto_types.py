"""
Resource types that moto has a class for.

Some of them moto makes by CloudFormation and deletes by API alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from moto.cloudformation.parsing import generate_resource_name
from moto.core.common_models import CloudFormationModel
from moto.ec2.models import EC2Backend, ec2_backends
from moto.iam.models import Group, ManagedPolicy, Role, User, iam_backends
from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    changed_names,
)

# moto's update of a function takes inline code for base64.
_UPDATE_FAILS = frozenset({"AWS::Lambda::Function"})
# moto's class takes tags as CreateKey does, and CloudFormation spells them otherwise.
_TAGS_AS_IN_THE_API = frozenset({"AWS::KMS::Key"})
_REPOSITORY = "AWS::ECR::Repository"
_SSM_PARAMETER = "AWS::SSM::Parameter"
_VPC_ENDPOINT = "AWS::EC2::VPCEndpoint"


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
        """
        Let moto make the resource.
        """
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
            declaration=declaration,
            properties=properties,
            physical_resource_id=_physical_id(native),
            read_attribute=lambda attribute: _attribute(resource, attribute),
            native=native,
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
        Let moto delete the resource.
        """
        _check_bucket_is_empty(resource, scope)
        if _delete_of_network(resource, scope):
            return
        if _delete_policy(resource, scope):
            return
        own = getattr(resource.native, "delete", None)
        if own is not None:
            try:
                own(scope.account, scope.region)
            except TypeError:
                # Some classes have a delete() that means something else.
                self._delete_by_name(resource, scope)
        else:
            self._delete_by_name(resource, scope)

    @property
    def _changes_in_place(self) -> bool:
        update = self._model.update_from_cloudformation_json
        is_there = not hasattr(update, "__isabstractmethod__")
        return is_there and self._name not in _UPDATE_FAILS

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
        if self._name in _TAGS_AS_IN_THE_API and "Tags" in document:
            document["Tags"] = [
                {"TagKey": tag["Key"], "TagValue": tag["Value"]}
                for tag in document["Tags"]
            ]
        if isinstance(document.get("Tags"), dict) and self._name == _SSM_PARAMETER:
            # A map in CloudFormation, and a list in the API.
            document["Tags"] = [
                {"Key": key, "Value": value} for key, value in document["Tags"].items()
            ]
        if (
            isinstance(document.get("PolicyDocument"), dict)
            and self._name == _VPC_ENDPOINT
        ):
            # An object in CloudFormation, and a text in the API.
            document["PolicyDocument"] = json.dumps(document["PolicyDocument"])
        return {"Type": self._name, "Properties": document}

    def _resource_name(self, properties: Properties) -> str | None:
        name = self._model.cloudformation_name_type()
        return properties.get(name) if name else None


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
    """
    Refuse to delete a bucket with objects, or versions of objects, in it.

    Raises:
        ResourceError: In the words of S3.
    """
    if resource.declaration.type != "AWS::S3::Bucket":
        return
    buckets = s3_backends[scope.account][get_partition(scope.region)].buckets
    bucket = buckets.get(resource.physical_resource_id)
    if bucket is not None and bucket.keys:
        raise ResourceError(
            'Resource handler returned message: "The bucket you tried to delete is not '
            'empty (Service: S3, Status Code: 409)"'
        )


def _delete_of_network(resource: Resource, scope: Scope) -> bool:
    """
    Delete a resource of the network, if it is one that moto leaves behind.

    Returns:
        Whether it was one.
    """
    deletion = _DELETIONS.get(resource.declaration.type)
    if deletion is not None:
        deletion(ec2_backends[scope.account][scope.region], resource)
    return deletion is not None


def _disassociate(ec2: EC2Backend, resource: Resource) -> None:
    subnet_id = resource.properties["SubnetId"]
    table = ec2.get_route_table(resource.properties["RouteTableId"])
    for association_id, associated in list(table._associations.items()):  # noqa: SLF001 - moto has no other way
        if associated == subnet_id:
            ec2.disassociate_route_table(association_id)


def _detach(ec2: EC2Backend, resource: Resource) -> None:
    gateway_id = resource.properties.get("InternetGatewayId")
    if gateway_id:
        ec2.detach_internet_gateway(gateway_id, resource.properties["VpcId"])


_DELETIONS: dict[str, Callable[[EC2Backend, Resource], object]] = {
    "AWS::EC2::EIP": lambda ec2, r: ec2.release_address(r.physical_resource_id),
    "AWS::EC2::InternetGateway": (
        lambda ec2, r: ec2.delete_internet_gateway(r.physical_resource_id)
    ),
    "AWS::EC2::NatGateway": (
        lambda ec2, r: ec2.delete_nat_gateway(r.physical_resource_id)
    ),
    "AWS::EC2::RouteTable": (
        lambda ec2, r: ec2.delete_route_table(r.physical_resource_id)
    ),
    "AWS::EC2::SubnetRouteTableAssociation": _disassociate,
    "AWS::EC2::VPCEndpoint": (
        lambda ec2, r: ec2.delete_vpc_endpoints([r.physical_resource_id])
    ),
    "AWS::EC2::VPCGatewayAttachment": _detach,
}


def _delete_policy(resource: Resource, scope: Scope) -> bool:
    """
    Detach and delete a managed policy, if it is one.

    Returns:
        Whether it was one.
    """
    policy = resource.native
    if not isinstance(policy, ManagedPolicy):
        return False
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
    return True
