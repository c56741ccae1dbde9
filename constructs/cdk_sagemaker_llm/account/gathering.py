"""
Asking an account about an endpoint, an inference component or a stack: descriptions,
events, scaling, alarms, metrics, quotas and the last lines of each container.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any

from cdk_sagemaker_llm.account.evidence import Answer, Evidence, masked, plain
from cdk_sagemaker_llm.account.reader import (
    AccountReader,
    NotAsked,
    calls_named_alike,
    together,
)
from cdk_sagemaker_llm.account.signals import SIGNALS, Signal, troubled_first
from cdk_sagemaker_llm.text import counted

Tell = Callable[[str], None]

_STACK_TAG = "aws:cloudformation:stack-name"
_ENDPOINT = "AWS::SageMaker::Endpoint"
_COMPONENT = "AWS::SageMaker::InferenceComponent"
_STACK = "AWS::CloudFormation::Stack"
_RUNS = "InService"
_MOST_EVENTS = 300
_MOST_MODELS = 20
_MOST_LOGS = 12
_MOST_STREAMS = 3
_MOST_LINES = 400
# So many are asked one by one; of more, all of the account's are listed.
_FEW = 10
_PURPOSES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("sagemaker", "sagemaker"): {
        "describe_endpoint": "the endpoint's status and why it failed",
        "describe_endpoint_config": "its instances, host image and time-outs",
        "describe_model": "its image and environment",
        "list_inference_components": "the components on the endpoint",
        "describe_inference_component": "its status, copies and why it failed",
        "list_tags": "the stack that owns the endpoint",
    },
    ("cloudformation", "cloudformation"): {
        "describe_stacks": "the stack's status",
        "list_stack_resources": "the endpoints and components of the stack",
        "describe_stack_events": "what failed while the stack was deployed",
    },
    ("application-autoscaling", "application-autoscaling"): {
        "describe_scalable_targets": "how far it may scale",
        "describe_scaling_policies": "what it scales on",
        "describe_scaling_activities": "what scaling did, and what held it",
    },
    ("cloudwatch", "cloudwatch"): {
        "describe_alarms": "alarms of scaling and of rollouts",
        "get_metric_data": "errors, latency and memory of the last three hours",
    },
    ("logs", "logs"): {
        "describe_log_streams": "which containers wrote a log",
        "get_log_events": "the last lines of each container",
    },
    ("service-quotas", "servicequotas"): {
        "list_service_quotas": "how many instances of its types the account may have",
    },
}
CALLS = calls_named_alike(_PURPOSES)
"""Every call that is made to gather evidence."""


class UnknownNameError(ValueError):
    """
    No endpoint, component or stack has the name.
    """


def gather(reader: AccountReader, name: str, tell: Tell) -> Evidence:
    """
    Ask an account about an endpoint, a component or a stack.

    Args:
        reader: Whom to ask, with ``CALLS``.

        name: Its name.

        tell: What is told of the progress.

    Raises:
        UnknownNameError: If there is no such thing.

        RefusedError: If the account refuses to be asked at all.
    """
    gathering = _Gathering(reader, name, tell)
    gathering.run()
    rows = {
        each.name: tuple(gathering.found.get(each.name, ()))
        for each in fields(Evidence)
        if each.name not in {"name", "kind", "region", "time", "not_asked"}
    }
    values = masked(plain(rows))
    return Evidence(
        name=name,
        kind=gathering.kind,
        region=reader.region,
        time=reader.now().isoformat(timespec="seconds"),
        not_asked=tuple(asdict(one) for one in reader.not_asked),
        **{key: tuple(value) for key, value in values.items()},
    )


@dataclass(slots=True)
class _Gathering:
    """
    One account, asked about one name.
    """

    reader: AccountReader
    name: str
    tell: Tell
    kind: str = ""
    found: dict[str, list[Any]] = field(default_factory=dict)
    # Whose logs are read although the service no longer describes them.
    gone: dict[str, list[str]] = field(default_factory=dict)

    def run(self) -> None:
        self._find()
        self._components()
        self._definitions()
        self._stack_events()
        self._rolled_back()
        self.tell(
            f"{counted(len(self.endpoints), 'endpoint')}, "
            f"{counted(len(self.components), 'component')}; scaling, alarms, logs"
        )
        around: list[Callable[[], None]] = [
            *(partial(self._add, signal) for signal in SIGNALS),
            self._logs,
        ]
        together(around)
        self._quotas()

    def _add(self, signal: Signal) -> None:
        self.found.update(signal(self.reader, self.endpoints, self.components))

    @property
    def endpoints(self) -> list[Any]:
        return self.found.setdefault("endpoints", [])

    @property
    def components(self) -> list[Any]:
        return self.found.setdefault("components", [])

    def _find(self) -> None:
        self.tell(f"looking for {self.name} in {self.reader.region}")
        endpoint = self.reader.found(
            "sagemaker", "describe_endpoint", EndpointName=self.name
        )
        component = endpoint or self.reader.found(
            "sagemaker",
            "describe_inference_component",
            InferenceComponentName=self.name,
        )
        if endpoint:
            self.kind = "endpoint"
            self.endpoints.append(endpoint)
        elif component:
            self.kind = "component"
            self.components.append(component)
            self._add_endpoints([str(component["EndpointName"])])
        elif self._find_stack(self.name):
            self.kind = "stack"
        elif streams := self._streams(f"/aws/sagemaker/Endpoints/{self.name}"):
            self.kind = "endpoint"
            self.gone["Endpoints"] = [self.name]
            self.tell(f"{self.name} is gone; {counted(len(streams), 'log')} is left")
        else:
            raise UnknownNameError(self._unknown())

    def _unknown(self) -> str:
        notes = "; ".join(f"{one.what}: {one.why}" for one in self.reader.not_asked)
        return (
            f"there is no endpoint, inference component or stack {self.name!r} in "
            f"{self.reader.region}"
            + (f"; not asked: {notes}" if notes else "; --region names another region")
        )

    def _find_stack(self, name: str) -> bool:
        answer = self.reader.found("cloudformation", "describe_stacks", StackName=name)
        if not answer:
            return False
        self.found.setdefault("stacks", []).extend(answer["Stacks"])
        rows = list(
            self.reader.rows(
                "cloudformation",
                "list_stack_resources",
                "StackResourceSummaries",
                StackName=name,
            )
        )
        for nested in _physical(rows, _STACK):
            self._find_stack(nested)
        self._add_endpoints(_physical(rows, _ENDPOINT))
        names = [one.rpartition("/")[2] for one in _physical(rows, _COMPONENT)]
        self._add_components(names)
        endpoints = {str(one["EndpointName"]) for one in self.components}
        self._add_endpoints(sorted(endpoints))
        return True

    def _add_endpoints(self, names: Sequence[str]) -> None:
        endpoint_names = {str(one["EndpointName"]) for one in self.endpoints}
        for name in (each.rpartition("/")[2] for each in names):
            if name in endpoint_names:
                continue
            endpoint_names.add(name)
            found = self.reader.found(
                "sagemaker", "describe_endpoint", EndpointName=name
            )
            if found:
                self.endpoints.append(found)
            else:
                self.gone.setdefault("Endpoints", []).append(name)

    def _add_components(self, names: Sequence[str]) -> None:
        component_names = {
            str(one["InferenceComponentName"]) for one in self.components
        }
        fresh = [name for name in names if name not in component_names]
        answers = together(
            partial(
                self.reader.found,
                "sagemaker",
                "describe_inference_component",
                InferenceComponentName=name,
            )
            for name in fresh
        )
        for name, answer in zip(fresh, answers, strict=True):
            if answer:
                self.components.append(answer)
            else:
                self.gone.setdefault("InferenceComponents", []).append(name)

    def _components(self) -> None:
        if self.kind == "component":
            return
        for endpoint in list(self.endpoints):
            rows = self.reader.rows(
                "sagemaker",
                "list_inference_components",
                "InferenceComponents",
                EndpointNameEquals=endpoint["EndpointName"],
                MaxResults=100,
            )
            names = [str(row["InferenceComponentName"]) for row in rows]
            if len(names) > _FEW:
                self.tell(f"describing {len(names)} components")
            self._add_components(names)

    def _definitions(self) -> None:
        configs = [
            partial(
                self.reader.found,
                "sagemaker",
                "describe_endpoint_config",
                EndpointConfigName=name,
            )
            for name in dict.fromkeys(_config_names(self.endpoints))
        ]
        found = [each for each in together(configs) if each]
        self.found["configs"] = found
        names = dict.fromkeys(
            itertools.chain(
                (_model_of(one) for one in troubled_first(self.components)),
                *(_models_of(config) for config in found),
            )
        )
        models = [
            partial(self.reader.found, "sagemaker", "describe_model", ModelName=name)
            for name in list(filter(None, names))[:_MOST_MODELS]
        ]
        self.found["models"] = [each for each in together(models) if each]

    def _stack_events(self) -> None:
        names = [str(one["StackId"]) for one in self.found.get("stacks", ())]
        if not names:
            # All that a component's endpoint tells is the stack of both, mostly.
            arns = [str(one["EndpointArn"]) for one in self.endpoints]
            if self.kind == "component":
                arns.insert(0, str(self.components[0]["InferenceComponentArn"]))
            names = list(dict.fromkeys(filter(None, map(self._owner, arns))))
            for name in names:
                stack = self.reader.found(
                    "cloudformation", "describe_stacks", StackName=name
                )
                self.found.setdefault("stacks", []).extend(stack.get("Stacks", ()))
        for name in names:
            rows = self.reader.rows(
                "cloudformation",
                "describe_stack_events",
                "StackEvents",
                most=_MOST_EVENTS,
                StackName=name,
            )
            self.found.setdefault("events", []).extend(rows)

    def _rolled_back(self) -> None:
        """
        Note whose logs are left although a rollback has deleted them.
        """
        names = {str(one["EndpointName"]) for one in self.endpoints}
        names |= {str(one["InferenceComponentName"]) for one in self.components}
        for kind, place in (
            (_ENDPOINT, "Endpoints"),
            (_COMPONENT, "InferenceComponents"),
        ):
            gone = self.gone.setdefault(place, [])
            for arn in dict.fromkeys(_physical(self.found.get("events", ()), kind)):
                name = arn.rpartition("/")[2]
                if name not in {*names, *gone}:
                    gone.append(name)

    def _owner(self, arn: str) -> str:
        tags = self.reader.rows("sagemaker", "list_tags", "Tags", ResourceArn=arn)
        return next((str(t["Value"]) for t in tags if t["Key"] == _STACK_TAG), "")

    def _logs(self) -> None:
        components = [
            str(one["InferenceComponentName"])
            for one in troubled_first(self.components)
        ]
        components += self.gone.get("InferenceComponents", [])
        endpoints = [str(one["EndpointName"]) for one in self.endpoints]
        endpoints += self.gone.get("Endpoints", [])
        groups = [f"/aws/sagemaker/Endpoints/{name}" for name in endpoints]
        groups += [f"/aws/sagemaker/InferenceComponents/{name}" for name in components]
        read = groups[:_MOST_LOGS]
        if len(groups) > len(read):
            self.reader.not_asked.append(
                NotAsked(
                    f"the logs of {len(groups) - len(read)} more components",
                    f"doctor reads {_MOST_LOGS} at once, of what does not run first; "
                    "ask about a component by its name",
                )
            )
        found = together(partial(self._log, group) for group in read)
        self.found["logs"] = [log for logs in found for log in logs]

    def _log(self, group: str) -> list[Answer]:
        return [
            {
                "group": group,
                "stream": stream,
                "lines": [
                    {"time": event.get("timestamp"), "text": event.get("message", "")}
                    for event in self.reader.found(
                        "logs",
                        "get_log_events",
                        logGroupName=group,
                        logStreamName=stream,
                        limit=_MOST_LINES,
                        startFromHead=False,
                    ).get("events", ())
                ],
            }
            for stream in self._streams(group)
        ]

    def _streams(self, group: str) -> list[str]:
        rows = self.reader.rows(
            "logs",
            "describe_log_streams",
            "logStreams",
            most=_MOST_STREAMS,
            logGroupName=group,
            orderBy="LastEventTime",
            descending=True,
            limit=_MOST_STREAMS,
        )
        return [str(row["logStreamName"]) for row in rows]

    def _quotas(self) -> None:
        # They are some thousand, and speak of what fails for a limit alone.
        reasons = [str(one.get("FailureReason")) for one in self.endpoints]
        reasons += [
            str(one.get("ResourceStatusReason")) for one in self.found.get("events", ())
        ]
        if not any("limit" in reason for reason in reasons):
            return
        types = {
            str(variant["InstanceType"])
            for config in self.found.get("configs", ())
            for variant in _config_variants(config)
            if variant.get("InstanceType")
        }
        quota_names = {f"{one} for endpoint usage" for one in types}
        rows = self.reader.rows(
            "service-quotas", "list_service_quotas", "Quotas", ServiceCode="sagemaker"
        )
        self.found["quotas"] = [
            row for row in rows if row.get("QuotaName") in quota_names
        ]


def _physical(rows: Sequence[Answer], kind: str) -> list[str]:
    return [
        str(row["PhysicalResourceId"])
        for row in rows
        if row["ResourceType"] == kind and row.get("PhysicalResourceId")
    ]


def _config_names(endpoints: Sequence[Answer]) -> Iterator[str]:
    for endpoint in endpoints:
        for part in (endpoint, endpoint.get("PendingDeploymentSummary") or {}):
            if part.get("EndpointConfigName"):
                yield str(part["EndpointConfigName"])


def _config_variants(config: Answer) -> list[Answer]:
    return [
        *config.get("ProductionVariants", ()),
        *config.get("ShadowProductionVariants", ()),
    ]


def _models_of(config: Answer) -> list[str]:
    return [str(one.get("ModelName", "")) for one in _config_variants(config)]


def _model_of(component: Answer) -> str:
    specification = component.get("Specification") or {}
    return str(specification.get("ModelName", ""))
