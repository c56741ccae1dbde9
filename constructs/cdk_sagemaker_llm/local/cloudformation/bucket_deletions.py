"""
Keeping buckets that are not empty, which moto throws away with what is in them.
"""

from __future__ import annotations

from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.cloudformation.resource import (
    Resource,
    ResourceError,
    Scope,
)


def check(resource: Resource, scope: Scope) -> None:
    """
    Refuse to delete a bucket with objects, or versions of objects, in it.

    Raises:
        ResourceError: In the words of S3.
    """
    if resource.declaration.type != "AWS::S3::Bucket":
        return
    buckets = s3_backends[scope.account][get_partition(scope.region)].buckets
    bucket = buckets.get(resource.physical_resource_id)
    if bucket is not None and bucket.keys:
        raise ResourceError(
            'Resource handler returned message: "The bucket you tried to delete is not '
            'empty (Service: S3, Status Code: 409)"'
        )
