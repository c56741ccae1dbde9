"""
Python callables that stand for the functions of custom resources, the CDK's own first.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from botocore import xform_name

from cdk_sagemaker_llm.local.aws.untyped import Untyped

# What the SDK for JavaScript calls otherwise than the one for Python.
_OTHER_NAMES = {
    "cloudwatchlogs": "logs",
    "cloudwatchevents": "events",
    "eventbridge": "events",
    "sfn": "stepfunctions",
}
Handler = Callable[[dict[str, Any]], Untyped]


def empty_bucket(event: dict[str, Any]) -> None:
    """
    Delete the objects of a bucket that is about to go, all versions of them.
    """
    if event["RequestType"] != "Delete":
        return
    bucket, s3 = event["ResourceProperties"]["BucketName"], _client("s3")
    for found in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        entries = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        keys = [{"Key": e["Key"], "VersionId": e["VersionId"]} for e in entries]
        if keys:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": keys})


def retain_logs(event: dict[str, Any]) -> dict[str, Any]:
    """
    Make a log group if need be, and set how long its events are kept.
    """
    properties, logs = event["ResourceProperties"], _client("logs")
    name = properties["LogGroupName"]
    if event["RequestType"] == "Delete":
        if properties.get("RemovalPolicy") == "destroy":
            logs.delete_log_group(logGroupName=name)
        return {"PhysicalResourceId": name}
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=name)
    days = properties.get("RetentionInDays")
    if days:
        logs.put_retention_policy(logGroupName=name, retentionInDays=int(days))
    else:
        logs.delete_retention_policy(logGroupName=name)
    return {"PhysicalResourceId": name, "Data": {"LogGroupName": name}}


def call_aws(event: dict[str, Any]) -> dict[str, Any]:
    """
    Make the call that an ``AwsCustomResource`` declares for a request, if any.
    """
    own_id = event.get("PhysicalResourceId") or event["LogicalResourceId"]
    declared = event["ResourceProperties"].get(event["RequestType"])
    if not declared:
        return {"PhysicalResourceId": own_id}
    call = json.loads(declared.replace("PHYSICAL:RESOURCEID:", own_id))
    client = _client(_service(call["service"]), call.get("region"))
    action = call["action"].removesuffix("Command")
    method = getattr(client, xform_name(action[0].upper() + action[1:]))
    try:
        data = dict(_flat(method(**_decoded(call.get("parameters") or {}))))
    except client.exceptions.ClientError as error:
        pattern = call.get("ignoreErrorCodesMatching")
        if not (pattern and re.search(pattern, error.response["Error"]["Code"])):
            raise
        data = {}
    id_source = call.get("physicalResourceId") or {}
    physical_id = (
        data.get(id_source.get("responsePath", "")) or id_source.get("id") or own_id
    )
    paths = tuple(call.get("outputPaths") or [""])
    visible = {key: value for key, value in data.items() if key.startswith(paths)}
    return {"PhysicalResourceId": physical_id, "Data": visible}


def _service(name: str) -> str:
    import boto3  # noqa: PLC0415 - a quarter of a second, which few stacks need

    plain = name.removeprefix("@aws-sdk/client-").replace("-", "").lower()
    names = {
        one.replace("-", ""): one for one in boto3.Session().get_available_services()
    }
    return names.get(plain) or _OTHER_NAMES.get(plain, plain)


def _decoded(value: Untyped) -> Untyped:
    # The construct writes booleans so, which CloudFormation would make strings.
    if isinstance(value, dict):
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return {"TRUE:BOOLEAN": True, "FALSE:BOOLEAN": False}.get(value, value)


def _flat(value: Untyped, path: str = "") -> Iterator[tuple[str, str]]:
    items: Iterable[tuple[Untyped, Untyped]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield path, str(value)
    for key, item in items:
        if key != "ResponseMetadata":
            yield from _flat(item, f"{path}.{key}" if path else str(key))


def _client(service: str, region: str | None = None) -> Untyped:
    import boto3  # noqa: PLC0415 - a quarter of a second, which few stacks need
    from botocore.config import Config  # noqa: PLC0415 - the same

    return boto3.client(  # type: ignore[call-overload]  # any service by name
        service,
        region_name=region,
        endpoint_url=os.environ["AWS_ENDPOINT_URL"],
        config=Config(retries={"max_attempts": 0}, proxies={"http": ""}),
    )


# The CDK's own, whose code needs an SDK for Node that only Lambda has.
HANDLERS: dict[str, Handler] = {
    "Custom::AWS": call_aws,
    "Custom::S3AutoDeleteObjects": empty_bucket,
    "Custom::LogRetention": retain_logs,
}
"""The callables by type of custom resource."""


def register_handler(assignment: str) -> None:
    """
    Register ``Custom::Name=module:function``.

    Raises:
        ValueError: If it is not of that form, or there is no such function.
    """
    name, separator, place = assignment.partition("=")
    module, colon, attribute = place.partition(":")
    if not (name and separator and module and colon and attribute):
        raise ValueError(
            f"custom_resource must be Custom::Name=module:function, got {assignment!r}"
        )
    try:
        HANDLERS[name] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"custom_resource {name}: {error}") from error
