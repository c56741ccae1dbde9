"""
Making cpu_instances.json: the API's names with the hardware that EC2 tells of them.

The hardware is the EC2 API's answer to DescribeInstanceTypes, of which moto ships a
copy: SageMaker publishes no table of its own for types without accelerators.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Mapping
from importlib import resources
from typing import Any

from tools.catalog.instances import all_api_names, api_names

_EC2 = "resources/instance_types.json.gz"
_ABOUT = (
    "Instance types of SageMaker real-time hosting without accelerators, made by "
    "tools/catalog. Names: ProductionVariantInstanceType of botocore. Hardware: the "
    "EC2 API's DescribeInstanceTypes for the EC2 type of the same name, as moto ships "
    "it (MemoryInfo, DefaultVCpus, InstanceStorageInfo, SupportedArchitectures). Types "
    "with local NVMe storage reject VolumeSizeInGB."
)
_PROCESSORS = ("arm64", "x86_64")
_MIB_PER_GIB = 1024


def build() -> dict[str, Any]:
    """
    Return the content of cpu_instances.json.
    """
    return content_of(all_api_names() - api_names(), _ec2_types())


def content_of(names: Collection[str], ec2: Mapping[str, Any]) -> dict[str, Any]:
    """
    Describe types by what EC2 tells of them.
    """
    missing = sorted(name for name in names if _ec2_name(name) not in ec2)
    if missing:
        raise ValueError(f"moto's list of EC2 types has no {', '.join(missing)}")
    ordered = sorted(names, key=lambda name: (_family(name), _size(ec2, name)))
    return {
        "about": _ABOUT,
        "instances": {name: _row(ec2[_ec2_name(name)]) for name in ordered},
    }


def render(content: Mapping[str, Any]) -> str:
    """
    Write the file: a line for each type.
    """
    rows = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(row)}"
        for name, row in content["instances"].items()
    )
    about = json.dumps(content["about"])
    return f'{{\n "about": {about},\n "instances": {{\n{rows}\n }}\n}}\n'


def _ec2_types() -> dict[str, Any]:
    packed = resources.files("moto.ec2").joinpath(_EC2).read_bytes()
    types: dict[str, Any] = json.loads(gzip.decompress(packed))
    return types


def _row(ec2: Mapping[str, Any]) -> dict[str, Any]:
    found = set(ec2["ProcessorInfo"]["SupportedArchitectures"])
    return {
        "vcpus": ec2["VCpuInfo"]["DefaultVCpus"],
        "memory_gib": ec2["MemoryInfo"]["SizeInMiB"] / _MIB_PER_GIB,
        "local_nvme_gb": ec2.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "processor": next(name for name in _PROCESSORS if name in found),
    }


def _ec2_name(name: str) -> str:
    return name.removeprefix("ml.")


def _family(name: str) -> str:
    return name.split(".")[1]


def _size(ec2: Mapping[str, Any], name: str) -> tuple[int, int]:
    about = ec2[_ec2_name(name)]
    return about["VCpuInfo"]["DefaultVCpus"], about["MemoryInfo"]["SizeInMiB"]
