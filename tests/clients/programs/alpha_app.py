"""
An app of the CDK's own alpha constructs: two variants, an artifact, scaling, an alarm.

Its arguments are the artifact and how far to scale out; the CDK CLI runs it.
"""

from __future__ import annotations

import sys

import aws_cdk as cdk
import aws_cdk.aws_sagemaker_alpha as sagemaker

TAG = "0.36.0-lmi28.0.0-cu130"
WEIGHTS = {"Large": 3, "Small": 1}


def define(stack: cdk.Stack, artifact: str, most: int) -> None:
    """
    Define the endpoint as the package's documentation does.
    """
    image = sagemaker.ContainerImage.from_dlc("djl-inference", TAG)
    data = sagemaker.ModelData.from_asset(artifact)
    variants = [
        sagemaker.InstanceProductionVariantProps(
            model=sagemaker.Model(
                stack,
                f"{name}Model",
                containers=[
                    sagemaker.ContainerDefinition(
                        image=image, model_data=data, environment={"HF_MODEL_ID": "a/b"}
                    )
                ],
            ),
            variant_name=name,
            initial_variant_weight=weight,
            instance_type=sagemaker.InstanceType.of("ml.g5.12xlarge"),
            container_startup_health_check_timeout=cdk.Duration.minutes(10),
        )
        for name, weight in WEIGHTS.items()
    ]
    config = sagemaker.EndpointConfig(
        stack, "Config", instance_production_variants=variants
    )
    endpoint = sagemaker.Endpoint(stack, "Endpoint", endpoint_config=config)
    large = endpoint.find_instance_production_variant("Large")
    large.auto_scale_instance_count(max_capacity=most).scale_on_invocations(
        "Invocations", max_requests_per_second=30
    )
    large.metric_model_latency().create_alarm(
        stack, "Latency", threshold=100_000, evaluation_periods=3
    )
    cdk.CfnOutput(stack, "EndpointName", value=endpoint.endpoint_name)


if __name__ == "__main__":
    app = cdk.App()
    where = cdk.Environment(account="123456789012", region="us-east-1")
    define(cdk.Stack(app, "Alpha", env=where), sys.argv[1], int(sys.argv[2]))
    app.synth()
