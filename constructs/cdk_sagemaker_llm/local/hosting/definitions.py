"""
Models and endpoint configurations, and the model that each instance of a variant runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from cdk_sagemaker_llm.local.aws.artifacts import ModelData
from cdk_sagemaker_llm.local.aws.errors import AwsError, validation
from cdk_sagemaker_llm.local.hosting.records import Record, page, tags_of
from cdk_sagemaker_llm.local.hosting.world import Operation, World
from cdk_sagemaker_llm.simulation import api_values
from cdk_sagemaker_llm.simulation.fleet import Copy, Fleet

MANAGED_SCALING_REFUSED = (
    "ManagedInstanceScaling is only supported for inference component endpoints."
)
# botocore 1.44.5: "Valid values are in 1 GB increments".
_SERVERLESS_MEMORY = (1024, 2048, 3072, 4096, 5120, 6144)
_BY_PREFIX = ("PrefixLength", "ConcurrencyThreshold")
_OF_INSTANCES = ("InstanceType", "InstancePools", "InitialInstanceCount")


class Definitions:
    """
    The operations on models and endpoint configurations.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def operations(self) -> dict[str, Operation]:
        """
        Return the operations by their API names.
        """
        return {
            "CreateModel": self._create_model,
            "DescribeModel": self._describe_model,
            "ListModels": self._list_models,
            "DeleteModel": self._delete_model,
            "CreateEndpointConfig": self._create_config,
            "DescribeEndpointConfig": self._describe_config,
            "ListEndpointConfigs": self._list_configs,
            "DeleteEndpointConfig": self._delete_config,
        }

    def _create_model(self, request: dict[str, Any]) -> dict[str, Any]:
        models = self._world.models
        models.refuse_existing(request["ModelName"])
        for container in containers_of(request):
            for data in ModelData.of(container):
                if not self._world.artifacts.is_there(data):
                    role = request.get("ExecutionRoleArn")
                    raise missing_data(data.url, role, self._world.region)
        name = request["ModelName"]
        model = Record(
            name=name, arn=models.arn(name), request=request, tags=tags_of(request)
        )
        models.add(model)
        self._world.deployed_models[name] = model
        return {"ModelArn": models.arn(name)}

    def _describe_model(self, request: dict[str, Any]) -> dict[str, Any]:
        model = self._world.models.get(request["ModelName"])
        return {
            "EnableNetworkIsolation": False,
            **_without_tags(model.request),
            "ModelArn": model.arn,
            "CreationTime": model.created,
        }

    def _list_models(self, request: dict[str, Any]) -> dict[str, Any]:
        found, token = page(
            self._world.models,
            request,
            lambda model: {
                "ModelName": model.name,
                "ModelArn": model.arn,
                "CreationTime": model.created,
            },
        )
        return {"Models": found, **token}

    def _delete_model(self, request: dict[str, Any]) -> dict[str, Any]:
        # The service does so even while an endpoint uses it.
        self._world.models.remove(request["ModelName"])
        return {}

    def _create_config(self, request: dict[str, Any]) -> dict[str, Any]:
        configs = self._world.configs
        name = request["EndpointConfigName"]
        configs.refuse_existing(name)
        refuse_variants(request)
        for variant in variants_of(request):
            self._refuse_variant(request, variant)
        configs.add(
            Record(
                name=name,
                arn=configs.arn(name),
                request=request,
                tags=tags_of(request),
            )
        )
        return {"EndpointConfigArn": configs.arn(name)}

    def _describe_config(self, request: dict[str, Any]) -> dict[str, Any]:
        config = self._world.configs.get(request["EndpointConfigName"])
        return {
            **_without_tags(config.request),
            "EndpointConfigArn": config.arn,
            "CreationTime": config.created,
        }

    def _list_configs(self, request: dict[str, Any]) -> dict[str, Any]:
        found, token = page(
            self._world.configs,
            request,
            lambda config: {
                "EndpointConfigName": config.name,
                "EndpointConfigArn": config.arn,
                "CreationTime": config.created,
            },
        )
        return {"EndpointConfigs": found, **token}

    def _delete_config(self, request: dict[str, Any]) -> dict[str, Any]:
        # The API reference says it must not be deleted while in use, but the service
        # lets it, and the SageMaker SDK's delete_endpoint deletes it first.
        self._world.configs.remove(request["EndpointConfigName"])
        return {}

    def _refuse_variant(self, request: dict[str, Any], variant: dict[str, Any]) -> None:
        name = variant["VariantName"]
        if "ModelName" in variant:
            for model in models_of(variant):
                self._world.models.get(model)
            if "ManagedInstanceScaling" in variant:
                raise validation(MANAGED_SCALING_REFUSED)
        elif "ExecutionRoleArn" not in request:
            raise validation(
                f"Variant {name} has no ModelName and the endpoint configuration has "
                "no ExecutionRoleArn; an endpoint for inference components needs the "
                "role, any other endpoint needs the model."
            )


def containers_of(model: dict[str, Any]) -> list[dict[str, Any]]:
    """
    Return a model's containers, of which there has to be one, the first one first.
    """
    primary = model.get("PrimaryContainer")
    containers = [primary] if primary else list(model.get("Containers", ()))
    if not containers:
        raise validation("Specify either PrimaryContainer or Containers.")
    return containers


def variants_of(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """
    Walk through the production variants, then the shadow variants.
    """
    yield from config["ProductionVariants"]
    yield from config.get("ShadowProductionVariants", ())


def missing_data(url: str, role: str | None, region: str) -> AwsError:
    """
    Make the service's error for model data it cannot read.
    """
    return validation(
        f"Could not access model data at {url}. Please ensure that the role "
        f'"{role}" exists and that its trust relationship policy allows the action '
        '"sts:AssumeRole" for the service principal "sagemaker.amazonaws.com". Also '
        'ensure that the role has "s3:GetObject" permissions and that the object is '
        f"located in {region}."
    )


def _without_tags(request: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in request.items() if key != "Tags"}


def refuse_variants(config: dict[str, Any]) -> None:
    """
    Refuse variants that contradict themselves or each other, in this package's words;
    the service's are not known.
    """
    shadows = config.get("ShadowProductionVariants", [])
    names: set[str] = set()
    for variant in [*config["ProductionVariants"], *shadows]:
        name = variant["VariantName"]
        if name in names:
            raise validation(f"Variant {name} is there twice; names must be unique.")
        names.add(name)
        if "ServerlessConfig" in variant:
            _refuse_serverless(name, variant)
        else:
            _refuse_instances(name, variant)
    if shadows and (len(shadows), len(config["ProductionVariants"])) != (1, 1):
        raise validation(
            "With ShadowProductionVariants there must be one production variant and "
            f"one shadow variant, got {len(config['ProductionVariants'])} and "
            f"{len(shadows)}."
        )


def _refuse_serverless(name: str, variant: dict[str, Any]) -> None:
    beside = [key for key in _OF_INSTANCES if key in variant]
    if beside:
        raise validation(
            f"Variant {name}: specify ServerlessConfig or {beside[0]}, not both."
        )
    memory = variant["ServerlessConfig"]["MemorySizeInMB"]
    if memory not in _SERVERLESS_MEMORY:
        allowed = ", ".join(map(str, _SERVERLESS_MEMORY))
        raise validation(
            f"Variant {name}: MemorySizeInMB must be one of {allowed}, got {memory}."
        )


def _refuse_instances(name: str, variant: dict[str, Any]) -> None:
    if "InstanceType" in variant and "InstancePools" in variant:
        raise validation(
            f"Variant {name}: specify InstanceType or InstancePools, not both."
        )
    if "InstanceType" not in variant and "InstancePools" not in variant:
        raise validation(
            f"Variant {name}: specify InstanceType, InstancePools or ServerlessConfig."
        )
    if "ModelName" in variant and "InitialInstanceCount" not in variant:
        raise validation(f"Variant {name}: InitialInstanceCount is required.")
    _refuse_routing(name, variant.get("RoutingConfig", {}))


def _refuse_routing(name: str, routing: dict[str, Any]) -> None:
    # botocore 1.44.5, ProductionVariantRoutingConfig and PrefixAwareRoutingConfig.
    by_prefix = routing.get("RoutingStrategy") == "PREFIX_AWARE"
    prefixes = routing.get("PrefixAwareRoutingConfig")
    if not by_prefix and prefixes is not None:
        raise validation(
            f"Variant {name}: PrefixAwareRoutingConfig is for PREFIX_AWARE only."
        )
    missing = [key for key in _BY_PREFIX if key not in (prefixes or {})]
    if by_prefix and missing:
        raise validation(f"Variant {name}: PREFIX_AWARE needs {' and '.join(missing)}.")


def model_on(variant: dict[str, Any], instance_type: str) -> str:
    """
    Return the name of the model that fills instances of a type; empty if components do.
    """
    pools = api_values.pools_of(variant)
    own = (one for one in pools if one.get("InstanceType") == instance_type)
    return str(api_values.model_on(variant, next(own, variant)) or "")


def models_of(variant: dict[str, Any]) -> list[str]:
    """
    Return the names of all models that fill instances of a variant.
    """
    pools = [variant, *api_values.maps_of(variant, "InstancePools")]
    names = [pool.get("ModelNameOverride", pool.get("ModelName")) for pool in pools]
    return [str(name) for name in names if name]


def serving_type(fleet: Fleet, names: Iterable[str]) -> str:
    """
    Return the type of an instance that answers for one of the models; the first choice
    where none does.
    """
    serving = (
        copy.instance.instance_type
        for name in names
        if name in fleet.names
        for copy in fleet.copies(name)
        if copy.state == "serving"
    )
    return next(serving, fleet.instance_type)


def instances_by_type(fleet: Fleet) -> list[dict[str, Any]]:
    """
    Count the running instances of each type, as DescribeEndpoint tells them.
    """
    counts = Counter(one.instance_type for one in fleet.running_instances)
    return [
        {"InstanceType": kind, "CurrentInstanceCount": counts[kind]}
        for kind in fleet.instance_types
    ]


def copies_by_type(copies: Iterable[Copy]) -> list[dict[str, Any]]:
    """
    Count the serving copies on each type, as DescribeInferenceComponent tells them.
    """
    kinds = (copy.instance.instance_type for copy in copies if copy.state == "serving")
    return [
        {"InstanceType": kind, "CurrentCopyCount": count}
        for kind, count in Counter(kinds).items()
    ]
