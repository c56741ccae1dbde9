"""
The shapes of the API in the SDK's words: variants, containers, components and
data capture of version 2, and whatever ``sagemaker.core.shapes`` of version 3 says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.adoption.scripts.values import Thing, Unknown

Values = dict[str, Any]

RESOURCES = ("Model", "EndpointConfig", "Endpoint", "InferenceComponent")
_VARIANT = "AllTraffic"
_VARIANT_FIELDS = {
    "volume_size": "VolumeSizeInGB",
    "model_data_download_timeout": "ModelDataDownloadTimeoutInSeconds",
    "container_startup_health_check_timeout": (
        "ContainerStartupHealthCheckTimeoutInSeconds"
    ),
    "routing_config": "RoutingConfig",
    "inference_ami_version": "InferenceAmiVersion",
    "accelerator_type": "AcceleratorType",
}
_COMPUTE = {
    "num_accelerators": "NumberOfAcceleratorDevicesRequired",
    "num_cpus": "NumberOfCpuCoresRequired",
    "memory": "MinMemoryRequiredInMb",
}
_CAPTURES = {"REQUEST": "Input", "RESPONSE": "Output"}
_OWN_NAMES = (
    *("model_name", "endpoint_config_name", "endpoint_name"),
    "inference_component_name",
)
_NAMES = {"gb": "GB", "uri": "Uri"}


def variant_of(arguments: Values) -> Values:
    """
    Return a variant as ``sagemaker.production_variant`` makes it.
    """
    variant: Values = {"VariantName": arguments.get("variant_name") or _VARIANT}
    if arguments.get("model_name") is not None:
        variant["ModelName"] = arguments["model_name"]
        variant["InitialVariantWeight"] = arguments.get("initial_weight", 1)
    serverless = arguments.get("serverless_inference_config")
    if serverless is not None:
        memory = part_of(serverless, "memory_size_in_mb") or 2048
        most = part_of(serverless, "max_concurrency") or 5
        variant["ServerlessConfig"] = {"MemorySizeInMB": memory, "MaxConcurrency": most}
        return variant
    variant["InitialInstanceCount"] = arguments.get("initial_instance_count") or 1
    variant["InstanceType"] = arguments.get("instance_type") or Unknown(
        "instance_type", name="instance_type", why="the SDK chooses an instance type"
    )
    fields = {api: arguments.get(name) for name, api in _VARIANT_FIELDS.items()}
    return variant | present(**fields)


def container_of(arguments: Values) -> Values:
    """
    Return a container as ``sagemaker.container_def`` makes it.
    """
    return {"Image": arguments.get("image_uri")} | present(
        Environment=arguments.get("env"), ModelDataUrl=arguments.get("model_data_url")
    )


def component_of(model: Thing, arguments: Values) -> Values:
    """
    Return the request for a component, as ``Model.deploy`` makes it.
    """
    resources = arguments.get("resources")
    requests = part_of(resources, "requests") or {}
    limits = part_of(resources, "limits") or {}
    compute: Values = {}
    copies: object = 1
    if isinstance(requests, dict):
        compute = {
            api: requests[name] for name, api in _COMPUTE.items() if requests.get(name)
        }
        copies = requests.get("copies", 1)
    if isinstance(limits, dict) and limits.get("memory"):
        compute["MaxMemoryRequiredInMb"] = limits["memory"]
    names = ("model_data_download_timeout", "container_startup_health_check_timeout")
    startup = present(**{_VARIANT_FIELDS[name]: arguments.get(name) for name in names})
    specification: Values = {
        "ModelName": model.get("name"),
        "ComputeResourceRequirements": compute,
    }
    return {
        "InferenceComponentName": model.arguments["inference_component_name"],
        "EndpointName": model.arguments["endpoint_name"],
        "VariantName": _VARIANT,
        "Specification": specification
        | ({"StartupParameters": startup} if startup else {}),
        "RuntimeConfig": {"CopyCount": copies},
    } | present(Tags=tags_of(arguments.get("tags")))


def capture_of(config: object) -> Values | None:
    """
    Return what a ``DataCaptureConfig`` asks for; ``None`` of anything else.
    """
    if not isinstance(config, Thing):
        return None
    where = config.get("destination_s3_uri")
    if where is None:
        why = "the SDK makes a path in its default bucket"
        where = Unknown("destination_s3_uri", name="capture_destination", why=why)
    modes = config.get("capture_options") or ["REQUEST", "RESPONSE"]
    percent = config.get("sampling_percentage")
    types = present(
        CsvContentTypes=config.get("csv_content_types"),
        JsonContentTypes=config.get("json_content_types"),
    )
    return {
        "EnableCapture": config.get("enable_capture"),
        "InitialSamplingPercentage": 20 if percent is None else percent,
        "DestinationS3Uri": where,
        "CaptureOptions": [
            {"CaptureMode": _CAPTURES.get(str(one).upper(), one)} for one in modes
        ],
    } | present(
        KmsKeyId=config.get("kms_key_id"), CaptureContentTypeHeader=types or None
    )


def as_api(value: Any, *, inside: bool = False) -> Any:  # noqa: ANN401 - JSON
    """
    Return arguments of ``sagemaker.core.resources`` in the API's spelling.

    Args:
        value: A resource, a shape or what they are made of.

        inside: Whether it is within another resource, which names it.
    """
    if inside and isinstance(value, Thing) and value.kind in RESOURCES:
        return next(
            (one for k, one in value.arguments.items() if k in _OWN_NAMES), None
        )
    parts = value.arguments if isinstance(value, Thing) else value
    if isinstance(parts, Mapping):
        return {
            _camel(name): one if name == "environment" else as_api(one, inside=True)
            for name, one in parts.items()
        }
    if isinstance(value, list | tuple):
        return [as_api(one, inside=True) for one in value]
    return value


def _camel(name: str) -> str:
    if not name.islower():
        return name
    return "".join(_NAMES.get(word, word.capitalize()) for word in name.split("_"))


def part_of(thing: object, name: str) -> Any:  # noqa: ANN401 - whatever it was given
    """
    Return an argument of an object of the script; ``None`` of anything else.
    """
    return thing.get(name) if isinstance(thing, Thing) else None


def present(**values: object) -> Values:
    """
    Return values by their names, without those that are ``None``.
    """
    return {name: value for name, value in values.items() if value is not None}


def tags_of(tags: object) -> object:
    """
    Return tags as the API takes them.
    """
    if isinstance(tags, dict):
        return [{"Key": key, "Value": value} for key, value in tags.items()]
    return tags
