"""
Endpoints: created from a configuration, moved to another one, deleted.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.hosting.allowances import refuse_too_many
from cdk_sagemaker_llm.local.hosting.definitions import (
    containers_of,
    instances_by_type,
    models_of,
    variants_of,
)
from cdk_sagemaker_llm.local.hosting.deployments import (
    deploy,
    make_fleets,
    refuse_wrong_guardrails,
    weights_of,
)
from cdk_sagemaker_llm.local.hosting.fleet import Watch, trial_fleet
from cdk_sagemaker_llm.local.hosting.placement import refuse_overflow_of_all
from cdk_sagemaker_llm.local.hosting.records import in_milliseconds, page, tags_of
from cdk_sagemaker_llm.local.hosting.states import (
    enter,
    look,
    refuse_busy_endpoint,
    refuse_failed_endpoint,
)
from cdk_sagemaker_llm.local.hosting.world import Endpoint, Operation, World
from cdk_sagemaker_llm.simulation.fleet import Fleet

# As users report it of the service.
DELETE_WITH_COMPONENTS = (
    "Cannot delete endpoint with inference component associated. Please delete "
    "inference component and try it again."
)

# What the service calls the stage that a pending deployment is in.
_STAGES = {
    "growing": "Creating",
    "baking": "Baking",
    "retreating": "Deleting",
    "dropping": "Deleting",
}


class Endpoints:
    """
    The operations on endpoints.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def operations(self) -> dict[str, Operation]:
        """
        Return the operations by their API names.
        """
        return {
            "CreateEndpoint": self._create,
            "DescribeEndpoint": self._describe,
            "ListEndpoints": self._list_all,
            "UpdateEndpoint": self._update,
            "UpdateEndpointWeightsAndCapacities": self._update_capacities,
            "DeleteEndpoint": self._delete,
        }

    def _create(self, request: dict[str, Any]) -> dict[str, Any]:
        endpoints = self._world.endpoints
        name = request["EndpointName"]
        endpoints.refuse_existing(name)
        config = self._world.configs.get(request["EndpointConfigName"])
        refuse_too_many(self._world, config.request, {})
        watch = Watch()
        endpoint = Endpoint(
            name=name,
            arn=endpoints.arn(name),
            request=request,
            tags=tags_of(request),
            config_name=config.name,
            config=config.request,
            fleets=make_fleets(self._world, name, config.request, watch, {}),
            weights=weights_of(config.request),
        )
        endpoints.add(endpoint)
        endpoint.tell = partial(_tell, self._world, endpoint)
        endpoint.tell()
        watch.look = partial(look, self._world, endpoint)
        watch.look()
        return {"EndpointArn": endpoints.arn(name)}

    def _describe(self, request: dict[str, Any]) -> dict[str, Any]:
        endpoint = self._world.endpoints.get(request["EndpointName"])
        shadows = endpoint.config.get("ShadowProductionVariants", ())
        optional = {
            "ShadowProductionVariants": [
                self._variant(endpoint, v, endpoint.fleets, endpoint.weights)
                for v in shadows
            ],
            "DataCaptureConfig": _capture(endpoint.config),
            "LastDeploymentConfig": endpoint.request.get("DeploymentConfig"),
            "MetricsConfig": endpoint.config.get("MetricsConfig"),
            "AsyncInferenceConfig": endpoint.config.get("AsyncInferenceConfig"),
            "FailureReason": endpoint.failure,
            "PendingDeploymentSummary": self._pending(endpoint),
        }
        return {
            **_summary(endpoint),
            "EndpointConfigName": endpoint.config_name,
            "ProductionVariants": [
                self._variant(endpoint, variant, endpoint.fleets, endpoint.weights)
                for variant in endpoint.config["ProductionVariants"]
            ],
            **{key: value for key, value in optional.items() if value},
        }

    def _list_all(self, request: dict[str, Any]) -> dict[str, Any]:
        found, token = page(self._world.endpoints, request, _summary)
        return {"Endpoints": found, **token}

    def _update(self, request: dict[str, Any]) -> dict[str, Any]:
        endpoint = self._world.endpoints.get(request["EndpointName"])
        config = self._world.configs.get(request["EndpointConfigName"]).request
        refuse_busy_endpoint(endpoint)
        refuse_failed_endpoint(endpoint)
        if endpoint.is_asynchronous and "AsyncInferenceConfig" not in config:
            # As a user reports it: aws/sagemaker-python-sdk#3124.
            raise validation(
                "The AsyncInferenceConfig parameter cannot be removed from this "
                f"endpoint {endpoint.name}."
            )
        self._refuse_scaled_change(endpoint, config)
        counts: dict[str, int] = {}
        if request.get("RetainAllVariantProperties"):
            excluded = {
                item["VariantPropertyType"]
                for item in request.get("ExcludeRetainedVariantProperties", ())
            }
            counts = _retained(endpoint, config, excluded)
        self._refuse_homeless(endpoint, config, counts)
        merged = {**endpoint.request, **request}
        # The last one counts again where it is retained.
        source = merged if request.get("RetainDeploymentConfig") else request
        guardrails = source.get("DeploymentConfig") or {}
        refuse_wrong_guardrails(
            guardrails,
            [
                counts.get(each["VariantName"], each.get("InitialInstanceCount", 0))
                for each in config["ProductionVariants"]
            ],
        )
        if "RollingUpdatePolicy" not in guardrails:
            refuse_too_many(self._world, config, counts)
        endpoint.request = merged
        deploy(
            self._world,
            endpoint,
            config_name=request["EndpointConfigName"],
            config=config,
            counts=counts,
            guardrails=guardrails,
        )
        return {"EndpointArn": endpoint.arn}

    def _update_capacities(self, request: dict[str, Any]) -> dict[str, Any]:
        # As Application Auto Scaling does: all of it or, where one variant is refused,
        # nothing.
        endpoint = self._world.endpoints.get(request["EndpointName"])
        refuse_busy_endpoint(endpoint)
        refuse_failed_endpoint(endpoint)
        every = request["DesiredWeightsAndCapacities"]
        names = [change["VariantName"] for change in every]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise validation(f'Variant "{name}" is listed more than once.')
        for change in every:
            _refuse_capacity(endpoint, change)
        for change in every:
            weight = change.get("DesiredWeight")
            if weight is not None:
                endpoint.weights[change["VariantName"]] = weight
        endpoint.turns = {}
        counts = {
            change["VariantName"]: change["DesiredInstanceCount"]
            for change in every
            if change.get("DesiredInstanceCount") is not None
        }
        scale_instances(self._world, endpoint, counts, "asked for")
        return {"EndpointArn": endpoint.arn}

    def _delete(self, request: dict[str, Any]) -> dict[str, Any]:
        endpoint = self._world.endpoints.get(request["EndpointName"])
        refuse_busy_endpoint(endpoint)
        if self._world.components_on(endpoint):
            raise validation(DELETE_WITH_COMPONENTS)
        for resource_id in self._scaled_variants(endpoint).values():
            self._world.surroundings.deregister(resource_id)
        enter(endpoint, "Deleting")
        for fleet in endpoint.fleets.values():
            fleet.close()
        look(self._world, endpoint)
        return {}

    def _pending(self, endpoint: Endpoint) -> dict[str, Any] | None:
        # Of one that is coming, or is moving to another configuration.
        deployment, phase = endpoint.deployment, "growing"
        if deployment is not None and deployment.rollout is not None:
            phase = deployment.rollout.phase
        elif endpoint.status != "Creating":
            return None
        config = deployment.config if deployment else endpoint.config
        fleets = deployment.fleets if deployment else endpoint.fleets
        status = {"VariantStatus": [{"Status": _STAGES.get(phase, "Updating")}]}
        return {
            "EndpointConfigName": (deployment or endpoint).config_name,
            "StartTime": deployment.started if deployment else endpoint.created,
            **{
                key: [
                    self._variant(endpoint, each, fleets, weights_of(config)) | status
                    for each in config[key]
                ]
                for key in ("ProductionVariants", "ShadowProductionVariants")
                if config.get(key)
            },
        }

    def _variant(
        self,
        endpoint: Endpoint,
        variant: dict[str, Any],
        fleets: dict[str, Fleet],
        weights: dict[str, float],
    ) -> dict[str, Any]:
        name = variant["VariantName"]
        fleet = fleets[name]
        pools = instances_by_type(fleet)
        members = (
            "ManagedInstanceScaling",
            "RoutingConfig",
            "CapacityReservationConfig",
        )
        return {
            "VariantName": name,
            "DeployedImages": self._images(endpoint, variant),
            "CurrentWeight": weights[name],
            "DesiredWeight": weights[name],
            "CurrentInstanceCount": fleet.serving(),
            "DesiredInstanceCount": fleet.wanted_instances,
            **{key: variant[key] for key in members if key in variant},
            **({"InstancePools": pools} if "InstancePools" in variant else {}),
        }

    def _images(
        self, endpoint: Endpoint, variant: dict[str, Any]
    ) -> list[dict[str, Any]]:
        found = (self._world.models.find(name) for name in models_of(variant))
        return [
            {
                "SpecifiedImage": container.get("Image", ""),
                "ResolvedImage": container.get("Image", ""),
                "ResolutionTime": endpoint.modified,
            }
            for model in found
            if model is not None
            for container in containers_of(model.request)
        ]

    def _scaled_variants(self, endpoint: Endpoint) -> dict[str, str]:
        registered = self._world.surroundings.scalable_targets()
        ids = {
            name: f"endpoint/{endpoint.name}/variant/{name}" for name in endpoint.fleets
        }
        return {name: value for name, value in ids.items() if value in registered}

    def _refuse_scaled_change(self, endpoint: Endpoint, config: dict[str, Any]) -> None:
        # docs: "Update endpoints that use automatic scaling" (endpoint-scaling-update).
        after = {v["VariantName"]: trial_fleet(v) for v in variants_of(config)}
        names = [
            name
            for name in self._scaled_variants(endpoint)
            if name not in after
            or after[name].instance_type != endpoint.fleets[name].instance_type
        ]
        if names:
            raise validation(
                f'The variant(s) "{names}" must be deregistered as scalable target '
                "with AutoScaling before they can be removed or have their instance "
                "type updated."
            )

    def _refuse_homeless(
        self, endpoint: Endpoint, config: dict[str, Any], counts: dict[str, int]
    ) -> None:
        components = self._world.components_on(endpoint)
        variants = {v["VariantName"]: v for v in variants_of(config)}
        for component in components:
            name = component.variant_name
            if name not in variants or "ExecutionRoleArn" not in config:
                raise validation(
                    f'Inference component "{component.arn}" cannot run on the new '
                    f"endpoint configuration: variant {name} or the execution role is "
                    "missing."
                )
        for name, variant in variants.items():
            demands = [
                (c.name, c.request, c.copies)
                for c in components
                if c.variant_name == name
            ]
            refuse_overflow_of_all(variant, demands, counts.get(name))


def scale_instances(
    world: World, endpoint: Endpoint, counts: dict[str, int], why: str
) -> None:
    """
    Set how many instances variants have, if the endpoint is in a state for it.
    """
    refuse_busy_endpoint(endpoint)
    refuse_failed_endpoint(endpoint)
    enter(endpoint, "Updating")
    for name, count in counts.items():
        endpoint.fleets[name].set_instances(count, why)
    look(world, endpoint)


def _refuse_capacity(endpoint: Endpoint, change: dict[str, Any]) -> None:
    name, count = change["VariantName"], change.get("DesiredInstanceCount")
    fleet = endpoint.fleets.get(name)
    if fleet is None:
        raise validation(
            f'Could not find variant "{name}" of endpoint "{endpoint.arn}".'
        )
    if count is None:
        return
    if not fleet.instance_type:
        raise validation(
            f'Variant "{name}" is serverless: DesiredInstanceCount is not supported.'
        )
    least, most = fleet.bounds
    if fleet.managed and not least <= count <= most:
        raise validation(
            f'DesiredInstanceCount {count} of variant "{name}" must be between the '
            f"MinInstanceCount {least} and the MaxInstanceCount {most} of its "
            "ManagedInstanceScaling."
        )


def _retained(
    endpoint: Endpoint, config: dict[str, Any], excluded: set[str]
) -> dict[str, int]:
    # Without retaining, a scaled endpoint falls back to its initial instance count.
    if "DesiredInstanceCount" in excluded:
        return {}
    names = [v["VariantName"] for v in variants_of(config)]
    fleets = {name: endpoint.fleets.get(name) for name in names}
    return {name: f.wanted_instances for name, f in fleets.items() if f is not None}


def _summary(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "EndpointName": endpoint.name,
        "EndpointArn": endpoint.arn,
        "CreationTime": endpoint.created,
        "LastModifiedTime": endpoint.modified,
        "EndpointStatus": endpoint.status,
    }


def _tell(world: World, endpoint: Endpoint) -> None:
    # As the developer guide shows one (automating-sagemaker-with-eventbridge).
    names = [each["VariantName"] for each in endpoint.config["ProductionVariants"]]
    detail = {
        **in_milliseconds(_summary(endpoint)),
        "EndpointStatus": re.sub(r"\B(?=[A-Z])", "_", endpoint.status).upper(),
        "EndpointConfigName": endpoint.config_name,
        "ProductionVariants": [
            {
                "DesiredWeight": endpoint.weights[name],
                "DesiredInstanceCount": endpoint.fleets[name].wanted_instances,
            }
            for name in names
        ],
        "Tags": endpoint.tags,
    }
    kind = "SageMaker Endpoint State Change"
    world.surroundings.notify("aws.sagemaker", kind, detail, endpoint.arn)


def _capture(config: dict[str, Any]) -> dict[str, Any] | None:
    capture = config.get("DataCaptureConfig")
    if not capture:
        return None
    is_on = capture.get("EnableCapture", True)
    return {
        "EnableCapture": is_on,
        "CaptureStatus": "Started" if is_on else "Stopped",
        "CurrentSamplingPercentage": capture["InitialSamplingPercentage"],
        "DestinationS3Uri": capture["DestinationS3Uri"],
        "KmsKeyId": capture.get("KmsKeyId", ""),
    }
