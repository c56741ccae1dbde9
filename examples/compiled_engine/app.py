"""
TensorRT-LLM engines compiled ahead of time: the endpoint loads what was compiled once.

LMI's own script compiles them in the image, and on the instance type, that will serve
them; without it every new instance compiles for itself before it answers.
"""

from aws_cdk import App, CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    StagedModel,
    TensorRtLlm,
)

MODEL = HuggingFaceModel(
    "HuggingFaceH4/zephyr-7b-beta",
    revision="892b3d7a7b1cf10c7a701c60881cd93df615734c",
)
TYPE = "ml.g5.12xlarge"


class BucketStack(Stack):
    """
    A bucket that stays.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.bucket = s3.Bucket(
            self,
            "Engines",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN,
        )


class ModelStack(Stack):
    """
    Zephyr 7B over four GPUs, as it was compiled for them.
    """

    def __init__(self, scope: Construct, id: str, bucket: s3.IBucket) -> None:
        super().__init__(scope, id)
        engines = StagedModel(
            self,
            "Engines",
            model=MODEL,
            bucket=bucket,
            compile=TensorRtLlm(
                "0.30.0",
                tensor_parallel_degree=4,
                max_rolling_batch_size=32,
                max_input_len=3072,
                max_output_len=1024,
            ),
            instance_type=TYPE,
            hub_url=self.node.try_get_context("hub_url"),
        )
        endpoint = LlmEndpoint(
            self,
            "Endpoint",
            model=engines.model,
            serving=engines.serving,
            instance_type=TYPE,
        )
        CfnOutput(self, "EndpointName", value=endpoint.endpoint_name)
        CfnOutput(self, "Manifest", value=engines.manifest_uri)


app = App()
engines = BucketStack(app, "Engines")
ModelStack(app, "Zephyr", engines.bucket)
app.synth()
