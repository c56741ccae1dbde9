"""
What a dashboard shows of each model and each host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from constructs import Construct

from cdk_sagemaker_llm.hosting.component_base import InferenceComponentBase
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.host_types import VariantDefinition
from cdk_sagemaker_llm.hosting.monitoring.charts import (
    OF_COMPONENTS,
    OF_HOSTS,
    OF_QUEUES,
    SUMMED_COMPONENTS,
    SUMMED_VARIANTS,
    Chart,
    of_asynchronous,
    of_variants,
)
from cdk_sagemaker_llm.hosting.monitoring.metrics import devices_of
from cdk_sagemaker_llm.hosting.monitoring.scalings import Line, Scaled, Scalings
from cdk_sagemaker_llm.hosting.monitoring.variants import types_of
from cdk_sagemaker_llm.hosting.monitoring.widgets import (
    Drawn,
    Widget,
    chart_of,
    graph,
    text,
)
from cdk_sagemaker_llm.hosting.scope import stack_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """
    One model, or one host.

    Args:
        construct: The endpoint or component.

        title: Its path in the stack.

        dimensions: The dimensions of its metrics.

        charts: The charts of it alone.

        summed: The charts that have a line of each of its kind; none for hosts.

        resource_id: Its name for Application Auto Scaling; empty where nothing scales.

        variant: The variant, where it is one; ``None`` for a component.
    """

    construct: Construct
    title: str
    dimensions: Mapping[str, str]
    charts: tuple[Chart, ...]
    summed: tuple[Chart, ...] = ()
    resource_id: str = ""
    variant: VariantDefinition | None = None

    @property
    def drawn(self) -> Drawn:
        """
        What its charts are of.
        """
        return Drawn(
            dimensions=self.dimensions,
            region=stack_of(self.construct).region,
            label=self.title,
        )

    def widgets(self, scalings: Scalings) -> Iterator[Widget]:
        """
        Draw it by itself.

        Args:
            scalings: What is scaled.
        """
        scaled = scalings.of(self.resource_id) if self.resource_id else Scaled()
        drawn = self.drawn
        yield text(f"## {self.title}")
        for chart in self.charts:
            metrics = [curve.metric for curve in chart.curves]
            lines = scaled.lines(metrics, has_bounds=chart.has_bounds)
            yield chart_of(chart, drawn, lines)
        if self.variant is not None and not self.summed and self._is_enhanced:
            yield self._instances(drawn)

    @property
    def _is_enhanced(self) -> bool:
        endpoint = self.construct
        if not isinstance(endpoint, Endpoint):
            return False
        return endpoint.endpoint_config.definition.enhanced_metrics

    def _instances(self, drawn: Drawn) -> Widget:
        """
        Count instances by the series that each of them has with enhanced metrics.
        """
        terms = " ".join(f'{key}="{value}"' for key, value in drawn.dimensions.items())
        search = (
            'Namespace="/aws/sagemaker/Endpoints" MetricName="CPUUtilization" '
            f"{terms} InstanceId"
        )
        rows: list[list[Any]] = [
            [
                {
                    "expression": f"SEARCH('{search}', 'Maximum', 60)",
                    "id": "e0",
                    "visible": False,
                }
            ],
            [{"expression": "SUM(e0 * 0 + 1)", "id": "e1", "label": "instances"}],
        ]
        return graph("Instances", rows, drawn.region, lines=self._bounds())

    def _bounds(self) -> tuple[Line, ...]:
        bounds = self.variant and self.variant.variant.managed_instance_scaling
        if not bounds:
            return ()
        return (
            Line("at least", bounds.min_instance_count),
            Line("at most", bounds.max_instance_count),
        )


def sections_of(endpoint: EndpointBase, named: Construct) -> Iterator[Section]:
    """
    Yield an endpoint's variants, and after them its shadows.

    Args:
        endpoint: The endpoint.

        named: The construct that names it: the pattern, or itself.
    """
    known = isinstance(endpoint, Endpoint) and endpoint.endpoint_config.definition
    variants = known.variants if known else ()
    if not variants:
        # Nothing is known of it but that a name is needed: it says so.
        endpoint.metric_invocations()
    is_async = bool(known and known.async_inference is not None)
    for each in variants:
        title = title_of(named)
        if len(variants) > 1:
            title += f", {each.variant.variant_name}"
        if not each.has_model:
            yield _of_host(endpoint, each, title)
        elif is_async:
            yield from _of_asynchronous(endpoint, each, title)
        else:
            yield _of_model(endpoint, each, title)
    for each in known.shadows if known else ():
        title = f"{title_of(named)}, {each.variant.variant_name}"
        yield _of_model(endpoint, each, title)


def _of_host(endpoint: EndpointBase, variant: VariantDefinition, title: str) -> Section:
    return Section(
        construct=endpoint,
        title=title,
        dimensions=_dimensions(endpoint, variant),
        charts=OF_HOSTS,
        variant=variant,
    )


def _of_model(
    endpoint: EndpointBase, variant: VariantDefinition, title: str
) -> Section:
    return Section(
        construct=endpoint,
        title=title,
        dimensions=_dimensions(endpoint, variant),
        charts=of_variants(*_devices(variant)),
        summed=SUMMED_VARIANTS,
        resource_id=_resource_id(endpoint, variant),
        variant=variant,
    )


def _of_asynchronous(
    endpoint: EndpointBase, variant: VariantDefinition, title: str
) -> Iterator[Section]:
    yield Section(
        construct=endpoint,
        title=title,
        dimensions=_dimensions(endpoint, variant),
        charts=of_asynchronous(*_devices(variant)),
        variant=variant,
    )
    yield Section(
        construct=endpoint,
        title=f"{title}, queue",
        dimensions={"EndpointName": endpoint.endpoint_name},
        charts=OF_QUEUES,
        resource_id=_resource_id(endpoint, variant),
    )


def _dimensions(endpoint: EndpointBase, variant: VariantDefinition) -> dict[str, str]:
    name = variant.variant.variant_name
    return {"EndpointName": endpoint.endpoint_name, "VariantName": name}


def _resource_id(endpoint: EndpointBase, variant: VariantDefinition) -> str:
    return f"endpoint/{endpoint.endpoint_name}/variant/{variant.variant.variant_name}"


def _devices(variant: VariantDefinition) -> tuple[int | None, int | None]:
    types = types_of(variant)
    return devices_of(types, "accelerators"), devices_of(types, "vcpus")


def section_of_component(component: InferenceComponentBase) -> Section:
    """
    Return what is shown of a component.
    """
    name = component.inference_component_name
    return Section(
        construct=component,
        title=title_of(component).removesuffix("/Component"),
        dimensions={"InferenceComponentName": name},
        charts=OF_COMPONENTS,
        summed=SUMMED_COMPONENTS,
        resource_id=f"inference-component/{name}",
    )


def title_of(construct: Construct) -> str:
    """
    Return a construct's path in its stack.
    """
    stack = stack_of(construct).node.path
    return construct.node.path.removeprefix(f"{stack}/")
