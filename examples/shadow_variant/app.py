"""
A setting on trial: a shadow gets copies of half the requests, on instances of its own.

Its answers are dropped; its latency and errors are published under its variant's name,
and the answers of both are kept, to compare them.
"""

from aws_cdk import Acknowledgment, App, RemovalPolicy, Stack, Validations
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_sagemaker_llm import (
    DataCapture,
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    ShadowVariant,
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
# checkov:skip=CKV_AWS_18: the account logs who reads and writes, by CloudTrail
# checkov:skip=CKV_AWS_21: each capture has a key of its own, and none is overwritten
class TrialStack(Stack):
    """
    Zephyr-7B, and beside it Zephyr-7B with smaller batches.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        captured = s3.Bucket(
            self,
            "Captured",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            removal_policy=RemovalPolicy.RETAIN,
        )
        logged = Acknowledgment(
            id="AwsSolutions-S1",
            reason="the account logs who reads and writes, by CloudTrail",
        )
        Validations.of(captured).acknowledge(logged)
        LlmEndpoint(
            self,
            "Chat",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            serving=LmiVllm(max_rolling_batch_size=64),
            instance_type="ml.g5.2xlarge",
            shadow=ShadowVariant(serving=LmiVllm(max_rolling_batch_size=16), share=0.5),
            data_capture=DataCapture(bucket=captured, prefix="chat"),
        )


app = App()
TrialStack(app, "Trial")
app.synth()
