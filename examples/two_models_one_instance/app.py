"""
Eight copies of two models fill the eight GPUs of one instance.

Each copy has a GPU, 10 of the 96 CPU cores and 100 of the 1152 GiB of memory. A copy
comes up in 15 to 25 minutes. The instance is full, so that a new version of a model
finds no room beside the old one: the synthesis warns of it.
"""

from aws_cdk import App, CfnOutput, SecretValue, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    ResourceRequirements,
    Tgi,
)

# The models' authors let in who has accepted their licences.
TOKEN = SecretValue.secrets_manager("hugging-face-token")
LLAMA = HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf", token=TOKEN)
MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-Instruct-v0.2", token=TOKEN)
SERVING = Tgi(
    "1.4.5", max_input_length=2048, max_total_tokens=4096, max_batch_total_tokens=16384
)
EACH = ResourceRequirements(copies=4, accelerators=1, cpus=10, memory_mib=100 * 1024)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class TwoModelsStack(Stack):
    """
    Four copies of Llama-2-13B and four of Mistral-7B on one p4d.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.p4d.24xlarge", engine=SERVING
        )
        for name, model in (("Llama13B", LLAMA), ("Mistral7B", MISTRAL)):
            component = host.add_model(
                name, model=model, serving=SERVING, resources=EACH
            )
            CfnOutput(self, name, value=component.inference_component_name)
        CfnOutput(self, "EndpointName", value=host.endpoint_name)


app = App()
TwoModelsStack(app, "TwoModels")
app.synth()
