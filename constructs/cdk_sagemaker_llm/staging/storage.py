"""
The bucket that a model is staged in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.prefix import objects
from cdk_sagemaker_llm.staging.signalling import StagingError, bucket_failure

# S3 keeps this beside an object: what was held against the Hub before it went there.
_DIGEST = "hub-digest"
_GONE = {"404", "NoSuchKey"}


class Storage:
    """
    Where the files of one order are kept.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._s3 = boto3.client("s3")
        self._encryption = (
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": order.kms_key}
            if order.kms_key
            else {}
        )

    def is_staged(self) -> bool:
        """
        Whether a manifest says that all of it is there.
        """
        if self._order.manifest not in self._sizes(self._order.manifest):
            return False
        key = {"Bucket": self._order.bucket, "Key": self._order.manifest}
        try:
            manifest = json.loads(self._s3.get_object(**key)["Body"].read())
        except ClientError as fault:
            return self._gone(fault)
        return bool(manifest["revision"] == self._order.revision)

    def has(self, file: HubFile) -> bool:
        """
        Whether a file was there at the beginning, with the Hub's contents.
        """
        if self._there.get(self._key(file)) != file.size:
            return False
        try:
            head = self._s3.head_object(Bucket=self._order.bucket, Key=self._key(file))
        except ClientError as fault:
            return self._gone(fault)
        return bool(head["Metadata"].get(_DIGEST) == file.digest)

    def put(self, local: Path, file: HubFile) -> None:
        """
        Put a file there that was held against the Hub.
        """
        more: dict[str, Any] = {
            "Metadata": {_DIGEST: file.digest},
            # S3 holds what arrives against it, part by part.
            "ChecksumAlgorithm": "SHA256",
            **self._encryption,
        }
        try:
            self._s3.upload_file(
                str(local), self._order.bucket, self._key(file), ExtraArgs=more
            )
        except S3UploadFailedError as fault:
            # Whatever S3 says becomes one of these.
            cause = fault.__context__
            if isinstance(cause, ClientError):
                raise self._fault(cause) from fault
            raise StagingError(str(fault)) from fault

    def seal(self, manifest: Mapping[str, Any]) -> None:
        """
        Write the manifest: from here on all of it is there.
        """
        try:
            self._s3.put_object(
                Bucket=self._order.bucket,
                Key=self._order.manifest,
                Body=json.dumps(manifest, indent=1, sort_keys=True).encode(),
                ContentType="application/json",
                **self._encryption,
            )
        except ClientError as fault:
            raise self._fault(fault) from fault

    def _key(self, file: HubFile) -> str:
        return self._order.prefix + file.path

    @cached_property
    def _there(self) -> Mapping[str, int]:
        return self._sizes(self._order.prefix)

    def _sizes(self, prefix: str) -> Mapping[str, int]:
        """
        Return the keys that begin so, with their sizes.

        What is not there is found by listing: S3 answers a read of it with 404 or 403
        by a permission to list that is bound to no prefix (API reference, GetObject).
        """
        try:
            return dict(objects(self._s3, self._order.bucket, prefix))
        except ClientError as fault:
            raise self._fault(fault) from fault

    def _gone(self, fault: ClientError) -> bool:
        if fault.response["Error"]["Code"] in _GONE:
            return False
        raise self._fault(fault) from fault

    def _fault(self, fault: ClientError) -> StagingError:
        return bucket_failure(fault, self._order.bucket)
