"""
Asking an account about endpoints that exist, for the requests that would make them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cdk_sagemaker_llm.account.reader import (
    AccountReader,
    RefusedError,
    calls_named_alike,
    together,
)
from cdk_sagemaker_llm.adoption.deployment import Deployment, Remark, Request
from cdk_sagemaker_llm.adoption.descriptions import is_adapter, parameters_of
from cdk_sagemaker_llm.text import counted

Tell = Callable[[str], None]

_OF_STACK = "aws:cloudformation:stack-name"
# Only AWS sets such tags, and refuses them in a request.
_RESERVED = "aws:"
_LET_GO = ("DELETE_SKIPPED", "DELETE_COMPLETE")
_SCALED = "sagemaker"
# So many are asked one by one; of more, all of the account's are listed.
_FEW = 10
_NAMED_ALARMS = 100
_TRACKING = "TargetTrackingScaling"
_PURPOSES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("sagemaker", "sagemaker"): {
        "describe_endpoint": "the endpoint's configuration",
        "describe_endpoint_config": "its variants, and what it publishes and keeps",
        "describe_model": "its image, data, environment, role and network",
        "list_inference_components": "the components on the endpoint",
        "describe_inference_component": "what each component runs and reserves",
        "list_tags": "the tags of all of these",
    },
    ("application-autoscaling", "application-autoscaling"): {
        "describe_scalable_targets": "how far it may scale",
        "describe_scaling_policies": "what it scales on",
        "describe_scheduled_actions": "when its bounds change",
        "list_tags_for_resource": "the tags of scalable targets",
    },
    ("cloudwatch", "cloudwatch"): {
        "describe_alarms": "the alarms that watch it, or set its scaling off",
        "list_tags_for_resource": "the tags of alarms",
    },
    ("cloudformation", "cloudformation"): {
        "list_stack_resources": "whether the stack that made it has it still",
    },
    ("ec2", "ec2"): {
        "describe_subnets": "the VPC and the zones of its subnets",
    },
}
CALLS = calls_named_alike(_PURPOSES)
"""Every call that is made to read what exists."""


class UnknownEndpointError(ValueError):
    """
    No endpoint has the name.
    """


def read_deployment(
    reader: AccountReader, names: Sequence[str], tell: Tell
) -> Deployment:
    """
    Ask an account for all that belongs to endpoints.

    Args:
        reader: Whom to ask, with ``CALLS``.

        names: The endpoints' names.

        tell: What is told of the progress.

    Raises:
        UnknownEndpointError: If there is no endpoint of a name.

        RefusedError: If the account refuses to be asked at all.
    """
    reading = _Reading(reader, tell)
    reading.run(list(dict.fromkeys(names)))
    remarks = [
        *reading.remarks,
        *(Remark(each.what, each.why) for each in reader.not_asked),
    ]
    return Deployment(
        requests=reading.requests,
        region=reader.region,
        account=reading.account,
        remarks=tuple(remarks),
        subnets=reading.subnets,
    )


@dataclass(slots=True)
class _Reading:
    reader: AccountReader
    tell: Tell
    requests: list[Request] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    subnets: dict[str, Mapping[str, str]] = field(default_factory=dict)
    account: str = ""
    _stacks: dict[str, list[str]] = field(default_factory=dict)

    def run(self, names: Sequence[str]) -> None:
        endpoints = self._endpoints(names)
        self.account = str(endpoints[0]["EndpointArn"]).split(":")[4]
        configs = self._described(
            "EndpointConfig", (str(one["EndpointConfigName"]) for one in endpoints)
        )
        components = self._components(names)
        if len(components) > _FEW:
            self.tell(f"{counted(len(components), 'component')} described")
        models = self._described("Model", _model_names(configs, components))
        made = [
            *(("Model", one) for one in models),
            *(("EndpointConfig", one) for one in configs),
            *(("Endpoint", one) for one in endpoints),
            *(
                ("InferenceComponent", one)
                for one in sorted(components, key=is_adapter)
            ),
        ]
        arns = [str(one[f"{kind}Arn"]) for kind, one in made]
        self.tell("tags, scaling and alarms")
        tags = together(partial(self._tags, arn) for arn in arns)
        for (kind, one), arn, own in zip(made, arns, tags, strict=True):
            self._add(f"Create{kind}", one, arn, own)
        self._scaling(endpoints, components)
        self._alarms(endpoints, components)
        self._subnets()
        self.remarks += [*_unsettled(endpoints, "Endpoint")]
        self.remarks += [*_unsettled(components, "InferenceComponent")]
        for stack, made_by_it in sorted(self._stacks.items()):
            owned = self._owned(stack, [one for one in arns if one in made_by_it])
            if owned:
                names_of_owned = ", ".join(one.rpartition(":")[2] for one in owned)
                self.remarks.append(
                    Remark(
                        f"stack {stack}",
                        f"has {names_of_owned} already, and CloudFormation imports "
                        "nothing that a stack has: take it out of that stack first, "
                        "with DeletionPolicy: Retain",
                    )
                )

    def _add(
        self,
        operation: str,
        description: Mapping[str, Any],
        arn: str = "",
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        parameters = {**parameters_of(operation, description), **(tags or {})}
        self.requests.append(
            Request(operation=operation, parameters=parameters, arn=arn)
        )

    def _endpoints(self, names: Sequence[str]) -> list[Mapping[str, Any]]:
        self.tell(f"reading {', '.join(names)} in {self.reader.region}")
        found = self._described("Endpoint", names)
        found_names = {one["EndpointName"] for one in found}
        missing = [name for name in names if name not in found_names]
        if missing:
            notes = "; ".join(f"{one.what}: {one.why}" for one in self.reader.not_asked)
            raise UnknownEndpointError(
                f"there is no endpoint {missing[0]!r} in {self.reader.region}"
                + (f"; not asked: {notes}" if notes else "; --region names another")
            )
        return found

    def _described(self, kind: str, names: Iterable[str]) -> list[Mapping[str, Any]]:
        words = {
            "EndpointConfig": "endpoint_config",
            "InferenceComponent": "inference_component",
        }
        operation = f"describe_{words.get(kind, kind.lower())}"
        questions = [
            partial(self.reader.found, _SCALED, operation, **{f"{kind}Name": name})
            for name in dict.fromkeys(names)
        ]
        return [each for each in together(questions) if each]

    def _components(self, names: Sequence[str]) -> list[Mapping[str, Any]]:
        rows = [
            str(row["InferenceComponentName"])
            for name in names
            for row in self.reader.rows(
                _SCALED,
                "list_inference_components",
                "InferenceComponents",
                EndpointNameEquals=name,
                MaxResults=100,
            )
        ]
        return self._described("InferenceComponent", rows)

    def _tags(self, arn: str) -> dict[str, Any]:
        rows = self.reader.rows(_SCALED, "list_tags", "Tags", ResourceArn=arn)
        for row in rows:
            if row["Key"] == _OF_STACK:
                self._stacks.setdefault(row["Value"], []).append(arn)
        own = [row for row in rows if not row["Key"].startswith(_RESERVED)]
        return {"Tags": own} if own else {}

    def _owned(self, stack: str, arns: Sequence[str]) -> Sequence[str]:
        """
        Return those of a stack's resources that it has not let go of: their tags stay.

        Args:
            stack: The stack that made them.

            arns: Their ARNs, which are all returned where the stack may not be asked.
        """
        try:
            rows = [
                *self.reader.pages(
                    *("cloudformation", "list_stack_resources"),
                    "StackResourceSummaries",
                    StackName=stack,
                )
            ]
        except RefusedError as fault:
            return () if "does not exist" in fault.message else arns
        kept = {
            row.get("PhysicalResourceId")
            for row in rows
            if row["ResourceStatus"] not in _LET_GO
        }
        return [one for one in arns if one in kept] if rows else arns

    def _scaling(
        self,
        endpoints: Sequence[Mapping[str, Any]],
        components: Sequence[Mapping[str, Any]],
    ) -> None:
        ids = [
            *(
                f"endpoint/{one['EndpointName']}/variant/{variant['VariantName']}"
                for one in endpoints
                for variant in one.get("ProductionVariants", ())
            ),
            *(
                f"inference-component/{one['InferenceComponentName']}"
                for one in components
                if not is_adapter(one)
            ),
        ]
        targets = self._scaled("describe_scalable_targets", "ScalableTargets", ids)
        arns = [str(one.get("ScalableTargetARN", "")) for one in targets]
        tags = together(partial(self._target_tags, arn) for arn in arns)
        for one, own in zip(targets, tags, strict=True):
            self._add("RegisterScalableTarget", one, tags=own)
        scaled = list(dict.fromkeys(str(one["ResourceId"]) for one in targets))
        for one in self._scaled(
            "describe_scheduled_actions", "ScheduledActions", scaled
        ):
            self._add("PutScheduledAction", one)
        for one in self._scaled("describe_scaling_policies", "ScalingPolicies", scaled):
            self._add("PutScalingPolicy", one, str(one["PolicyARN"]))

    def _scaled(
        self, operation: str, key: str, ids: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        if not ids:
            return []
        filters: list[dict[str, Any]] = [{}]
        if len(ids) <= _FEW:
            plural = operation == "describe_scalable_targets"
            filters = (
                [{"ResourceIds": list(ids)}]
                if plural
                else [{"ResourceId": one} for one in ids]
            )
        questions = [
            partial(
                self.reader.rows,
                "application-autoscaling",
                operation,
                key,
                ServiceNamespace=_SCALED,
                **each,
            )
            for each in filters
        ]
        rows = [row for rows in together(questions) for row in rows]
        place = {one: number for number, one in enumerate(ids)}
        own = [row for row in rows if row["ResourceId"] in place]
        return sorted(own, key=lambda row: place[row["ResourceId"]])

    def _target_tags(self, arn: str) -> dict[str, Any]:
        if not arn:
            return {}
        answer = self.reader.found(
            "application-autoscaling", "list_tags_for_resource", ResourceARN=arn
        )
        tags = {
            key: value
            for key, value in (answer.get("Tags") or {}).items()
            if not key.startswith(_RESERVED)
        }
        return {"Tags": tags} if tags else {}

    def _alarms(
        self,
        endpoints: Sequence[Mapping[str, Any]],
        components: Sequence[Mapping[str, Any]],
    ) -> None:
        watched = {str(one["EndpointName"]) for one in endpoints}
        watched |= {str(one["InferenceComponentName"]) for one in components}
        policies = {
            one.arn: one for one in self.requests if one.operation == "PutScalingPolicy"
        }
        rows = self.reader.rows(
            "cloudwatch",
            "describe_alarms",
            "MetricAlarms",
            AlarmTypes=["MetricAlarm"],
            MaxRecords=_NAMED_ALARMS,
        )
        own = []
        for row in rows:
            sets_off = [
                one
                for arn, one in policies.items()
                # What the service makes for a policy has more behind its ARN.
                if any(a == arn or a.startswith(f"{arn}:") for a in _actions(row))
            ]
            # What a policy that tracks a target has made, it changes and takes away.
            if any(one.parameters.get("PolicyType") == _TRACKING for one in sets_off):
                continue
            if sets_off or watched & set(_dimension_values(row)):
                own.append(row)
        tags = together(
            partial(
                self.reader.rows,
                "cloudwatch",
                "list_tags_for_resource",
                "Tags",
                ResourceARN=str(row["AlarmArn"]),
            )
            for row in own
        )
        for row, rows_of_tags in zip(own, tags, strict=True):
            kept = [t for t in rows_of_tags if not t["Key"].startswith(_RESERVED)]
            own_tags = {"Tags": kept} if kept else {}
            self._add("PutMetricAlarm", row, str(row["AlarmArn"]), own_tags)

    def _subnets(self) -> None:
        ids = {
            subnet
            for one in self.requests
            for subnet in (one.parameters.get("VpcConfig") or {}).get("Subnets", ())
        }
        if not ids:
            return
        rows = self.reader.rows(
            "ec2", "describe_subnets", "Subnets", SubnetIds=sorted(ids)
        )
        self.subnets = {
            str(row["SubnetId"]): {
                "vpc": str(row["VpcId"]),
                "zone": str(row["AvailabilityZone"]),
            }
            for row in rows
        }


def _unsettled(found: Iterable[Mapping[str, Any]], kind: str) -> Iterator[Remark]:
    for one in found:
        status = one.get(f"{kind}Status")
        if status != "InService":
            yield Remark(
                str(one[f"{kind}Name"]),
                f"is {status}: what was read may change, or never have run; adopt it "
                "when it is InService",
            )


def _variants(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("ProductionVariants", "ShadowProductionVariants"):
        yield from config.get(key) or ()


def _model_names(
    configs: Iterable[Mapping[str, Any]], components: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    for config in configs:
        for variant in _variants(config):
            if variant.get("ModelName"):
                yield str(variant["ModelName"])
            for pool in variant.get("InstancePools") or ():
                if pool.get("ModelNameOverride"):
                    yield str(pool["ModelNameOverride"])
    for component in components:
        every = [component.get("Specification"), *component.get("Specifications", ())]
        for one in filter(None, every):
            if one.get("ModelName"):
                yield str(one["ModelName"])


def _actions(alarm: Mapping[str, Any]) -> Iterator[str]:
    for name in ("AlarmActions", "OKActions", "InsufficientDataActions"):
        yield from alarm.get(name) or ()


def _dimension_values(alarm: Mapping[str, Any]) -> Iterator[str]:
    rows = [alarm, *(one.get("MetricStat") or {} for one in alarm.get("Metrics") or ())]
    for row in rows:
        metric = row.get("Metric", row)
        for one in metric.get("Dimensions") or ():
            if one["Name"] in {"EndpointName", "InferenceComponentName"}:
                yield str(one["Value"])
