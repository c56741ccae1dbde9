"""
Requests wait in a queue, instances go to zero, and a topic tells of each answer.

Lay a request into ``requests/`` of the bucket, call ``InvokeEndpointAsync`` with its
address, and fetch the answer from where the call said it will be.
"""

from aws_cdk import Acknowledgment, App, CfnOutput, Stack, Validations
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_sagemaker_llm import AsyncInference, HuggingFaceModel, LlmEndpoint


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
# checkov:skip=CKV_AWS_18: the account logs who reads and writes, by CloudTrail
# checkov:skip=CKV_AWS_21: each answer has a key of its own, and none is overwritten
# checkov:skip=CKV_AWS_26: a notification says where an answer is, and not what it is
class BatchStack(Stack):
    """
    Zephyr-7B for work that nobody waits for.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        answers = sns.Topic(self, "Answers", enforce_ssl=True)
        batch = LlmEndpoint(
            self,
            "Batch",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            instance_type="ml.g5.2xlarge",
            async_inference=AsyncInference(
                success_topic=answers,
                error_topic=answers,
                # The engine answers them in one batch.
                max_concurrent_invocations_per_instance=16,
            ),
        )
        logged = Acknowledgment(
            id="AwsSolutions-S1",
            reason="the account logs who reads and writes, by CloudTrail",
        )
        Validations.of(batch).acknowledge(logged)
        # 0: the first instance starts as soon as a request waits.
        instances = batch.auto_scale_instance_count(min_capacity=0, max_capacity=4)
        instances.scale_on_backlog("Backlog", per_instance=32)
        bucket = batch.endpoint_config.async_bucket
        if bucket is not None:
            CfnOutput(self, "Bucket", value=bucket.bucket_name)
        CfnOutput(self, "EndpointName", value=batch.endpoint_name)


app = App()
BatchStack(app, "Batch")
app.synth()
