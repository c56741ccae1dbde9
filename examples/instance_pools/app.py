"""
Where one instance type has no capacity, instances of the next one start.

The model is planned for each type: what a copy reserves, and over how many GPUs it is
split, may differ. One host image, with one GPU driver, is chosen for all types.
"""

from aws_cdk import App, CfnOutput, Duration, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmEndpoint,
    PlacementStrategy,
    ScaleInPolicy,
    ScaleInStrategy,
    Tgi,
)

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class WholeInstancesStack(Stack):
    """
    One model fills instances of 4 GPUs, or else of 8: a container for each.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        llm = LlmEndpoint(
            self,
            "Chat",
            model=ZEPHYR,
            serving=Tgi("3.3.6"),
            capacity=InstanceCapacity(
                pools=[
                    InstancePool("ml.g6e.12xlarge", priority=1),
                    InstancePool("ml.g5.48xlarge", priority=2),
                ],
                provision_timeout=Duration.minutes(30),
            ),
        )
        instances = llm.auto_scale_instance_count(min_capacity=1, max_capacity=3)
        instances.scale_on_invocations("Load", per_minute=20)
        CfnOutput(self, "EndpointName", value=llm.endpoint_name)


class SharedInstancesStack(Stack):
    """
    Copies of a model share instances that SageMaker adds and removes.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self,
            "Host",
            capacity=InstanceCapacity(
                pools=[
                    InstancePool("ml.g6e.2xlarge", priority=1),
                    InstancePool("ml.g5.2xlarge", priority=2),
                ],
                provision_timeout=Duration.minutes(30),
            ),
            max_instance_count=3,
            scale_in_policy=ScaleInPolicy(strategy=ScaleInStrategy.CONSOLIDATION),
        )
        chat = host.add_model(
            "Chat", model=ZEPHYR, placement_strategy=PlacementStrategy.SPREAD
        )
        copies = chat.auto_scale_copy_count(max_capacity=3)
        copies.scale_on_concurrency("Load", per_copy=4)
        CfnOutput(self, "EndpointName", value=host.endpoint_name)
        CfnOutput(self, "Component", value=chat.inference_component_name)


app = App()
WholeInstancesStack(app, "WholeInstances")
SharedInstancesStack(app, "SharedInstances")
app.synth()
