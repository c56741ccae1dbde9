"""
The building blocks without the patterns: two variants of a model share the traffic.
"""

from aws_cdk import App, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    Model,
    ProductionVariant,
    TensorRtLlm,
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class CanaryStack(Stack):
    """
    One request in ten goes to the larger batch.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        source = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        variants = [
            ProductionVariant(
                variant_name=name,
                instance_type="ml.g5.12xlarge",
                initial_variant_weight=weight,
                model=Model(
                    self,
                    name,
                    model=source,
                    serving=TensorRtLlm("0.26.0", max_rolling_batch_size=batch),
                ),
            )
            for name, weight, batch in (("Stable", 0.9, 16), ("Canary", 0.1, 32))
        ]
        config = EndpointConfig(self, "Config", variants=variants)
        endpoint = Endpoint(self, "Endpoint", endpoint_config=config)
        stable = endpoint.auto_scale_instance_count(
            variant_name="Stable", max_capacity=3
        )
        stable.scale_on_invocations("Traffic", per_minute=60)


app = App()
CanaryStack(app, "Canary")
app.synth()
