"""
Which instance types jobs of SageMaker may run on: not all that endpoints have.
"""

from __future__ import annotations

from typing import Literal

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type

JobKind = Literal["processing", "training"]
"""A processing job, or a training job where only that API has the type."""


def job_kind(hardware: InstanceType) -> JobKind | None:
    """
    Return in which kind of job an instance type can work; ``None`` for neither.

    A type that the catalogue does not have is taken for one of processing jobs.
    """
    kinds = load("job_types.json")
    if hardware.name in kinds["processing"]:
        return "processing"
    if hardware.name in kinds["training"]:
        return "training"
    return None if hardware.name in kinds["neither"] else "processing"


def job_type_like(hardware: InstanceType) -> InstanceType | None:
    """
    Return the type of the same accelerator, with the number of them nearest to an
    instance's, that jobs can work on; ``None`` if there is none.
    """
    kinds = load("job_types.json")
    known = [find_instance_type(one) for one in kinds["processing"] + kinds["training"]]
    alike = [
        one for one in known if one.accelerator_model == hardware.accelerator_model
    ]
    return min(
        alike,
        key=lambda one: (abs(one.accelerators - hardware.accelerators), one.vcpus),
        default=None,
    )


def local_storage_gb(hardware: InstanceType) -> int | None:
    """
    Return the size of an instance type's own disks; ``None`` if it has none, or is not
    known.
    """
    row = load("instances.json")["instances"].get(hardware.name, {})
    found: int | None = row.get("local_nvme_gb")
    return found
