"""
Resource types that moto has a class for.
"""

from __future__ import annotations

import json

from moto.cloudformation.parsing import generate_resource_name
from moto.core.common_models import CloudFormationModel

from cdk_sagemaker_llm.local.cloudformation import (
    bucket_deletions,
    network_deletions,
    policy_deletions,
)
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    changed,
)
from cdk_sagemaker_llm.local.untyped import Untyped

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
        return not self._changes_in_place and changed(before, after) != {"Tags"}

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
        made = Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=_physical_id(native),
            read_attribute=lambda attribute: _attribute(made, attribute),
            native=native,
        )
        return made

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Let moto change the resource; the name stays unless the template changes it.
        """
        if not self._changes_in_place:
            # Its tags, which moto cannot change: they are in the template alone.
            return
        native = resource.native
        kept = getattr(native, "name", None) or resource.physical_resource_id
        name = self._resource_name(properties) or kept
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
        bucket_deletions.check(resource, scope)
        if network_deletions.delete(resource, scope):
            return
        if policy_deletions.delete(resource, scope):
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
        named = {key: name, **properties} if key else dict(properties)
        if self._name in _TAGS_AS_IN_THE_API and "Tags" in named:
            named["Tags"] = [
                {"TagKey": tag["Key"], "TagValue": tag["Value"]}
                for tag in named["Tags"]
            ]
        if isinstance(named.get("Tags"), dict) and self._name == _SSM_PARAMETER:
            # A map in CloudFormation, and a list in the API.
            named["Tags"] = [
                {"Key": key, "Value": value} for key, value in named["Tags"].items()
            ]
        if (
            isinstance(named.get("PolicyDocument"), dict)
            and self._name == _VPC_ENDPOINT
        ):
            # An object in CloudFormation, and a text in the API.
            named["PolicyDocument"] = json.dumps(named["PolicyDocument"])
        return {"Type": self._name, "Properties": named}

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
