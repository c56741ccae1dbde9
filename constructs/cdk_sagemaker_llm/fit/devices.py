"""
What CUDA shows of a GPU's memory, and which GPUs exchange over NVLink.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.catalog.instances import InstanceType

GIB = 2**30
# In GiB, by the catalogue's name of the GPU and what its table says: the driver keeps
# some, and the tables round. A10G, L4, L40S, A100, H100 and H200 as vLLM's start-up
# logs print it; T4 and V100 as PyTorch's messages do when memory runs out.
_VISIBLE: Mapping[tuple[str, float], float] = {
    ("T4", 16.0): 14.56,
    ("V100", 16.0): 15.77,
    ("V100", 32.0): 31.74,
    ("A10G", 22.35): 22.05,
    ("L4", 22.35): 22.05,
    ("L40S", 44.7): 44.4,
    ("A100-40GB", 40.0): 39.4,
    ("A100-80GB", 80.0): 79.19,
    ("H100", 80.0): 79.19,
    ("H200", 141.0): 139.8,
}
# For the others: the least of those shares is the T4's, whose error correction takes
# a sixteenth; next is the A100's 0.985.
_SHARE = 0.98
# What Linux shows of a host's memory, as MemTotal: the kernel keeps some. EC2's hosts
# of 8 GiB and more show 0.94 and more of it.
_HOST_SHARE = 0.94


def visible_bytes(hardware: InstanceType) -> int:
    """
    Return the memory of one accelerator in bytes, as CUDA shows it; of a host that has
    none, its own, as Linux shows it.
    """
    if not hardware.accelerators:
        return int(hardware.memory_gib * _HOST_SHARE * GIB)
    stated = hardware.accelerator_memory_gib
    known = _VISIBLE.get((hardware.accelerator_model, stated))
    return int((stated * _SHARE if known is None else known) * GIB)


def are_linked(hardware: InstanceType) -> bool:
    """
    Whether its GPUs exchange over NVLink; those of the G families do over PCIe.
    """
    return hardware.family.startswith("p")
