"""
Mixtral-8x7B on TensorRT-LLM, from a serving.properties written by hand.
"""

from pathlib import Path

from aws_cdk import CfnOutput, Duration, Environment, Stack
from constructs import Construct

from cdk_sagemaker_llm import InstanceType, LlmEndpoint, ServingFolder

_ARTIFACT = Path(__file__).parent.parent / "assets" / "mixtral-8x7b"


class MixtralStack(Stack):
    """
    Reference deployment B.

    Args:
        instance_type: Where the model runs; it fills all GPUs.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: InstanceType,
        env: Environment | None = None,
    ) -> None:
        super().__init__(
            scope, id, env=env, description="Mixtral-8x7B on TensorRT-LLM (LMI 0.26.0)"
        )
        self.mixtral = LlmEndpoint(
            self,
            "Mixtral",
            serving=ServingFolder(
                _ARTIFACT, container_family="djl-tensorrtllm", version="0.26.0"
            ),
            instance_type=instance_type,
            container_startup_health_check_timeout=Duration.seconds(1800),
        )
        CfnOutput(self, "EndpointName", value=self.mixtral.endpoint_name)
