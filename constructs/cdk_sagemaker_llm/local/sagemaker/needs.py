"""
Reading what a copy of an inference component reserves out of a request.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.fit.placement import ResourceRequirements

_SERVED = ("ModelName", "Container", "BaseInferenceComponentName")


def specification_for(request: dict[str, Any], instance_type: str) -> dict[str, Any]:
    """
    Return the specification that applies on an instance type.

    A component has one specification, or one for each instance type.
    """
    several = request.get("Specifications") or [request.get("Specification", {})]
    matching = [s for s in several if s.get("InstanceType", "") == instance_type]
    chosen: dict[str, Any] = (matching or several)[0]
    return chosen


def requirements_of(
    request: dict[str, Any], instance_type: str
) -> ResourceRequirements | None:
    """
    Return what each copy reserves; ``None`` for an adapter, which reserves nothing.
    """
    specification = specification_for(request, instance_type)
    wanted = specification.get("ComputeResourceRequirements")
    if wanted is None:
        return None
    accelerators = wanted.get("NumberOfAcceleratorDevicesRequired")
    return ResourceRequirements(
        accelerators=None if accelerators is None else int(accelerators),
        cpus=wanted.get("NumberOfCpuCoresRequired"),
        memory_mib=wanted["MinMemoryRequiredInMb"],
    )


def updated(before: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """
    Return a component's request after an update.

    An update that does not say what to serve keeps it: the SageMaker Python SDK sends
    no more than the resources where nothing else changes.
    """
    after = {**before, **update}
    specification = update.get("Specification")
    if specification and not any(key in specification for key in _SERVED):
        old = before.get("Specification", {})
        kept = {key: old[key] for key in _SERVED if key in old}
        after["Specification"] = {**kept, **specification}
    return after
