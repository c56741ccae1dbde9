"""
What the CDK's own custom resources do, in Python: their functions need an SDK for Node,
or a layer, that only Lambda has.

Each is as in aws-cdk-lib 2.275.0, ``custom-resource-handlers`` and ``core``.
"""

from __future__ import annotations

import contextlib
import fnmatch
import io
import json
import mimetypes
import os
import re
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
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
_OWNED = "aws-cdk:cr-owned"
_CLEANED = {"Key": "aws-cdk:auto-delete-images", "Value": "true"}
_AT_ONCE = 10  # Parameters that one request deletes.
Event = dict[str, Any]
Handler = Callable[[Event], Untyped]


def _empty_bucket(event: Event) -> None:
    if event["RequestType"] != "Delete":
        return
    bucket, s3 = event["ResourceProperties"]["BucketName"], _client("s3", event)
    for found in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        entries = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        keys = [{"Key": e["Key"], "VersionId": e["VersionId"]} for e in entries]
        if keys:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": keys})


def _retain_logs(event: Event) -> dict[str, Any]:
    properties, logs = event["ResourceProperties"], _client("logs", event)
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


def _call_aws(event: Event) -> dict[str, Any]:
    own_id = event.get("PhysicalResourceId") or event["LogicalResourceId"]
    declared = event["ResourceProperties"].get(event["RequestType"])
    if not declared:
        return {"PhysicalResourceId": own_id}
    call = json.loads(declared.replace("PHYSICAL:RESOURCEID:", own_id))
    client = _client(_service(call["service"]), event, call.get("region"))
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


def _restrict_group(event: Event) -> None:
    properties, ec2 = event["ResourceProperties"], _client("ec2", event)
    group, account = properties["DefaultSecurityGroupId"], properties["Account"]
    old = event.get("OldResourceProperties", {}).get("DefaultSecurityGroupId")
    if event["RequestType"] == "Update" and old == group:
        return
    if event["RequestType"] != "Create":
        gone = old or group
        ec2.authorize_security_group_ingress(**_ingress(gone, account))
        ec2.authorize_security_group_egress(**_egress(gone))
    if event["RequestType"] != "Delete":
        with _unless(ec2, "InvalidPermission.NotFound"):
            ec2.revoke_security_group_egress(**_egress(group))
        with _unless(ec2, "InvalidPermission.NotFound"):
            ec2.revoke_security_group_ingress(**_ingress(group, account))


def _ingress(group: str, account: str) -> dict[str, Any]:
    own = [{"GroupId": group, "UserId": account}]
    rule = {"UserIdGroupPairs": own, "IpProtocol": "-1"}
    return {"GroupId": group, "IpPermissions": [rule]}


def _egress(group: str) -> dict[str, Any]:
    rule = {"IpRanges": [{"CidrIp": "0.0.0.0/0"}], "IpProtocol": "-1"}
    return {"GroupId": group, "IpPermissions": [rule]}


def _write_exports(event: Event) -> None:
    new = event["ResourceProperties"]["WriterProps"]
    ssm = _client("ssm", event, new["region"])
    before = event.get("OldResourceProperties", {}).get("WriterProps", {})
    exports, old = new["exports"], before.get("exports", {})
    if event["RequestType"] == "Delete":
        exports, old = {}, exports
    gone = sorted(old.keys() - exports.keys())
    for start in range(0, len(gone), _AT_ONCE):
        ssm.delete_parameters(Names=gone[start : start + _AT_ONCE])
    for name in exports.keys() - old.keys():
        ssm.put_parameter(Name=name, Value=exports[name], Type="String", Overwrite=True)


def _read_exports(event: Event) -> dict[str, Any]:
    new = event["ResourceProperties"]["ReaderProps"]
    ssm = _client("ssm", event, new["region"])
    tag = f"aws-cdk:strong-ref:{new['prefix']}"
    before = event.get("OldResourceProperties", {}).get("ReaderProps", {})
    imports, old = new["imports"], before.get("imports", {})
    if event["RequestType"] == "Delete":
        imports, old = {}, imports
    for name in old.keys() - imports.keys():
        with _unless(ssm, "InvalidResourceId"):
            ssm.remove_tags_from_resource(
                ResourceType="Parameter", ResourceId=name, TagKeys=[tag]
            )
    for name in imports.keys() - old.keys():
        ssm.add_tags_to_resource(
            ResourceType="Parameter",
            ResourceId=name,
            Tags=[{"Key": tag, "Value": "true"}],
        )
    return {"Data": imports}


def _empty_repository(event: Event) -> None:
    if event["RequestType"] != "Delete":
        return
    name, ecr = event["ResourceProperties"]["RepositoryName"], _client("ecr", event)
    with _unless(ecr, "RepositoryNotFoundException"):
        (found,) = ecr.describe_repositories(repositoryNames=[name])["repositories"]
        arn = found["repositoryArn"]
        if _CLEANED not in ecr.list_tags_for_resource(resourceArn=arn)["tags"]:
            return
        for page in ecr.get_paginator("list_images").paginate(repositoryName=name):
            if page["imageIds"]:
                ecr.batch_delete_image(repositoryName=name, imageIds=page["imageIds"])


def _deploy_to_bucket(event: Event) -> dict[str, Any]:
    """
    Bring what ``BucketDeployment`` ships into its bucket; CloudFront is left alone.
    """
    properties, s3 = event["ResourceProperties"], _client("s3", event)
    place = _destination(properties)
    old = event.get("OldResourceProperties")
    retains = _is_true(properties, "RetainOnDelete")
    if event["RequestType"] == "Delete":
        if not retains and not _is_owned(s3, *place):
            _clear(s3, *place, keep=())
    else:
        if old and not retains and _destination(old) != place:
            _clear(s3, *_destination(old), keep=())
        _sync(s3, properties, *place)
    made = f"aws.cdk.s3deployment.{uuid.uuid4()}"
    keys = properties["SourceObjectKeys"]
    return {
        "PhysicalResourceId": event.get("PhysicalResourceId") or made,
        "Data": {
            "DestinationBucketArn": properties.get("DestinationBucketArn"),
            "SourceObjectKeys": keys
            if _is_true(properties, "OutputObjectKeys")
            else [],
        },
    }


def _destination(properties: dict[str, Any]) -> tuple[str, str]:
    prefix = properties.get("DestinationBucketKeyPrefix", "").strip("/")
    return properties["DestinationBucketName"], f"{prefix}/" if prefix else ""


def _is_true(properties: dict[str, Any], name: str) -> bool:
    return bool(properties.get(name, "true").lower() == "true")


def _is_owned(s3: Untyped, bucket: str, prefix: str) -> bool:
    # By the deployment that has come in this one's place.
    tag = f"{_OWNED}:{prefix.rstrip('/')}" if prefix else _OWNED
    with _unless(s3, "NoSuchTagSet"):
        tags = s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
        return any(one["Key"].startswith(tag) for one in tags)
    return False


def _sync(s3: Untyped, properties: dict[str, Any], bucket: str, prefix: str) -> None:
    excluded, included = (properties.get(n, []) for n in ("Exclude", "Include"))

    def is_meant(name: str) -> bool:
        # Of two filters the later one counts: what is included comes last.
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in included):
            return True
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in excluded)

    files = {
        name: body for name, body in _files(s3, properties).items() if is_meant(name)
    }
    metadata = {k.lower(): v for k, v in properties.get("UserMetadata", {}).items()}
    system = {
        "".join(word.capitalize() for word in name.split("-")): value
        for name, value in properties.get("SystemMetadata", {}).items()
    }
    for name, body in files.items():
        kind = mimetypes.guess_type(name)[0] or "binary/octet-stream"
        settings = {"ContentType": kind, **system, "Metadata": metadata}
        s3.put_object(Bucket=bucket, Key=prefix + name, Body=body, **settings)
    if _is_true(properties, "Prune"):
        _clear(s3, bucket, prefix, keep=files, is_meant=is_meant)


def _files(s3: Untyped, properties: dict[str, Any]) -> dict[str, bytes]:
    names, keys = properties["SourceBucketNames"], properties["SourceObjectKeys"]
    markers = properties.get("SourceMarkers") or [{} for _ in names]
    files = {}
    for bucket, key, values in zip(names, keys, markers, strict=True):
        body = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        if not _is_true(properties, "Extract"):
            files[PurePosixPath(key).name] = body
            continue
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    content = archive.read(entry)
                    for marker, value in values.items():
                        content = content.replace(marker.encode(), value.encode())
                    files[entry.filename] = content
    return files


def _clear(
    s3: Untyped,
    bucket: str,
    prefix: str,
    *,
    keep: Iterable[str],
    is_meant: Callable[[str], bool] = lambda _: True,
) -> None:
    kept = set(keep)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    for page in pages:
        for found in page.get("Contents", ()):
            name = found["Key"].removeprefix(prefix)
            if name not in kept and is_meant(name):
                s3.delete_object(Bucket=bucket, Key=found["Key"])


@contextlib.contextmanager
def _unless(client: Untyped, code: str) -> Iterator[None]:
    try:
        yield
    except client.exceptions.ClientError as error:
        if error.response["Error"]["Code"] != code:
            raise


def _client(service: str, event: Event, region: str | None = None) -> Untyped:
    import boto3  # noqa: PLC0415 - a quarter of a second, which few stacks need
    from botocore.config import Config  # noqa: PLC0415 - the same

    return boto3.client(  # type: ignore[call-overload]  # any service by name
        service,
        # The stack's own, unless the resource names another.
        region_name=region or event["StackId"].split(":")[3],
        endpoint_url=os.environ["AWS_ENDPOINT_URL"],
        config=Config(retries={"max_attempts": 0}, proxies={"http": ""}),
    )


HANDLERS: dict[str, Handler] = {
    "Custom::AWS": _call_aws,
    "Custom::CDKBucketDeployment": _deploy_to_bucket,
    "Custom::CrossRegionExportReader": _read_exports,
    "Custom::CrossRegionExportWriter": _write_exports,
    "Custom::ECRAutoDeleteImages": _empty_repository,
    "Custom::LogRetention": _retain_logs,
    "Custom::S3AutoDeleteObjects": _empty_bucket,
    "Custom::VpcRestrictDefaultSG": _restrict_group,
}
"""The callables by type of custom resource."""
