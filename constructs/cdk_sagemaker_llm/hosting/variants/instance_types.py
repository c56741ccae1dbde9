"""
An instance type as it was given: its name, a parameter of the template, or what
deployment alone decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    accelerated_type_names,
    find_instance_type,
    priced_regions,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.images import undecided_findings
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_placeholder, is_unresolved

if TYPE_CHECKING:
    from aws_cdk import CfnParameter

IMPOSSIBLE_TYPE = Rule(
    "LLM101", "an instance type does not exist or cannot host endpoints", "botocore"
)
NOT_OFFERED = Rule(
    "LLM814",
    "AWS's price list has no such instance type for endpoints in the stack's region",
    "AWS price list of SageMaker, 2026-10",
)

CHANGING_TYPE = Rule(
    "LLM244",
    "the instance type of a scaled variant is left to the deployment",
    "SageMaker developer guide, endpoint-scaling-update",
)


def known_hardware(
    instance_type: str | InstanceType | None,
) -> InstanceType | None:
    """
    Look an instance type up; ``None`` for a placeholder, and for a type that does not
    exist, which the variant's own check reports.
    """
    return hardware_findings(instance_type)[0]


def hardware_findings(
    instance_type: str | InstanceType | None,
) -> tuple[InstanceType | None, list[Finding]]:
    """
    Look an instance type up; return why where there is none of that name.

    Of a parameter it is the smallest of the types that it may have, where these have
    the same accelerators.
    """
    if isinstance(instance_type, InstanceType):
        return instance_type, []
    if instance_type is None:
        return None, []
    found, faults = [], []
    for name in possible_names(instance_type):
        try:
            found.append(find_instance_type(name))
        except ValueError as fault:
            message, _, remedy = str(fault).partition("; ")
            faults.append(IMPOSSIBLE_TYPE.finding(message, remedy))
    kinds = {
        (one.accelerator_model, one.accelerators, one.volume_size_supported)
        for one in found
    }
    if faults or len(kinds) != 1:
        return None, faults
    return min(found, key=lambda one: (one.memory_gib, one.name)), []


def possible_names(instance_type: str) -> list[str]:
    """
    Return the types that a name may stand for, as far as the app says it.
    """
    if not is_unresolved(instance_type):
        return [instance_type]
    parameter = _parameter_of(instance_type)
    if parameter is None:
        return []
    allowed = parameter.allowed_values or [parameter.default]
    return [one for one in allowed if isinstance(one, str) and not is_unresolved(one)]


def offer_findings(
    region: str | None, instance_types: Sequence[InstanceType | None]
) -> list[Finding]:
    """
    Warn of types that the region of a stack is not known to have.
    """
    if region is None:
        return []
    found = []
    for one in dict.fromkeys(each for each in instance_types if each is not None):
        regions = priced_regions(one.name)
        if not regions or region in regions:
            continue
        alike = _alike_in(region, one)
        found.append(
            NOT_OFFERED.finding(
                f"{one.name} is not in AWS's price list for endpoints in {region}: it "
                f"has it for {', '.join(regions)}",
                f"use {any_of(alike)}, or another region"
                if alike
                else "deploy to one of these regions",
            )
        )
    return found


def _alike_in(region: str, instance_type: InstanceType) -> list[str]:
    """
    Return the three types of a region whose accelerators together have the memory of
    this one's, or little more.
    """
    memory = instance_type.accelerators * instance_type.accelerator_memory_gib
    there = [
        find_instance_type(name)
        for name in accelerated_type_names()
        if region in priced_regions(name)
    ]
    sizes = {
        one.name: one.accelerators * one.accelerator_memory_gib
        for one in there
        if one.processor == instance_type.processor
        and one.has_neuron_cores == instance_type.has_neuron_cores
    }
    enough = [name for name, size in sizes.items() if size >= memory]
    return sorted(enough, key=lambda name: (sizes[name], name))[:3]


def decided_later_findings(
    instance_type: str | InstanceType | None, left_out: Sequence[str]
) -> list[Finding]:
    """
    Warn of a type that deployment decides, where something follows from it that not all
    types of its parameter have alike.
    """
    if not isinstance(instance_type, str) or not is_unresolved(instance_type):
        return []
    parameter = _parameter_of(instance_type)
    is_settled = parameter is not None and parameter.allowed_values is not None
    hardware, faults = hardware_findings(instance_type)
    if faults or (is_settled and hardware is not None):
        return []
    return undecided_findings("instance_type", left_out, hardware)


def _parameter_of(instance_type: str) -> CfnParameter | None:
    from aws_cdk import CfnParameter, Reference, Tokenization  # noqa: PLC0415 - rare

    if not is_placeholder(instance_type):
        return None
    token = Tokenization.reverse_string(instance_type).first_token
    target = token.target if isinstance(token, Reference) else None
    return target if isinstance(target, CfnParameter) else None


def changing_type_findings(
    instance_types: Iterable[str | InstanceType | None],
) -> list[Finding]:
    """
    Warn of a scaled variant whose type deployment decides.
    """
    if not any(map(is_unresolved, instance_types)):
        return []
    return [
        CHANGING_TYPE.finding(
            "the instance type is known only at deployment, and SageMaker refuses an "
            "update that changes it while the variant is scaled",
            "name the type, or deploy once without scaling to change it",
        )
    ]
