"""
Facts as data: which images and instance types exist, with source and date.
"""

from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image, registry_account
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type

__all__ = [
    "ImageRelease",
    "InstanceType",
    "find_image",
    "find_instance_type",
    "registry_account",
]
