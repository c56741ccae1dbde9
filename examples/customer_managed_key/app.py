"""
One key of the company's for all that lies still: weights, adapters, volumes, captured
requests, answers and notifications.

Which of them a key can encrypt depends on the instance type: types with NVMe storage
encrypt it by themselves, with a key that nobody has, and SageMaker refuses ``kms_key``
there. Graviton's storage is a volume, which takes one.
"""

from aws_cdk import (
    Acknowledgment,
    App,
    CfnOutput,
    RemovalPolicy,
    Size,
    Stack,
    Validations,
)
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_sagemaker_llm import (
    AsyncInference,
    DataCapture,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlamaCpp,
    LlmEndpoint,
    LoraAdapter,
    S3Model,
    Tgi,
    Vllm,
)

LOGGED = "the account logs who reads and writes, by CloudTrail"


class KeyStack(Stack):
    """
    The key, and the bucket for what is captured: both outlive the models.

    A key's policy that lets the account decide, as the CDK writes it, is all that is
    needed here: each role is granted what it may do with the key. With a policy that
    names principals, add the roles that ``sagemaker-llm permissions`` prints.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.key = kms.Key(
            self,
            "Key",
            description="Language models: weights, requests and answers",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        self.captured = s3.Bucket(
            self,
            "Captured",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            bucket_key_enabled=True,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            removal_policy=RemovalPolicy.RETAIN,
        )
        Validations.of(self.captured).acknowledge(
            Acknowledgment(id="AwsSolutions-S1", reason=LOGGED)
        )


# checkov:skip=CKV_AWS_18: the account logs who reads and writes, by CloudTrail
# checkov:skip=CKV_AWS_21: each object has a key of its own, and none is overwritten
# checkov:skip=CKV_AWS_370: weights of the quantized model come from the Hub
class EncryptedStack(Stack):
    """
    A model on NVMe storage, one on a volume that answers from a queue, and an adapter.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        key: kms.IKey,
        captured: s3.IBucket,
        weights: str,
    ) -> None:
        super().__init__(scope, id)
        chat = LlmEndpoint(
            self,
            "Chat",
            model=S3Model(f"s3://{weights}/mistral-7b/", kms_key=key),
            serving=Tgi("3.3.6", max_total_tokens=8192),
            instance_type="ml.g5.2xlarge",
            data_capture=DataCapture(bucket=captured, sampling_percent=10),
        )
        CfnOutput(self, "ChatName", value=chat.endpoint_name)
        self._answer_later(key)
        self._adapt(key, weights)

    def _answer_later(self, key: kms.IKey) -> None:
        topic = sns.Topic(self, "Answers", master_key=key, enforce_ssl=True)
        batch = LlmEndpoint(
            self,
            "Batch",
            model=HuggingFaceModel("Qwen/Qwen3-4B-GGUF:Q4_K_M"),
            serving=LlamaCpp(processor="arm64", ctx_size=8192, parallel=2),
            instance_type="ml.c7g.4xlarge",
            volume_size=Size.gibibytes(30),
            kms_key=key,
            async_inference=AsyncInference(
                kms_key=key, success_topic=topic, error_topic=topic
            ),
        )
        Validations.of(batch).acknowledge(
            Acknowledgment(id="AwsSolutions-S1", reason=LOGGED)
        )
        caller = iam.Role(
            self, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
        )
        batch.grant_invoke_async(caller)

    def _adapt(self, key: kms.IKey, weights: str) -> None:
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.g5.2xlarge", max_instance_count=2
        )
        base = host.add_model(
            "Base",
            model=S3Model(
                f"s3://{weights}/mistral-7b/",
                kms_key=key,
                architecture="mistralai/Mistral-7B-v0.1",
            ),
            serving=Vllm(enable_lora=True, max_lora_rank=16, max_model_len=4096),
        )
        packed = f"s3://{weights}/adapters/bakery.tar.gz"
        base.add_adapter("Bakery", artifact=LoraAdapter(packed, kms_key=key))


app = App()
shared = KeyStack(app, "Keys")
EncryptedStack(
    app,
    "Encrypted",
    key=shared.key,
    captured=shared.captured,
    weights=app.node.try_get_context("weights_bucket") or "model-weights",
)
app.synth()
