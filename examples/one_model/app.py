"""
One model fills an instance, and the instances follow the traffic.
"""

from aws_cdk import App, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, TensorRtLlm


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class ChatStack(Stack):
    """
    Zephyr-7B behind one endpoint.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        chat = LlmEndpoint(
            self,
            "Chat",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            serving=TensorRtLlm("0.33.0", tensor_parallel_degree=4),
            instance_type="ml.g5.12xlarge",
        )
        instances = chat.auto_scale_instance_count(max_capacity=4)
        instances.scale_on_concurrency("Load", per_instance=16)


app = App()
ChatStack(app, "Chat")
app.synth()
