"""
The token that tests keep in secrets, and where it is looked for when they are done.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

# In parts, so that no file has it.
TOKEN = f"hf{chr(95)}TheTokenThatNoTestMayEverTellAnyone"
_BYTES = TOKEN.encode()
_LARGEST = 50_000_000


def in_files(folder: Path) -> list[str]:
    """
    Name the files under a folder that have the token, in archives as well.
    """
    found = (path for path in folder.rglob("*") if path.is_file())
    return [
        str(path)
        for path in found
        if path.stat().st_size < _LARGEST and _has(path.read_bytes())
    ]


def in_aws(aws: EmbeddedAws) -> list[str]:
    """
    Name what in an embedded AWS has the token beside the secret itself and what was
    meant to read it: templates, events, logs and objects.
    """
    return [name for name, text in _texts(aws) if _has(text)]


def _texts(aws: EmbeddedAws) -> Iterator[tuple[str, bytes]]:
    stacks = aws.client("cloudformation")
    for one in stacks.describe_stacks()["Stacks"]:
        name = one["StackName"]
        body = stacks.get_template(StackName=name)["TemplateBody"]
        events = stacks.describe_stack_events(StackName=name)["StackEvents"]
        yield f"stack {name}", repr((body, events)).encode()
    yield from _logs(aws.client("logs"))
    s3 = aws.client("s3")
    for bucket in (one["Name"] for one in s3.list_buckets()["Buckets"]):
        for one in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
            if one["Size"] < _LARGEST:
                body = s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
                yield f"s3://{bucket}/{one['Key']}", body


def _logs(logs: Untyped) -> Iterator[tuple[str, bytes]]:
    for group in logs.describe_log_groups()["logGroups"]:
        name = group["logGroupName"]
        for stream in logs.describe_log_streams(logGroupName=name)["logStreams"]:
            events = logs.get_log_events(
                logGroupName=name, logStreamName=stream["logStreamName"]
            )
            yield f"log {name}", repr(events["events"]).encode()


def _has(content: bytes) -> bool:
    if _BYTES in content:
        return True
    # Tests write broken archives on purpose, too.
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return False
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return any(_BYTES in archive.read(name) for name in archive.namelist())
