"""
``AWS::CloudFormation::*``: a stack that another one makes from S3, and wait conditions.

The words of the failures of wait conditions are CloudFormation's, as users report them:
in aws-samples/immersive-media-refarch#7 (timed out), aws-samples/vpn-gateway-strongswan
#28 (failed message), aws-cloudformation/cloudformation-coverage-roadmap#2088
(unparsable) and #1097 (no updates).
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import cloudformation_backends
from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.clock import CLOCK, wait_for_others
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    attributes,
    changed_names,
    physical_name,
    scalar_text,
)

WAIT_PATH = "/cloudformation-waitcondition-"
"""How the paths of handles begin: with the name of a bucket of CloudFormation's."""

_LONGEST_NAME = 128
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "host.docker.internal"})
_LONGEST = 43_200  # The most seconds that a condition waits.
_VALID = 86_399  # Seconds after which a handle's address is good for nothing.


class NestedStackType:
    """
    A stack of its own, which comes, changes and goes with its parent.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
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
            declaration, properties, stack.stack_id, partial(_output, stack), stack
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        stack = resource.native
        _backend(scope).update_nested(
            stack, template(properties, scope), parameters(properties)
        )
        # One that fails has rolled back by itself.
        if stack.status != "UPDATE_COMPLETE":
            raise ResourceError(
                f"Embedded stack {stack.stack_id} was not successfully updated. "
                f"Currently in {stack.status} with reason: {stack.failure}"
            )

    def delete(self, resource: Resource, scope: Scope) -> None:
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
    return {
        key: ",".join(map(str, value))
        if isinstance(value, list)
        else scalar_text(value)
        for key, value in properties.get("Parameters", {}).items()
    }


def _output(stack: Untyped, attribute: str) -> Untyped:
    outputs: list[dict[str, Any]] = stack.outputs or []
    values = {f"Outputs.{o['OutputKey']}": o["OutputValue"] for o in outputs}
    if attribute not in values:
        raise ResourceError(f"Attribute '{attribute}' does not exist")
    return values[attribute]


def _backend(scope: Scope) -> Untyped:
    # What makes stacks is made of stacks, whose types are these: no import leads there.
    return cloudformation_backends[scope.account][scope.region]


def template_at(url: str, account: str, partition: str) -> str:
    """
    Read a template from the embedded S3.

    moto takes the first word of any other host for the name of a bucket.
    """
    parts = urlsplit(url)
    location = Location.of(url.partition("?")[0])
    if parts.hostname in _LOCAL:
        # The CDK CLI puts the path behind the address that it has.
        name, _, key = parts.path.lstrip("/").partition("/")
        location = Location(name, key)
    if location is None:
        raise ValidationError(message="TemplateURL must be a supported URL.")
    bucket = s3_backends[account][partition].buckets.get(unquote(location.bucket))
    found = None if bucket is None else bucket.keys.get(unquote(location.key))
    if found is None:
        what = "bucket" if bucket is None else "key"
        raise ValidationError(
            message=f"S3 error: The specified {what} does not exist\nFor more "
            "information check http://docs.aws.amazon.com/AmazonS3/latest/API/"
            "ErrorResponses.html"
        )
    text: str = found.value.decode()
    return text


@dataclass
class Handle:
    """
    An address for signals, and what came in there.
    """

    physical_id: str  # Its own name, which CloudFormation signs into its address.
    path: str
    signature: str  # What a request must know beside the path.
    made: float
    reasons: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    is_unparsable: bool = False

    @property
    def url(self) -> str:
        """
        The address, which ``Ref`` gives.
        """
        stamp = datetime.fromtimestamp(self.made, UTC).strftime("%Y%m%dT%H%M%SZ")
        query = {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Date": stamp,
            "X-Amz-SignedHeaders": "host",
            "X-Amz-Expires": str(_VALID),
            "X-Amz-Signature": self.signature,
        }
        path = quote(self.path, safe="/")
        return f"{os.environ['AWS_ENDPOINT_URL']}{path}?{urlencode(query)}"

    def take(self, body: bytes) -> None:
        """
        Take a signal in; S3 takes anything, and the condition fails of it.
        """
        signal = _read(body)
        if signal is None:
            self.is_unparsable = True
        elif signal["Status"] == "FAILURE":
            self.reasons.setdefault(signal["UniqueId"], signal.get("Reason") or "")
        else:
            self.data.setdefault(signal["UniqueId"], signal.get("Data") or "")

    @property
    def has_failed(self) -> bool:
        """
        Whether a failure was signalled, or what is none of the signals.
        """
        return bool(self.reasons) or self.is_unparsable

    def fail(self) -> None:
        """
        Raise the condition's failure, if one was signalled.
        """
        for unique_id, reason in self.reasons.items():
            raise ResourceError(
                f"WaitCondition received failed message: '{reason}' for uniqueId: "
                f"{unique_id}"
            )
        if self.is_unparsable:
            raise ResourceError("Unparsable WaitCondition data")


# By path, and for good: the bucket is CloudFormation's, and takes what comes too late.
_HANDLES: dict[str, Handle] = {}


def receive_signal(
    method: str, path: str, query: dict[str, str], content_type: str, body: bytes
) -> None:
    """
    Take a request to the address of a handle, or refuse it as S3 does.

    The address is signed for a PUT without a content type, and for one day.
    """
    handle = _HANDLES.get(path)
    signed = handle is not None and query.get("X-Amz-Signature") == handle.signature
    if handle is None or not signed or method != "PUT" or content_type:
        raise AwsError(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you "
            "provided. Check your key and signing method.",
            403,
        )
    if CLOCK.now > handle.made + _VALID:
        raise AwsError("AccessDenied", "Request has expired", 403)
    handle.take(body)


def _read(body: bytes) -> dict[str, str] | None:
    try:
        signal = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(signal, dict):
        return None
    if signal.get("Status") not in {"SUCCESS", "FAILURE"}:
        return None
    texts = [signal.get(name) for name in ("UniqueId", "Reason", "Data")]
    if not texts[0] or not all(isinstance(text, str | None) for text in texts):
        return None
    return signal


class WaitConditionHandleType:
    """
    A handle: an address that takes signals.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        # The stack's id has the place, its name and a part that no other stack has.
        stack = scope.stack_id.partition(":stack/")[2]
        place = f"{get_partition(scope.region)}:cloudformation:{scope.region}"
        physical_id = (
            f"arn:{place}:{scope.account}:stack/{stack}/{declaration.logical_id}"
        )
        handle = Handle(
            physical_id=physical_id,
            path=f"{WAIT_PATH}{scope.region}/{physical_id}",
            signature=uuid.uuid4().hex * 2,
            made=CLOCK.now,
        )
        _HANDLES[handle.path] = handle
        read = attributes({"Id": physical_id})
        return Resource(declaration, properties, handle.url, read)

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:  # noqa: ARG002 - protocol
        raise _no_update("WaitConditionHandle")

    def delete(self, resource: Resource, scope: Scope) -> None: ...


class WaitConditionType:
    """
    A condition: a resource that is there when enough signals have come.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        handle = _handle(properties)
        count, timeout = _whole(properties, "Count", 1), _whole(properties, "Timeout")
        if timeout > _LONGEST:
            raise ResourceError(
                f"Value of property Timeout must be at most {_LONGEST} seconds, got "
                f"{timeout}"
            )
        _wait(handle, count, timeout, scope)
        data = json.dumps(handle.data, separators=(",", ":"))
        read = attributes({"Data": data, "Id": handle.physical_id})
        return Resource(declaration, properties, handle.physical_id, read)

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:  # noqa: ARG002 - protocol
        if changed_names(resource.properties, properties):
            raise _no_update("WaitCondition")

    def delete(self, resource: Resource, scope: Scope) -> None: ...


def _wait(handle: Handle, count: int, timeout: int, scope: Scope) -> None:
    deadline = CLOCK.now + timeout
    # Somebody looks when the time is over, where time runs.
    CLOCK.after(timeout, lambda: None)

    # Others ask it too, who are not to fail of it.
    def is_over() -> bool:
        is_late = CLOCK.now >= deadline
        is_told = handle.has_failed or len(handle.data) >= count
        return is_told or is_late or _is_unwanted(scope)

    wait_for_others(is_over)
    handle.fail()
    if len(handle.data) >= count:
        return
    if _is_unwanted(scope):
        raise ResourceError("Resource creation cancelled")
    raise ResourceError(
        f"WaitCondition timed out. Received {len(handle.data)} conditions when "
        f"expecting {count}"
    )


def _handle(properties: Properties) -> Handle:
    url = str(properties["Handle"])
    for handle in _HANDLES.values():
        if handle.url == url:
            return handle
    raise ResourceError(
        f"Value of property Handle must be the Ref of a WaitConditionHandle, got {url}"
    )


def _whole(properties: dict[str, Any], name: str, default: int | None = None) -> int:
    value = properties[name] if default is None else properties.get(name, default)
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise ResourceError(
            f"Value of property {name} must be a whole number, got {value}"
        )
    return int(text)


def _is_unwanted(scope: Scope) -> bool:
    stacks = cloudformation_backends[scope.account][scope.region].stacks
    stack = stacks.get(scope.stack_id)
    while stack is not None:
        if stack.status == "DELETE_IN_PROGRESS":
            return True
        # A nested one goes with what it is in.
        stack = stacks.get(getattr(stack, "parent_id", None) or "")
    return False


def _no_update(kind: str) -> ResourceError:
    return ResourceError(
        f"Update to resource type AWS::CloudFormation::{kind} is not supported"
    )
