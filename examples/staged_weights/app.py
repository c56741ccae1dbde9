"""
Weights in a bucket of one's own: one commit, brought there by the deployment.

The endpoint has no token and no way out. The bucket is of another stack, so that what
was brought outlives an endpoint, and a deployment that failed goes on where it was.
"""

from aws_cdk import (
    Acknowledgment,
    App,
    CfnOutput,
    RemovalPolicy,
    Stack,
    Validations,
)
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    Network,
    StagedModel,
    Vllm,
)

MODEL = HuggingFaceModel(
    "Qwen/Qwen3-0.6B", revision="c1899de289a04d12100db370d81485cdf75e47ca"
)
LOGGED = "the account logs who reads and writes, by CloudTrail"


# checkov:skip=CKV_AWS_18: the account logs who reads and writes, by CloudTrail
# checkov:skip=CKV_AWS_21: each commit has a prefix of its own; nothing is overwritten
class BucketStack(Stack):
    """
    A bucket that stays.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.bucket = s3.Bucket(
            self,
            "Models",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        Validations.of(self.bucket).acknowledge(
            Acknowledgment(id="AwsSolutions-S1", reason=LOGGED)
        )


# checkov:skip=CKV_AWS_115: the function is called by deployments alone
# checkov:skip=CKV_AWS_116: CloudFormation and EventBridge call it again where it fails
# checkov:skip=CKV_AWS_117: the function talks to AWS alone
# checkov:skip=CKV_AWS_158: logs tell names of files and how fast they came
class ModelStack(Stack):
    """
    Qwen3-0.6B from that bucket, cut off from all networks.
    """

    def __init__(self, scope: Construct, id: str, bucket: s3.IBucket) -> None:
        super().__init__(scope, id)
        weights = StagedModel(
            self,
            "Weights",
            model=MODEL,
            bucket=bucket,
            # A mirror of the Hub, where the company has one.
            hub_url=self.node.try_get_context("hub_url"),
        )
        endpoint = LlmEndpoint(
            self,
            "Endpoint",
            model=weights.model,
            serving=Vllm(max_model_len=8192),
            instance_type="ml.g6.xlarge",
            network=Network(isolated=True),
            # Or the engine looks for the Hub, which nothing reaches from here.
            environment={"HF_HUB_OFFLINE": "1"},
        )
        CfnOutput(self, "EndpointName", value=endpoint.endpoint_name)


app = App()
models = BucketStack(app, "Models")
ModelStack(app, "Model", models.bucket)
app.synth()
