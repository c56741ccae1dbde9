"""
``AWS::CodeBuild::Project``, whose properties are the API's in other letters.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local import regions, shapes
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    attributes,
    physical_name,
)
from cdk_sagemaker_llm.local.codebuild.service import SERVICE
from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.untyped import Untyped

# What other calls set, and nothing is played of.
_APART = frozenset({"Triggers", "Visibility", "ResourceAccessRole"})
_OTHER_NAMES = {"BuildSpec": "buildspec"}


class ProjectType:
    """
    A project of CodeBuild.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Create the project.
        """
        name = properties.get("Name") or physical_name(declaration.logical_id)
        arn = str(_call("CreateProject", name, properties, scope)["project"]["arn"])
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=name,
            read_attribute=attributes({"Arn": arn, "Id": name}),
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Change the project; builds that are under way go on as they were.
        """
        _call("UpdateProject", resource.physical_resource_id, properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the project.
        """
        service = regions.codebuild(scope.account, scope.region)
        service.call("DeleteProject", {"name": resource.physical_resource_id})


def _call(
    operation: str, name: str, properties: Properties, scope: Scope
) -> dict[str, Any]:
    shape = shapes.input_shape(SERVICE, operation)
    given = {key: value for key, value in properties.items() if key not in _APART}
    request = shapes.coerce(shape, {**_in_other_letters(given), "name": name})
    unknown = list(shapes.unknown_members(shape, request))
    if unknown:
        raise ResourceError(f"Properties validation failed: {'; '.join(unknown)}")
    try:
        return regions.codebuild(scope.account, scope.region).call(operation, request)
    except AwsError as error:
        raise ResourceError(
            f'Resource handler returned message: "{error.message}" (HandlerErrorCode: '
            "InvalidRequest)"
        ) from error


def _in_other_letters(value: Untyped) -> Untyped:
    if isinstance(value, list):
        return [_in_other_letters(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        _OTHER_NAMES.get(key, key[:1].lower() + key[1:]): _in_other_letters(item)
        for key, item in value.items()
    }
