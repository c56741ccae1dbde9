"""
``AWS::CloudFormation::Stack``: a stack that another one makes from S3.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import cloudformation_backends
from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    physical_name,
)

_LONGEST_NAME = 128
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "host.docker.internal"})


class NestedStack(Protocol):
    """
    What is asked of a stack that another one makes.
    """

    stack_id: str
    name: str
    status: str
    status_reason: str | None

    @property
    def failure(self) -> str:
        """
        Why its last operation was rolled back.
        """

    @property
    def outputs(self) -> list[dict[str, Any]] | None:
        """
        Its outputs.
        """


class Nester(Protocol):
    """
    What makes, changes and deletes stacks on behalf of others.
    """

    stacks: dict[str, Any]

    def stack_named(self, name_or_id: str) -> NestedStack:
        """
        Find a stack by name or id.
        """

    def create_nested(
        self,
        name: str,
        template: str,
        parameters: dict[str, str],
        parent: NestedStack,
        tags: dict[str, str],
    ) -> NestedStack:
        """
        Create a stack on behalf of another one.
        """

    def update_nested(
        self, stack: NestedStack, template: str, parameters: dict[str, str]
    ) -> None:
        """
        Update a stack on behalf of another one.
        """

    def discard(self, stack: NestedStack) -> None:
        """
        Delete a stack.
        """


class NestedStackType:
    """
    A stack of its own, which comes, changes and goes with its parent.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Create the stack; what failed in it is the reason of the resource's failure.
        """
        backend = _backend(scope)
        parent = backend.stack_named(scope.stack_id)
        stem = f"{parent.name}-{declaration.logical_id}"
        stack = backend.create_nested(
            physical_name(stem, _LONGEST_NAME),
            template(properties, scope),
            parameters(properties),
            parent,
            {tag["Key"]: tag["Value"] for tag in properties.get("Tags", ())},
        )
        if stack.status != "CREATE_COMPLETE":
            backend.discard(stack)
            raise ResourceError(
                f"Embedded stack {stack.stack_id} was not successfully created: "
                f"{stack.failure}"
            )
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=stack.stack_id,
            read_attribute=partial(_output, stack),
            native=stack,
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Update the stack; if that fails, it has rolled back by itself.
        """
        stack = resource.native
        _backend(scope).update_nested(
            stack, template(properties, scope), parameters(properties)
        )
        if stack.status != "UPDATE_COMPLETE":
            raise ResourceError(
                f"Embedded stack {stack.stack_id} was not successfully updated. "
                f"Currently in {stack.status} with reason: {stack.failure}"
            )

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the stack, unless somebody did so already.
        """
        stack = resource.native
        backend = _backend(scope)
        if stack.stack_id in backend.stacks:
            backend.discard(stack)
            if stack.stack_id in backend.stacks:
                raise ResourceError(
                    f"Embedded stack {stack.stack_id} was not successfully deleted: "
                    f"{stack.status_reason}"
                )


def template(properties: Properties, scope: Scope) -> str:
    """
    Read a nested stack's template from the embedded S3.

    Raises:
        ResourceError: If it is not there.
    """
    url, partition = str(properties.get("TemplateURL")), get_partition(scope.region)
    try:
        return template_at(url, scope.account, partition)
    except ValidationError as error:
        raise ResourceError(
            "TemplateURL must reference a valid S3 object to which you have access: "
            f"{url}"
        ) from error


def parameters(properties: Properties) -> dict[str, str]:
    """
    Write a nested stack's parameters as the API takes them: a list as one text.
    """
    return {
        key: ",".join(map(str, value)) if isinstance(value, list) else _plain(value)
        for key, value in properties.get("Parameters", {}).items()
    }


def _plain(value: Untyped) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _output(stack: NestedStack, attribute: str) -> Untyped:
    outputs: list[dict[str, Any]] = stack.outputs or []
    values = {f"Outputs.{o['OutputKey']}": o["OutputValue"] for o in outputs}
    if attribute not in values:
        raise ResourceError(f"Attribute '{attribute}' does not exist")
    return values[attribute]


def _backend(scope: Scope) -> Nester:
    backend: Any = cloudformation_backends[scope.account][scope.region]
    return backend  # type: ignore[no-any-return]  # ours: moto_glue.install() made it so


def template_at(url: str, account: str, partition: str) -> str:
    """
    Read a template from the embedded S3.

    moto takes the first word of any other host for the name of a bucket.

    Raises:
        ValidationError: If it is no address in S3, or nothing is there.
    """
    location = _location(url)
    if location is None:
        raise ValidationError(message="TemplateURL must be a supported URL.")
    bucket = s3_backends[account][partition].buckets.get(location.bucket)
    if bucket is None:
        raise _missing("bucket")
    found = bucket.keys.get(location.key)
    if found is None:
        raise _missing("key")
    text: str = found.value.decode()
    return text


def _location(url: str) -> Location | None:
    # As the CDK CLI writes it, which puts the path behind the address that it has.
    parts = urlsplit(url)
    if parts.hostname in _LOCAL:
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        return Location(bucket, key)
    found = Location.of(url.partition("?")[0])
    return found and Location(found.bucket, unquote(found.key))


def _missing(what: str) -> ValidationError:
    return ValidationError(
        message=f"S3 error: The specified {what} does not exist\nFor more information "
        "check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
    )
