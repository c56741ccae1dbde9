"""
Tarballs under every synthesizer that the CDK's own file assets work with.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import (
    App,
    BootstraplessSynthesizer,
    CliCredentialsStackSynthesizer,
    DefaultStackSynthesizer,
    LegacyStackSynthesizer,
    Stack,
    Stage,
)

from cdk_sagemaker_llm import HuggingFaceModel, Model, ServingArtifact, TensorRtLlm
from cdk_sagemaker_llm.hosting.models.artifact import tarball


def artifact_of(stack: Stack) -> ServingArtifact:
    """
    Define a model with a tarball.
    """
    model = HuggingFaceModel("org/name")
    artifact = Model(stack, "It", serving=TensorRtLlm("0.26.0"), model=model).artifact
    assert artifact is not None
    return artifact


def acme() -> DefaultStackSynthesizer:
    """
    The modern synthesizer, with a bootstrap stack of the company's own.
    """
    return DefaultStackSynthesizer(qualifier="acme")


def in_a_stage(app: App) -> Stack:
    """
    Define a stack with a synthesizer of its own inside a Stage.
    """
    return Stack(Stage(app, "Prod"), "S", synthesizer=acme())


def by_the_apps_default(app: App) -> Stack:
    """
    Define a stack of an app that chooses the synthesizer for all.
    """
    other = App(outdir=app.outdir, default_stack_synthesizer=acme())
    return Stack(other, "S")


@pytest.mark.parametrize(
    ("define", "bucket"),
    [
        (lambda app: Stack(app, "S"), "cdk-hnb659fds-assets-"),
        (lambda app: Stack(app, "S", synthesizer=acme()), "cdk-acme-assets-"),
        (
            lambda app: Stack(app, "S", synthesizer=CliCredentialsStackSynthesizer()),
            "cdk-hnb659fds-assets-",
        ),
        (in_a_stage, "cdk-acme-assets-"),
        (by_the_apps_default, "cdk-acme-assets-"),
    ],
    ids=["none", "own", "cli-credentials", "in-a-stage", "by-default"],
)
def test_the_tarball_is_in_the_synthesizers_manifest(
    app: App, define: Callable[[App], Stack], bucket: str
) -> None:
    """
    It is published to that synthesizer's bucket, under the key that is referred to.
    """
    stack = define(app)
    artifact = artifact_of(stack)
    uri = json.dumps(stack.resolve(artifact.s3_uri))
    app = stack.node.root  # type: ignore[assignment] # the root of a tree is an App
    folder = Path(app.synth().directory)

    (manifest,) = folder.rglob("*S*.assets.json")
    files = json.loads(manifest.read_text())["files"].values()
    (entry,) = [f for f in files if f["source"]["path"].endswith(".tar.gz")]
    (destination,) = entry["destinations"].values()
    assert destination["bucketName"].startswith(bucket)
    assert f"/{destination['objectKey']}" in uri
    assert bucket in uri
    written = manifest.parent / entry["source"]["path"]
    assert written.read_bytes() == tarball(artifact.files)


def test_a_legacy_stack_gets_it_by_parameters(app: App) -> None:
    """
    Its bucket and key are known to the CLI only.
    """
    stack = Stack(app, "S", synthesizer=LegacyStackSynthesizer())
    artifact = artifact_of(stack)
    uri = json.dumps(stack.resolve(artifact.s3_uri))
    assembly = app.synth()

    (template,) = Path(assembly.directory).glob("S.template.json")
    parameters = json.loads(template.read_text())["Parameters"]
    assert uri.count("AssetParameters") == 3
    assert len([name for name in parameters if "S3Bucket" in name]) == 1
    (written,) = Path(assembly.directory).glob("asset.*.tar.gz")
    assert written.read_bytes() == tarball(artifact.files)


def test_two_stacks_share_one_synthesizer(app: App) -> None:
    """
    The CDK binds a copy for each.
    """
    shared = acme()
    for name in ("One", "Two"):
        stack = Stack(app, name, synthesizer=shared)
        artifact_of(stack)
    folder = Path(app.synth().directory)

    for name in ("One", "Two"):
        manifest = (folder / f"{name}.assets.json").read_text()
        assert manifest.count(".tar.gz") >= 1


def test_fails_where_the_cdk_itself_has_no_assets(app: App) -> None:
    """
    In the CDK's own words.
    """
    stack = Stack(app, "S", synthesizer=BootstraplessSynthesizer())

    with pytest.raises(RuntimeError, match="CannotAddAssetsStackUses"):
        artifact_of(stack)
