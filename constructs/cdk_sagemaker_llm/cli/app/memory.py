"""
Whether the models of an app load on what they are to run on, by their weights alone.

An app that nobody here has written may say in many ways that a copy takes less: only
where it says none of them, and the weights do not even load at best, is it an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cdk_sagemaker_llm.catalog.instances import instance_type_names
from cdk_sagemaker_llm.cli.app.hosting import App, Resource, model_container
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.simulation.api_values import Shape, is_open, map_of, whole

# What has a copy take less than its weights on its accelerators, or another share.
_RELIEF = re.compile(
    "offload|pipeline|load_format|quant|bits|share|fraction|utilization|awq|gptq|gguf",
    re.IGNORECASE,
)
_WAY_OUT = (
    "use a larger instance type or a quantized model; `sagemaker-llm plan` shows the "
    "arithmetic"
)


Places = Mapping[str, Sequence[tuple[str, int | None]]]
"""
The types of instances that each model and component runs on, and the accelerators of a
copy there; ``None`` for all that the type has.
"""


def memory_findings(app: App, home: Resource, places: Places) -> list[Finding]:
    """
    Check a model, or a component with a container of its own, on each type of instance
    that is known.
    """
    container = _container(home)
    if home.key not in places or _is_relieved(container):
        return []
    # It loads what plans, of which apps without a known model need nothing.
    from cdk_sagemaker_llm.cli.app.containers import served_by  # noqa: PLC0415

    served = served_by(app, container, home)
    if served.architecture is None or served.weight_bits is not None:
        return []
    from cdk_sagemaker_llm.demand import Assumptions, Demand  # noqa: PLC0415 - as above
    from cdk_sagemaker_llm.fit.checking import (  # noqa: PLC0415 - as above
        DOES_NOT_LOAD,
        fit_findings,
    )

    demand = Demand(
        architecture=served.architecture,
        engine=served.engine,
        assumptions=Assumptions(),
    )
    found = []
    for instance_type, accelerators in places[home.key]:
        planned = served.plan_on(instance_type, accelerators)
        if isinstance(planned, str):
            continue
        found += [
            replace(one, remedy=_WAY_OUT)
            for one in fit_findings(planned, demand)
            if one.code == DOES_NOT_LOAD.code
        ]
    return list(dict.fromkeys(found))


def _container(home: Resource) -> Shape:
    own = map_of(map_of(home.properties, "Specification"), "Container")
    return own or model_container(home)


def _is_relieved(container: Shape) -> bool:
    environment = map_of(container, "Environment")
    if is_open(container.get("Environment")) or container.get("ModelDataUrl"):
        return True
    return any(
        (is_open(value) and "TOKEN" not in str(name))
        or _RELIEF.search(f"{name} {value}")
        for name, value in environment.items()
    )


def places_in(app: App) -> Places:
    """
    Return where the models and components of an app run, as far as it says it.
    """
    found: dict[str, list[tuple[str, int | None]]] = {}
    for key, instance_type, accelerators in [*_filled(app), *_shared(app)]:
        # Of a type that is known at deployment, or not known here, nothing is planned.
        if isinstance(instance_type, str) and instance_type in instance_type_names():
            found.setdefault(key, []).append((instance_type, accelerators))
    return found


def _filled(app: App) -> Iterator[tuple[str, object, None]]:
    for config in app.configs():
        for variant in config.every_variant:
            for choice in variant.choices:
                if choice.model is not None:
                    yield app.find(choice.model, "Model"), choice.instance_type, None


def _shared(app: App) -> Iterator[tuple[str, object, int]]:
    for endpoint in app.of_type("Endpoint") if app.components() else ():
        hosting = app.config_of(endpoint)
        for variant in [] if hosting is None else hosting.variants:
            kinds = [choice.instance_type for choice in variant.choices]
            for component in app.components_on(endpoint, variant):
                for kind in kinds:
                    shape = component.specification_on(kind)
                    needs = map_of(shape, "ComputeResourceRequirements")
                    count = whole(needs.get("NumberOfAcceleratorDevicesRequired"))
                    # One that reserves none, or says at deployment how many, is
                    # another's matter.
                    if count:
                        yield app.find(shape.get("ModelName"), "Model"), kind, count
                        yield component.key, kind, count
