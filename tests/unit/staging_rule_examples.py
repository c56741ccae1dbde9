"""
For each rule of staged models the smallest input that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from aws_cdk import Duration, SecretValue, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LlmEndpoint,
    Network,
    NeuronX,
    ServingConfiguration,
    StagedModel,
    TensorRtLlm,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def staged(
    stack: Stack,
    model: HuggingFaceModel | None = None,
    *,
    region: str | None = None,
    **more: object,
) -> StagedModel:
    """
    Stage a model with what else is given.
    """
    bucket = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="bucket", region=region
    )
    return StagedModel(
        stack,
        "It",
        bucket=bucket,
        model=model or HuggingFaceModel("gpt2", revision=COMMIT),
        **more,  # type: ignore[arg-type] # each example breaks one of them
    )


ENGINES = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
PINNED = HuggingFaceModel("mistralai/Mistral-7B-v0.1", revision=COMMIT)
compiled = partial(staged, model=PINNED, compile=ENGINES)


def _served(
    serving: ServingConfiguration | None, type_name: str
) -> Callable[..., object]:
    """
    Serve engines that were compiled for four A10G.
    """

    def define(stack: Stack) -> object:
        made = compiled(stack, instance_type="ml.g5.12xlarge")
        return LlmEndpoint(
            stack,
            "Llm",
            model=made.model,
            serving=serving or made.serving,
            instance_type=type_name,
        )

    return define


STAGING: Mapping[str, Callable[[Stack], object]] = {
    "LLM761": partial(staged, model=HuggingFaceModel("gpt2", revision="main")),
    "LLM763": partial(staged, region="eu-west-3"),
    "LLM765": partial(staged, folder="/models"),
    "LLM767": partial(
        staged,
        model=HuggingFaceModel(
            "gpt2", revision=COMMIT, token=SecretValue.ssm_secure("token", "1")
        ),
    ),
    "LLM769": partial(staged, timeout=Duration.hours(12)),
    "LLM771": partial(staged, include=[""]),
    "LLM773": partial(staged, network=Network(isolated=True)),
    "LLM775": _served(ENGINES, "ml.g5.12xlarge"),
    "LLM777": _served(None, "ml.g6.12xlarge"),
    "LLM779": partial(compiled, instance_type="ml.inf2.48xlarge"),
    "LLM781": compiled,
    "LLM783": partial(staged, compute_type=codebuild.ComputeType.LAMBDA_10GB),
    "LLM785": partial(staged, hub_url="hub.example.com"),
    "LLM787": partial(staged, instance_type="ml.g5.xlarge"),
    "LLM789": partial(
        staged, build_image=codebuild.WindowsBuildImage.WIN_SERVER_CORE_2019_BASE_3_0
    ),
    "LLM791": lambda stack: staged(stack, model=HuggingFaceModel("a/模型")),
    "LLM793": partial(
        compiled,
        compile=NeuronX("0.26.0", tensor_parallel_degree=2),
        instance_type="ml.trn1.2xlarge",
    ),
    "LLM795": lambda stack: LlmEndpoint(
        stack,
        "Llm",
        model=PINNED,
        serving=NeuronX("0.28.0", tensor_parallel_degree=2, precompiled=True),
        instance_type="ml.trn1.2xlarge",
    ),
    "LLM797": lambda stack: LlmEndpoint(
        stack,
        "Llm",
        model=PINNED,
        serving=CustomContainer.from_uri(
            "222222222222.dkr.ecr.eu-west-3.amazonaws.com/team/vllm:1"
        ),
        instance_type="ml.g5.2xlarge",
    ),
    "LLM861": partial(
        staged,
        model=HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1", revision=COMMIT),
        timeout=Duration.minutes(5),
    ),
    "LLM867": lambda stack: staged(
        stack,
        network=Network(
            vpc=ec2.Vpc(
                stack,
                "Vpc",
                nat_gateways=0,
                subnet_configuration=[
                    ec2.SubnetConfiguration(
                        name="closed", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
                    )
                ],
            )
        ),
    ),
    "LLM865": partial(
        staged,
        model=HuggingFaceModel("meta-llama/Llama-2-70b-hf", revision=COMMIT),
        compile=TensorRtLlm("0.30.0"),
        instance_type="ml.g5.xlarge",
    ),
}
