"""
Writes the twin of an app: the same stacks on the CDK's L1 classes.

It is the program that a careful engineer would write without this library: a typed call
for each resource, with the file assets made beforehand, references as tokens, and each
token asked for once. It makes the same templates, which a test holds.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aws_cdk import CfnResource

from benchmarks.twin_values import Json, Values

_HEAD = """\
from aws_cdk import App, Aws, CfnDeletionPolicy, CfnMapping, CfnOutput, CfnParameter
from aws_cdk import CfnResource, CfnTag, Environment, Fn, Stack
"""
# What the CDK adds to each template by itself.
_OWN = {"BootstrapVersion", "CheckBootstrapVersion"}
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_HANDLED = {
    "Type",
    "Properties",
    "DependsOn",
    "DeletionPolicy",
    "UpdateReplacePolicy",
    "Metadata",
}
_SECTIONS = {
    "Description",
    "Resources",
    "Mappings",
    "Parameters",
    "Outputs",
    "Rules",
}


class TwinError(ValueError):
    """
    A template has something that no twin can be written of yet.
    """


def write_twin(assembly: Path) -> str:
    """
    Return the program that makes the same stacks as an assembly.
    """
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    stacks = {
        name: each
        for name, each in artifacts.items()
        if each["type"] == "aws:cloudformation:stack"
    }
    lines: list[str] = []
    modules: set[str] = set()
    for number, (name, stack) in enumerate(stacks.items()):
        template = json.loads(
            (assembly / stack["properties"]["templateFile"]).read_text()
        )
        one = _Stack(f"stack_{number}", template, _files(assembly, name))
        modules |= one.modules
        lines.append(f"{one.name} = Stack(app, {name!r}{_settings(stack, template)})")
        lines += one.lines()
    for name, stack in stacks.items():
        for other in stack.get("dependencies", ()):
            if other in stacks:
                mine, its = (list(stacks).index(each) for each in (name, other))
                lines.append(f"stack_{mine}.add_stack_dependency(stack_{its})")
    imports = [f"from aws_cdk import {module}" for module in sorted(modules)]
    return "\n".join([_HEAD, *imports, "", "app = App()", *lines, "app.synth()", ""])


def templates(assembly: Path) -> dict[str, Json]:
    """
    Return the templates of an assembly, with its files under one name.

    The hash of a file is the library's own of its contents, and the CDK's of its bytes.
    What a resource waits for has no order; the CDK writes it by the constructs' paths.
    """
    return {
        path.name: json.loads(_HASH.sub("FILE", path.read_text()), object_hook=_sorted)
        for path in sorted(assembly.glob("*.template.json"))
    }


def _sorted(part: Json) -> Json:
    waits = part.get("DependsOn")
    return {**part, "DependsOn": sorted(waits)} if isinstance(waits, list) else part


def _settings(stack: Json, template: Json) -> str:
    account, region = stack["environment"].removeprefix("aws://").split("/")
    settings = ""
    if not account.startswith("unknown") or not region.startswith("unknown"):
        known = {"account": account, "region": region}
        words = [f"{k}={v!r}" for k, v in known.items() if not v.startswith("unknown")]
        settings += f", env=Environment({', '.join(words)})"
    if "Description" in template:
        settings += f", description={template['Description']!r}"
    return settings


def _files(assembly: Path, stack: str) -> dict[str, Path]:
    path = assembly / f"{stack}.assets.json"
    found = json.loads(path.read_text())["files"]
    sources = {name: assembly / each["source"]["path"] for name, each in found.items()}
    return {n: p for n, p in sources.items() if not p.name.endswith(".template.json")}


class _Stack:
    """
    One stack of a twin.
    """

    def __init__(self, name: str, template: Json, files: dict[str, Path]) -> None:
        if unknown := template.keys() - _SECTIONS:
            raise TwinError(f"templates with {', '.join(sorted(unknown))}")
        self.name = name
        self.modules: set[str] = {"aws_s3_assets"} if files else set()
        self._template = template
        self._paths = files
        self._files = {each: f"{name}_file_{n}" for n, each in enumerate(files)}
        self._resources = {
            each: (f"{name}_{each}", self._class_of(given["Type"]))
            for each, given in template["Resources"].items()
        }
        parameters = template.get("Parameters", {}).keys() - _OWN
        self._parameters = {each: (f"{name}_{each}", None) for each in parameters}
        known = {**self._resources, **self._parameters}
        self._values = Values(known, self._files)

    def _class_of(self, kind: str) -> Any:  # noqa: ANN401 - a class of the CDK's
        owner, service, *rest = kind.split("::")
        if owner != "AWS":
            return CfnResource
        (resource,) = rest
        module = f"aws_{service.lower()}"
        self.modules.add(module)
        return getattr(importlib.import_module(f"aws_cdk.{module}"), f"Cfn{resource}")

    def lines(self) -> Iterator[str]:
        """
        Write the stack's statements, each after those that it needs.
        """
        for each, path in self._paths.items():
            # Those of a stack begin alike.
            words = f"{self.name}, 'File{each[-8:]}', path={str(path)!r}"
            yield f"{self._files[each]} = aws_s3_assets.Asset({words})"
        for each in self._parameters:
            words = ", ".join(
                f"{_snake(key)}={value!r}"
                for key, value in self._template["Parameters"][each].items()
            )
            yield f"{self.name}_{each} = CfnParameter({self.name}, {each!r}, {words})"
        for each, mapping in self._template.get("Mappings", {}).items():
            yield f"CfnMapping({self.name}, {each!r}, mapping={mapping!r})"
        for each in self._ordered():
            yield from self._resource(each)
        for each, given in self._template.get("Outputs", {}).items():
            words = f"value={self._values.write(given['Value'])}"
            if "Export" in given:
                words += f", export_name={self._values.write(given['Export']['Name'])}"
            if "Description" in given:
                words += f", description={given['Description']!r}"
            yield from self._asked()
            yield f"CfnOutput({self.name}, {each!r}, {words})"

    def _resource(self, each: str) -> Iterator[str]:
        given = self._template["Resources"][each]
        if unknown := given.keys() - _HANDLED:
            raise TwinError(f"resources with {', '.join(sorted(unknown))}")
        variable, owner = self._resources[each]
        properties = given.get("Properties", {})
        words = [self.name, repr(each)]
        if owner is CfnResource:
            maker = owner.__name__
            words.append(f"type={given['Type']!r}")
            words.append(f"properties={self._values.write(properties)}")
        else:
            maker = f"{owner.__module__.rpartition('.')[2]}.{owner.__name__}"
            words += self._values.keywords(owner, properties)
        yield from self._asked()
        yield f"{variable} = {maker}({', '.join(words)})"
        for other in given.get("DependsOn", ()):
            yield f"{variable}.add_resource_dependency({self._resources[other][0]})"
        for key in ("DeletionPolicy", "UpdateReplacePolicy"):
            if key in given:
                policy = _snake(given[key]).upper()
                option = f"{variable}.cfn_options.{_snake(key)}"
                yield f"{option} = CfnDeletionPolicy.{policy}"
        for key, value in given.get("Metadata", {}).items():
            yield f"{variable}.add_metadata({key!r}, {value!r})"

    def _asked(self) -> Iterator[str]:
        yield from self._values.lines
        self._values.lines.clear()

    def _ordered(self) -> list[str]:
        waiting = dict(self._template["Resources"])
        ordered: list[str] = []
        while waiting:
            each = next(
                name
                for name, given in waiting.items()
                if not _named(given) & (waiting.keys() - {name})
            )
            ordered.append(each)
            del waiting[each]
        return ordered


def _named(value: Json) -> set[str]:
    """
    Return the logical ids that a resource refers to.
    """
    if isinstance(value, list):
        return {name for each in value for name in _named(each)}
    if not isinstance(value, dict):
        return set()
    found = {name for each in value.values() for name in _named(each)}
    if "Ref" in value:
        found.add(str(value["Ref"]))
    if isinstance(value.get("Fn::GetAtt"), list):
        found.add(str(value["Fn::GetAtt"][0]))
    depends = value.get("DependsOn", [])
    return found | set(depends if isinstance(depends, list) else ())


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
