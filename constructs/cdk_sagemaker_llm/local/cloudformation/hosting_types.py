"""
``AWS::SageMaker::*`` hosting types, by way of the service's own operations.

Replacement follows the CloudFormation registry schema of 2026-10-20: of a model and
an endpoint configuration everything but the tags replaces, of an endpoint only its
name, of an inference component nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.local import regions, shapes
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    ResourceType,
    Scope,
    UnstableError,
    attributes,
    changed,
    physical_name,
)
from cdk_sagemaker_llm.local.cloudformation.settling import settled, wait_until_gone
from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.sagemaker.service import SageMaker
from cdk_sagemaker_llm.local.untyped import Untyped

# Properties that exist in CloudFormation and only in the update operation.
_UPDATE_ONLY = frozenset(
    {
        "RetainAllVariantProperties",
        "ExcludeRetainedVariantProperties",
        "RetainDeploymentConfig",
    }
)
# What the registry schemas mark so; the running number of copies is scaling's.
_WRITE_ONLY = _UPDATE_ONLY | {"DeploymentConfig", "RuntimeConfig"}


@dataclass(frozen=True, kw_only=True)
class HostingType:
    """
    One hosting resource type.

    Args:
        kind: The API's word, which is also the property prefix.

        update_operation: The operation for changes in place; empty if there is none.

        kept_in_place: The properties that can change without a new resource.
            ``None`` where every property can.

        fixed: Properties that the schema lets change and the operation does not.

        update_only: Properties of the type that its create operation does not take.

        extra: Attributes beside the ARN and the name.
    """

    kind: str
    update_operation: str = ""
    kept_in_place: frozenset[str] | None = None
    fixed: frozenset[str] = frozenset()
    update_only: frozenset[str] = frozenset()
    extra: Mapping[str, str] = field(default_factory=dict)

    def must_replace(self, before: Properties, after: Properties) -> bool:
        """
        Tell whether the schema marks one of the changes as create-only.
        """
        if self.kept_in_place is None:
            return False
        return bool(changed(before, after) - self.kept_in_place)

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Call the service's create operation.
        """
        operation = f"Create{self.kind}"
        later = _UPDATE_ONLY | self.update_only
        wanted = {k: v for k, v in properties.items() if k not in later}
        name = wanted.setdefault(
            f"{self.kind}Name", physical_name(declaration.logical_id)
        )
        request = _request(operation, wanted)
        arn = _service(scope).call(operation, request)[f"{self.kind}Arn"]
        table = {f"{self.kind}Name": name, f"{self.kind}Arn": arn, "Id": arn}
        made = Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=arn,
            read_attribute=attributes({**table, **self.extra}),
            native=name,
        )
        why = settled(_service(scope).world, self.kind, name)
        if why is not None:
            raise UnstableError(why, made)
        return made

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Call the service's update operation, and bring the tags along.
        """
        differing = changed(resource.properties, properties)
        if differing & self.fixed:
            names = " and ".join(sorted(differing & self.fixed))
            raise ResourceError(
                f"{names} of an inference component cannot change: "
                "UpdateInferenceComponent has no such parameter. Give the resource "
                "another logical id to have it deleted and created."
            )
        _retag(resource, properties, scope)
        if self.update_operation and differing - {"Tags"}:
            operation, wanted = self._change(differing - {"Tags"}, properties)
            wanted[f"{self.kind}Name"] = resource.native
            _service(scope).call(operation, _request(operation, wanted))
            why = settled(_service(scope).world, self.kind, resource.native)
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
            return f"{self.update_operation}RuntimeConfig", {
                "DesiredRuntimeConfig": running
            }
        kept = {k: v for k, v in properties.items() if k not in {"Tags", *self.fixed}}
        return self.update_operation, kept

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Call the service's delete operation.
        """
        name = {f"{self.kind}Name": resource.native}
        _service(scope).call(f"Delete{self.kind}", name)
        wait_until_gone(_service(scope).world, self.kind, resource.native)

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Read the resource back by the service's describe operation.
        """
        name = {f"{self.kind}Name": resource.native}
        arn = {"ResourceArn": resource.physical_resource_id}
        try:
            found = _service(scope).call(f"Describe{self.kind}", name)
            found["Tags"] = _service(scope).call("ListTags", arn)["Tags"]
        except AwsError:
            return None
        observed = _as_declared(found)
        readable = resource.properties.keys() - _WRITE_ONLY
        return {key: observed.get(key) for key in readable}


HOSTING_TYPES: dict[str, ResourceType] = {
    "AWS::SageMaker::Model": HostingType(
        kind="Model", kept_in_place=frozenset({"Tags"})
    ),
    "AWS::SageMaker::EndpointConfig": HostingType(
        kind="EndpointConfig", kept_in_place=frozenset({"Tags"})
    ),
    "AWS::SageMaker::Endpoint": HostingType(
        kind="Endpoint",
        update_operation="UpdateEndpoint",
        kept_in_place=frozenset(
            {"EndpointConfigName", "DeploymentConfig", "Tags", *_UPDATE_ONLY}
        ),
    ),
    "AWS::SageMaker::InferenceComponent": HostingType(
        kind="InferenceComponent",
        update_operation="UpdateInferenceComponent",
        fixed=frozenset({"InferenceComponentName", "EndpointName", "VariantName"}),
        update_only=frozenset({"DeploymentConfig"}),
        extra={"InferenceComponentStatus": "InService"},
    ),
}


def _service(scope: Scope) -> SageMaker:
    return regions.sagemaker(scope.account, scope.region)


def _request(operation: str, properties: Properties) -> dict[str, Any]:
    shape = shapes.input_shape("sagemaker", operation)
    request: dict[str, Any] = shapes.coerce(shape, properties)
    _fill_wait_interval(request.get("DeploymentConfig") or {})
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


def _fill_wait_interval(deployment: dict[str, Any]) -> None:
    # Required by the API and not by CloudFormation, which then sends none to wait.
    blue_green = deployment.get("BlueGreenUpdatePolicy") or {}
    routing = blue_green.get("TrafficRoutingConfiguration")
    if routing is not None:
        routing.setdefault("WaitIntervalInSeconds", 0)


def _retag(resource: Resource, properties: Properties, scope: Scope) -> None:
    old = {tag["Key"] for tag in resource.properties.get("Tags", ())}
    new = properties.get("Tags", [])
    arn = {"ResourceArn": resource.physical_resource_id}
    gone = sorted(old - {tag["Key"] for tag in new})
    if gone:
        _service(scope).call("DeleteTags", {**arn, "TagKeys": gone})
    if new:
        _service(scope).call("AddTags", {**arn, "Tags": new})
