"""
A dashboard of language models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import IStableStringProducer, Lazy
from constructs import Construct, IConstruct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import region_of, stack_of
from cdk_sagemaker_llm.hosting.components.component_base import InferenceComponentBase
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
from cdk_sagemaker_llm.hosting.monitoring.charts import (
    OF_COMPONENTS,
    OF_HOSTS,
    OF_QUEUES,
    SUMMED_COMPONENTS,
    SUMMED_VARIANTS,
    Chart,
    Level,
    Scaled,
    Scalings,
    of_asynchronous,
    of_variants,
)
from cdk_sagemaker_llm.hosting.monitoring.metrics import devices_of
from cdk_sagemaker_llm.hosting.monitoring.spend import (
    HOURS_A_DAY,
    HourlyPrices,
    price_findings,
)
from cdk_sagemaker_llm.hosting.monitoring.widgets import (
    Drawn,
    Widget,
    alarm_states,
    charts_of_all,
    graph,
    placed,
    rows_of,
    text,
)
from cdk_sagemaker_llm.hosting.patterns.endpoint_pattern import EndpointPattern
from cdk_sagemaker_llm.hosting.patterns.inference_component_endpoint import (
    InferenceComponentEndpoint,
)
from cdk_sagemaker_llm.hosting.patterns.llm_endpoint import LlmEndpoint
from cdk_sagemaker_llm.hosting.variants.variant_definition import VariantDefinition
from cdk_sagemaker_llm.serving.parameters import IMPOSSIBLE_NAME
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

_BODY = "CloudWatch API reference, Dashboard Body Structure and Syntax"
_QUOTAS = "CloudWatch user guide, cloudwatch_limits"
# What a reader scrolls through, and what a template of 1 MB has room for.
_MOST_DETAILED = 30
_MOST_WIDGETS = 500
_MOST_METRICS = 2500
_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}\Z")
_HEAD = """\
# {title}
Copies and instances are counted by their requests: where there are none, there is \
no number. CloudWatch has no events of scaling; what it did shows in these numbers and \
in the alarms. {tokens}
"""
_TOKENS = (
    "Tokens, queue and cache are metrics of the containers, which detailed "
    "observability sends as OpenTelemetry: read them with PromQL in CloudWatch's "
    "Query Studio."
)
_NO_TOKENS = (
    "Tokens, queue and cache are metrics of the containers, which come with "
    "`Observability(detailed=True)` alone."
)
TOO_MUCH = Rule("LLM362", "a dashboard has more than CloudWatch takes", _QUOTAS)
NOTHING_TO_SHOW = Rule("LLM364", "a dashboard has nothing to show", _BODY)
SUMMED_UP = Rule("LLM445", "a dashboard has one line, and no charts, of each model")
EndpointOrPattern = EndpointBase | LlmEndpoint | InferenceComponentEndpoint


class LlmDashboard(Construct):
    """
    A dashboard of language models: traffic, concurrency, latency, errors, hardware.

    It is drawn at synth, with the alarms and the scaling that are defined until then:
    what scaling aims at, and its bounds, are lines in the charts.
    Of more than 30 models it shows one line each.

    Args:
        endpoints:
            What to show: patterns, with the components that ``add_model`` made, and
            endpoints.
            If omitted, components alone are shown.

        components:
            Further inference components, such as those of an ``Endpoint``.
            If omitted, it is those of the patterns.

        hourly_prices:
            US dollars for an hour of an instance, by type.
            If omitted, they are the patterns', and those of the package's list.

        dashboard_name:
            A name of at most 255 letters, digits, hyphens and underscores.
            If omitted, CloudFormation makes one.

    Raises:
        ValueError: If there is nothing to show, or more than CloudWatch takes.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoints: Sequence[
            EndpointBase | LlmEndpoint | InferenceComponentEndpoint
        ] = (),
        components: Sequence[InferenceComponentBase] = (),
        hourly_prices: Mapping[str, float] | None = None,
        dashboard_name: str | None = None,
    ) -> None:
        from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

        report(scope, id, price_findings(hourly_prices))
        page = _Page(endpoints, components, hourly_prices or {})
        found = page.findings()
        report(scope, id, [*_name_findings(dashboard_name), *found])
        super().__init__(scope, id)
        self.cfn_dashboard: cloudwatch.CfnDashboard = cloudwatch.CfnDashboard(
            self,
            "Resource",
            dashboard_name=dashboard_name,
            dashboard_body=Lazy.string(_Body(self, page)),
        )
        """The resource itself, for what this class does not offer."""
        self.dashboard_name: str = self.cfn_dashboard.ref
        """The name."""
        annotate(self, found)


class _Page:
    def __init__(
        self,
        endpoints: Sequence[EndpointOrPattern],
        components: Sequence[InferenceComponentBase],
        hourly_prices: Mapping[str, float],
    ) -> None:
        self._hourly_prices = hourly_prices
        self._endpoints = endpoints
        self._components = components

    def findings(self) -> list[Finding]:
        sections = list(self._sections())
        if not sections:
            return [
                NOTHING_TO_SHOW.finding(
                    "endpoints or components must name what to show"
                )
            ]
        models = _models(sections)
        widgets = self._charts(sections, Scalings([]))
        rows = (each["properties"].get("metrics", ()) for each in widgets)
        # An expression is no metric.
        metrics = sum(len(row) > 1 for some in rows for row in some)
        if len(widgets) > _MOST_WIDGETS or metrics > _MOST_METRICS:
            return [
                TOO_MUCH.finding(
                    f"{len(models)} models need {metrics} metrics in {len(widgets)} "
                    f"widgets, and a dashboard takes {_MOST_METRICS} in "
                    f"{_MOST_WIDGETS}",
                    "divide them among several dashboards",
                )
            ]
        if len(models) <= _MOST_DETAILED:
            return []
        return [
            SUMMED_UP.finding(
                f"{len(models)} models are shown by one line each, as they are more "
                f"than {_MOST_DETAILED}",
                "divide them among several dashboards to see each by itself",
            )
        ]

    def widgets(self, title: str) -> list[Widget]:
        from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

        sections = list(self._sections())
        roots: list[IConstruct] = [*self._endpoints, *self._components]
        trees = [each for root in roots for each in root.node.find_all()]
        stacks = {stack_of(each.construct): None for each in sections}
        constructs = [each for stack in stacks for each in stack.node.find_all()]
        alarms = dict.fromkeys(
            each.attr_arn for each in trees if isinstance(each, cloudwatch.CfnAlarm)
        )
        configs = (getattr(each, "endpoint_config", None) for each in self._endpoints)
        is_observed = any(
            each is not None and each.definition.observability.detailed
            for each in configs
        )
        tokens = _TOKENS if is_observed else _NO_TOKENS
        return placed(
            [
                text(_HEAD.format(title=title, tokens=tokens), height=3),
                *alarm_states(list(alarms)),
                *self._charts(sections, Scalings(constructs)),
            ]
        )

    def _charts(self, sections: Sequence[_Section], scalings: Scalings) -> list[Widget]:
        models = _models(sections)
        if len(models) <= _MOST_DETAILED:
            return [each for one in sections for each in one.widgets(scalings)]
        hosts = [each for each in sections if not each.sum_charts]
        kinds = dict.fromkeys(each.sum_charts for each in models)
        return [
            *(each for one in hosts for each in one.widgets(scalings)),
            text("## Models"),
            *(
                widget
                for kind in kinds
                for chart in kind
                for widget in charts_of_all(
                    chart, [each.drawn for each in models if each.sum_charts == kind]
                )
            ),
        ]

    def _sections(self) -> Iterator[_Section]:
        seen: dict[InferenceComponentBase, None] = {}
        for each in self._endpoints:
            endpoint = each if isinstance(each, EndpointBase) else each.endpoint
            own = each._own_prices() if isinstance(each, EndpointPattern) else {}  # noqa: SLF001 - a pattern's
            prices = HourlyPrices(region_of(endpoint), {**own, **self._hourly_prices})
            for section in _variant_sections(endpoint, each):
                yield replace(section, prices=prices)
            hosted = getattr(each, "components", ())
            yield from map(_component_section, hosted)
            seen.update(dict.fromkeys(hosted))
        for one in dict.fromkeys(self._components):
            if one not in seen:
                yield _component_section(one)


@jsii.implements(IStableStringProducer)
class _Body:
    """
    Writes the dashboard when all else is defined.
    """

    def __init__(self, dashboard: LlmDashboard, page: _Page) -> None:
        self._dashboard = dashboard
        self._page = page

    def produce(self) -> str:
        """
        Return the body, whose names may be known only at deployment.
        """
        # Models may have come since the dashboard was defined.
        report(self._dashboard, "", self._page.findings())
        widgets = self._page.widgets(self._dashboard.node.id)
        body = {"start": "-PT24H", "periodOverride": "inherit", "widgets": widgets}
        return stack_of(self._dashboard).to_json_string(body)


def _models(sections: Sequence[_Section]) -> list[_Section]:
    return [each for each in sections if each.sum_charts]


def _name_findings(name: str | None) -> list[Finding]:
    if name is None or is_unresolved(name) or _NAME.match(name):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            "dashboard_name must be 1 to 255 letters, digits, hyphens and underscores, "
            f"got {name!r}"
        )
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """
    One model, or one host.

    Its title is its path in the stack. The ``sum_charts`` have a line of each of its
    kind, and hosts have none; the ``resource_id`` is its name for Application Auto
    Scaling, and empty where nothing scales.
    """

    construct: Construct
    title: str
    dimensions: Mapping[str, str]
    charts: tuple[Chart, ...]
    sum_charts: tuple[Chart, ...] = ()
    resource_id: str = ""
    variant: VariantDefinition | None = None
    prices: HourlyPrices | None = None

    @property
    def drawn(self) -> Drawn:
        """
        The subject of its charts.
        """
        return Drawn(
            dimensions=self.dimensions,
            region=stack_of(self.construct).region,
            label=self.title,
        )

    def widgets(self, scalings: Scalings) -> Iterator[Widget]:
        scaled = scalings.of(self.resource_id) if self.resource_id else Scaled()
        drawn = self.drawn
        counted: Widget | None = None
        yield text(f"## {self.title}")
        for chart in self.charts:
            metrics = [curve.metric for curve in chart.curves]
            lines = scaled.lines(metrics, has_bounds=chart.has_bounds)
            rows = rows_of([(curve, drawn) for curve in chart.curves])
            chart_widget = graph(
                chart.title, rows, drawn.region, lines=lines, most=chart.most
            )
            if chart.has_bounds:
                counted = chart_widget
            yield chart_widget
        if (
            self.variant is not None
            and not self.sum_charts
            and isinstance(self.construct, Endpoint)
            and self.construct.endpoint_config.definition.observability.enhanced_metrics
        ):
            counted = self._instances(drawn)
            yield counted
        yield from self._spend(counted)

    def _spend(self, counted: Widget | None) -> Iterator[Widget]:
        """
        Draw instances by their price a day, where it is known; say it where they are
        not counted.
        """
        if self.variant is None or self.prices is None:
            return
        price = self.prices.of(one.name for one in self.variant.types)
        if price is None:
            return
        a_day = price.dollars * HOURS_A_DAY
        if counted is None:
            yield text(
                f"Estimated spend a day: ${a_day:,.2f} for each {price}; how many "
                "instances run is not counted here"
            )
            return
        drawn = counted["properties"]
        label = f"US$, {price}"
        properties = {
            **drawn,
            "title": "Estimated spend a day (US$)",
            "metrics": [
                [_in_dollars(each, a_day, label) for each in row]
                for row in drawn["metrics"]
            ],
        }
        levels = drawn.get("annotations", {}).get("horizontal", [])
        if levels and not is_unresolved(levels):
            levels = [{**each, "value": each["value"] * a_day} for each in levels]
            properties["annotations"] = {"horizontal": levels}
        else:
            properties.pop("annotations", None)
        yield {**counted, "properties": properties}

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
        bounds = self.variant and self.variant.variant.managed_instance_scaling
        lines = []
        if bounds:
            lines = [
                Level("at least", bounds.min_instance_count),
                Level("at most", bounds.max_instance_count),
            ]
        return graph("Instances", rows, drawn.region, lines=lines)


def _in_dollars(cell: Any, a_day: float, label: str) -> Any:  # noqa: ANN401 - as CloudWatch has it
    if not isinstance(cell, dict) or "expression" not in cell or "visible" in cell:
        return cell
    expression = f"({cell['expression']}) * {a_day:g}"
    return {**cell, "expression": expression, "label": label}


def _variant_sections(endpoint: EndpointBase, owner: Construct) -> Iterator[_Section]:
    definition = None
    if isinstance(endpoint, Endpoint):
        definition = endpoint.endpoint_config.definition
    if definition is None or not definition.variants:
        # Without its variants, a variant must be named: this raises and says so.
        metric = endpoint.metric_invocations()
        devices = devices_of((None,), "accelerators"), devices_of((None,), "vcpus")
        name = endpoint.variant_name
        yield _Section(
            construct=endpoint,
            title=_section_title(owner),
            dimensions=metric.dimensions or {},
            charts=of_variants(*devices),
            sum_charts=SUMMED_VARIANTS,
            resource_id=f"endpoint/{endpoint.endpoint_name}/variant/{name}",
        )
        return
    is_async = definition.async_inference is not None
    for each in definition.every_variant:
        name, title = each.variant.variant_name, _section_title(owner)
        is_shadow = each in definition.shadows
        if is_shadow or len(definition.variants) > 1:
            title += f", {name}"
        section = _Section(
            construct=endpoint,
            title=title,
            dimensions={"EndpointName": endpoint.endpoint_name, "VariantName": name},
            charts=OF_HOSTS,
            variant=each,
        )
        if not each.has_model:
            yield section
            continue
        types = each.hardware_of_types
        devices = devices_of(types, "accelerators"), devices_of(types, "vcpus")
        resource_id = f"endpoint/{endpoint.endpoint_name}/variant/{name}"
        if is_async and not is_shadow:
            yield replace(section, charts=of_asynchronous(*devices))
            yield _Section(
                construct=endpoint,
                title=f"{title}, queue",
                dimensions={"EndpointName": endpoint.endpoint_name},
                charts=OF_QUEUES,
                resource_id=resource_id,
            )
        else:
            yield replace(
                section,
                charts=of_variants(*devices),
                sum_charts=SUMMED_VARIANTS,
                resource_id=resource_id,
            )


def _component_section(component: InferenceComponentBase) -> _Section:
    name = component.inference_component_name
    return _Section(
        construct=component,
        title=_section_title(component).removesuffix("/Component"),
        dimensions={"InferenceComponentName": name},
        charts=OF_COMPONENTS,
        sum_charts=SUMMED_COMPONENTS,
        resource_id=f"inference-component/{name}",
    )


def _section_title(construct: Construct) -> str:
    stack = stack_of(construct).node.path
    return construct.node.path.removeprefix(f"{stack}/")
