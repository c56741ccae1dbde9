"""
Llama-2-13B on Text Generation Inference: eight copies share one instance.
"""

from aws_cdk import CfnOutput, Environment, SecretValue, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceType,
    ResourceRequirements,
    Tgi,
)


class Llama13BX8Stack(Stack):
    """
    Reference deployment C.

    Args:
        instance_type: Where the copies run.

        instances: How many instances host them.

        max_instances: How many may host them while a new version replaces the old.

        copies: How many copies run.

        token_secret: The secret that holds a Hugging Face token; Llama 2 is gated.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: InstanceType,
        instances: int,
        max_instances: int,
        copies: int,
        token_secret: str,
        env: Environment | None = None,
    ) -> None:
        super().__init__(
            scope, id, env=env, description="Llama-2-13B, several copies on TGI 1.4.5"
        )
        tgi = Tgi(
            "1.4.5",
            max_input_length=2048,
            max_total_tokens=4096,
            max_batch_total_tokens=16384,
        )
        self.host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type=instance_type,
            instance_count=instances,
            max_instance_count=max_instances,
            engine=tgi,
        )
        self.llama = self.host.add_model(
            "Llama13B",
            model=HuggingFaceModel(
                "meta-llama/Llama-2-13b-chat-hf",
                token=SecretValue.secrets_manager(token_secret),
            ),
            serving=tgi,
            resources=ResourceRequirements(
                copies=copies, accelerators=1, cpus=10, memory_mib=100 * 1024
            ),
        )
        CfnOutput(self, "EndpointName", value=self.host.endpoint_name)
        CfnOutput(
            self,
            "InferenceComponentName",
            value=self.llama.inference_component_name,
        )
