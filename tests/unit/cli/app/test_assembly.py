"""
A cloud assembly: its stacks, those of its stages too, and the tarballs beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.assembly import Stack, read_stacks
from cdk_sagemaker_llm.cli.app.hosting import artifact_files, image_of
from cdk_sagemaker_llm.cli.app.intrinsics import resolve
from cdk_sagemaker_llm.cli.app.template_shapes import (
    AssemblyError,
    is_assembly,
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
