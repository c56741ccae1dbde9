"""
What the service would refuse of an app's endpoints and components, by what its
templates say alone.

The words are the API's, as the apps are anybody's. What deployment decides is skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cdk_sagemaker_llm.catalog.instances import InstanceType, instance_type_names
from cdk_sagemaker_llm.cli.app.hosting import (
    App,
    Component,
    EndpointConfig,
    Resource,
    Variant,
    image_of,
)
from cdk_sagemaker_llm.cli.app.request_values import (
    Refusal,
    at_least,
    count_of,
    literal,
    name_of,
    order_of,
    within,
)
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.limits import host_image_findings
from cdk_sagemaker_llm.hosting.common.rules import (
    IMPOSSIBLE_NETWORK,
    LOCAL_STORAGE,
    MANAGED_WITH_MODEL,
    NAME_TWICE,
    NO_DEVICES,
    NO_ROOM_FOR_COPIES,
    ONE_SHADOW,
    ROLE_OR_MODEL,
    SHADOW_WITHOUT_MODEL,
    TYPE_OR_POOLS,
    VARIANT_NAMES,
    WRONG_POOLS,
)
from cdk_sagemaker_llm.hosting.variants.instance_types import hardware_findings
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    is_open,
    map_of,
    maps_of,
    whole,
)

_MOST_VARIANTS = 10
_SECONDS = (60, 3600)
_PROVISION_SECONDS = (300, 3600)
_POOLS = (2, 5)
_PRIORITIES = (1, 5)
_VOLUME_GIB = (1, 512)
_LEAST_MEMORY_MIB = 128
# As intrinsic functions are left that may come to nothing, a plan's unknown values too.
_UNDECIDED = ("${Fn::If", "${Fn::KnownAfterApply")
_TYPE = re.compile(r"ml\.(?P<family>[a-z0-9-]+)\.(medium|large|\d*xlarge|metal)\Z")
_SUCH_AS = "use one such as ml.g5.12xlarge"
_NETWORK = {"Subnets": (1, 16), "SecurityGroupIds": (1, 5)}


def refusals(app: App) -> list[Refusal]:
    """
    Return what is wrong with each endpoint configuration, endpoint, component and model
    of an app; nothing for those that are right.
    """
    found = [
        *(Refusal(one.resource, _config(one)) for one in app.configs()),
        *(
            Refusal(one, name_of("EndpointName", one.properties.get("EndpointName")))
            for one in app.of_type("Endpoint")
        ),
        *(Refusal(one.resource, _component(app, one)) for one in app.components()),
        *(Refusal(one, _network(one)) for one in app.of_type("Model")),
        *_named_twice(app),
        *_without_room(app),
    ]
    return [one for one in found if one.findings]


def _config(config: EndpointConfig) -> list[Finding]:
    shape = config.resource.properties
    variants, shadows = config.variants, config.shadows
    if is_open(shape.get("ProductionVariants", [])):
        return []
    has_role = _has(shape, "ExecutionRoleArn")
    found = []
    if not 1 <= len(variants) <= _MOST_VARIANTS:
        count = f"ProductionVariants must be 1 to {_MOST_VARIANTS}, got {len(variants)}"
        found.append(VARIANT_NAMES.finding(count))
    names = Counter(one.name for one in config.every_variant if not is_open(one.name))
    found += [
        VARIANT_NAMES.finding(f"VariantName {name!r} is used more than once")
        for name, times in names.items()
        if times > 1
    ]
    found += _network(config.resource)
    for one in config.every_variant:
        found += _variant(one, has_key=_has(shape, "KmsKeyId") is True)
    for one in variants:
        found += _role(one, has_role=has_role)
    if shadows and (len(shadows), len(variants)) != (1, 1):
        found.append(
            ONE_SHADOW.finding(
                "ShadowProductionVariants must be one beside one production variant, "
                f"got {len(shadows)} beside {len(variants)}"
            )
        )
    found += [
        SHADOW_WITHOUT_MODEL.finding(f"shadow variant {one.name!r} has no ModelName")
        for one in shadows
        if has_model(one) is False
    ]
    return found


def _role(variant: Variant, *, has_role: bool | None) -> list[Finding]:
    fills = has_model(variant)
    if has_role and fills:
        return [
            ROLE_OR_MODEL.finding(
                f"variant {variant.name!r} has a ModelName, and ExecutionRoleArn is "
                "for inference components, which exclude each other",
                "leave one of them out",
            )
        ]
    if has_role is False and fills is False:
        return [
            ROLE_OR_MODEL.finding(
                f"variant {variant.name!r} has neither a ModelName nor, for inference "
                "components, an ExecutionRoleArn beside it"
            )
        ]
    return []


def has_model(variant: Variant) -> bool | None:
    """
    Whether a model fills the instances; ``None`` if deployment decides it.
    """
    models = [choice.model for choice in variant.choices]
    if any(map(_may_be_left_out, models)):
        return None
    return any(one is not None for one in models)


def _has(shape: Shape, key: str) -> bool | None:
    """
    Whether something is there; ``None`` if deployment decides it.
    """
    return None if _may_be_left_out(shape.get(key)) else key in shape


def _may_be_left_out(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_UNDECIDED)


def _variant(variant: Variant, *, has_key: bool) -> list[Finding]:
    shape, name = variant.shape, variant.name
    found = name_of("VariantName", shape.get("VariantName"))
    found += at_least("InitialVariantWeight", shape, 0)
    if "ServerlessConfig" in shape:
        return found
    pools = shape.get("InstancePools")
    kind = shape.get("InstanceType")
    if _may_be_left_out(kind) or _may_be_left_out(pools):
        return found
    if (kind is None) == (pools is None):
        both = "InstanceType and InstancePools exclude each other"
        neither = f"variant {name!r} has neither an InstanceType nor InstancePools"
        return [*found, TYPE_OR_POOLS.finding(neither if kind is None else both)]
    types, faults = _types(variant)
    found += faults
    if isinstance(pools, list):
        found += _pools(maps_of(shape, "InstancePools"))
    found += count_of("InitialInstanceCount", shape, 1)
    found += host_image_findings(
        "InferenceAmiVersion", literal(shape.get("InferenceAmiVersion"))
    )
    for key, bounds in (
        ("ContainerStartupHealthCheckTimeoutInSeconds", _SECONDS),
        ("ModelDataDownloadTimeoutInSeconds", _SECONDS),
        ("VariantInstanceProvisionTimeoutInSeconds", _PROVISION_SECONDS),
    ):
        found += within(key, shape, bounds)
    found += _storage(shape, types, has_key=has_key)
    return found + _managed(variant)


def _types(variant: Variant) -> tuple[list[InstanceType], list[Finding]]:
    types, faults = [], []
    for choice in variant.choices:
        name = literal(choice.instance_type)
        hardware, found = hardware_findings(name)
        types += [hardware] if hardware is not None else []
        # Who names a type as text has no other way to one that is newer than this.
        if name is not None and not _may_be_newer(name):
            faults += [replace(one, remedy=_SUCH_AS) for one in found]
    return types, faults


def _may_be_newer(name: str) -> bool:
    match = _TYPE.match(name)
    families = {one.split(".")[1] for one in instance_type_names()}
    return match is not None and match["family"] not in families


def _pools(pools: Sequence[Shape]) -> list[Finding]:
    least, most = _POOLS
    found = []
    if not least <= len(pools) <= most:
        found.append(
            WRONG_POOLS.finding(
                f"InstancePools must be {least} to {most}, got {len(pools)}",
                "give one type as InstanceType" if len(pools) == 1 else "",
            )
        )
    names = Counter(filter(None, (literal(one.get("InstanceType")) for one in pools)))
    found += [
        WRONG_POOLS.finding(f"InstancePools name {name} more than once")
        for name, times in names.items()
        if times > 1
    ]
    for pool in pools:
        found += within("Priority", pool, _PRIORITIES)
    return found


def _storage(
    shape: Shape, types: Iterable[InstanceType], *, has_key: bool
) -> list[Finding]:
    key = "VolumeSizeInGB"
    local = [one for one in types if not one.volume_size_supported]
    if not local:
        return within(key, shape, _VOLUME_GIB)
    found = []
    if _has(shape, key):
        found.append(
            LOCAL_STORAGE.finding(
                f"{local[0]} refuses {key}: it has local NVMe storage",
                "leave it out; /opt/ml and /tmp are on the NVMe disks",
            )
        )
    if has_key:
        found.append(
            LOCAL_STORAGE.finding(
                f"{local[0]} refuses KmsKeyId: its NVMe storage is encrypted in "
                "hardware",
                "leave it out",
            )
        )
    return found


def _managed(variant: Variant) -> list[Finding]:
    shape = map_of(variant.shape, "ManagedInstanceScaling")
    status = shape.get("Status", "ENABLED")
    if not shape or status != "ENABLED":
        return []
    found = []
    if has_model(variant):
        found.append(
            MANAGED_WITH_MODEL.finding(
                "ManagedInstanceScaling goes with inference components only",
                "scale a model's instances with Application Auto Scaling",
            )
        )
    wrong = [
        *count_of("MaxInstanceCount", shape, 1),
        *count_of("MinInstanceCount", shape, 0),
    ]
    return found + (wrong or order_of("MinInstanceCount", "MaxInstanceCount", shape))


def _component(app: App, component: Component) -> list[Finding]:
    shape = component.resource.properties
    found = name_of("InferenceComponentName", shape.get("InferenceComponentName"))
    found += count_of("CopyCount", map_of(shape, "RuntimeConfig"), 0)
    if not component.is_adapter:
        for each in component.specifications:
            found += _specification(app, each)
    return found + _host(app, component)


def _specification(app: App, shape: Shape) -> list[Finding]:
    needs = map_of(shape, "ComputeResourceRequirements")
    start = map_of(shape, "StartupParameters")
    found = [
        *at_least("MinMemoryRequiredInMb", needs, _LEAST_MEMORY_MIB),
        *order_of("MinMemoryRequiredInMb", "MaxMemoryRequiredInMb", needs),
        *within("ContainerStartupHealthCheckTimeoutInSeconds", start, _SECONDS),
        *within("ModelDataDownloadTimeoutInSeconds", start, _SECONDS),
    ]
    model = app.model(shape.get("ModelName"))
    container = map_of(
        shape if model is None else model.properties,
        "Container" if model is None else "PrimaryContainer",
    )
    image = image_of(container)
    if image is None or "NumberOfAcceleratorDevicesRequired" in needs or not needs:
        return found
    if image.cuda_version is not None or image.is_for_neuron:
        found.append(
            NO_DEVICES.finding(
                f"image {image.family} {image.version} runs on accelerators, and a "
                "copy reserves none",
                "give NumberOfAcceleratorDevicesRequired",
            )
        )
    return found


def _host(app: App, component: Component) -> list[Finding]:
    """
    Check that the endpoint takes components, and has the variant.
    """
    shape = component.resource.properties
    key = app.find(shape.get("EndpointName"))
    endpoint = next((one for one in app.of_type("Endpoint") if one.key == key), None)
    config = None if endpoint is None else app.config_of(endpoint)
    if config is None or not config.variants:
        return []
    name = shape.get("VariantName")
    found = variant_findings(config, name)
    mine = [one for one in config.variants if name in (None, one.name)]
    # Where the configuration has a role, it is the configuration that is wrong.
    has_role = _has(config.resource.properties, "ExecutionRoleArn")
    if has_role is False and any(map(has_model, mine)):
        found.append(
            ROLE_OR_MODEL.finding(
                "the endpoint's variant has a ModelName, which leaves no room for "
                "inference components",
                "give its configuration an ExecutionRoleArn in place of the model",
            )
        )
    return found


def variant_findings(config: EndpointConfig, name: object) -> list[Finding]:
    names = [one.name for one in config.variants]
    are_known = bool(names) and all(map(literal, [name, *names]))
    if name in names or not are_known:
        return []
    return [
        VARIANT_NAMES.finding(
            f"VariantName must be one of {', '.join(names)}, got {name!r}"
        )
    ]


def _named_twice(app: App) -> Iterator[Refusal]:
    """
    Find names that two resources of a stack have.
    """
    for kind, key in (
        ("Endpoint", "EndpointName"),
        ("InferenceComponent", "InferenceComponentName"),
    ):
        taken: set[tuple[str, str]] = set()
        for one in app.of_type(kind):
            name = literal(one.properties.get(key))
            place = (one.stack.name, str(name).lower())
            if name and place in taken:
                fault = f"{key} {name!r} is taken: this stack has it already"
                yield Refusal(one, [NAME_TWICE.finding(fault, "choose another")])
            taken.add(place)


def _network(one: Resource) -> list[Finding]:
    """
    Check how many subnets and security groups instances are attached to.
    """
    shape = map_of(one.properties, "VpcConfig")
    found = []
    for key, (least, most) in _NETWORK.items():
        several = shape.get(key)
        if isinstance(several, list) and not least <= len(several) <= most:
            fault = f"{key} must be {least} to {most}, got {len(several)}"
            found.append(IMPOSSIBLE_NETWORK.finding(fault))
    return found


def _without_room(app: App) -> Iterator[Refusal]:
    """
    Find endpoints whose copies at the start have no place on the most instances.
    """
    if app.assembly.faults:
        return
    # Most apps have no components, and need nothing that plans.
    if not app.components():
        return
    from cdk_sagemaker_llm.cli.app.fleets import variant_plans  # noqa: PLC0415

    endpoints = {one.key: one for one in app.of_type("Endpoint")}
    configs = {key: app.config_of(one) for key, one in endpoints.items()}
    try:
        plans = variant_plans(app)
    except AssemblyError:
        # A copy reserves what no copy can, which its component is told.
        return
    for plan in plans:
        config = configs[plan.endpoint]
        if config is None or plan.fallbacks or plan.filled_by is not None:
            continue
        (shape,) = (
            one.shape for one in config.every_variant if one.name == plan.variant
        )
        if not _is_counted(shape) or not plan.components:
            continue
        fleet = plan.fleet
        reasons = [] if fleet is None else fleet.pack().reasons
        if reasons:
            yield Refusal(
                endpoints[plan.endpoint],
                [
                    NO_ROOM_FOR_COPIES.finding(f"{reason} ({plan.instance_type})")
                    for reason in reasons
                ],
            )


def _is_counted(variant: Shape) -> bool:
    """
    Whether the template says how many instances there may be.
    """
    managed = map_of(variant, "ManagedInstanceScaling")
    counts = [
        variant.get("InitialInstanceCount", 1),
        managed.get("MaxInstanceCount", 1),
    ]
    is_known = not is_open(managed.get("Status", ""))
    return is_known and all(whole(one) is not None for one in counts)
