"""
A Terraform plan, as ``terraform show -json`` prints it, in CloudFormation's shapes.

The ``aws`` provider has its own words for some properties, and ``awscc`` has
CloudFormation's; what is known after apply alone stays open, and references are those
of the configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_VERSION = "terraform_version"
_PATH = "aws:cdk:path"
_OPEN: Mapping[str, str] = {"Fn::KnownAfterApply": ""}
_SAGEMAKER = re.compile(r"(aws|awscc)_sagemaker_(?P<kind>\w+)\Z")
_KINDS: Mapping[str, str] = {
    "endpoint_configuration": "EndpointConfig",
}
_OTHERS: Mapping[str, str] = {
    "aws_appautoscaling_target": "ApplicationAutoScaling::ScalableTarget",
    "aws_appautoscaling_policy": "ApplicationAutoScaling::ScalingPolicy",
    "awscc_applicationautoscaling_scalable_target": (
        "ApplicationAutoScaling::ScalableTarget"
    ),
    "awscc_applicationautoscaling_scaling_policy": (
        "ApplicationAutoScaling::ScalingPolicy"
    ),
    "aws_cloudwatch_metric_alarm": "CloudWatch::Alarm",
    "awscc_cloudwatch_alarm": "CloudWatch::Alarm",
}
# What `name` is of each kind, and what refers to it.
_NAMES: Mapping[str, str] = {
    "SageMaker::Model": "ModelName",
    "SageMaker::EndpointConfig": "EndpointConfigName",
    "SageMaker::Endpoint": "EndpointName",
    "SageMaker::InferenceComponent": "InferenceComponentName",
    "ApplicationAutoScaling::ScalingPolicy": "PolicyName",
    "CloudWatch::Alarm": "AlarmName",
}
_REFERENCES = {
    "ModelName": "SageMaker::Model",
    "ModelNameOverride": "SageMaker::Model",
    "EndpointConfigName": "SageMaker::EndpointConfig",
    "EndpointName": "SageMaker::Endpoint",
    "BaseInferenceComponentName": "SageMaker::InferenceComponent",
}
# CloudFormation's words that are not those of the provider with capitals.
_WORDS: Mapping[str, str] = {
    "container": "Containers",
    "cooldown_in_minutes": "CooldownInMinutes",
    "enable_ssm_access": "EnableSSMAccess",
    "kms_key_arn": "KmsKeyId",
    "metric_query": "Metrics",
    "s3_data_source": "S3DataSource",
    "s3_data_type": "S3DataType",
    "s3_failure_path": "S3FailurePath",
    "s3_output_path": "S3OutputPath",
    "s3_uri": "S3Uri",
    "step_adjustment": "StepAdjustments",
    "volume_size_in_gb": "VolumeSizeInGB",
}
# What is a list of several; any other block is one, which Terraform lists all the same.
_LISTS = frozenset(
    {
        "Containers",
        "Dimensions",
        "InstancePools",
        "Metrics",
        "ProductionVariants",
        "ShadowProductionVariants",
        "Specifications",
        "StepAdjustments",
    }
)
_AS_IT_IS = frozenset({"Environment"})


class _Planned(NamedTuple):
    """
    A resource of a plan, with what its configuration says.

    Args:
        module: The module's address, with the full stop behind it.
    """

    address: str
    kind: str
    values: Mapping[str, Any]
    unknown: Mapping[str, Any] = {}
    expressions: Mapping[str, Any] = {}
    module: str = ""


def is_plan(content: Mapping[str, Any]) -> bool:
    """
    Whether a JSON object is a plan of Terraform's, or a state.
    """
    return _VERSION in content and not {"planned_values", "values"}.isdisjoint(content)


def resources_of(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """
    Return what a plan makes on SageMaker, and what scales it, by the addresses.
    """
    planned = list(_planned(content))
    names = {
        (one.kind, str(one.values["name"])): one.address
        for one in planned
        if one.values.get("name") and one.kind in _NAMES
    }
    addresses = {one.address for one in planned}
    return {
        one.address: {
            "Type": f"AWS::{one.kind}",
            "Metadata": {_PATH: one.address},
            "Properties": _properties(one, names, addresses),
        }
        for one in planned
    }


def _planned(content: Mapping[str, Any]) -> Iterator[_Planned]:
    changes = content.get("resource_changes")
    unknown = {
        str(one.get("address")): _map(_map(one.get("change")).get("after_unknown"))
        for one in (changes if isinstance(changes, list) else [])
        if isinstance(one, dict)
    }
    values = _map(content.get("planned_values", content.get("values")))
    root = _map(_map(content.get("configuration")).get("root_module"))
    for module, resource, configuration in _resources(
        _map(values.get("root_module")), root
    ):
        kind = _kind(str(resource.get("type")))
        if kind is None or resource.get("mode", "managed") != "managed":
            continue
        address = str(resource.get("address"))
        written = (
            _map(one.get("expressions"))
            for one in _maps(configuration.get("resources"))
            if (one.get("type"), one.get("name"))
            == (resource.get("type"), resource.get("name"))
        )
        yield _Planned(
            address,
            kind,
            _map(resource.get("values")),
            unknown.get(address, {}),
            next(written, {}),
            f"{module}." if module else "",
        )


def _resources(
    module: Mapping[str, Any], configuration: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    address = str(module.get("address", ""))
    for resource in _maps(module.get("resources")):
        yield address, resource, configuration
    calls = _map(configuration.get("module_calls"))
    for inner in _maps(module.get("child_modules")):
        own = str(inner.get("address", "")).removeprefix(f"{address}.")
        name = own.removeprefix("module.").partition("[")[0]
        yield from _resources(inner, _map(_map(calls.get(name)).get("module")))


def _kind(type_: str) -> str | None:
    found = _SAGEMAKER.match(type_)
    if found is None:
        return _OTHERS.get(type_)
    kind = _KINDS.get(found["kind"], _pascal(found["kind"]))
    return f"SageMaker::{kind}"


def _properties(
    one: _Planned, names: Mapping[tuple[str, str], str], addresses: set[str]
) -> dict[str, Any]:
    found = _converted(one, one.values, one.unknown, one.expressions, addresses)
    properties = found if isinstance(found, dict) else {}
    if "Name" in properties and one.kind in _NAMES:
        properties[_NAMES[one.kind]] = properties.pop("Name")
    own = _NAMES.get(one.kind)
    _refer(properties, names, own)
    return properties


def _refer(
    value: Any,  # noqa: ANN401 - JSON
    names: Mapping[tuple[str, str], str],
    own: str | None,
) -> None:
    """
    Turn the names of what the plan makes into references to it.
    """
    for each in value if isinstance(value, list) else ():
        _refer(each, names, None)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        address = names.get((_REFERENCES.get(key, ""), str(inner)))
        if address is not None and key != own:
            value[key] = {"Fn::GetAtt": [address, key]}
        elif key not in _AS_IT_IS:
            _refer(inner, names, None)


def _converted(
    one: _Planned,
    value: Any,  # noqa: ANN401 - JSON
    unknown: Any,  # noqa: ANN401 - JSON
    written: Any,  # noqa: ANN401 - JSON
    addresses: set[str],
) -> Any:  # noqa: ANN401 - JSON
    """
    Convert a block; what is null is not there, unless it is known after apply.
    """
    found: dict[str, Any] = {}
    values = _map(value)
    for key in {**values, **_map(unknown)}:
        inner, is_open = values.get(key), _of(unknown, key)
        expression = _of(written, key)
        name = _WORDS.get(key, _pascal(key))
        if is_open is True:
            found[name] = _reference(one, expression, addresses)
        elif inner is None or inner in ("", [], {}):
            continue
        elif name in _AS_IT_IS:
            found[name] = _environment(inner, is_open)
        elif key == "dimensions" and isinstance(inner, dict):
            found[name] = [{"Name": each, "Value": inner[each]} for each in inner]
        elif isinstance(inner, list):
            blocks = [
                _converted(
                    one, each, _at(is_open, index), _at(expression, index), addresses
                )
                if isinstance(each, dict)
                else each
                for index, each in enumerate(inner)
            ]
            is_one = name not in _LISTS and isinstance(inner[0], dict)
            found[name] = blocks[0] if is_one and len(blocks) == 1 else blocks
        elif isinstance(inner, dict):
            found[name] = _converted(one, inner, is_open, expression, addresses)
        else:
            found[name] = inner
    return found


def _environment(value: Any, unknown: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        # As awscc has it.
        try:
            value = json.loads(value)
        except ValueError:
            return dict(_OPEN)
    if not isinstance(value, dict):
        return value
    names = [*value, *(name for name in _map(unknown) if name not in value)]
    return {
        name: dict(_OPEN) if _of(unknown, name) is True else value[name]
        for name in names
        if _of(unknown, name) is True or value.get(name) is not None
    }


def _reference(
    one: _Planned,
    expression: Any,  # noqa: ANN401 - JSON
    addresses: set[str],
) -> dict[str, Any]:
    references = _map(expression).get("references")
    for text in references if isinstance(references, list) else ():
        for address in (f"{one.module}{text}", f"{one.module}{text}[0]"):
            if address in addresses and address != one.address:
                return {"Fn::GetAtt": [address, "Name"]}
    return dict(_OPEN)


def _pascal(key: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in key.split("_"))


def _of(holder: Any, key: str) -> Any:  # noqa: ANN401 - JSON
    return holder.get(key) if isinstance(holder, Mapping) else None


def _at(holder: Any, index: int) -> Any:  # noqa: ANN401 - JSON
    if isinstance(holder, list):
        return holder[index] if index < len(holder) else None
    return holder


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: object) -> list[dict[str, Any]]:
    return (
        [each for each in value if isinstance(each, dict)]
        if isinstance(value, list)
        else []
    )
