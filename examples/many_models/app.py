"""
Copies of two models share instances; each model scales on its own.
"""

from aws_cdk import App, CfnOutput, SecretValue, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    ResourceRequirements,
    Tgi,
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class SharedStack(Stack):
    """
    Four copies of Llama-2-13B and four of Zephyr-7B on one p4d.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type="ml.p4d.24xlarge",
            max_instance_count=2,
            engine=Tgi("1.4.5"),
        )
        each = ResourceRequirements(
            copies=4, accelerators=1, cpus=10, memory_mib=100 * 1024
        )
        llama = host.add_model(
            "Llama13B",
            model=HuggingFaceModel(
                "meta-llama/Llama-2-13b-chat-hf",
                token=SecretValue.secrets_manager("hugging-face-token"),
            ),
            serving=Tgi("1.4.5", max_input_length=2048, max_total_tokens=4096),
            resources=each,
        )
        zephyr = host.add_model(
            "Zephyr7B",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            serving=Tgi("1.4.5"),
            resources=each,
        )
        for component in (llama, zephyr):
            copies = component.auto_scale_copy_count(min_capacity=2, max_capacity=8)
            copies.scale_on_concurrency("Load", per_copy=4)
        CfnOutput(self, "Llama", value=llama.inference_component_name)
        CfnOutput(self, "Zephyr", value=zephyr.inference_component_name)


app = App()
SharedStack(app, "Shared")
app.synth()
