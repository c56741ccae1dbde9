"""
A model that costs nothing while nobody calls it.

Two arguments do it: ``min_instance_count=0`` lets the instances go,
``min_capacity=0`` the copies. After a quarter of an hour without requests the last
copy goes, and its instance some twelve minutes later. The first request after that is
refused, and wakes the model: synth says how many minutes that takes. Clients try
again until then.
"""

from aws_cdk import App, CfnOutput, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class SleepyStack(Stack):
    """
    None to two copies of Zephyr-7B on none to two instances.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type="ml.g5.2xlarge",
            min_instance_count=0,
            max_instance_count=2,
        )
        model = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        chat = host.add_model("Chat", model=model)
        copies = chat.auto_scale_copy_count(min_capacity=0, max_capacity=2)
        copies.scale_on_concurrency("Load", per_copy=8)
        CfnOutput(self, "EndpointName", value=host.endpoint_name)
        CfnOutput(self, "ComponentName", value=chat.inference_component_name)


app = App()
SleepyStack(app, "Sleepy")
app.synth()
