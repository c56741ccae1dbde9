"""
Requests wait in a queue, instances go to zero, and a topic tells of each answer.

Lay a request into ``requests/`` of the bucket, call ``InvokeEndpointAsync`` with its
address, and fetch the answer from where the call said it will be.
"""

from aws_cdk import App, CfnOutput, Stack
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_sagemaker_llm import AsyncInference, HuggingFaceModel, LlmEndpoint


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
