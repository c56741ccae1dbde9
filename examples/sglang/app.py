"""
SGLang in AWS's own image, on the GPUs that it is built for: H100 and newer.

It answers chats alone. Its weights are named by an argument of its own, which the
library writes: this image does not read HF_MODEL_ID.
"""

from aws_cdk import App, CfnOutput, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, Sglang


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class ReasonerStack(Stack):
    """
    Qwen3-32B on one H100, and a second instance when the first is busy.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        reasoner = LlmEndpoint(
            self,
            "Reasoner",
            model=HuggingFaceModel("Qwen/Qwen3-32B"),
            serving=Sglang(
                context_length=16384,
                quantization="fp8",
                max_running_requests=64,
                reasoning_parser="qwen3",
                tool_call_parser="qwen25",
            ),
            instance_type="ml.p5.4xlarge",
        )
        instances = reasoner.auto_scale_instance_count(max_capacity=2)
        instances.scale_on_concurrency("Load", per_instance=48)
        CfnOutput(self, "EndpointName", value=reasoner.endpoint_name)


app = App()
ReasonerStack(app, "Reasoner")
app.synth()
