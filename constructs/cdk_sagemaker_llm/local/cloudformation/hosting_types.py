"""
``AWS::SageMaker::*`` hosting types, by way of the service's own operations.

What replaces a resource, and what cannot be read back, the registry's schemas say; what
an update can change, the API's own parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog import resource_types
from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.clock import wait_until
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    ResourceType,
    Scope,
    UnstableError,
    attributes,
    changed_names,
    physical_name,
)
from cdk_sagemaker_llm.local.hosting.service import SAGEMAKER, SageMaker
from cdk_sagemaker_llm.local.hosting.states import is_busy
from cdk_sagemaker_llm.local.hosting.world import Component, Endpoint

# Tags that CloudFormation puts on what it makes, beside the template's.
_OWN = "aws:cloudformation:"


@dataclass(frozen=True, slots=True)
class HostingType:
    """
    One hosting resource type.

    Args:
        kind: The API's word, which is also the property prefix.
    """

    kind: str

    @property
    def name(self) -> str:
        return f"AWS::SageMaker::{self.kind}"

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        operation = f"Create{self.kind}"
        later = self._parameters("Update") - self._parameters("Create")
        members = {k: v for k, v in properties.items() if k not in later}
        name = members.setdefault(
            f"{self.kind}Name", physical_name(declaration.logical_id)
        )
        request = _request(operation, members)
        arn = _service(scope).call(operation, request)[f"{self.kind}Arn"]
        _tag_with_stack(arn, declaration, scope)
        # What GetAtt reads, with what the description adds to it.
        table = {f"{self.kind}Name": name, f"{self.kind}Arn": arn, "Id": arn}
        resource = Resource(declaration, properties, arn, attributes(table), name)
        why = self._settle(name, scope)
        if why is not None:
            raise UnstableError(why, resource)
        table |= self._read_only_values(self._describe(name, scope))
        return resource

    def existing(
        self,
        declaration: Declaration,
        properties: Properties,
        identifier: Mapping[str, str],
        scope: Scope,
    ) -> Resource | None:
        """
        Find what has the ARN.
        """
        arn = identifier[f"{self.kind}Arn"]
        name = arn.rpartition("/")[2]
        try:
            found = self._describe(name, scope)
        except AwsError:
            return None
        named = properties.get(f"{self.kind}Name", name)
        if found[f"{self.kind}Arn"] != arn or named != name:
            return None
        _tag_with_stack(arn, declaration, scope)
        table = {f"{self.kind}Name": name, f"{self.kind}Arn": arn, "Id": arn}
        read = attributes(table | self._read_only_values(found))
        return Resource(declaration, properties, arn, read, name)

    def _read_only_values(self, description: dict[str, Any]) -> dict[str, str | int]:
        values: dict[str, Untyped] = {
            path: functools.reduce(_member, path.split("."), description)
            for path in resource_types.read_only(self.name)
        }
        # A moment, such as CreationTime, is no value of a template.
        return {path: one for path, one in values.items() if isinstance(one, str | int)}

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Call the service's update operation, and bring the tags along.
        """
        differing = changed_names(resource.properties, properties)
        fixed = self._fixed()
        if differing & fixed:
            names = " and ".join(sorted(differing & fixed))
            raise ResourceError(
                f"{names} of an inference component cannot change: "
                "UpdateInferenceComponent has no such parameter. Give the resource "
                "another logical id to have it deleted and created."
            )
        _retag(resource, properties, scope)
        if differing - {"Tags"}:
            operation, request = self._change(differing - {"Tags"}, properties)
            request[f"{self.kind}Name"] = resource.native
            _service(scope).call(operation, _request(operation, request))
            why = self._settle(resource.native, scope)
            if why is not None:
                raise ResourceError(why)

    def _change(
        self, differing: set[str], properties: Properties
    ) -> tuple[str, dict[str, Any]]:
        """
        Return the operation that makes a change, and what it is called with.

        The registry's handler of components has the permission for another one, which
        changes their number and nothing else. What it does where a specification
        changes too is not documented: here the number of the template goes with it.
        """
        if differing == {"RuntimeConfig"} and "RuntimeConfig" in properties:
            running = properties["RuntimeConfig"]
            return f"Update{self.kind}RuntimeConfig", {"DesiredRuntimeConfig": running}
        left_out = {"Tags", *self._fixed()}
        request = {k: v for k, v in properties.items() if k not in left_out}
        return f"Update{self.kind}", request

    def _fixed(self) -> frozenset[str]:
        # What the schema lets change and the operation does not.
        changing = self._parameters("Update") - {f"{self.kind}Name"}
        return self._parameters("Create") - changing - {"Tags"}

    def _parameters(self, verb: str) -> frozenset[str]:
        operation = f"{verb}{self.kind}"
        if not shapes.has_operation("sagemaker", operation):
            return frozenset()
        shape: Untyped = shapes.input_shape("sagemaker", operation)
        return frozenset(shape.members)

    def _describe(self, name: str, scope: Scope) -> dict[str, Any]:
        request = {f"{self.kind}Name": name}
        return _service(scope).call(f"Describe{self.kind}", request)

    def _find(self, name: str, scope: Scope) -> Endpoint | Component | None:
        # What takes time to come and to go; the others are what they are at once.
        world = _service(scope).world
        if self.kind == "Endpoint":
            return world.endpoints.find(name)
        if self.kind == "InferenceComponent":
            return world.components.find(name)
        return None

    def _settle(self, name: str, scope: Scope) -> str | None:
        # Waits until it changes no more; returns why it is not what was asked for.
        record = self._find(name, scope)
        if record is None:
            return None
        wait_until(lambda: not is_busy(record))
        # After a rollback it is in service as well, as it was before.
        return record.failure

    def delete(self, resource: Resource, scope: Scope) -> None:
        name = {f"{self.kind}Name": resource.native}
        _service(scope).call(f"Delete{self.kind}", name)
        wait_until(lambda: self._find(resource.native, scope) is None)

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        arn = {"ResourceArn": resource.physical_resource_id}
        try:
            found = self._describe(resource.native, scope)
            tags = _service(scope).call("ListTags", arn)["Tags"]
            found["Tags"] = [tag for tag in tags if not tag["Key"].startswith(_OWN)]
        except AwsError:
            return None
        observed = _as_declared(found)
        # DescribeEndpoint shows the last deployment's, under another name.
        readable = resource.properties.keys() - {"DeploymentConfig"}
        return {key: observed.get(key) for key in readable}


HOSTING_TYPES: dict[str, ResourceType] = {
    made.name: made
    for made in map(
        HostingType, ("Model", "EndpointConfig", "Endpoint", "InferenceComponent")
    )
}


def _tag_with_stack(arn: str, declaration: Declaration, scope: Scope) -> None:
    tags = {
        "stack-name": scope.stack_name,
        "logical-id": declaration.logical_id,
        "stack-id": scope.stack_id,
    }
    rows = [{"Key": f"{_OWN}{key}", "Value": value} for key, value in tags.items()]
    _service(scope).call("AddTags", {"ResourceArn": arn, "Tags": rows})


def _member(value: Untyped, name: str) -> Untyped:
    return value.get(name) if isinstance(value, dict) else None


def _service(scope: Scope) -> SageMaker:
    return SAGEMAKER.at(scope.account, scope.region)


def _request(operation: str, properties: Properties) -> dict[str, Any]:
    shape = shapes.input_shape("sagemaker", operation)
    request: dict[str, Any] = shapes.coerce(shape, properties)
    deployment = request.get("DeploymentConfig") or {}
    blue_green = deployment.get("BlueGreenUpdatePolicy") or {}
    routing = blue_green.get("TrafficRoutingConfiguration")
    if routing is not None:
        # Required by the API and not by CloudFormation, which then sends none to wait.
        routing.setdefault("WaitIntervalInSeconds", 0)
    extraneous = list(shapes.unknown_members(shape, request))
    if extraneous:
        raise ResourceError(
            f"Properties validation failed for resource: {'; '.join(extraneous)}"
        )
    return request


def _as_declared(value: Untyped) -> Untyped:
    # Of an image a description shows what was specified and what that resolved to.
    if isinstance(value, list):
        return [_as_declared(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _as_declared(item) for key, item in value.items()}
    if "DeployedImage" in plain:
        plain["Image"] = plain["DeployedImage"].get("SpecifiedImage")
    return plain


def _retag(resource: Resource, properties: Properties, scope: Scope) -> None:
    old = {tag["Key"] for tag in resource.properties.get("Tags", ())}
    new = properties.get("Tags", [])
    arn = {"ResourceArn": resource.physical_resource_id}
    gone = sorted(old - {tag["Key"] for tag in new})
    if gone:
        _service(scope).call("DeleteTags", {**arn, "TagKeys": gone})
    if new:
        _service(scope).call("AddTags", {**arn, "Tags": new})
