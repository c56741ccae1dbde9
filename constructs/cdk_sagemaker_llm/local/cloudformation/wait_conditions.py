"""
``AWS::CloudFormation::WaitCondition`` and its handle: waiting for signals.

The words of its failures are CloudFormation's, as users report them: in
aws-samples/immersive-media-refarch#7 (timed out), aws-samples/vpn-gateway-strongswan#28
(failed message), aws-cloudformation/cloudformation-coverage-roadmap#2088 (unparsable)
and #1097 (no updates).
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from moto.cloudformation.models import cloudformation_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.clock import CLOCK, wait_for_others
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    attributes,
    changed_names,
)

PATH = "/cloudformation-waitcondition-"
"""How the paths of handles begin: with the name of a bucket of CloudFormation's."""

LONGEST = 43_200
"""The most seconds that a condition waits."""

_VALID = 86_399  # Seconds after which a handle's address is good for nothing.


@dataclass
class Handle:
    """
    An address for signals, and what came in there.

    Args:
        physical_id: The handle's own name, which CloudFormation signs into its address.

        path: The path of its address.

        signature: What a request must know beside the path.

        made: When it was made.
    """

    physical_id: str
    path: str
    signature: str
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


def receive(
    method: str, path: str, query: dict[str, str], content_type: str, body: bytes
) -> None:
    """
    Take a request to the address of a handle.

    Raises:
        AwsError: If S3 would refuse it: the address is signed for a PUT without a
            content type, and for one day.
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
        """
        Make an address.
        """
        physical_id = _physical_id(declaration.logical_id, scope)
        handle = Handle(
            physical_id=physical_id,
            path=f"{PATH}{scope.region}/{physical_id}",
            signature=uuid.uuid4().hex * 2,
            made=CLOCK.now,
        )
        _HANDLES[handle.path] = handle
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=handle.url,
            read_attribute=attributes({"Id": physical_id}),
            native=handle,
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:  # noqa: ARG002 - protocol
        """
        Refuse: there is nothing to change.
        """
        raise _no_update("WaitConditionHandle")

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Forget nothing: signals that come too late are taken all the same.
        """


class WaitConditionType:
    """
    A condition: a resource that is there when enough signals have come.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Wait for the signals.
        """
        handle = _handle(properties)
        count, timeout = _whole(properties, "Count", 1), _whole(properties, "Timeout")
        if timeout > LONGEST:
            raise ResourceError(
                f"Value of property Timeout must be at most {LONGEST} seconds, got "
                f"{timeout}"
            )
        _wait(handle, count, timeout, _is_unwanted(scope))
        data = json.dumps(handle.data, separators=(",", ":"))
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=handle.physical_id,
            read_attribute=attributes({"Data": data, "Id": handle.physical_id}),
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:  # noqa: ARG002 - protocol
        """
        Refuse, as the service does.
        """
        if changed_names(resource.properties, properties):
            raise _no_update("WaitCondition")

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Do nothing: it is only the memory of having waited.
        """


def _wait(
    handle: Handle, count: int, timeout: int, is_unwanted: Callable[[], bool]
) -> None:
    deadline = CLOCK.now + timeout
    # Somebody looks when the time is over, where time runs.
    CLOCK.after(timeout, _nothing)

    def is_over() -> bool:
        handle.fail()
        is_late = CLOCK.now >= deadline
        return len(handle.data) >= count or is_late or is_unwanted()

    wait_for_others(is_over)
    if len(handle.data) >= count:
        return
    if is_unwanted():
        raise ResourceError("Resource creation cancelled")
    raise ResourceError(
        f"WaitCondition timed out. Received {len(handle.data)} conditions when "
        f"expecting {count}"
    )


def _nothing() -> None:
    pass


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


def _is_unwanted(scope: Scope) -> Callable[[], bool]:
    stacks = cloudformation_backends[scope.account][scope.region].stacks

    def is_going() -> bool:
        stack = stacks.get(scope.stack_id)
        while stack is not None:
            if stack.status == "DELETE_IN_PROGRESS":
                return True
            # A nested one goes with what it is in.
            stack = stacks.get(getattr(stack, "parent_id", None) or "")
        return False

    return is_going


def _physical_id(logical_id: str, scope: Scope) -> str:
    # The stack's id has the place, its name and a part that no other stack has.
    stack = scope.stack_id.partition(":stack/")[2]
    partition = get_partition(scope.region)
    place = f"{scope.region}:{scope.account}"
    return f"arn:{partition}:cloudformation:{place}:stack/{stack}/{logical_id}"


def _no_update(kind: str) -> ResourceError:
    return ResourceError(
        f"Update to resource type AWS::CloudFormation::{kind} is not supported"
    )
