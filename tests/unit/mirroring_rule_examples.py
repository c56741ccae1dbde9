"""
For each rule of mirrored images the smallest input that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ecr as ecr

from cdk_sagemaker_llm import (
    ImageRelease,
    ImageSource,
    MirroredImage,
    Network,
    find_image,
)

DIGEST = "sha256:18998be4e1276d4eb6e98afe80798aa357c1cc37545150de5c210bc9111beb1d"
VLLM = find_image("vllm", "0.20.2")


def mirrored(
    stack: Stack,
    *,
    image: ImageRelease = VLLM,
    digest: str | None = DIGEST,
    **more: object,
) -> MirroredImage:
    """
    Mirror an image with what else is given.
    """
    return MirroredImage(stack, "It", image=image, digest=digest, **more)  # type: ignore[arg-type] # each example breaks one of them


def _beside(stack: Stack) -> object:
    repository = ecr.Repository.from_repository_name(stack, "Mine", "mine")
    policy = RemovalPolicy.DESTROY
    return mirrored(stack, repository=repository, removal_policy=policy)


def _far(stack: Stack) -> object:
    arn = "arn:aws:ecr:eu-west-3:111111111111:repository/mine"
    repository = ecr.Repository.from_repository_arn(stack, "Mine", arn)
    return mirrored(stack, repository=repository)


MIRRORING: Mapping[str, Callable[[Stack], object]] = {
    "LLM741": partial(mirrored, digest=None),
    "LLM743": partial(mirrored, source=ImageSource.region("cn-north-1")),
    "LLM745": partial(
        mirrored,
        image=find_image("vllm", "0.28.0"),
        source=ImageSource.region("cn-north-1"),
    ),
    "LLM747": _far,
    "LLM749": _beside,
    "LLM751": partial(mirrored, network=Network(isolated=True)),
    "LLM841": partial(mirrored, image=find_image("vllm-server", "2")),
    "LLM843": partial(
        mirrored,
        image=find_image("djl-lmi", "0.36.0"),
        source=ImageSource.public_gallery(),
    ),
}
