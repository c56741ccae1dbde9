"""
A small quantized model on AWS Graviton, without a GPU.
"""

from aws_cdk import App, CfnOutput, Size, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, LlamaCpp, LlmEndpoint


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class GgufStack(Stack):
    """
    Qwen3-4B in four bits, 2.5 GB, behind one endpoint of 16 cores and 32 GiB.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        chat = LlmEndpoint(
            self,
            "Chat",
            # What stands behind the repository is the type of quantization.
            model=HuggingFaceModel("Qwen/Qwen3-4B-GGUF:Q4_K_M"),
            serving=LlamaCpp(processor="arm64", ctx_size=8192, parallel=2),
            instance_type="ml.c7g.4xlarge",
            volume_size=Size.gibibytes(30),
        )
        CfnOutput(self, "EndpointName", value=chat.endpoint.endpoint_name)


app = App()
GgufStack(app, "GgufOnCpu")
app.synth()
