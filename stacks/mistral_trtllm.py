"""
Mistral-7B on TensorRT-LLM: one model fills an endpoint that scales on invocations.
"""

from aws_cdk import CfnOutput, Duration, Environment, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InstanceType,
    LlmEndpoint,
    TensorRtLlm,
)


class MistralTrtLlmStack(Stack):
    """
    Reference deployment A.

    Args:
        instance_type: Where the model runs; it needs 4 GPUs.

        min_instances: Instances that always run.

        max_instances: Instances that run at most.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: InstanceType,
        min_instances: int,
        max_instances: int,
        env: Environment | None = None,
    ) -> None:
        super().__init__(
            scope, id, env=env, description="Mistral-7B on TensorRT-LLM (LMI 0.26.0)"
        )
        self.mistral = LlmEndpoint(
            self,
            "Mistral",
            model=HuggingFaceModel("mistralai/Mistral-7B-v0.1"),
            serving=TensorRtLlm(
                "0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=16
            ),
            instance_type=instance_type,
            instance_count=min_instances,
        )
        instances = self.mistral.auto_scale_instance_count(
            min_capacity=min_instances, max_capacity=max_instances
        )
        instances.scale_on_invocations(
            "Traffic",
            per_minute=5,
            scale_in_cooldown=Duration.seconds(300),
            scale_out_cooldown=Duration.seconds(60),
        )
        CfnOutput(self, "EndpointName", value=self.mistral.endpoint_name)
