"""
Reading a synthesised app: the SageMaker resources in its cloud assembly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.cli.app.template_shapes import (
    MANIFEST,
    AssemblyError,
    check_intrinsics,
    check_resource,
    is_assembly,
    map_in,
    read_json,
    text_in,
    text_of,
)
from cdk_sagemaker_llm.cli.app.terraform import is_plan, resources_of

NESTED = "AWS::CloudFormation::Stack"
# The form that this was written for; only of newer ones the installed CDK is asked,
# which costs a tenth of a check.
_SCHEMA = 55
_ASSET_PATH = "aws:asset:path"
_HASH = re.compile(r"/([0-9a-f]{64})\.")
_ANY_HASH = re.compile(r"\b[0-9a-f]{64}\b")

Exports = dict[str, tuple["Stack", object]]


@dataclass(frozen=True, slots=True)
class Stack:
    """
    A stack's resources by logical id, and where its assets are.

    Args:
        name: Its name; a nested one's stands behind that of the stack around it.

        parameters: The parameters that the stack around it passes.

        deployed_name: What CloudFormation calls it; empty for a nested one's.

        region: Where it is deployed; empty if the app does not say.

        account: To which account; empty likewise.

        peers: Every stack of its app or stage.

        metadata: What the assembly says of each construct, by the path; a nested
            stack has that of the stack around it.
    """

    name: str
    folder: Path
    resources: Mapping[str, Mapping[str, Any]]
    template: Path = field(default=Path(), compare=False)
    outputs: Mapping[str, Any] = field(default_factory=dict, compare=False)
    parent: Stack | None = field(default=None, compare=False, repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)
    nested: dict[str, Stack] = field(default_factory=dict, compare=False, repr=False)
    exports: Exports = field(default_factory=dict, compare=False, repr=False)
    content: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    deployed_name: str = field(default="", compare=False)
    region: str = field(default="", compare=False)
    account: str = field(default="", compare=False)
    peers: list[Stack] = field(default_factory=list, compare=False, repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def of_type(
        self, kind: str, service: str = "SageMaker"
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """
        Return id and properties of every resource of ``AWS::<service>::<kind>``.
        """
        for name, resource in self.resources.items():
            if resource.get("Type") == f"AWS::{service}::{kind}":
                yield name, resource.get("Properties", {})

    def asset(self, address: object) -> Path | None:
        """
        Find the asset that an address in the template stands for; ``None`` if it did
        not travel with the assembly.
        """
        match = _HASH.search(text_of(address))
        if match is None:
            return None
        # What stacks of a stage ship is kept beside the stage's own folder.
        for place in (self.folder, *self.folder.parents):
            found = sorted(place.glob(f"asset.{match[1]}*"))
            if found:
                return found[0] if found[0].is_file() else None
            if not is_assembly(place.parent):
                return None
        return None


@dataclass(frozen=True, slots=True)
class Assembly:
    """
    What could be read of a cloud assembly, and what could not.

    Args:
        stacks: Every stack, each before those that are nested in it.

        unopened: Nested stacks whose template is not in the assembly, by name.
    """

    stacks: list[Stack] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    unopened: list[str] = field(default_factory=list)
    exports: Exports = field(default_factory=dict)


def read_app(path: Path) -> Assembly:
    """
    Read what can be read of a cloud assembly, or of a single template.
    """
    return read_assembly(path) if is_assembly(path) else read_template(path)


def read_stacks(path: Path) -> list[Stack]:
    """
    Read every stack of a cloud assembly, those of its stages and nested ones too.
    """
    found = read_assembly(path)
    if found.faults:
        raise AssemblyError("\n".join(found.faults))
    return found.stacks


def read_assembly(path: Path) -> Assembly:
    """
    Read what can be read of a cloud assembly.
    """
    found = Assembly()
    file = path / MANIFEST
    artifacts = map_in(read_json(file), "artifacts", str(file))
    for name in artifacts:
        try:
            _read_artifact(found, path, name, map_in(artifacts, name, str(file)))
        except AssemblyError as fault:
            found.faults.append(str(fault))
    return found


def read_template(path: Path) -> Assembly:
    """
    Read what can be read of a single template, or of a Terraform plan, as if it were an
    app of one stack.
    """
    if path.is_dir():
        raise AssemblyError(
            f"{path} holds no {MANIFEST}; name what cdk synth has written, or one "
            "template"
        )
    content = read_json(path)
    if is_plan(content):
        content = {"Resources": resources_of(content)}
    if "Resources" not in content:
        raise AssemblyError(
            f"{path} is no template: it has no Resources; name what cdk synth has "
            "written, or one template"
        )
    found = Assembly()
    name = path.name.removesuffix(".json").removesuffix(".template")
    _read_content(found, Stack(name, path.parent, {}, path), content)
    return found


def unknown_version(path: Path) -> str:
    """
    Say that a cloud assembly is written in a newer form than the installed CDK's; empty
    if it is not, or if that is not known.
    """
    written = str(read_json(path / MANIFEST).get("version", ""))
    if _major(written) <= _SCHEMA:
        return ""
    from importlib import metadata  # noqa: PLC0415 - slow to load

    try:
        schema_version = metadata.version("aws-cdk.cloud-assembly-schema")
    except metadata.PackageNotFoundError:
        return ""
    if _major(written) <= _major(schema_version):
        return ""
    return (
        f"{MANIFEST} is of version {written}, and the installed CDK writes "
        f"{schema_version}: what is new in it is not seen"
    )


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdecimal() else 0


def _read_artifact(
    found: Assembly, path: Path, name: str, artifact: Mapping[str, Any]
) -> None:
    where = f"{path / MANIFEST}: artifacts.{name}"
    details = map_in(artifact, "properties", where)
    where = f"{where}.properties"
    if artifact.get("type") == "aws:cloudformation:stack":
        template = path / text_in(details, "templateFile", where)
        outline = Stack(
            name,
            path,
            {},
            template,
            deployed_name=str(details.get("stackName", name)),
            region=_region(str(artifact.get("environment", ""))),
            account=_account(str(artifact.get("environment", ""))),
            metadata=_metadata(path, artifact),
        )
        _read_content(found, outline, read_json(template))
    elif artifact.get("type") == "cdk:cloud-assembly":
        folder = path / text_in(details, "directoryName", where)
        if folder.resolve() in (path.resolve(), *path.resolve().parents):
            raise AssemblyError(f"{where}: directoryName must be a folder within")
        inner = read_assembly(folder)
        found.stacks.extend(inner.stacks)
        found.faults.extend(inner.faults)
        found.unopened.extend(inner.unopened)
        # Names of exports are those of an account's region: stages are not told apart.
        found.exports.update(inner.exports)


def _metadata(path: Path, artifact: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return what an assembly says of the constructs of a stack: in its manifest, or, as
    newer releases of the CDK write it, in a file of its own.
    """
    found = artifact.get("metadata")
    file = artifact.get("additionalMetadataFile")
    try:
        further = read_json(path / file) if isinstance(file, str) else {}
    except AssemblyError:
        # It says where things are; what is wrong with them is known without it.
        further = {}
    return {**(found if isinstance(found, dict) else {}), **further}


def _region(environment: str) -> str:
    """
    Return the region of ``aws://account/region``.
    """
    region = environment.rpartition("/")[2]
    return "" if region == "unknown-region" else region


def _account(environment: str) -> str:
    account = environment.removeprefix("aws://").partition("/")[0]
    return "" if account == "unknown-account" else account


def _read_content(found: Assembly, outline: Stack, content: Mapping[str, Any]) -> Stack:
    where = str(outline.template)
    resources = {}
    for name, resource in map_in(content, "Resources", where).items():
        try:
            check_resource(resource, f"{where}: Resources.{name}")
        except AssemblyError as fault:
            found.faults.append(str(fault))
        else:
            resources[name] = resource
    outputs = map_in(content, "Outputs", where)
    check_intrinsics(outputs, f"{where}: Outputs")
    stack = replace(
        outline,
        resources=resources,
        outputs=outputs,
        exports=found.exports,
        content=content,
        peers=found.stacks,
    )
    found.stacks.append(stack)
    for output in outputs.values():
        if isinstance(output, Mapping) and isinstance(output.get("Export"), Mapping):
            name = text_of(output["Export"].get("Name"))
            found.exports[name] = stack, output.get("Value")
    for name, resource in resources.items():
        if resource.get("Type") == NESTED:
            _read_nested(found, stack, name, resource)
    return stack


def _read_nested(
    found: Assembly, stack: Stack, name: str, resource: Mapping[str, Any]
) -> None:
    full_name = f"{stack.name}/{name}"
    file = _nested_template(stack, resource)
    if file is None:
        found.unopened.append(full_name)
        return
    parameters = resource.get("Properties", {}).get("Parameters", {})
    template = stack.folder / file
    if template in _templates_around(stack):
        found.faults.append(f"{stack.template}: {name} must not be nested in itself")
        return
    outline = Stack(
        full_name,
        stack.folder,
        {},
        template,
        parent=stack,
        parameters=parameters,
        region=stack.region,
        metadata=stack.metadata,
    )
    try:
        stack.nested[name] = _read_content(found, outline, read_json(template))
    except AssemblyError as fault:
        found.faults.append(str(fault))


def _templates_around(stack: Stack | None) -> Iterator[Path]:
    while stack is not None:
        yield stack.template
        stack = stack.parent


def _nested_template(stack: Stack, resource: Mapping[str, Any]) -> str | None:
    path = resource.get("Metadata", {}).get(_ASSET_PATH)
    if isinstance(path, str):
        return path
    # Without metadata the assets' manifest says which file a hash stands for.
    url = resource.get("Properties", {}).get("TemplateURL", "")
    match = _HASH.search(text_of(url))
    for manifest in sorted(stack.folder.glob("*.assets.json")) if match else ():
        files = _files_of(manifest)
        if match and match[1] in files:
            return files[match[1]]
    return None


def _files_of(manifest: Path) -> Mapping[str, str]:
    try:
        files = map_in(read_json(manifest), "files", str(manifest))
        return {
            name: text_in(map_in(file, "source", name), "path", name)
            for name, file in files.items()
            if isinstance(file, dict)
        }
    except AssemblyError:
        # It only helps to find a template; what it misses is told of as unopened.
        return {}


def masked(template: str) -> str:
    """
    Mask the hashes of assets in a template's text, which change with every line of the
    assets' files.
    """
    return _ANY_HASH.sub("<asset hash>", template)
