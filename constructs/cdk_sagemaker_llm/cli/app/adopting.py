"""
An adopted app, tried before it is written: what its constructs refuse is written
otherwise, and what they say otherwise than what exists is set.
"""

from __future__ import annotations

import json
import re
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.adoption.app import AdoptedApp, Setting, setting_lines
from cdk_sagemaker_llm.adoption.code import imports
from cdk_sagemaker_llm.adoption.deployment import Deployment, Remark
from cdk_sagemaker_llm.adoption.resources import (
    ENDPOINT,
    POLICY,
    TARGET_KEY,
    AdoptedResource,
    differences,
)
from cdk_sagemaker_llm.adoption.writing import Block, pascal
from cdk_sagemaker_llm.cli.app.assembly import Stack as TemplateStack
from cdk_sagemaker_llm.cli.app.intrinsics import evaluate
from cdk_sagemaker_llm.text import redacted

if TYPE_CHECKING:
    from aws_cdk import CfnResource, Stack

MAPPING = "import.json"
_UNPACKED = "its files lie in assets/, and nothing packs and uploads them"
_MOST_TRIES = 20
# By which a resource of the template is told from others.
_WITH_PATHS = {"aws:cdk:enable-path-metadata": True}
_LONGEST_REMARK = 300
_WARNING = "aws:cdk:warning"
_CODE = re.compile(r" ?\[ack: cdk-sagemaker-llm:(LLM\d+)\]")
# How the constructs update an endpoint, which no description shows.
_OF_UPDATES = frozenset(
    {
        "ExcludeRetainedVariantProperties",
        "RetainAllVariantProperties",
        "RetainDeploymentConfig",
    }
)


@dataclass(frozen=True, slots=True)
class Adopted:
    """
    An app as it is to be written.

    Args:
        files: Its files by their paths.

        remarks: What has to be known of it.

        resources: What it makes, by the logical ids.
    """

    files: Mapping[str, bytes]
    remarks: tuple[Remark, ...]
    resources: Mapping[str, AdoptedResource]


def adopted(deployment: Deployment) -> Adopted:
    """
    Return the app that makes a deployment, resource for resource and property for
    property.

    Args:
        deployment: What was read.

    Raises:
        ValueError: If there is nothing to adopt, or the app makes something else.
    """
    if not any(True for _ in deployment.requests):
        raise ValueError("nothing was found to adopt")
    app = AdoptedApp(deployment)
    choices: dict[str, int] = {}
    refusals: dict[str, list[str]] = {}
    for _ in range(_MOST_TRIES + 2 * len(app.writer.blocks)):
        trial = _Trial(app, choices, refusals)
        if trial.is_right():
            break
    else:
        raise ValueError(f"the app does not come to what exists: {trial.left}")
    app.remarks = {
        block.id: [*refusals.get(block.id, ()), *trial.warnings.get(block.id, ())]
        for block in app.writer.blocks
    }
    for block in app.writer.blocks:
        if app.writer.is_plain(block) and any(
            one.request.files for one in block.resources
        ):
            app.remarks[block.id].append(_UNPACKED)
    files = dict(app.files())
    if app.exists:
        files[MAPPING] = app.mapping(trial.logical_ids).encode()
    remarks = [*deployment.remarks, *app.writer.remarks()]
    remarks += _by_words({**app.remarks, "the stack": trial.warnings.get("", [])})
    return Adopted(files, tuple(remarks), trial.logical_ids)


def _by_words(remarks: Mapping[str, Sequence[str]]) -> list[Remark]:
    """
    Return each remark once, with everything that it is about.
    """
    places: dict[str, list[str]] = {}
    for place, rows in remarks.items():
        for remark in rows:
            places.setdefault(remark, []).append(place)
    return [Remark(", ".join(names), remark) for remark, names in places.items()]


@dataclass(slots=True)
class _Trial:
    """
    The app's stack, made in this process by the lines that are to be written.
    """

    app: AdoptedApp
    choices: dict[str, int]
    refusals: dict[str, list[str]]
    warnings: dict[str, list[str]] = field(default_factory=dict)
    logical_ids: dict[str, AdoptedResource] = field(default_factory=dict)
    left: str = ""
    _claims: dict[str, tuple[Block, str, AdoptedResource]] = field(default_factory=dict)
    _template: dict[str, Any] = field(default_factory=dict)

    def is_right(self) -> bool:
        """
        Make the stack; note what has to be written otherwise, and return whether
        nothing has to.
        """
        from aws_cdk import App, DefaultStackSynthesizer, Environment, Stack  # noqa: PLC0415 - takes most of a second

        deployment = self.app.deployment
        with tempfile.TemporaryDirectory() as folder:
            cdk_app = App(outdir=folder, analytics_reporting=False, context=_WITH_PATHS)
            stack = Stack(
                cdk_app,
                self.app.stack_name,
                env=Environment(
                    account=deployment.account or None, region=deployment.region or None
                ),
                synthesizer=DefaultStackSynthesizer(
                    generate_bootstrap_version_rule=False
                ),
            )
            self.app.start(self.choices)
            if not self._make(stack):
                return False
            try:
                cdk_app.synth()
            except RuntimeError as fault:
                return self._refused_at_synth(str(fault))
            written = Path(folder)
            text = (written / f"{self.app.stack_name}.template.json").read_text("utf-8")
            self._template = json.loads(text)
            self._read_warnings(written)
        return self._compare()

    def _make(self, stack: Stack) -> bool:
        """
        Run the lines of each block; begin anew where one was half made.
        """
        names: dict[str, Any] = {"self": stack, "_HERE": _NoFiles()}
        variables: set[str] = set()
        for block in self.app.writer.blocks:
            is_made = False
            while not is_made:
                lines = self.app.lines_of(block)
                self._run(self.app.given_lines(variables), names)
                try:
                    self._run(lines, names)
                except Exception as fault:
                    if "already a Construct" in str(fault):
                        # The form before was half made when it was refused.
                        return False
                    if self._is_last(block):
                        raise ValueError(f"{block.id}: {fault}") from fault
                    self._refuse(block, str(fault))
                else:
                    is_made = True
            for expression, resource in self.app.writer.form(block).claims:
                made: CfnResource = eval(expression, names)  # noqa: S307 - of our own lines
                self._claims[made.node.path] = block, expression, resource
        if self.app.late:
            self._run(setting_lines(self.app.late), names)
        return True

    def _run(self, lines: list[str], names: dict[str, Any]) -> None:
        code = textwrap.dedent("\n".join(lines))
        for argument in self.app.writer.arguments:
            # One that nothing takes is warned of.
            if argument not in names and re.search(rf"\b{argument}\b", code):
                names[argument] = _stand_in(names["self"], argument)
        exec("\n".join([*imports(code), code]), names)  # noqa: S102 - our own lines

    def _is_last(self, block: Block) -> bool:
        return self.app.writer.is_plain(block)

    def _refuse(self, block: Block, why: str) -> None:
        number = self.app.writer.choices.get(block.id, 0) + 1
        self.choices[block.id] = self.app.writer.choices[block.id] = number
        # What set a construct's properties is of that construct.
        self.app.settings.pop(block.id, None)
        if why:
            self.refusals.setdefault(block.id, []).append(f"Refused: {_shortened(why)}")

    def _refused_at_synth(self, fault: str) -> bool:
        for path, (block, _, _) in self._claims.items():
            place = path.rpartition("/")[0]
            if f"[{place}" in fault and not self._is_last(block):
                self._refuse(block, fault)
                return False
        raise ValueError(fault)

    def _read_warnings(self, folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        artifact = manifest["artifacts"][self.app.stack_name]
        metadata = artifact.get("metadata") or {}
        if "additionalMetadataFile" in artifact:
            further = (folder / artifact["additionalMetadataFile"]).read_text("utf-8")
            metadata = {**metadata, **json.loads(further)}
        for path, rows in metadata.items():
            for row in rows:
                code = _CODE.search(str(row.get("data")))
                if row["type"] != _WARNING or code is None:
                    continue
                block = self._owner(path.strip("/"))
                found = self.warnings.setdefault("" if block is None else block.id, [])
                remark = f"{code[1]}: {_shortened(_CODE.sub('', str(row['data'])))}"
                if remark not in found:
                    found.append(remark)

    def _owner(self, path: str) -> Block | None:
        """
        Return the block whose construct is at a path, or above it.
        """
        # CloudFormation's own class is the construct itself, and has none around it.
        places = {
            claimed.removesuffix("/Resource"): block
            for claimed, (block, _, _) in self._claims.items()
        }
        while path:
            if path in places:
                return places[path]
            path = path.rpartition("/")[0]
        return None

    def _compare(self) -> bool:
        """
        Hold each resource of the app against the one that exists.
        """
        paths = {
            body.get("Metadata", {}).get("aws:cdk:path", name): name
            for name, body in self._template["Resources"].items()
        }
        self.logical_ids = {
            paths[path]: resource for path, (_, _, resource) in self._claims.items()
        }
        is_right = True
        for path in paths.keys() - self._claims.keys():
            block = self._owner(path)
            kind = self._template["Resources"][paths[path]]["Type"]
            if block is None or self._is_last(block):
                raise ValueError(f"the app makes {kind} at {path}, which is not there")
            self._refuse(block, f"it would make {kind} as well, which is not there")
            is_right = False
        if not is_right:
            return False
        for path, (block, expression, resource) in self._claims.items():
            body = self._template["Resources"][paths[path]]
            found = self._plain(body.get("Properties") or {}, resource)
            settings = [
                Setting(
                    expression,
                    ".".join(where),
                    self._set_value(where, value, resource),
                )
                for where, value in differences(_properties_of(resource), found)
            ]
            if not settings:
                continue
            is_right = False
            self.left = f"{path} in {', '.join(one.path for one in settings)}"
            if block.id in self.app.settings:
                # Another block changes it again.
                self.app.late += settings
            else:
                self.app.settings.setdefault(block.id, []).extend(settings)
        return is_right

    def _set_value(
        self, where: tuple[str, ...], value: object, resource: AdoptedResource
    ) -> object:
        made = self.app.writer.value(value, resource.name)
        return self.app.writer.actions(made) if where == ("AlarmActions",) else made

    def _plain(
        self, properties: Mapping[str, Any], resource: AdoptedResource
    ) -> dict[str, Any]:
        """
        Return properties with what references to the app's resources come to.
        """
        nothing = TemplateStack(name=self.app.stack_name, folder=Path(), resources={})
        found: dict[str, Any] = evaluate(nothing, self._filled(properties))
        if resource.request.files:
            # They are packed and uploaded with the app.
            found.get("PrimaryContainer", {}).pop("ModelDataUrl", None)
        target = found.pop("ScalingTargetId", None)
        if resource.type == POLICY and isinstance(target, str):
            found |= dict(zip(TARGET_KEY, target.split("|"), strict=True))
        if resource.type == ENDPOINT:
            found = {k: v for k, v in found.items() if k not in _OF_UPDATES}
        return _in_order(found)

    def _filled(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, list):
            return [self._filled(one) for one in value]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1:
            ((function, argument),) = value.items()
            if function == "Ref":
                return self._referred(str(argument), value)
            if function == "Fn::GetAtt" and argument[0] in self.logical_ids:
                owner = self.logical_ids[argument[0]]
                is_arn = str(argument[1]).endswith("Arn")
                return owner.physical_id if is_arn else owner.name
        return {key: self._filled(one) for key, one in value.items()}

    def _referred(self, name: str, value: Any) -> Any:  # noqa: ANN401 - JSON
        if name in self.logical_ids:
            return self.logical_ids[name].physical_id
        deployment = self.app.deployment
        pseudo_parameters = {
            "AWS::AccountId": deployment.account,
            "AWS::Region": deployment.region,
            "AWS::Partition": _partition(deployment),
        }
        return pseudo_parameters.get(name) or value


class _NoFiles:
    """
    Stands for the app's folder, which is not written yet.
    """

    def __truediv__(self, path: str) -> _NoFiles:
        return self

    def read_bytes(self) -> bytes:
        return b""


def _stand_in(stack: Stack, name: str) -> str:
    """
    Return what stands for an argument, whose value the app's user gives.
    """
    from aws_cdk import CfnParameter  # noqa: PLC0415 - as above

    return CfnParameter(stack, pascal(name)).value_as_string


def _properties_of(resource: AdoptedResource) -> dict[str, Any]:
    return _in_order(dict(resource.properties))


def _in_order(properties: dict[str, Any]) -> dict[str, Any]:
    # Tags and dimensions are sets, whatever order they are kept in.
    for name, key in (("Tags", "Key"), ("Dimensions", "Name")):
        rows = properties.get(name)
        if isinstance(rows, list):
            properties[name] = sorted(rows, key=lambda row: str(row.get(key)))
    return properties


def _partition(deployment: Deployment) -> str:
    arns = (one.arn for one in deployment.requests if one.arn)
    return next(arns, "arn:aws").split(":")[1]


def _shortened(text: str) -> str:
    plain = redacted(" ".join(text.split()))
    if len(plain) <= _LONGEST_REMARK:
        return plain
    return f"{plain[:_LONGEST_REMARK].rpartition(' ')[0]} ..."
