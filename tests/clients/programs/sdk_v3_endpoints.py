"""
Endpoints by the SageMaker Python SDK, version 3, of a shape each; their names are
printed.

Its arguments are an image of LMI and a role.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sagemaker.core.resources import (
    Endpoint,
    EndpointConfig,
    InferenceComponent,
    Model,
)
from sagemaker.core.shapes import (
    ContainerDefinition,
    InferenceComponentComputeResourceRequirements,
    InferenceComponentRuntimeConfig,
    InferenceComponentSpecification,
    ProductionVariant,
    ProductionVariantManagedInstanceScaling,
    ProductionVariantRoutingConfig,
    Tag,
)

ENVIRONMENT = {"HF_MODEL_ID": "Qwen/Qwen3-4B"}
VARIANT = "AllTraffic"


def main(image: str, role: str) -> None:
    """
    Make each, and wait for it.
    """
    container = ContainerDefinition(image=image, environment=ENVIRONMENT)
    model("sdk3-plain", container, role)
    endpoint(
        "sdk3-plain",
        [variant("sdk3-plain", container_startup_health_check_timeout_in_seconds=900)],
        tags=[Tag(key="team", value="search")],
    )
    model("sdk3-two-a", container, role)
    model("sdk3-two-b", container, role)
    endpoint(
        "sdk3-two",
        [
            variant("sdk3-two-a", variant_name="A", initial_variant_weight=0.75),
            variant("sdk3-two-b", variant_name="B", initial_variant_weight=0.25),
        ],
    )
    shared("sdk3-shared", container, role)
    names = ["sdk3-plain", "sdk3-shared", "sdk3-two"]
    print(f"\n{json.dumps({'endpoints': names})}")


def shared(name: str, container: Any, role: str) -> None:
    """
    A component of two copies on instances that scale.
    """
    host = ProductionVariant(
        variant_name=VARIANT,
        initial_instance_count=1,
        instance_type="ml.g6.12xlarge",
        managed_instance_scaling=ProductionVariantManagedInstanceScaling(
            status="ENABLED", min_instance_count=1, max_instance_count=2
        ),
        routing_config=ProductionVariantRoutingConfig(
            routing_strategy="LEAST_OUTSTANDING_REQUESTS"
        ),
    )
    endpoint(name, [host], execution_role_arn=role)
    model(name, container, role)
    needs = InferenceComponentComputeResourceRequirements(
        number_of_accelerator_devices_required=1, min_memory_required_in_mb=4096
    )
    made = InferenceComponent.create(
        inference_component_name=name,
        endpoint_name=name,
        variant_name=VARIANT,
        specification=InferenceComponentSpecification(
            model_name=name, compute_resource_requirements=needs
        ),
        runtime_config=InferenceComponentRuntimeConfig(copy_count=2),
    )
    made.wait_for_status("InService", poll=1)


def model(name: str, container: Any, role: str) -> None:
    """
    Create a model.
    """
    Model.create(model_name=name, primary_container=container, execution_role_arn=role)


def variant(name: str, **settings: Any) -> Any:
    """
    Return a variant of one instance that a model fills.
    """
    return ProductionVariant(
        **{
            "variant_name": VARIANT,
            "model_name": name,
            "initial_instance_count": 1,
            "instance_type": "ml.g6.2xlarge",
            **settings,
        }
    )


def endpoint(name: str, variants: list[Any], **settings: Any) -> None:
    """
    Create an endpoint and its configuration.
    """
    tags = {"tags": settings.pop("tags")} if "tags" in settings else {}
    EndpointConfig.create(
        endpoint_config_name=name, production_variants=variants, **settings
    )
    made = Endpoint.create(endpoint_name=name, endpoint_config_name=name, **tags)
    made.wait_for_status("InService", poll=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
