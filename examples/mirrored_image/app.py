"""
An image in a registry of one's own: one digest, copied there by the deployment.

The endpoint runs the copy, which nobody else can change or take away. What is checked
of the image is checked of the copy: arguments of its version, the driver of the host.
"""

from aws_cdk import App, CfnOutput, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    MirroredImage,
    Vllm,
    find_image,
)

VERSION = "0.20.2"
DIGEST = "sha256:18998be4e1276d4eb6e98afe80798aa357c1cc37545150de5c210bc9111beb1d"


# checkov:skip=CKV_AWS_115: a function that starts one build needs no reserved share
# checkov:skip=CKV_AWS_116: a deployment waits for it, and shows why it failed
# checkov:skip=CKV_AWS_117: it asks AWS's own APIs alone
# checkov:skip=CKV_AWS_136: Amazon ECR encrypts images that everybody may download
# checkov:skip=CKV_AWS_158: the logs say which layers were copied
# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class MirroredImageStack(Stack):
    """
    Qwen3-0.6B on the copy.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        copy = MirroredImage(
            self,
            "Image",
            image=find_image("vllm", VERSION),
            # Another one with --context digest=sha256:...
            digest=self.node.try_get_context("digest") or DIGEST,
        )
        endpoint = LlmEndpoint(
            self,
            "Endpoint",
            model=HuggingFaceModel("Qwen/Qwen3-0.6B"),
            serving=Vllm(VERSION, image=copy.image, max_model_len=8192),
            instance_type="ml.g6.xlarge",
        )
        CfnOutput(self, "EndpointName", value=endpoint.endpoint_name)
        CfnOutput(self, "ImageUri", value=copy.image_uri)


app = App()
MirroredImageStack(app, "MirroredImage")
app.synth()
