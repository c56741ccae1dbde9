"""
A cloud assembly: its stacks, those of its stages too, and the tarballs beside them.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from cdk_sagemaker_llm.cli.app.assembly import (
    _SCHEMA,
    Stack,
    read_app,
    read_assembly,
    read_stacks,
    unknown_version,
)
from cdk_sagemaker_llm.cli.app.hosting import artifact_files, image_of
from cdk_sagemaker_llm.cli.app.intrinsics import resolve
from cdk_sagemaker_llm.cli.app.template_shapes import (
    AssemblyError,
    is_assembly,
    is_intrinsic,
    kind_of,
    text_of,
)
from cdk_sagemaker_llm.hosting.models.artifact import tarball

HASH = "ab" * 32
LMI = "djl-inference:0.26.0-tensorrtllm0.7.1-cu122"
TGI = "huggingface-pytorch-tgi-inference:2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04"


def write(folder: Path, name: str, content: object) -> None:
    """
    Write a JSON file into a folder, which is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def stack_artifact(name: str) -> dict[str, Any]:
    """
    Say where a stack's template is.
    """
    return {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": f"{name}.json"},
    }


def test_the_stacks_of_stages_are_read_too(tmp_path: Path) -> None:
    """
    In the order of the manifest, each with the folder that its assets are in.
    """
    inner = tmp_path / "assembly-Prod"
    stage = {
        "type": "cdk:cloud-assembly",
        "properties": {"directoryName": "assembly-Prod"},
    }
    artifacts = {
        "First": stack_artifact("First"),
        "Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}},
        "Prod": stage,
        "Last": stack_artifact("Last"),
    }
    write(tmp_path, "manifest.json", {"artifacts": artifacts})
    write(tmp_path, "First.json", {"Resources": {"A": {"Type": "X"}}})
    write(tmp_path, "Last.json", {})
    write(inner, "manifest.json", {"artifacts": {"Inner": stack_artifact("Inner")}})
    write(inner, "Inner.json", {"Resources": {"B": {"Type": "Y"}}})

    assert read_stacks(tmp_path) == [
        Stack("First", tmp_path, {"A": {"Type": "X"}}),
        Stack("Inner", inner, {"B": {"Type": "Y"}}),
        Stack("Last", tmp_path, {}),
    ]


def test_stacks_of_weak_references_are_read_as_one_app(tmp_path: Path) -> None:
    """
    By the stack's own name and the environment that the manifest tells.
    """
    network = stack_artifact("Network")
    network["properties"]["stackName"] = "net-of-us"
    network["environment"] = "aws://111111111111/us-east-1"
    model = stack_artifact("Model") | {"environment": network["environment"]}
    write(tmp_path, "manifest.json", {"artifacts": {"A": network, "B": model}})
    outputs = {"Key": {"Value": {"Ref": "Key"}}}
    resources = {"Key": {"Type": "AWS::KMS::Key"}}
    write(tmp_path, "Network.json", {"Resources": resources, "Outputs": outputs})
    reads = {"StackName": "net-of-us", "OutputName": "Key"}
    abroad = {**reads, "Region": "eu-west-1"}
    write(tmp_path, "Model.json", {})

    first, second = read_stacks(tmp_path)

    assert (first.deployed_name, second.deployed_name) == ("net-of-us", "B")
    assert first.region == second.region == "us-east-1"
    assert resolve(second, {"Fn::GetStackOutput": reads}) == "A/Key"
    assert resolve(second, {"Fn::GetStackOutput": abroad}) is None


def test_resources_are_found_by_their_kind() -> None:
    """
    A resource without properties has none; one of another service is not meant.
    """
    resources: dict[str, dict[str, Any]] = {
        "Mine": {"Type": "AWS::SageMaker::Model", "Properties": {"a": 1}},
        "Bare": {"Type": "AWS::SageMaker::Model"},
        "Other": {"Type": "AWS::S3::Model"},
        "Nothing": {},
    }
    stack = Stack("S", Path(), resources)

    assert list(stack.of_type("Model")) == [("Mine", {"a": 1}), ("Bare", {})]


def test_the_tarball_beside_the_template_is_unpacked(tmp_path: Path) -> None:
    """
    It is found by the hash in its address.
    """
    files = {"serving.properties": b"engine=MPI\n", "code/model.py": b"pass\n"}
    (tmp_path / f"asset.{HASH}.tar.gz").write_bytes(tarball(files))
    stack = Stack("S", tmp_path, {})
    container = {"ModelDataUrl": {"Fn::Sub": f"s3://bucket/{HASH}.gz"}}

    assert artifact_files(stack, container).files == files


@pytest.mark.parametrize(
    "address", ["", f"s3://bucket/{HASH}.gz", "s3://bucket/model.tar.gz"]
)
def test_a_tarball_that_is_not_there_holds_nothing(
    tmp_path: Path, address: str
) -> None:
    """
    It may be published already, or be somebody else's.
    """
    stack = Stack("S", tmp_path, {})

    assert artifact_files(stack, {"ModelDataUrl": address}).files == {}


def test_a_folder_under_the_tarballs_name_holds_nothing(tmp_path: Path) -> None:
    """
    The CDK stages folders under such names as well.
    """
    (tmp_path / f"asset.{HASH}").mkdir()
    stack = Stack("S", tmp_path, {})

    assert artifact_files(stack, {"ModelDataUrl": f"s3://bucket/{HASH}.gz"}).files == {}


@pytest.mark.parametrize(
    ("value", "text", "target"),
    [
        ("plain", "plain", None),
        (7, "7", None),
        ({"Ref": "It"}, "${It}", "It"),
        ({"Fn::GetAtt": ["It", "Arn"]}, "${It}", "It"),
        ({"Fn::GetAtt": "It.Arn"}, "${It}", "It"),
        ({"Fn::Join": ["-", ["a", {"Ref": "B"}, "c"]]}, "a-${B}-c", None),
        ({"Fn::Sub": "a-${B}"}, "a-${B}", None),
        ({"Fn::Sub": ["a-${B}", {"B": "x"}]}, "a-${B}", None),
        ({"Fn::ImportValue": "x"}, "${...}", None),
        (
            {"Fn::GetStackOutput": {"StackName": "S", "OutputName": "Name"}},
            "${S.Name}",
            None,
        ),
    ],
    ids=str,
)
def test_intrinsic_functions_are_read(
    value: object, text: str, target: str | None
) -> None:
    """
    As text with the references left in it, and as the resource that is meant.
    """
    stack = Stack("S", Path(), {"It": {}})

    assert text_of(value) == text
    assert resolve(stack, value) == (f"S/{target}" if target else None)


@pytest.mark.parametrize(
    ("image", "family"),
    [
        (f"763104351884.dkr.ecr.us-east-1.amazonaws.com/{TGI}", "huggingface-llm"),
        (
            {"Fn::Sub": "1.dkr.ecr.x/djl-inference:0.26.0-tensorrtllm0.7.1-cu122"},
            "djl-tensorrtllm",
        ),
        (
            "1.dkr.ecr.x/team/djl-inference:0.26.0-tensorrtllm0.7.1-cu122",
            "djl-tensorrtllm",
        ),
        ("1.dkr.ecr.x/djl-inference:mine", None),
        ("busybox", None),
        ("", None),
    ],
)
def test_an_image_is_recognised_by_repository_and_tag(
    image: object, family: str | None
) -> None:
    """
    Whoever's registry it is in; ``None`` for one of the user's.
    """
    found = image_of({"Image": image})

    assert (found.family if found else None) == family


def test_an_assembly_has_a_manifest(tmp_path: Path) -> None:
    """
    A folder of that name is none.
    """
    assert not is_assembly(tmp_path)
    (tmp_path / "manifest.json").mkdir()
    assert not is_assembly(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"manifest\.json is missing"),
        (b"{", r"manifest\.json is no JSON: "),
        (b"\xff", r"manifest\.json is no JSON: "),
        (b"[]", r"manifest\.json holds no JSON object"),
    ],
)
def test_fails_if_the_manifest_cannot_be_read(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    """
    The message names the file and what is wrong with it.
    """
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)

    with pytest.raises(AssemblyError, match=message):
        read_stacks(tmp_path)


NESTED = "AWS::CloudFormation::Stack"


def nested(path: str, **properties: object) -> dict[str, Any]:
    """
    Write a nested stack, whose template is named in its metadata.
    """
    return {
        "Type": NESTED,
        "Metadata": {"aws:asset:path": path},
        "Properties": properties,
    }


@pytest.mark.parametrize(
    ("environment", "region"),
    [
        ("aws://111111111111/us-east-1", "us-east-1"),
        ("aws://unknown-account/unknown-region", ""),
        ("", ""),
    ],
)
def test_a_stack_is_deployed_where_its_environment_says(
    environment: str, region: str, tmp_path: Path
) -> None:
    """
    And what is nested in it too, under no name of its own.
    """
    artifact = {**stack_artifact("It"), "environment": environment}
    write(tmp_path, "manifest.json", {"artifacts": {"A": artifact}})
    inner = nested("Inner.json", Parameters={"P": "x"})
    write(tmp_path, "It.json", {"Resources": {"In": inner}})
    write(tmp_path, "Inner.json", {"Resources": {"B": {"Type": "Y"}}})
    outer, within = read_stacks(tmp_path)

    assert (outer.name, outer.deployed_name, outer.region) == ("A", "A", region)
    assert (within.name, within.deployed_name, within.region) == ("A/In", "", region)
    assert (within.parent, within.parameters) == (outer, {"P": "x"})
    assert (within.template, within.folder) == (tmp_path / "Inner.json", tmp_path)
    assert outer.nested == {"In": within}
    assert outer.peers == within.peers == [outer, within]
    assert within.resources == {"B": {"Type": "Y"}}
    assert outer.template == tmp_path / "It.json"


def test_what_an_app_exports_is_known_to_all_its_stacks(tmp_path: Path) -> None:
    """
    By the name of the export, of nested stacks and of stages too.
    """
    outputs = {
        "Key": {"Value": {"Ref": "Key"}, "Export": {"Name": "the-key"}},
        "Own": {"Value": "x"},
        "Odd": "x",
        "Open": {"Value": "y", "Export": {"Name": {"Fn::Sub": "${A}-y"}}},
    }
    write(tmp_path, "manifest.json", {"artifacts": {"A": stack_artifact("It")}})
    write(
        tmp_path,
        "It.json",
        {"Resources": {"In": nested("In.json")}, "Outputs": outputs},
    )
    write(tmp_path, "In.json", {"Outputs": {"B": {"Export": {"Name": "inner"}}}})
    found = read_assembly(tmp_path)
    outer, within = found.stacks

    assert found.exports == {
        "the-key": (outer, {"Ref": "Key"}),
        "${A}-y": (outer, "y"),
        "inner": (within, None),
    }
    assert outer.exports is within.exports is found.exports
    assert outer.outputs == outputs
    assert outer.content["Outputs"] == outputs


def test_what_a_stage_lacks_is_told_with_the_rest(tmp_path: Path) -> None:
    """
    Its faults, the templates that are not there, and its exports.
    """
    inner = tmp_path / "assembly-Prod"
    stage = {
        "type": "cdk:cloud-assembly",
        "properties": {"directoryName": "assembly-Prod"},
    }
    write(tmp_path, "manifest.json", {"artifacts": {"Prod": stage}})
    artifacts = {"A": stack_artifact("A"), "B": stack_artifact("B")}
    write(inner, "manifest.json", {"artifacts": artifacts})
    out = {"X": {"Value": 1, "Export": {"Name": "x"}}}
    content = {"Resources": {"Gone": {"Type": NESTED}}, "Outputs": out}
    write(inner, "A.json", content)
    found = read_app(tmp_path)

    assert [one.name for one in found.stacks] == ["A"]
    assert found.unopened == ["A/Gone"]
    assert found.faults == [f"{inner / 'B.json'} is missing"]
    assert list(found.exports) == ["x"]
    with pytest.raises(AssemblyError, match="B.json is missing$"):
        read_stacks(tmp_path)


def test_all_that_cannot_be_read_is_told_together(tmp_path: Path) -> None:
    """
    A line each, where everything must be read.
    """
    artifacts = {"A": stack_artifact("A"), "B": stack_artifact("B"), "C": 5}
    write(tmp_path, "manifest.json", {"artifacts": artifacts})
    with pytest.raises(AssemblyError) as raised:
        read_stacks(tmp_path)

    assert str(raised.value).splitlines() == [
        f"{tmp_path / 'A.json'} is missing",
        f"{tmp_path / 'B.json'} is missing",
        f"{tmp_path / 'manifest.json'}: C must be a map, got a number",
    ]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Host.template.json", "Host"),
        ("Host.json", "Host"),
        ("Host.template", "Host"),
        ("a.b.template.json", "a.b"),
    ],
)
def test_a_template_alone_is_an_app_of_one_stack(
    file: str, name: str, tmp_path: Path
) -> None:
    """
    Named after its file.
    """
    write(tmp_path, file, {"Resources": {"A": {"Type": "X"}}})
    (stack,) = read_app(tmp_path / file).stacks

    assert stack == Stack(name, tmp_path, {"A": {"Type": "X"}})
    assert stack.template == tmp_path / file


def test_what_is_neither_is_told_what_to_name(tmp_path: Path) -> None:
    """
    A folder, and a file.
    """
    with pytest.raises(AssemblyError) as raised:
        read_app(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path} holds no manifest.json; name what cdk synth has written, or one "
        "template"
    )
    write(tmp_path, "x.json", {})
    with pytest.raises(AssemblyError) as raised:
        read_app(tmp_path / "x.json")
    assert str(raised.value) == (
        f"{tmp_path / 'x.json'} is no template: it has no Resources; name what cdk "
        "synth has written, or one template"
    )


@pytest.mark.parametrize(
    ("written", "known", "is_told"),
    [
        (f"{_SCHEMA}.0.0", "1.0.0", False),
        (f"{_SCHEMA + 1}.0.0", f"{_SCHEMA}.0.0", True),
        (f"{_SCHEMA + 1}.0.0", f"{_SCHEMA + 1}.0.0", False),
        (f"{_SCHEMA + 1}.5.0", f"{_SCHEMA + 1}.0.0", False),
        (f"{_SCHEMA + 2}", f"{_SCHEMA + 1}.9.9", True),
        (None, "1.0.0", False),
        ("next", "1.0.0", False),
        (f"{_SCHEMA + 1}.0.0", "next", True),
    ],
)
def test_a_newer_form_than_the_installed_ones_is_told(
    written: str | None,
    known: str,
    is_told: bool,  # noqa: FBT001 - a table
    tmp_path: Path,
) -> None:
    """
    By the first of its numbers.
    """
    write(tmp_path, "manifest.json", {} if written is None else {"version": written})
    with mock.patch.object(metadata, "version", return_value=known) as version:
        found = unknown_version(tmp_path)

    assert found == (
        f"manifest.json is of version {written}, and the installed CDK writes {known}: "
        "what is new in it is not seen"
        if is_told
        else ""
    )
    for call in version.call_args_list:
        assert call.args == ("aws-cdk.cloud-assembly-schema",)


def test_without_the_cdk_no_form_is_newer(tmp_path: Path) -> None:
    """
    Nothing tells it.
    """
    write(tmp_path, "manifest.json", {"version": "999.0.0"})
    absent = metadata.PackageNotFoundError()
    with mock.patch.object(metadata, "version", side_effect=absent):
        assert unknown_version(tmp_path) == ""


def test_an_asset_is_found_beside_the_stage_or_above(tmp_path: Path) -> None:
    """
    As far up as there are assemblies.
    """
    inner = tmp_path / "out" / "assembly-Prod"
    for folder in (tmp_path / "out", inner):
        write(folder, "manifest.json", {})
    stack, url = Stack("S", inner, {}), f"https://s3/assets/{HASH}.json"
    assert stack.asset(url) is None
    (tmp_path / f"asset.{HASH}.txt").write_text("beyond")
    assert stack.asset(url) is None
    above, beside = tmp_path / "out" / f"asset.{HASH}.gz", inner / f"asset.{HASH}.gz"
    above.write_text("above")
    assert stack.asset(url) == above
    beside.write_text("beside")
    assert stack.asset({"Fn::Sub": url}) == beside
    assert stack.asset(url.replace("/" + HASH, "/x" + HASH)) is None
    assert stack.asset(url.removesuffix(".json")) is None


def test_a_nested_template_is_found_by_the_manifests_of_assets(tmp_path: Path) -> None:
    """
    Whichever of them has it; what they say otherwise is passed over.
    """
    write(tmp_path, "manifest.json", {"artifacts": {"A": stack_artifact("It")}})
    url = f"https://s3/assets/{HASH}.json"
    stacks = {
        "In": {"Type": NESTED, "Properties": {"TemplateURL": url}},
        "No": {"Type": NESTED, "Properties": {"TemplateURL": "https://s3/x.json"}},
    }
    write(tmp_path, "It.json", {"Resources": stacks})
    write(tmp_path, "In.json", {"Resources": {"B": {"Type": "Y"}}})
    odd = {"files": {"x": 5, HASH: {"source": {"path": 5}}}}
    write(tmp_path, "A.assets.json", odd)
    write(tmp_path, "B.assets.json", {"files": [1]})
    assert read_app(tmp_path).unopened == ["A/In", "A/No"]
    files = {"odd": 5, HASH: {"source": {"path": "In.json"}}}
    write(tmp_path, "C.assets.json", {"files": files})
    found = read_app(tmp_path)

    assert [one.name for one in found.stacks] == ["A", "A/In"]
    assert found.unopened == ["A/No"]


def test_a_template_may_be_nested_twice_but_not_in_itself(tmp_path: Path) -> None:
    """
    However far around.
    """
    write(tmp_path, "manifest.json", {"artifacts": {"A": stack_artifact("It")}})
    write(
        tmp_path,
        "It.json",
        {"Resources": {"One": nested("In.json"), "Two": nested("In.json")}},
    )
    write(tmp_path, "In.json", {"Resources": {"Deep": nested("Deep.json")}})
    write(tmp_path, "Deep.json", {"Resources": {"Again": nested("It.json")}})
    found = read_app(tmp_path)

    assert [one.name for one in found.stacks] == [
        "A",
        "A/One",
        "A/One/Deep",
        "A/Two",
        "A/Two/Deep",
    ]
    assert (
        found.faults
        == [f"{tmp_path / 'Deep.json'}: Again must not be nested in itself"] * 2
    )


@pytest.mark.parametrize("directory", [".", "..", "../.."])
def test_a_stage_is_a_folder_within(directory: str, tmp_path: Path) -> None:
    """
    Neither the assembly's own nor one around it.
    """
    stage = {"type": "cdk:cloud-assembly", "properties": {"directoryName": directory}}
    write(tmp_path / "a" / "b", "manifest.json", {"artifacts": {"S": stage}})
    found = read_app(tmp_path / "a" / "b")

    assert found.faults == [
        (
            f"{tmp_path / 'a' / 'b' / 'manifest.json'}: artifacts.S.properties: "
            "directoryName must be a folder within"
        )
    ]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "true or false"),
        (False, "true or false"),
        ({}, "a map"),
        ([], "a list"),
        ("", "text"),
        (0, "a number"),
        (1.5, "a number"),
    ],
)
def test_a_json_value_is_called_what_it_is(value: object, kind: str) -> None:
    """
    In the words of messages.
    """
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"Ref": "A"}, True),
        ({"Condition": "A"}, True),
        ({"Fn::If": []}, True),
        ({"Fn": 1}, False),
        ({"Ref": "A", "B": 1}, False),
        ({}, False),
        ("Ref", False),
        (["Ref"], False),
        (None, False),
    ],
)
def test_what_cloudformation_computes_has_one_key(
    value: object,
    is_one: bool,  # noqa: FBT001 - a table
) -> None:
    """
    Of a function's name.
    """
    assert is_intrinsic(value) is is_one
