"""
Tests of images and weights that are in another region than the model.
"""

from __future__ import annotations

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LlmEndpoint,
    MirroredImage,
    S3Model,
    StagedModel,
    Vllm,
    find_image,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = HuggingFaceModel("Qwen/Qwen3-0.6B", revision=COMMIT)
HOME, AWAY = "us-east-1", "us-west-2"


def a_stack(app: App, name: str, region: str | None) -> Stack:
    """
    Return a stack for a region of one account.
    """
    return Stack(app, name, env=Environment(account="123456789012", region=region))


def serve(stack: Stack, model: HuggingFaceModel | S3Model, **more: object) -> None:
    """
    Serve a model there.
    """
    LlmEndpoint(
        stack,
        "Llm",
        model=model,
        instance_type="ml.g6.xlarge",
        **more,  # type: ignore[arg-type] # what serves it
    )


@pytest.mark.parametrize(("region", "is_far"), [(HOME, False), (AWAY, True)])
def test_weights_are_staged_in_the_models_region(region: str, *, is_far: bool) -> None:
    """
    Whatever stack they are staged in.
    """
    app = App()
    stack = a_stack(app, "Weights", HOME)
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    weights = StagedModel(stack, "Weights", model=MODEL, bucket=bucket)
    if not is_far:
        serve(a_stack(app, "Llm", region), weights.model)
        return
    with pytest.raises(
        ValueError,
        match="LLM797 the staged weights must be in the model's own region us-west-2, "
        "got us-east-1; stage them there",
    ):
        serve(a_stack(app, "Llm", region), weights.model)


@pytest.mark.parametrize(
    ("region", "is_far"), [(HOME, False), (AWAY, True), (None, False)]
)
def test_an_image_is_of_the_models_region(region: str | None, *, is_far: bool) -> None:
    """
    As far as that is known; one of the catalogue is in each region that lists it.
    """
    uri = f"222222222222.dkr.ecr.{HOME}.amazonaws.com/team/vllm:1"
    stack = a_stack(App(), "Llm", region)
    serving = CustomContainer.from_uri(uri)
    if not is_far:
        serve(stack, MODEL, serving=serving)
        return
    with pytest.raises(
        ValueError,
        match="LLM797 the image must be in the model's own region us-west-2, got "
        "us-east-1; copy it there with MirroredImage",
    ):
        serve(stack, MODEL, serving=serving)


def test_a_copy_is_run_where_it_is() -> None:
    """
    Its repository has no name that another region's stack could refer to.
    """
    app = App()
    copy = MirroredImage(
        a_stack(app, "Image", HOME),
        "Image",
        image=find_image("vllm", "0.20.2"),
        digest=f"sha256:{'0' * 64}",
    )
    with pytest.raises(ValueError, match="LLM797 the image .*, got us-east-1"):
        serve(
            a_stack(app, "Llm", AWAY), MODEL, serving=Vllm("0.20.2", image=copy.image)
        )
    serve(a_stack(app, "Near", HOME), MODEL, serving=Vllm("0.20.2", image=copy.image))


def test_what_is_put_there_by_others_is_not_judged() -> None:
    """
    A deployment writes into a bucket of any region.
    """
    app = App()
    deployment = s3.Bucket(a_stack(app, "Deployment", HOME), "Bucket")
    model = S3Model("s3://bucket/prefix/", depends_on=deployment)
    serve(a_stack(app, "Llm", AWAY), model)
