"""
vLLM in AWS's own image: an assistant that calls tools, with weights in 8 bits.

Each parameter is one of vLLM's own arguments, written as the image's entry point reads
it. Requests that begin alike, as those of an assistant do, share what was computed.
"""

from aws_cdk import App, CfnOutput, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint, Vllm


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class AssistantStack(Stack):
    """
    Qwen3-8B on inference components, whose copies follow the requests under way.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        serving = Vllm(
            max_model_len=16384,
            quantization="fp8",
            kv_cache_dtype="fp8",
            enable_prefix_caching=True,
            tool_call_parser="hermes",
            reasoning_parser="qwen3",
        )
        host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type="ml.g6e.2xlarge",
            max_instance_count=4,
            engine=serving,
        )
        assistant = host.add_model(
            "Assistant", model=HuggingFaceModel("Qwen/Qwen3-8B"), serving=serving
        )
        copies = assistant.auto_scale_copy_count(max_capacity=4)
        copies.scale_on_concurrency("Load", per_copy=16)
        CfnOutput(self, "EndpointName", value=host.endpoint_name)
        CfnOutput(self, "Name", value=assistant.inference_component_name)


app = App()
AssistantStack(app, "Assistant")
app.synth()
