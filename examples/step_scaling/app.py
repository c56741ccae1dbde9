"""
The further a metric is past its threshold, the more copies come at once.

Target tracking suits most models. Steps are for a load that jumps: each says what is
done from a value of the metric on, and one policy leads one way.
"""

from aws_cdk import App, Duration, Stack
from aws_cdk.aws_cloudwatch import Metric
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    ScalingStep,
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class JumpyStack(Stack):
    """
    One to eight copies of Zephyr-7B, by the requests under way on each.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.g5.12xlarge", max_instance_count=2
        )
        model = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        chat = host.add_model("Chat", model=model)
        copies = chat.auto_scale_copy_count(max_capacity=8)
        load = Metric(
            namespace="AWS/SageMaker",
            metric_name="ConcurrentRequestsPerCopy",
            dimensions_map={"InferenceComponentName": chat.inference_component_name},
            statistic="Maximum",
            period=Duration.minutes(1),
        )
        copies.scale_by_steps(
            "Out",
            metric=load,
            steps=[ScalingStep(lower=8, change=+1), ScalingStep(lower=24, change=+3)],
            cooldown=Duration.minutes(3),
        )
        copies.scale_by_steps(
            "In",
            metric=load,
            steps=[ScalingStep(upper=2, change=-1)],
            evaluation_periods=15,
        )


app = App()
JumpyStack(app, "Jumpy")
app.synth()
