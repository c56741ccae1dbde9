"""
TensorRT-LLM engines compiled ahead of time: the endpoint loads what was compiled once.

LMI's own script compiles them in the image, and on the instance type, that will serve
them; without it every new instance compiles for itself before it answers.

The model is gated: deploy ``Engines``, put a token of the Hub into its secret, and
deploy ``Mistral``. A key of yours encrypts both, and what no stack wants is removed.
"""

from aws_cdk import (
    Acknowledgment,
    App,
    CfnOutput,
    RemovalPolicy,
    Stack,
    Validations,
)
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    StagedModel,
    TensorRtLlm,
)

TYPE = "ml.g5.12xlarge"
LOGGED = "the account logs who reads and writes, by CloudTrail"
BY_HAND = "the Hub hands out its tokens by hand, and nothing can rotate them"


# checkov:skip=CKV_AWS_18: the account logs who reads and writes, by CloudTrail
# checkov:skip=CKV_AWS_21: each commit has a prefix of its own; nothing is overwritten
class EnginesStack(Stack):
    """
    What outlives the endpoint: a key, a bucket and the Hub's token.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        key = kms.Key(self, "Key", enable_key_rotation=True)
        self.bucket = s3.Bucket(
            self,
            "Models",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=True,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        self.token = secretsmanager.Secret(
            self,
            "Token",
            description="A token of the Hugging Face Hub",
            encryption_key=key,
        )
        Validations.of(self.bucket).acknowledge(
            Acknowledgment(id="AwsSolutions-S1", reason=LOGGED)
        )
        Validations.of(self.token).acknowledge(
            Acknowledgment(id="AwsSolutions-SMG4", reason=BY_HAND)
        )
        CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        CfnOutput(self, "TokenSecret", value=self.token.secret_name)


# checkov:skip=CKV_AWS_115: the function is called by deployments alone
# checkov:skip=CKV_AWS_116: CloudFormation and EventBridge call it again where it fails
# checkov:skip=CKV_AWS_117: the function talks to AWS alone
# checkov:skip=CKV_AWS_158: logs tell names of files and how fast they came
# checkov:skip=CKV_AWS_370: LMI fetches engines from S3 itself, which isolation cuts off
class MistralStack(Stack):
    """
    Mistral 7B over four GPUs, as it was compiled for them.
    """

    def __init__(self, scope: Construct, id: str, shared: EnginesStack) -> None:
        super().__init__(scope, id)
        engines = StagedModel(
            self,
            "Engines",
            model=HuggingFaceModel(
                "mistralai/Mistral-7B-v0.1",
                revision="27d67f1b5f57dc0953326b2601d68371d40ea8da",
                token=shared.token,
            ),
            bucket=shared.bucket,
            compile=TensorRtLlm(
                "0.30.0",
                tensor_parallel_degree=4,
                max_rolling_batch_size=32,
                max_input_len=3072,
                max_output_len=1024,
            ),
            instance_type=TYPE,
            removal_policy=RemovalPolicy.DESTROY,
            # A mirror of the Hub, where the company has one.
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


app = App()
MistralStack(app, "Mistral", EnginesStack(app, "Engines"))
app.synth()
