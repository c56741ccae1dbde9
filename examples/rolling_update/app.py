"""
Eight copies of a model get a new version two at a time; requests go on all the while.
"""

from aws_cdk import App, Duration, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    RollbackAlarms,
    Rolling,
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class RollingStack(Stack):
    """
    Zephyr-7B on one p4d; what a batch needs beside the old copies is a second one.

    Change the model or ``serving`` and deploy again: each batch of two starts, is
    watched for five minutes, and takes over. Where one request in twenty fails, all
    copies are the old ones again.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
        )
        host.add_model(
            "Chat",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            copies=8,
            # The alarms need a name that is known before the component is made.
            inference_component_name_prefix="chat",
            rollout=Rolling(
                copies=2,
                wait_interval=Duration.minutes(5),
                rollback_on=RollbackAlarms(),
            ),
        )


app = App()
RollingStack(app, "Rolling")
app.synth()
