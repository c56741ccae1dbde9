"""
What S3 refuses since the key that encrypts an object cannot be used.

Nobody has an identity in here, so that who may use a key is not known; what lets nobody
in is: a key that is disabled or about to be deleted, and a key policy that denies its
use to everyone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

from moto.kms.models import Key, kms_backends
from moto.s3.models import FakeBucket, s3_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.errors import AwsError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_ENCRYPTION = "HTTP_X_AMZ_SERVER_SIDE_ENCRYPTION"
_KEY = f"{_ENCRYPTION}_AWS_KMS_KEY_ID"
_KMS = "aws:kms"
_WRITES, _READS = "kms:GenerateDataKey", "kms:Decrypt"
_PLAIN = frozenset({"versionId", "x-id"})
_EVERYONE = ("*", ["*"], {"AWS": "*"}, {"AWS": ["*"]})


def refusal(environ: WSGIEnvironment, account: str, region: str) -> AwsError | None:
    """
    Return why the object that a request's path names is neither written nor read;
    ``None`` if its key does not stand in the way.
    """
    s3 = s3_backends[account][get_partition(region)]
    bucket_name, _, name = unquote(environ["PATH_INFO"]).lstrip("/").partition("/")
    bucket = s3.buckets.get(bucket_name)
    if bucket is None or not name:
        return None
    action = _action(environ)
    if action is None:
        return None
    keys = _written_with(environ, bucket) if action == _WRITES else _read(bucket, name)
    key = _key(keys, account, region) if keys else None
    return None if key is None else _fault(key, action)


def _action(environ: WSGIEnvironment) -> str | None:
    method, query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
    parameters = set(parse_qs(query, keep_blank_values=True))
    if parameters <= _PLAIN:
        # Neither its tags nor its parts, but the object itself.
        return {"GET": _READS, "PUT": _WRITES}.get(method)
    return _WRITES if method == "POST" and "uploads" in parameters else None


def _written_with(environ: WSGIEnvironment, bucket: FakeBucket) -> str:
    if _ENCRYPTION in environ:
        return str(environ.get(_KEY, "")) if environ[_ENCRYPTION] == _KMS else ""
    rule = (bucket.encryption or {}).get("Rule", {})
    default = rule.get("ApplyServerSideEncryptionByDefault", {})
    return str(default.get("KMSMasterKeyID", ""))


def _read(bucket: FakeBucket, name: str) -> str:
    found = bucket.keys.get(name)
    # One that names another way has the bucket's key beside it in moto.
    is_kms = getattr(found, "encryption", None) == _KMS
    return str(getattr(found, "kms_key_id", None) or "") if is_kms else ""


def _key(key_id: str, account: str, region: str) -> Key | None:
    place = key_id.split(":")[3] if key_id.startswith("arn:") else region
    try:
        return kms_backends[account][place].describe_key(key_id)
    except KeyError:
        # Of another account, or none of this server's.
        return None


def _fault(key: Key, action: str) -> AwsError | None:
    # The words of S3 on objects whose key is in such a state.
    if key.key_state == "PendingDeletion":
        words = f"{key.arn} is pending deletion."
        return AwsError("KMS.KMSInvalidStateException", words)
    if not key.enabled:
        return AwsError("KMS.DisabledException", f"{key.arn} is disabled.")
    if any(_denies(one, action) for one in _statements(key)):
        return AwsError(
            "AccessDenied",
            f"User is not authorized to perform: {action} on resource: {key.arn} with "
            "an explicit deny in a resource-based policy",
            403,
        )
    return None


def _statements(key: Key) -> Iterator[dict[str, Any]]:
    policy: Any = key.policy
    # One of a template comes as it is, one of an API call as text.
    try:
        document = json.loads(policy) if isinstance(policy, str) else policy
    except ValueError:
        return
    found = document.get("Statement", []) if isinstance(document, Mapping) else []
    yield from found if isinstance(found, list) else [found]


def _denies(statement: dict[str, Any], action: str) -> bool:
    if statement.get("Effect") != "Deny" or "Condition" in statement:
        return False
    actions = statement.get("Action", [])
    names = [actions] if isinstance(actions, str) else actions
    return statement.get("Principal") in _EVERYONE and any(
        fnmatchcase(action.lower(), one.lower()) for one in names
    )
