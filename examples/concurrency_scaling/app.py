"""
Copies of a model follow the requests under way, and instances follow the copies.

Concurrency sees load every ten seconds and counts a stream until its last token, which
suits language models better than counting requests.
"""

from aws_cdk import App, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class ChatStack(Stack):
    """
    One to four copies of Zephyr-7B on one to four instances.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.g5.2xlarge", max_instance_count=4
        )
        model = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        chat = host.add_model("Chat", model=model)
        copies = chat.auto_scale_copy_count(max_capacity=4)
        copies.scale_on_concurrency("Load", per_copy=8)


app = App()
ChatStack(app, "Chat")
app.synth()
