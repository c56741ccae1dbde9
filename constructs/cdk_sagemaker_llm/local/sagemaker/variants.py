"""
The variants of an endpoint configuration, by themselves and beside each other.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local.errors import validation

# botocore 1.44.5: "Valid values are in 1 GB increments".
_SERVERLESS_MEMORY = (1024, 2048, 3072, 4096, 5120, 6144)
_BY_PREFIX = ("PrefixLength", "ConcurrencyThreshold")
_OF_INSTANCES = ("InstanceType", "InstancePools", "InitialInstanceCount")


def refuse_variants(config: dict[str, Any]) -> None:
    """
    Refuse variants that contradict themselves or each other.

    Raises:
        AwsError: In this package's words; the service's are not known.
    """
    shadows = config.get("ShadowProductionVariants", [])
    names: set[str] = set()
    for variant in [*config["ProductionVariants"], *shadows]:
        name = variant["VariantName"]
        if name in names:
            raise validation(f"Variant {name} is there twice; names must be unique.")
        names.add(name)
        if "ServerlessConfig" in variant:
            _refuse_serverless(name, variant)
        else:
            _refuse_instances(name, variant)
    if shadows and (len(shadows), len(config["ProductionVariants"])) != (1, 1):
        raise validation(
            "With ShadowProductionVariants there must be one production variant and "
            f"one shadow variant, got {len(config['ProductionVariants'])} and "
            f"{len(shadows)}."
        )


def _refuse_serverless(name: str, variant: dict[str, Any]) -> None:
    beside = [key for key in _OF_INSTANCES if key in variant]
    if beside:
        raise validation(
            f"Variant {name}: specify ServerlessConfig or {beside[0]}, not both."
        )
    memory = variant["ServerlessConfig"]["MemorySizeInMB"]
    if memory not in _SERVERLESS_MEMORY:
        allowed = ", ".join(map(str, _SERVERLESS_MEMORY))
        raise validation(
            f"Variant {name}: MemorySizeInMB must be one of {allowed}, got {memory}."
        )


def _refuse_instances(name: str, variant: dict[str, Any]) -> None:
    if "InstanceType" in variant and "InstancePools" in variant:
        raise validation(
            f"Variant {name}: specify InstanceType or InstancePools, not both."
        )
    if "InstanceType" not in variant and "InstancePools" not in variant:
        raise validation(
            f"Variant {name}: specify InstanceType, InstancePools or ServerlessConfig."
        )
    if "ModelName" in variant and "InitialInstanceCount" not in variant:
        raise validation(f"Variant {name}: InitialInstanceCount is required.")
    _refuse_routing(name, variant.get("RoutingConfig", {}))


def _refuse_routing(name: str, routing: dict[str, Any]) -> None:
    # botocore 1.44.5, ProductionVariantRoutingConfig and PrefixAwareRoutingConfig.
    by_prefix = routing.get("RoutingStrategy") == "PREFIX_AWARE"
    given = routing.get("PrefixAwareRoutingConfig")
    if not by_prefix and given is not None:
        raise validation(
            f"Variant {name}: PrefixAwareRoutingConfig is for PREFIX_AWARE only."
        )
    missing = [key for key in _BY_PREFIX if key not in (given or {})]
    if by_prefix and missing:
        raise validation(f"Variant {name}: PREFIX_AWARE needs {' and '.join(missing)}.")
