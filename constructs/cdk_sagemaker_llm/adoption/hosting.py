"""
How models, endpoint configurations, endpoints and inference components are written with
this library's constructs.

What a construct has no argument for is left out here: what was written is held against
what is wanted, and the rest set on the resource itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.adoption.code import Call, Name, call
from cdk_sagemaker_llm.adoption.resources import (
    COMPONENT,
    ENDPOINT,
    ENDPOINT_CONFIG,
    MODEL,
    AdoptedResource,
)
from cdk_sagemaker_llm.adoption.writing import Block, Form, Writer

_SELF = Name("self")
# As tags of images have it: ``cu128``.
_CUDA = re.compile(r"-cu(\d{3})\b")
_NAMING_A_MODEL = {"HF_MODEL_ID", "OPTION_MODEL_ID", "SERVING_LOAD_MODELS"}
_ALL_TRAFFIC = "AllTraffic"
_TOPICS = {
    "SUCCESS_NOTIFICATION_TOPIC": "AsyncTopic.SUCCESS",
    "ERROR_NOTIFICATION_TOPIC": "AsyncTopic.ERROR",
}
_MODES = {"Input": "CaptureMode.INPUT", "Output": "CaptureMode.OUTPUT"}


def model_form(writer: Writer, block: Block) -> Form | None:
    """
    Write a model of one container.
    """
    (resource,) = block.resources
    properties = resource.properties
    container = properties.get("PrimaryContainer")
    if not isinstance(container, Mapping) or not container.get("Image"):
        return None
    environment = writer.value(container.get("Environment") or {}, resource.name)
    if container.get("ModelDataUrl") and not {*environment} & _NAMING_A_MODEL:
        # Of a tarball that is there already a construct does not see what it names.
        return None
    files = {
        path: Name(f'(_HERE / "{asset_path(block, path)}").read_bytes()')
        for path in resource.request.files
    }
    made = call(
        "Model",
        _SELF,
        block.id,
        serving=call(
            "CustomContainer.from_uri",
            writer.value(container["Image"]),
            environment=environment or None,
            files=files or None,
        ),
        model=_weights(container),
        role=writer.role(properties.get("ExecutionRoleArn")),
        network=writer.network(
            properties.get("VpcConfig"),
            isolated=properties.get("EnableNetworkIsolation") is True,
        ),
    )
    return _with_tags(writer, made, block, resource, "cfn_model")


def asset_path(block: Block, path: str) -> str:
    """
    Return where a file of a model's tarball lies in the app.
    """
    return f"assets/{block.variable}/{path}"


def config_form(writer: Writer, block: Block) -> Form | None:
    """
    Write an endpoint configuration and its variants.
    """
    (resource,) = block.resources
    properties = resource.properties
    made = call(
        "EndpointConfig",
        _SELF,
        block.id,
        variants=[
            _variant(writer, one, _cuda(writer, resource, one))
            for one in properties.get("ProductionVariants", ())
        ],
        shadow_variants=[
            _variant(writer, one)
            for one in properties.get("ShadowProductionVariants", ())
        ]
        or None,
        execution_role=writer.role(properties.get("ExecutionRoleArn")),
        network=writer.network(
            properties.get("VpcConfig"),
            isolated=properties.get("EnableNetworkIsolation") is True,
        ),
        kms_key=writer.key(properties.get("KmsKeyId")),
        observability=_observability(properties.get("MetricsConfig")),
        async_inference=_async_inference(
            writer, properties.get("AsyncInferenceConfig")
        ),
        data_capture=_data_capture(writer, properties.get("DataCaptureConfig")),
    )
    return _with_tags(writer, made, block, resource, "cfn_endpoint_config")


def endpoint_form(writer: Writer, block: Block) -> Form | None:
    """
    Write an endpoint.
    """
    (resource,) = block.resources
    made = call(
        "Endpoint",
        _SELF,
        block.id,
        endpoint_config=writer.construct(
            ENDPOINT_CONFIG,
            resource.properties["EndpointConfigName"],
            "EndpointConfig.from_endpoint_config_name",
        ),
        endpoint_name=writer.value(resource.name),
    )
    return _with_tags(writer, made, block, resource, "cfn_endpoint")


def component_form(writer: Writer, block: Block) -> Form | None:
    """
    Write an inference component that runs a model, or an adapter on its base.
    """
    (resource,) = block.resources
    properties = resource.properties
    specification = properties.get("Specification") or {}
    if specification.get("BaseInferenceComponentName"):
        made = _adapter(writer, block, resource, specification)
    else:
        made = _component(writer, block, properties, specification)
    if made is None:
        return None
    return _with_tags(writer, made, block, resource, "cfn_inference_component")


FORMS: Mapping[str, Sequence[Callable[[Writer, Block], Form | None]]] = {
    MODEL: (model_form,),
    ENDPOINT_CONFIG: (config_form,),
    ENDPOINT: (endpoint_form,),
    COMPONENT: (component_form,),
}


def seconds(value: object) -> Call | None:
    """
    Write a time.
    """
    return None if value is None else call("Duration.seconds", value)


def _with_tags(
    writer: Writer, made: Call, block: Block, resource: AdoptedResource, name: str
) -> Form:
    expression = f"{block.variable}.{name}"
    tags = [
        ("", call(f"{expression}.tags.set_tag", tag["Key"], writer.value(tag["Value"])))
        for tag in resource.properties.get("Tags", ())
    ]
    return Form(made, [(expression, resource)], tags)


def _weights(container: Mapping[str, Any]) -> Call | None:
    source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
    uri = source.get("S3Uri")
    if (
        source.get("S3DataType") != "S3Prefix"
        or source.get("CompressionType") != "None"
    ):
        return None
    if not isinstance(uri, str) or not uri.endswith("/"):
        return None
    accepted = (source.get("ModelAccessConfig") or {}).get("AcceptEula")
    return call("S3Model", uri, accept_eula=True if accepted is True else None)


def _cuda(
    writer: Writer, config: AdoptedResource, variant: Mapping[str, Any]
) -> str | None:
    """
    Return the CUDA version of the components on a host whose image was left to the
    service: it is one that they start on.
    """
    if variant.get("ModelName") or variant.get("InferenceAmiVersion"):
        return None
    every = [one for block in writer.blocks for one in block.resources]
    hosts = {
        one.name
        for one in every
        if one.type == ENDPOINT
        and one.properties.get("EndpointConfigName") == config.name
    }
    models = {
        (one.properties.get("Specification") or {}).get("ModelName")
        for one in every
        if one.type == COMPONENT and one.properties.get("EndpointName") in hosts
    }
    images = [
        str((one.properties.get("PrimaryContainer") or {}).get("Image"))
        for one in every
        if one.type == MODEL and one.name in models
    ]
    found = sorted(int(tag) for image in images for tag in _CUDA.findall(image))
    return None if not found else f"{found[-1] // 10}.{found[-1] % 10}"


def _variant(
    writer: Writer, variant: Mapping[str, Any], cuda: str | None = None
) -> Call:
    name, model = variant.get("VariantName"), variant.get("ModelName")
    weight = variant.get("InitialVariantWeight")
    return call(
        "ProductionVariant",
        instance_type=variant.get("InstanceType"),
        model=None
        if model is None
        else writer.construct(MODEL, model, "Model.from_model_name"),
        variant_name=None if name == _ALL_TRAFFIC else name,
        initial_instance_count=_unless(1, variant.get("InitialInstanceCount")),
        initial_variant_weight=_unless(1, weight),
        container_startup_health_check_timeout=seconds(
            variant.get("ContainerStartupHealthCheckTimeoutInSeconds")
        ),
        model_data_download_timeout=seconds(
            variant.get("ModelDataDownloadTimeoutInSeconds")
        ),
        managed_instance_scaling=_managed_scaling(
            variant.get("ManagedInstanceScaling") or {}
        ),
        routing_strategy=_routing(variant.get("RoutingConfig") or {}),
        inference_ami_version=variant.get("InferenceAmiVersion"),
        cuda_version=cuda,
        volume_size=None
        if variant.get("VolumeSizeInGB") is None
        else call("Size.gibibytes", variant["VolumeSizeInGB"]),
        capacity=_capacity(writer, variant),
    )


def _unless(default: object, value: object) -> object:
    return None if value == default else value


def _managed_scaling(scaling: Mapping[str, Any]) -> Call | None:
    bounds = scaling.get("MinInstanceCount"), scaling.get("MaxInstanceCount")
    if scaling.get("Status") != "ENABLED" or None in bounds:
        return None
    policy = scaling.get("ScaleInPolicy") or {}
    cooldown = policy.get("CooldownInMinutes")
    return call(
        "ManagedInstanceScaling",
        min_instance_count=bounds[0],
        max_instance_count=bounds[1],
        scale_in_policy=call(
            "ScaleInPolicy",
            strategy=Name(f"ScaleInStrategy.{policy['Strategy']}"),
            maximum_step_size=policy.get("MaximumStepSize"),
            cooldown=None if cooldown is None else call("Duration.minutes", cooldown),
        )
        if policy.get("Strategy")
        else None,
    )


def _routing(routing: Mapping[str, Any]) -> object:
    prefix = routing.get("PrefixAwareRoutingConfig") or {}
    if routing.get("RoutingStrategy") == "PREFIX_AWARE" and prefix:
        return call(
            "PrefixAwareRouting",
            prefix_length=prefix.get("PrefixLength"),
            concurrency_threshold=prefix.get("ConcurrencyThreshold"),
        )
    if routing.get("RoutingStrategy") == "RANDOM":
        return Name("RoutingStrategy.RANDOM")
    return None


def _capacity(writer: Writer, variant: Mapping[str, Any]) -> Call | None:
    pools = [
        call(
            "InstancePool",
            pool["InstanceType"],
            priority=pool["Priority"],
            model=None
            if not pool.get("ModelNameOverride")
            else writer.construct(
                MODEL, pool["ModelNameOverride"], "Model.from_model_name"
            ),
        )
        for pool in variant.get("InstancePools", ())
    ]
    reservation = (variant.get("CapacityReservationConfig") or {}).get(
        "MlReservationArn"
    )
    timeout = seconds(variant.get("VariantInstanceProvisionTimeoutInSeconds"))
    if not pools and reservation is None and timeout is None:
        return None
    return call(
        "InstanceCapacity",
        pools=pools or None,
        reservation=None
        if reservation is None
        else call("CapacityReservation", reservation),
        provision_timeout=timeout,
    )


def _observability(metrics: Mapping[str, Any] | None) -> Call | None:
    if metrics is None:
        return None
    return call(
        "Observability",
        detailed=metrics.get("EnableDetailedObservability") or None,
        enhanced_metrics=metrics.get("EnableEnhancedMetrics") or None,
        publish_frequency=seconds(metrics.get("MetricPublishFrequencyInSeconds")),
    )


def _async_inference(writer: Writer, config: Mapping[str, Any] | None) -> Call | None:
    if config is None:
        return None
    output = config.get("OutputConfig") or {}
    topics = output.get("NotificationConfig") or {}
    client = config.get("ClientConfig") or {}
    return call(
        "AsyncInference",
        output=writer.value(output.get("S3OutputPath")),
        failure=output.get("S3FailurePath"),
        kms_key=writer.key(output.get("KmsKeyId")),
        success_topic=writer.topic(topics.get("SuccessTopic")),
        error_topic=writer.topic(topics.get("ErrorTopic")),
        include_inference_response_in=[
            Name(_TOPICS[one])
            for one in topics.get("IncludeInferenceResponseIn", ())
            if one in _TOPICS
        ]
        or None,
        max_concurrent_invocations_per_instance=client.get(
            "MaxConcurrentInvocationsPerInstance"
        ),
    )


def _data_capture(writer: Writer, config: Mapping[str, Any] | None) -> Call | None:
    if config is None or not config.get("EnableCapture", True):
        return None
    uri = config.get("DestinationS3Uri")
    modes = [one.get("CaptureMode") for one in config.get("CaptureOptions", ())]
    types = config.get("CaptureContentTypeHeader") or {}
    return call(
        "DataCapture",
        bucket=writer.value(uri),
        sampling_percent=_unless(100, config.get("InitialSamplingPercentage")),
        capture=None
        if modes == [*_MODES]
        else [Name(_MODES[one]) for one in modes if one in _MODES],
        kms_key=writer.key(config.get("KmsKeyId")),
        json_content_types=_unless(
            ["application/json"], types.get("JsonContentTypes", [])
        ),
        csv_content_types=types.get("CsvContentTypes"),
    )


def _component(
    writer: Writer,
    block: Block,
    properties: Mapping[str, Any],
    specification: Mapping[str, Any],
) -> Call | None:
    model = specification.get("ModelName")
    if model is None:
        return None
    needs = specification.get("ComputeResourceRequirements") or {}
    start = specification.get("StartupParameters") or {}
    copies = (properties.get("RuntimeConfig") or {}).get("CopyCount")
    variant = properties.get("VariantName")
    strategy = (specification.get("SchedulingConfig") or {}).get("PlacementStrategy")
    return call(
        "InferenceComponent",
        _SELF,
        block.id,
        endpoint=writer.construct(
            ENDPOINT, properties["EndpointName"], "Endpoint.from_endpoint_name"
        ),
        model=writer.construct(MODEL, model, "Model.from_model_name"),
        resources=call(
            "ResourceRequirements",
            copies=_unless(1, copies),
            accelerators=needs.get("NumberOfAcceleratorDevicesRequired"),
            cpus=needs.get("NumberOfCpuCoresRequired"),
            memory_mib=needs.get("MinMemoryRequiredInMb"),
        ),
        variant_name=None if variant == _ALL_TRAFFIC else variant,
        inference_component_name=writer.value(properties["InferenceComponentName"]),
        container_startup_health_check_timeout=seconds(
            start.get("ContainerStartupHealthCheckTimeoutInSeconds")
        ),
        model_data_download_timeout=seconds(
            start.get("ModelDataDownloadTimeoutInSeconds")
        ),
        placement_strategy=None
        if strategy is None
        else Name(f"PlacementStrategy.{strategy}"),
        data_caching=(specification.get("DataCacheConfig") or {}).get("EnableCaching"),
    )


def _adapter(
    writer: Writer,
    block: Block,
    resource: AdoptedResource,
    specification: Mapping[str, Any],
) -> Call | None:
    base = writer.block_of(COMPONENT, str(specification["BaseInferenceComponentName"]))
    artifact = (specification.get("Container") or {}).get("ArtifactUrl")
    if base is None or writer.is_plain(base) or not artifact:
        return None
    return call(
        f"{base.variable}.add_adapter",
        block.id,
        artifact=writer.value(artifact),
        inference_component_name=writer.value(resource.name),
    )
