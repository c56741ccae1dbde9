"""
The functions of templates, resolved: moto's resolver, what it lacks or gets wrong, and
dynamic references.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.parsing import ResourceMap, clean_json
from moto.ssm.models import ssm_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.build_runs import secret_text
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Resource,
    ResourceError,
    Scope,
)

_DOTTED_ATTRIBUTE = re.compile(r"\$\{(\w+)\.(\w+\.[\w.]+)\}")
_STACK_OUTPUT = "Fn::GetStackOutput"
_NOTIFICATIONS = {"Ref": "AWS::NotificationARNs"}
_ADDRESS_BITS = {4: 32, 6: 128}
_REFERENCE = re.compile(r"\{\{resolve:(secretsmanager|ssm|ssm-secure):([^}]+)\}\}")
_SECRET = re.compile(
    r"(?P<id>arn:[^:]+:secretsmanager:[^:]+:\d+:secret:[^:]+|[^:]+)"
    r"(?::SecretString(?::(?P<key>[^:]*)(?::(?P<stage>[^:]*)(?::(?P<version>.*))?)?)?)?"
)


class EmbeddedResourceMap(ResourceMap):
    """
    moto's resolver, which looks resources up and never makes one on the way.
    """

    def __init__(self, *args: Untyped, **kwargs: Untyped) -> None:
        super().__init__(*args, **kwargs)
        # moto writes the commercial partition into every region.
        partition = get_partition(self._region_name)
        suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
        self._parsed_resources["AWS::Partition"] = partition
        self._parsed_resources["AWS::URLSuffix"] = suffix
        self.made: dict[str, Resource] = {}
        # What other stacks had to give when this stack was made or changed: their
        # later changes do not reach it.
        self._read: dict[tuple[str, str, str], str] = {}
        self._functions = {**_FUNCTIONS, _STACK_OUTPUT: self._stack_output}

    def __getitem__(self, key: str) -> Untyped:
        if key in self.made:
            return self.made[key]
        if key in self._parsed_resources:
            return self._parsed_resources[key]
        raise ResourceError(f"Unresolved resource dependencies [{key}] in the template")

    def get(self, key: str, default: Untyped = None) -> Untyped:
        return self.made.get(key, default)

    def validate_outputs(self) -> None:
        """
        Leave outputs alone: moto knows the attributes of its own types only.
        """

    def parse_ssm_parameter(self, value: str, value_type: str) -> str:
        """
        Read a parameter of an SSM type; moto fails on one that is not there.
        """
        try:
            return super().parse_ssm_parameter(value, value_type)
        except AttributeError as error:
            raise ValidationError(
                message=f"Unable to fetch parameters [{value}] from parameter store "
                "for this account."
            ) from error

    def resolve(self, value: Untyped) -> Untyped:
        """
        Resolve intrinsic functions; what ``AWS::NoValue`` stood for is gone.
        """
        return _without_none(clean_json(self._with_missing_functions(value), self))

    def _with_missing_functions(self, value: Untyped) -> Untyped:
        if isinstance(value, list):
            return [self._with_missing_functions(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "Fn::GetAZs" in value:
            # moto makes zones out of whatever stands in it, a Ref included.
            return [f"{self._region_name}{letter}" for letter in "abc"]
        if value == _NOTIFICATIONS:
            return []
        for name, function in self._functions.items():
            if name in value:
                return function(self.resolve(value[name]))
        inside = {k: self._with_missing_functions(v) for k, v in value.items()}
        if "Fn::Select" in inside:
            index, items = map(self.resolve, inside["Fn::Select"])
            if isinstance(items, list) and not 0 <= int(index) < len(items):
                raise ValidationError(
                    message="Template error: Fn::Select cannot select nonexistent "
                    f"value at index {int(index)}"
                )
        return inside

    def _stack_output(self, arguments: dict[str, str]) -> str:
        role = arguments.get("RoleArn")
        # It is a role of the account that the other stack is in.
        if role and f":{self._account_id}:" not in role:
            raise ResourceError(
                f"not emulated: {_STACK_OUTPUT} of another account, got {role}"
            )
        region = arguments.get("Region", self._region_name)
        key = region, arguments["StackName"], arguments["OutputName"]
        if key not in self._read:
            self._read[key] = _output(self._account_id, *key)
        return self._read[key]


def _output(account: str, region: str, stack_name: str, name: str) -> str:
    for stack in cloudformation_backends[account][region].stacks.values():
        if stack_name in (stack.name, stack.stack_id):
            for output in stack.outputs or ():
                if output["OutputKey"] == name:
                    return str(output["OutputValue"])
            raise ResourceError(
                f"{_STACK_OUTPUT}: stack {stack_name} in {region} has no output {name}"
            )
    raise ResourceError(
        f"{_STACK_OUTPUT}: Stack with id {stack_name} does not exist in {region}"
    )


def with_whole_attributes(value: Untyped) -> Untyped:
    """
    Write the names of attributes with dots, ``Outputs.Name``, as moto reads them.
    """
    if isinstance(value, list):
        return [with_whole_attributes(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "Fn::GetAtt" in value:
        path = value["Fn::GetAtt"]
        words = path.split(".") if isinstance(path, str) else path
        return {"Fn::GetAtt": [words[0], ".".join(words[1:])]}
    if isinstance(value.get("Fn::Sub"), str):
        return {"Fn::Sub": _with_named_attributes(value["Fn::Sub"])}
    return {key: with_whole_attributes(item) for key, item in value.items()}


def _with_named_attributes(text: str) -> Untyped:
    names: dict[str, Any] = {}

    def sub_name(match: re.Match[str]) -> str:
        resource, attribute = match.groups()
        name = f"{resource}{attribute}".replace(".", "")
        names[name] = {"Fn::GetAtt": [resource, attribute]}
        return f"${{{name}}}"

    replaced = _DOTTED_ATTRIBUTE.sub(sub_name, text)
    return [replaced, names] if names else text


def _without_none(value: Untyped) -> Untyped:
    if isinstance(value, list):
        return [_without_none(item) for item in value if item is not None]
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    return value


def _blocks(arguments: list[Any]) -> list[str]:
    block, count = ipaddress.ip_network(arguments[0]), int(arguments[1])
    bits = int(arguments[2]) if len(arguments) > 2 else 8  # noqa: PLR2004 - optional
    prefix = _ADDRESS_BITS[block.version] - bits
    subnets = block.subnets(new_prefix=prefix)
    return [str(subnet) for subnet, _ in zip(subnets, range(count), strict=False)]


_FUNCTIONS: dict[str, Callable[[Untyped], Untyped]] = {
    "Fn::Cidr": _blocks,
    "Fn::Length": len,
}


def reveal(value: Untyped, scope: Scope) -> Untyped:
    """
    Replace every dynamic reference in a value by what it stands for.
    """
    if isinstance(value, dict):
        return {key: reveal(item, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item, scope) for item in value]
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _revealed(found[1], found[2], scope), value)
    return value


def _revealed(service: str, path: str, scope: Scope) -> str:
    if service != "secretsmanager":
        found = ssm_backends[scope.account][scope.region].get_parameter(path)
        if found is None:
            raise ResourceError(
                f"Could not resolve {{{{resolve:ssm:{path}}}}}: Systems Manager has no "
                "such parameter."
            )
        return str(found.value)
    reference = _SECRET.fullmatch(path)
    if reference is None:
        raise ResourceError(f"Incorrect format is used in {path}")
    try:
        return secret_text(scope.account, scope.region, reference)
    except KeyError as error:
        raise ResourceError(
            f"Could not find a value associated with JSONKey '{reference['key']}' in "
            "SecretString"
        ) from error
    except LookupError as error:
        raise ResourceError(
            f"Could not resolve {{{{resolve:secretsmanager:{path}}}}}: Secrets Manager "
            "can't find the specified secret."
        ) from error
