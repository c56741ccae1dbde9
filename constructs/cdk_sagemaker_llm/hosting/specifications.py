"""
What each copy of a component runs and reserves, as the resource says it.

One specification is for all types of instances where nothing differs by type; else
there is one for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.component_checks import ComponentDefinition
from cdk_sagemaker_llm.hosting.limits import seconds
from cdk_sagemaker_llm.hosting.model_base import ModelBase
from cdk_sagemaker_llm.hosting.variant import START_UP_SECONDS

_Component = sagemaker.CfnInferenceComponent


def specified(
    definition: ComponentDefinition, model: ModelBase, by_type: Mapping[str, ModelBase]
) -> dict[str, Any]:
    """
    Render what copies run and reserve, as keywords of the L1 class.

    Args:
        definition: The component.

        model: What each copy runs.

        by_type: What it runs on each type of instance, where pools have several.
    """
    resources = definition.resources
    needs = definition.by_type or dict.fromkeys(by_type, resources)
    models = by_type or dict.fromkeys(needs, model)
    if all(one == resources for one in needs.values()) and all(
        one is model for one in models.values()
    ):
        return {
            "specification": _Component.InferenceComponentSpecificationProperty(
                **_contents(definition, model, resources)
            )
        }
    return {
        "specifications": [
            _Component.InferenceComponentSpecificationForInstanceTypeProperty(
                instance_type=name,
                **_contents(definition, models[name], needs[name]),
            )
            for name in needs
        ]
    }


def _contents(
    definition: ComponentDefinition, model: ModelBase, resources: ResourceRequirements
) -> dict[str, Any]:
    scheduling = definition.scheduling
    return {
        "model_name": model.model_name,
        "compute_resource_requirements": _requirements(resources),
        "startup_parameters": _Component.InferenceComponentStartupParametersProperty(
            container_startup_health_check_timeout_in_seconds=seconds(
                definition.start_up
            )
            or START_UP_SECONDS,
            model_data_download_timeout_in_seconds=seconds(definition.download),
        ),
        "scheduling_config": scheduling.scheduling_property(),
        "data_cache_config": scheduling.caching_property(),
    }


def _requirements(
    resources: ResourceRequirements,
) -> _Component.InferenceComponentComputeResourceRequirementsProperty:
    return _Component.InferenceComponentComputeResourceRequirementsProperty(
        number_of_accelerator_devices_required=resources.accelerators,
        number_of_cpu_cores_required=resources.cpus,
        min_memory_required_in_mb=resources.memory_mib,
    )
