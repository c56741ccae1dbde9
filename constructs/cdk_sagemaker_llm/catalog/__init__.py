"""
Facts as data: which images, instance types, options and models exist.

What belongs here is a data file with its source and date, and one small reader of it.
"""

from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    Registry,
    find_image,
    registry_account,
)
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type

__all__ = [
    "ImageRelease",
    "InstanceType",
    "Registry",
    "find_image",
    "find_instance_type",
    "registry_account",
]
