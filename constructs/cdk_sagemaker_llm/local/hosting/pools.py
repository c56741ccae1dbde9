"""
Which types the instances of a variant are of, and which model each of them runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from cdk_sagemaker_llm.simulation import api_values
from cdk_sagemaker_llm.simulation.fleet import Copy, Fleet


def model_on(variant: dict[str, Any], instance_type: str) -> str:
    """
    Return the name of the model that fills instances of a type; empty if components do.
    """
    pools = api_values.pools_of(variant)
    own = (one for one in pools if one.get("InstanceType") == instance_type)
    return str(api_values.model_on(variant, next(own, variant)) or "")


def models_of(variant: dict[str, Any]) -> list[str]:
    """
    Return the names of all models that fill instances of a variant.
    """
    pools = [variant, *api_values.maps_of(variant, "InstancePools")]
    names = [pool.get("ModelNameOverride", pool.get("ModelName")) for pool in pools]
    return [str(name) for name in names if name]


def serving_type(fleet: Fleet, names: Iterable[str]) -> str:
    """
    Return the type of an instance that answers for one of the models; the first choice
    where none does.
    """
    serving = (
        copy.instance.instance_type
        for name in names
        if name in fleet.names
        for copy in fleet.copies(name)
        if copy.state == "serving"
    )
    return next(serving, fleet.instance_type)


def instances_by_type(fleet: Fleet) -> list[dict[str, Any]]:
    """
    Count the running instances of each type, as DescribeEndpoint tells them.
    """
    counts = Counter(one.instance_type for one in fleet.running_instances)
    return [
        {"InstanceType": kind, "CurrentInstanceCount": counts[kind]}
        for kind in fleet.instance_types
    ]


def copies_by_type(copies: Iterable[Copy]) -> list[dict[str, Any]]:
    """
    Count the serving copies on each type, as DescribeInferenceComponent tells them.
    """
    kinds = (copy.instance.instance_type for copy in copies if copy.state == "serving")
    return [
        {"InstanceType": kind, "CurrentCopyCount": count}
        for kind, count in Counter(kinds).items()
    ]
