"""
Templates that are given by their address in S3.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from moto.cloudformation.exceptions import ValidationError
from moto.s3.models import s3_backends

from cdk_sagemaker_llm.local.sagemaker.locations import Location

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "host.docker.internal"})


def read(url: str, account: str, partition: str) -> str:
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
