"""
``Custom::*``: resources that a function makes, in CloudFormation's protocol.

The CDK's own functions are played by callables in Python, as are those that a caller
names. One whose function cannot be run is recorded, as are types that nothing here
stands for.
"""

from __future__ import annotations

import importlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.local.aws import clock
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.functions import (
    Callback,
    Function,
    FunctionError,
    NotRunnableError,
    Outcome,
    find_function,
    run_function,
)
from cdk_sagemaker_llm.local.cloudformation.cdk_handlers import HANDLERS
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
    physical_name,
    scalar_text,
)

_GRACE = 1.0  # Seconds for a response that is on its way when the function ends.
_POLL = 1.0
# How the CDK's Provider framework tells its own function whom to call. That function
# needs an SDK for Node that only Lambda has, so its part is played here.
_ON_EVENT = "USER_ON_EVENT_FUNCTION_ARN"
_IS_COMPLETE = "USER_IS_COMPLETE_FUNCTION_ARN"
# What the CDK's other functions for Node need, which only Lambda has.
_NO_SDK = "Cannot find module '@aws-sdk/"
Response = dict[str, Any]


class CustomResourceType:
    """
    A resource behind which stands a function: one deployed, or a Python callable.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        event = _event("Create", declaration, properties, scope)
        try:
            answer = _ask(event, scope)
        except NotRunnableError as error:
            recorded = NotEmulated(silent=False).create(declaration, properties, scope)
            recorded.reason = f"{declaration.type} was recorded, not run: {error}."
            return recorded
        physical_id = answer.get("PhysicalResourceId")
        if answer["Status"] != "SUCCESS" or not physical_id:
            if physical_id:
                gone = _event("Delete", declaration, properties, scope)
                _ask({**gone, "PhysicalResourceId": physical_id}, scope)
            raise _failure(answer, event)
        resource = Resource(
            declaration,
            properties,
            str(physical_id),
            lambda name: _attribute(resource, name),
            answer,
        )
        return resource

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Ask the function to update; another physical id means another resource.
        """
        if resource.native is None:
            return
        event = _event("Update", resource.declaration, properties, scope)
        event["PhysicalResourceId"] = resource.physical_resource_id
        event["OldResourceProperties"] = _as_text(resource.properties)
        answer = _ask_or_fail(event, scope)
        # In place: GetAtt reads from the object that was made.
        resource.native.clear()
        resource.native.update(answer)
        resource.physical_resource_id = str(
            answer.get("PhysicalResourceId") or resource.physical_resource_id
        )

    def delete(self, resource: Resource, scope: Scope) -> None:
        if resource.native is None:
            return
        event = _event("Delete", resource.declaration, resource.properties, scope)
        event["PhysicalResourceId"] = resource.physical_resource_id
        _ask_or_fail(event, scope)


def _event(
    request: str, declaration: Declaration, properties: Properties, scope: Scope
) -> dict[str, Any]:
    return {
        "RequestType": request,
        "RequestId": str(uuid.uuid4()),
        "StackId": scope.stack_id,
        "ResourceType": declaration.type,
        "LogicalResourceId": declaration.logical_id,
        "ServiceToken": properties.get("ServiceToken", ""),
        "ResourceProperties": _as_text(properties),
    }


def _ask(event: dict[str, Any], scope: Scope) -> Response:
    own = HANDLERS.get(event["ResourceType"])
    if own is not None:
        return _answer(lambda: own(event), event)
    token = str(event["ServiceToken"])
    function = find_function(token, scope.account, scope.region)
    if _ON_EVENT in function.environment:
        return _answer(lambda: _provided(function, event, scope), event)
    with clock.passed_on():
        return _protocol(function, event)


def _ask_or_fail(event: dict[str, Any], scope: Scope) -> Response:
    answer = _ask(event, scope)
    if answer["Status"] != "SUCCESS":
        raise _failure(answer, event)
    return answer


def _protocol(function: Function, event: dict[str, Any]) -> Response:
    callback = Callback()
    reason = ""
    try:
        reason = run_function(function, {**event, "ResponseURL": callback.url}).printed
    except FunctionError as error:
        reason = str(error)
    finally:
        response = callback.response(_GRACE)
    if response is None:
        return _failed(
            "CloudFormation did not receive a response from your Custom Resource: "
            f"{function.name} ended without one, and printed last: {reason}"
        )
    answer = {"Status": "FAILED", **response}
    first, *_ = str(answer.get("Reason")).splitlines() or [""]
    if answer["Status"] == "FAILED" and _NO_SDK in first:
        raise NotRunnableError(f"{function.name}: {first}")
    return answer


def _answer(call: Callable[[], Untyped], event: dict[str, Any]) -> Response:
    # In the simpler protocol, a function returns what it has to say, or raises.
    try:
        with clock.passed_on():
            returned = call() or {}
    except NotRunnableError:
        raise
    except Exception as error:  # noqa: BLE001 - a handler may raise anything
        return _failed(str(error) or repr(error), event)
    own_id = event.get("PhysicalResourceId") or event["RequestId"]
    return {"Status": "SUCCESS", "PhysicalResourceId": own_id, **returned}


def _provided(
    framework: Function, event: dict[str, Any], scope: Scope
) -> dict[str, Any]:
    on_event = framework.environment[_ON_EVENT]
    function = find_function(on_event, scope.account, scope.region)
    returned = {"PhysicalResourceId": event["RequestId"]}
    if "PhysicalResourceId" in event:
        returned["PhysicalResourceId"] = event["PhysicalResourceId"]
    returned |= _spoken(run_function(function, event))
    if _IS_COMPLETE not in framework.environment:
        return returned
    waiter = find_function(
        framework.environment[_IS_COMPLETE], scope.account, scope.region
    )
    deadline = time.monotonic() + framework.timeout
    while time.monotonic() < deadline:
        answer = _spoken(run_function(waiter, {**event, **returned}))
        if answer.get("IsComplete"):
            data = {**returned.get("Data", {}), **answer.get("Data", {})}
            return {**returned, "Data": data}
        time.sleep(_POLL)
    raise FunctionError("Operation timed out")


def _spoken(outcome: Outcome) -> dict[str, Any]:
    return outcome.returned if isinstance(outcome.returned, dict) else {}


def _failed(reason: str, event: dict[str, Any] | None = None) -> Response:
    physical_id = (event or {}).get("PhysicalResourceId")
    return {"Status": "FAILED", "Reason": reason, "PhysicalResourceId": physical_id}


def _failure(answer: Response, event: dict[str, Any]) -> ResourceError:
    if answer["Status"] == "SUCCESS":
        return ResourceError("Invalid PhysicalResourceId")
    return ResourceError(
        f"Received response status [FAILED] from custom resource. Message returned: "
        f"{answer.get('Reason')} (RequestId: {event['RequestId']})"
    )


def _attribute(resource: Resource, name: str) -> Untyped:
    data = resource.native.get("Data") or {}
    if name not in data:
        raise ResourceError(
            "CustomResource attribute error: Vendor response doesn't contain "
            f"{name} key in object {resource.physical_resource_id}"
        )
    return data[name]


def _as_text(value: Untyped) -> Untyped:
    # CloudFormation sends every scalar as a string.
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return scalar_text(value)


@dataclass(frozen=True, slots=True)
class NotEmulated:
    """
    A type that is recorded, so that references resolve, and nothing more.
    """

    silent: bool

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        name = physical_name(declaration.logical_id)
        remark = f"{declaration.type} is not emulated: recorded, nothing was made."

        def read(attribute: str) -> str:
            if attribute.endswith("Arn"):
                return f"arn:aws:not-emulated:{scope.region}:{scope.account}:{name}"
            return f"{name}.{attribute}"

        reason = None if self.silent else remark
        return Resource(declaration, properties, name, read, reason=reason)

    def update(
        self, resource: Resource, properties: Properties, scope: Scope
    ) -> None: ...

    def delete(self, resource: Resource, scope: Scope) -> None: ...


def register_handler(assignment: str) -> None:
    """
    Register ``Custom::Name=module:function``.
    """
    name, _, place = assignment.partition("=")
    module, _, attribute = place.partition(":")
    try:
        HANDLERS[name] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"custom_resource {name}: {error}") from error
