"""
Instance types that SageMaker hosts models on, and what hardware they have; which of
them jobs may run on, and how fast accelerators are, as their vendors state it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from cdk_sagemaker_llm.arguments import held, hold_kinds, hold_known
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.text import any_of, nearest

Processor = Literal["x86_64", "arm64"]
"""
What a host's processors are: those of Intel and AMD, or AWS Graviton and NVIDIA Grace.
"""

_CPU_FAMILY = re.compile(r"[cmrt]\d")
# botocore 1.44.5: every name of ProductionVariantInstanceType has three parts.
_NAME = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9-]+\Z")

JobKind = Literal["processing", "training"]
"""A processing job, or a training job where only that API has the type."""


def local_storage_gb(hardware: InstanceType) -> int:
    """
    Return the size of an instance's local NVMe storage; 0 if it has none, or the
    catalogue does not have the type.
    """
    every = {**load("instances.json")["instances"], **_cpu_types()}
    return int(every.get(hardware.name, {}).get("local_nvme_gb") or 0)


def priced_regions(name: str) -> tuple[str, ...]:
    """
    Return the regions for which AWS's price list of 2026-10 has an accelerated type as
    a host of endpoints; none where that is not known.
    """
    row = load("instances.json")["instances"].get(name, {})
    return tuple(row.get("priced_regions", ()))


def instance_type_names() -> list[str]:
    """
    Return the names of every type in the catalogue that can host a model.
    """
    return [*accelerated_type_names(), *_cpu_types()]


@functools.cache
def host_image_names() -> tuple[str, ...]:
    """
    Return the host images that some type can be asked to run.
    """
    rows = load("instances.json")["instances"].values()
    names = {name for row in rows for name in row["compatible_inference_amis"] or ()}
    return tuple(sorted(names))


def job_kind(hardware: InstanceType) -> JobKind | None:
    """
    Return in which kind of job an instance type can work: ``None`` for neither, and
    processing jobs for a type that the catalogue does not have.
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
    types = [find_instance_type(one) for one in kinds["processing"] + kinds["training"]]
    alike = [
        one for one in types if one.accelerator_model == hardware.accelerator_model
    ]
    return min(
        alike,
        key=lambda one: (abs(one.accelerators - hardware.accelerators), one.vcpus),
        default=None,
    )


@held
def find_instance_type(name: str) -> InstanceType:
    """
    Look an instance type up by its API name.

    Args:
        name: The type's API name, such as ``ml.g5.2xlarge``.

    Raises:
        ValueError: If the catalogue does not have it, or endpoints cannot use it.
            The message names the nearest ones and the way in for a new one.
    """
    row = load("instances.json")["instances"].get(name)
    if row is None and name in _cpu_types():
        row = _cpu_types()[name]
        return InstanceType(
            name=name,
            accelerators=0,
            accelerator_model="none",
            accelerator_memory_gib=0.0,
            vcpus=row["vcpus"],
            memory_gib=row["memory_gib"],
            # Types with local NVMe storage reject it.
            volume_size_supported=not row["local_nvme_gb"],
            processor=row["processor"],
        )
    if row is None:
        raise ValueError(
            f"unknown instance type {name!r}; {_suggest(name)}, or describe a newer "
            "type with InstanceType.of(...)"
        )
    if not row["hosting_supported"]:
        raise ValueError(f"{name} cannot host endpoints; {_suggest(name)}")
    accelerator = row["accelerator"]
    return InstanceType(
        name=name,
        accelerators=accelerator["count"],
        accelerator_model=accelerator["model"],
        accelerator_memory_gib=accelerator["memory_gib"],
        vcpus=row["vcpus"],
        memory_gib=row["memory_gib"],
        volume_size_supported=row["volume_size_supported"],
        default_inference_ami=row["default_inference_ami"],
        compatible_inference_amis=tuple(row["compatible_inference_amis"] or ()),
        processor=row["cpu_arch"],
    )


def accelerators_of(name: str) -> tuple[str, int]:
    """
    Return an instance type's accelerator and how many it has, be it one that cannot
    host endpoints.

    Raises:
        ValueError: If the catalogue does not have the type.
    """
    row = load("instances.json")["instances"].get(name)
    if row is not None:
        return row["accelerator"]["model"], row["accelerator"]["count"]
    hardware = find_instance_type(name)
    return hardware.accelerator_model, hardware.accelerators


def host_memory_of(name: str) -> float:
    """
    Return the memory of an instance type's host in GiB, be it one that cannot host
    endpoints.
    """
    row = load("instances.json")["instances"].get(name)
    return float((row or _cpu_types()[name])["memory_gib"])


@dataclass(frozen=True, slots=True)
class InstanceType:
    """
    A hosting instance type and its hardware.

    Args:
        name: The API's name, such as ``ml.g5.12xlarge``.

        accelerators: Devices per instance: GPUs, or Inferentia or Trainium chips; 0 for
            types that have processors alone.

        accelerator_model: The device's name, such as ``A10G``; ``none`` without one.

        accelerator_memory_gib: Memory of one device in GiB, as the EC2 API counts it.

        vcpus: Virtual CPUs of the host, which SageMaker calls CPU cores.

        memory_gib: Memory of the host in GiB.

        hosting_supported: Whether endpoints can use it; ``ml.gr6`` and ``ml.p3dn``
            cannot.

        volume_size_supported: Whether ``VolumeSizeInGB`` and ``KmsKeyId`` are accepted;
            types with local NVMe storage reject them.

        default_inference_ami: The host image used when none is asked for.
            ``None`` where it is the oldest one, which has no name.

        compatible_inference_amis: The host images that can be asked for.

        processor: What images must be built for: ``arm64`` on AWS Graviton.
    """

    name: str
    accelerators: int
    accelerator_model: str
    accelerator_memory_gib: float
    vcpus: int
    memory_gib: float
    hosting_supported: bool = True
    volume_size_supported: bool = False
    default_inference_ami: str | None = None
    compatible_inference_amis: tuple[str, ...] = ()
    processor: Processor = "x86_64"

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, the name's form, and what hardware can have.
        """
        hold_kinds(self)
        hold_known(self)
        faults = [
            f"{name} must be at least {least}, got {value}"
            for name, value, least in (
                ("accelerators", self.accelerators, 0),
                ("accelerator_memory_gib", self.accelerator_memory_gib, 0),
                ("vcpus", self.vcpus, 1),
                ("memory_gib", self.memory_gib, 1),
            )
            if value < least
        ]
        if not _NAME.match(self.name):
            faults.append(f"name must be such as 'ml.g5.12xlarge', got {self.name!r}")
        if faults:
            raise ValueError("; ".join(faults))

    @classmethod
    def of(
        cls,
        name: str,
        *,
        accelerators: int,
        vcpus: int,
        memory_gib: float,
        accelerator_model: str = "unknown",
        accelerator_memory_gib: float = 0.0,
        processor: Processor = "x86_64",
    ) -> InstanceType:
        """
        Describe an instance type that the catalogue does not have yet.

        ``InstanceType.of("ml.p9.4xlarge", accelerators=1, vcpus=16, memory_gib=256)``
        """
        return cls(
            name=name,
            accelerators=accelerators,
            accelerator_model=accelerator_model,
            accelerator_memory_gib=accelerator_memory_gib,
            vcpus=vcpus,
            memory_gib=memory_gib,
            processor=processor,
        )

    @property
    def family(self) -> str:
        """
        The middle of the name: ``g5`` of ``ml.g5.12xlarge``.
        """
        return self.name.split(".")[1]

    @property
    def has_neuron_cores(self) -> bool:
        """
        Whether the accelerators are AWS Inferentia or Trainium chips.
        """
        return self.accelerator_model.startswith(("Inferentia", "Trainium"))

    def __str__(self) -> str:
        return self.name


def accelerated_type_names() -> list[str]:
    """
    Return the names of the types that have accelerators and can host a model.
    """
    rows = load("instances.json")["instances"]
    return [name for name, row in rows.items() if row["hosting_supported"]]


def find_accelerator(model: str) -> Accelerator | None:
    """
    Look an accelerator up by the name of its model; ``None`` if it is not there.
    """
    row = load("accelerators.json")["accelerators"].get(model)
    if row is None:
        return None
    return Accelerator(
        model=model,
        memory_gb_per_second=row["memory_gb_per_second"],
        tflops_16bit=row["tflops_16bit"],
        source=row["source"],
        is_derived=row["basis"] == "derived",
        compute_capability=row.get("compute_capability"),
    )


class Accelerator(NamedTuple):
    """
    One device's nameplate figures.

    Args:
        memory_gb_per_second: What it reads of its memory, in 10^9 bytes a second.

        tflops_16bit: Dense 16-bit arithmetic in 10^12 operations a second; ``None``
            where the vendor states none.

        is_derived: Whether the arithmetic is worked out from another figure there.

        compute_capability: Of a GPU, such as ``8.9``; ``None`` for other devices.
    """

    model: str
    memory_gb_per_second: float
    tflops_16bit: float | None
    source: str
    is_derived: bool
    compute_capability: str | None


def _cpu_types() -> Mapping[str, Mapping[str, Any]]:
    rows: Mapping[str, Mapping[str, Any]] = load("cpu_instances.json")["instances"]
    return rows


def _suggest(name: str) -> str:
    # A GPU type is no way out for who asks for processors, nor the other way round.
    is_plain = _CPU_FAMILY.match(name.removeprefix("ml."))
    near = nearest(name, [*_cpu_types()] if is_plain else accelerated_type_names())
    return f"use {any_of(near)}" if near else "use one such as ml.g5.12xlarge"
