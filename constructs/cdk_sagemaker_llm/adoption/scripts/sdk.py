"""
What SageMaker's Python SDK asks for: models, builders, sessions and resources of its
versions 2 and 3, as the requests of the API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.adoption.scripts.functions import retrieved
from cdk_sagemaker_llm.adoption.scripts.shapes import (
    RESOURCES,
    Values,
    as_api,
    capture_of,
    component_of,
    container_of,
    part_of,
    present,
    tags_of,
    variant_of,
)
from cdk_sagemaker_llm.adoption.scripts.values import (
    Called,
    Text,
    Thing,
    Unknown,
    joined,
)

_MODELS = (
    *("Model", "HuggingFaceModel", "DJLModel", "FrameworkModel", "PyTorchModel"),
    *("TensorFlowModel", "MXNetModel", "SKLearnModel", "XGBoostModel", "TritonModel"),
)
_BUILT = ("JumpStartModel", "ModelBuilder")
_OTHERS = {
    "MultiDataModel": "a multi-model endpoint chooses its models when it is asked",
    "PipelineModel": "a pipeline of containers is not converted",
    "ModelPackage": "what a model package holds only AWS knows",
}
_POSITIONS = {
    "Model": ("image_uri", "model_data", "role"),
    "DJLModel": ("model_id", "role"),
    "HuggingFaceModel": ("role", "model_data", "entry_point"),
    "JumpStartModel": ("model_id", "model_version"),
    "ModelBuilder": ("model",),
    "deploy": ("initial_instance_count", "instance_type", "serializer"),
    "build": ("model_name", "mode", "role_arn"),
    "ModelBuilder.deploy": ("endpoint_name", "initial_instance_count", "instance_type"),
    "create_model": ("name", "role", "container_defs"),
    "create_endpoint_config": (
        *("name", "model_name", "initial_instance_count", "instance_type"),
    ),
    "create_endpoint": ("endpoint_name", "config_name"),
    "endpoint_from_production_variants": ("name", "production_variants"),
    "production_variant": ("model_name", "instance_type", "initial_instance_count"),
    "container_def": ("image_uri", "model_data_url", "env"),
    "AsyncInferenceConfig": ("output_path",),
    "DataCaptureConfig": (
        "enable_capture",
        "sampling_percentage",
        "destination_s3_uri",
    ),
    "ResourceRequirements": ("requests", "limits"),
}
# DJLModel._configure_environment_variables, SDK 2.245.
_DJL = {
    "model_id": "HF_MODEL_ID",
    "task": "HF_TASK",
    "dtype": "OPTION_DTYPE",
    "min_workers": "SERVING_MIN_WORKERS",
    "max_workers": "SERVING_MAX_WORKERS",
    "job_queue_size": "SERVING_JOB_QUEUE_SIZE",
    "parallel_loading": "OPTION_PARALLEL_LOADING",
    "model_loading_timeout": "OPTION_MODEL_LOADING_TIMEOUT",
    "prediction_timeout": "OPTION_PREDICT_TIMEOUT",
    "huggingface_hub_token": "HF_TOKEN",
    "engine": "OPTION_ENGINE",
    "tensor_parallel_degree": "TENSOR_PARALLEL_DEGREE",
}
# Of these the SDK makes its client.
_WHERE = ("session", "region")
_KEPT = {
    **{name: name for name in (*_MODELS, *_BUILT, *_OTHERS)},
    "AsyncInferenceConfig": "AsyncInferenceConfig",
    "DataCaptureConfig": "DataCaptureConfig",
    "ResourceRequirements": "ResourceRequirements",
    "from_jumpstart_config": "JumpStartModel",
}
_IDENTITIES = {"name", "endpoint_name", "inference_component_name"}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]+")
_LONGEST = 40
_INSTEAD = "`sagemaker-llm adopt` reads them from the endpoint when it runs"


@dataclass
class Outcome:
    """
    What a call of the SDK comes to.

    Args:
        value: What it returns.

        requests: The operations that it asks for, with what they say.

        remarks: What it does that is not in them.
    """

    value: object = None
    requests: list[tuple[str, Values]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def outcome(called: Called) -> Outcome | None:
    """
    Return what a call comes to; ``None`` if it is none of the SDK's that matter.
    """
    name, owner = called.name, called.owner
    if isinstance(owner, Thing) and owner.kind in (*_MODELS, *_BUILT, *_OTHERS):
        return _of_model(owner, called)
    if name in _KEPT:
        return Outcome(Thing(_KEPT[name], _arguments_of(name, called)))
    if name in _HELPERS:
        return Outcome(_HELPERS[name](_arguments_of(name, called)))
    kind = called.text.rpartition(".")[0].rpartition(".")[2]
    if name == "create" and kind in RESOURCES:
        said = {k: v for k, v in called.keywords.items() if k not in _WHERE}
        resource = Thing(kind, said)
        return Outcome(resource, [(f"Create{kind}", as_api(resource))])
    if name in _SESSION and owner is not None:
        arguments = _arguments_of(name, called)
        return _SESSION[name](arguments) if _IDENTITIES & {*arguments} else None
    return None


def _of_model(model: Thing, called: Called) -> Outcome | None:
    result = Outcome()
    is_model = model.kind in _MODELS
    if called.name in ("build", "optimize"):
        model.arguments |= present(**_arguments_of("build", called))
        result.value = model
        if called.name == "optimize":
            result.remarks.append(
                "optimize() is not converted: which artifact it makes only AWS knows"
            )
    elif called.name == "prepare_container_def" and is_model:
        result.value = _container_of(model, result)
    elif called.name in ("create", "create_model") and is_model:
        _create_model(model, result)
    elif called.name != "deploy":
        return None
    elif model.kind in _OTHERS:
        result.remarks.append(f"{model.kind} is not converted: {_OTHERS[model.kind]}")
    else:
        is_third = model.kind == "ModelBuilder" and not isinstance(called.first, int)
        position = "ModelBuilder.deploy" if is_third else "deploy"
        _deploy(model, _arguments_of(position, called), result)
    return result


def _deploy(model: Thing, arguments: Values, result: Outcome) -> None:
    jumpstart = _jumpstart(model)
    if jumpstart is not None:
        result.remarks.append(
            f"image, weights and variables of {jumpstart} in JumpStart only AWS knows: "
            + _INSTEAD
        )
        result.value = _predictor(model, arguments)
        return
    elsewhere = _elsewhere(model, arguments)
    if elsewhere:
        result.remarks.append(f"{elsewhere} deploys nothing to AWS")
        return
    arguments = _with_inference_config(arguments)
    kind = arguments.get("endpoint_type")
    is_shared = isinstance(kind, Unknown) and "INFERENCE_COMPONENT" in kind.text
    is_shared = is_shared or isinstance(arguments.get("resources"), Thing)
    _create_model(model, result)
    result.value = _predictor(model, arguments)
    if arguments.get("instance_type") is None:
        arguments["instance_type"] = model.get("instance_type") or part_of(
            model.get("compute"), "instance_type"
        )
    if arguments.get("initial_instance_count") is None:
        arguments["initial_instance_count"] = 1
    endpoint = model.arguments["endpoint_name"]
    variant = variant_of(
        {**arguments, "model_name": None if is_shared else model.get("name")}
    )
    if is_shared:
        _share(variant, arguments)
    configuration = {"EndpointConfigName": endpoint, "ProductionVariants": [variant]}
    if is_shared:
        configuration["ExecutionRoleArn"] = model.get("role", "role_arn")
    configuration |= present(
        KmsKeyId=arguments.get("kms_key"),
        DataCaptureConfig=capture_of(arguments.get("data_capture_config")),
        AsyncInferenceConfig=_async(arguments.get("async_inference_config"), result),
        Tags=tags_of(arguments.get("tags")),
    )
    result.requests += [
        ("CreateEndpointConfig", configuration),
        (
            "CreateEndpoint",
            {"EndpointName": endpoint, "EndpointConfigName": endpoint}
            | present(Tags=tags_of(arguments.get("tags"))),
        ),
    ]
    if is_shared:
        result.requests.append(
            ("CreateInferenceComponent", component_of(model, arguments))
        )
    if arguments.get("update_endpoint"):
        result.remarks.append("the update of an endpoint is converted like a new one")
    if arguments.get("explainer_config") is not None:
        result.remarks.append(
            "explainer_config is not converted: it is none of a language model's"
        )


def _elsewhere(model: Thing, arguments: Values) -> str:
    """
    Return what has a model run where the script does; empty where nothing says so.
    """
    mode, machine = model.get("mode"), arguments.get("instance_type")
    if isinstance(mode, Unknown) and not mode.text.endswith("ENDPOINT"):
        return mode.text
    return machine if machine in ("local", "local_gpu") else ""


def _predictor(model: Thing, arguments: Values) -> Thing:
    names = {
        "endpoint_name": arguments.get("endpoint_name") or model.get("endpoint_name"),
        "inference_component_name": arguments.get("inference_component_name"),
    }
    base = model.get("name") or "endpoint"
    for name, value in names.items():
        is_missing = value is None and (
            name == "endpoint_name" or arguments.get("resources") is not None
        )
        made = joined([base, "-", Unknown(f"the SDK's {name}", "time")], name)
        model.arguments[name] = made if is_missing else value
    component = model.arguments["inference_component_name"]
    return Thing(
        "Predictor",
        {
            "endpoint_name": model.arguments["endpoint_name"],
            "component_name": component,
            "inference_component_name": component,
        },
    )


def _jumpstart(model: Thing) -> str | None:
    """
    Return JumpStart's id of a model; ``None`` if it is none of JumpStart's.
    """
    if model.kind == "JumpStartModel":
        config = model.get("jumpstart_config")
        name = model.get("model_id") or part_of(config, "model_id")
        return str(name) if isinstance(name, str) else "a model"
    name = model.get("model")
    is_id = isinstance(name, str) and "/" not in name
    return str(name) if model.kind == "ModelBuilder" and is_id else None


def _with_inference_config(arguments: Values) -> Values:
    """
    Return the arguments of ``ModelBuilder.deploy``, version 3, in the words of 2.
    """
    config = arguments.get("inference_config")
    names = {
        "AsyncInferenceConfig": "async_inference_config",
        "ResourceRequirements": "resources",
        "ServerlessInferenceConfig": "serverless_inference_config",
    }
    if not isinstance(config, Thing) or config.kind not in names:
        return arguments
    return {**arguments, names[config.kind]: config}


def _create_model(model: Thing, result: Outcome) -> None:
    container = _container_of(model, result)
    name = model.get("name", "model_name")
    if name is None:
        base = _stem(container.get("Environment"))
        name = joined(
            [base, "-", Unknown("the SDK's name of the model", "time")], "name"
        )
    model.arguments["name"] = name
    request = {
        "ModelName": name,
        "PrimaryContainer": container,
        "ExecutionRoleArn": model.get("role", "role_arn"),
    } | present(
        VpcConfig=model.get("vpc_config"),
        EnableNetworkIsolation=model.get("enable_network_isolation"),
    )
    result.requests.append(("CreateModel", request))


def _container_of(model: Thing, result: Outcome) -> Values:
    environment = model.get("env", "env_vars") or {}
    if isinstance(environment, dict):
        environment = dict(environment)
        _fill(model, environment, result)
    container: Values = {"Image": model.get("image_uri", "image") or _image_of(model)}
    if environment:
        container["Environment"] = environment
    data = model.get("model_data", "s3_model_data_url", "model_path")
    source = "ModelDataSource" if isinstance(data, dict) else "ModelDataUrl"
    if model.get("entry_point", "source_dir", "source_code") is not None:
        result.remarks.append(
            "the SDK packs entry_point and source_dir into the model's tarball when it "
            "runs: put that code into files= of the container"
        )
    return container | present(**{source: data})


def _fill(model: Thing, environment: Values, result: Outcome) -> None:
    """
    Add the variables that the SDK sets, and tell of those that it computes.
    """
    workers = model.get("model_server_workers")
    if workers is not None:
        environment["SAGEMAKER_MODEL_SERVER_WORKERS"] = workers
    if model.kind == "DJLModel":
        for name, variable in _DJL.items():
            value = model.get(name)
            if value is not None:
                environment.setdefault(variable, value)
        environment.setdefault("OPTION_ENGINE", "Python")
    source = model.get("model")
    if model.kind == "ModelBuilder" and isinstance(source, str | Text):
        environment.setdefault("HF_MODEL_ID", source)
        result.remarks.append(
            "ModelBuilder adds variables that it reads from the model's configuration: "
            + _INSTEAD
        )
    elif model.kind == "ModelBuilder" and model.get("model", "inference_spec"):
        result.remarks.append(
            "ModelBuilder packs the object that it is given when it runs: put its code "
            "into files= of the container"
        )


def _stem(environment: object) -> str:
    """
    Return a name for a model that has none: that of its weights.
    """
    for variable in ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL"):
        weights = environment.get(variable) if isinstance(environment, dict) else None
        if isinstance(weights, str):
            stem = _NOT_IN_NAMES.sub("-", weights.rstrip("/").rpartition("/")[2])
            return stem[:_LONGEST].strip("-") or "model"
    return "model"


def _image_of(model: Thing) -> object:
    if model.kind == "DJLModel":
        family = model.get("djl_framework") or "djl-lmi"
        named = present(framework=family, version=model.get("djl_version"))
        return retrieved(named)
    versions = ", ".join(
        f"{name}={value}"
        for name, value in model.arguments.items()
        if name.endswith("_version") and isinstance(value, str)
    )
    chosen = f" for {versions}" if versions else ""
    why = f"which image {model.kind} takes{chosen} is not in this library's catalogue"
    return Unknown("image_uri", name="image_uri", why=why)


def _share(variant: Values, arguments: Values) -> None:
    scaling = arguments.get("managed_instance_scaling")
    if not isinstance(scaling, dict):
        return
    variant["ManagedInstanceScaling"] = {
        "Status": "ENABLED",
        "MinInstanceCount": variant["InitialInstanceCount"],
        **{k: v for k, v in scaling.items() if k.endswith("InstanceCount")},
    }


def _async(config: object, result: Outcome) -> Values | None:
    if not isinstance(config, Thing):
        return None
    output = config.get("output_path")
    if output is None:
        why = "the SDK makes a path in its default bucket"
        output = Unknown("output_path", name="async_output_path", why=why)
    elif config.get("failure_path") is None:
        result.remarks.append(
            "the SDK writes failures of asynchronous requests to its default bucket: "
            "the app names no place for them"
        )
    where = {"S3OutputPath": output} | present(
        S3FailurePath=config.get("failure_path"),
        KmsKeyId=config.get("kms_key_id"),
        NotificationConfig=config.get("notification_config"),
    )
    most = config.get("max_concurrent_invocations_per_instance")
    client = {"MaxConcurrentInvocationsPerInstance": most}
    return {"OutputConfig": where} | ({"ClientConfig": client} if most else {})


def _session_model(arguments: Values) -> Outcome:
    containers = arguments.get("container_defs")
    name = "Containers" if isinstance(containers, list) else "PrimaryContainer"
    request = {
        "ModelName": arguments.get("name"),
        "ExecutionRoleArn": arguments.get("role"),
        name: containers,
    } | present(
        VpcConfig=arguments.get("vpc_config"),
        EnableNetworkIsolation=arguments.get("enable_network_isolation") or None,
    )
    return Outcome(arguments.get("name"), [("CreateModel", request)])


def _session_config(arguments: Values) -> Outcome:
    request = {
        "EndpointConfigName": arguments.get("name"),
        "ProductionVariants": [variant_of(arguments)],
    } | present(KmsKeyId=arguments.get("kms_key"), Tags=tags_of(arguments.get("tags")))
    return Outcome(arguments.get("name"), [("CreateEndpointConfig", request)])


def _session_endpoint(arguments: Values) -> Outcome:
    name = arguments.get("endpoint_name")
    request = {"EndpointName": name, "EndpointConfigName": arguments.get("config_name")}
    return Outcome(name, [("CreateEndpoint", request)])


def _session_variants(arguments: Values) -> Outcome:
    result = Outcome(arguments.get("name"))
    name = arguments.get("name")
    configuration = {
        "EndpointConfigName": name,
        "ProductionVariants": arguments.get("production_variants"),
    } | present(
        KmsKeyId=arguments.get("kms_key"),
        ExecutionRoleArn=arguments.get("role"),
        DataCaptureConfig=arguments.get("data_capture_config_dict"),
        AsyncInferenceConfig=arguments.get("async_inference_config_dict"),
        Tags=tags_of(arguments.get("tags")),
    )
    result.requests = [
        ("CreateEndpointConfig", configuration),
        ("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": name}),
    ]
    return result


def _session_component(arguments: Values) -> Outcome:
    request = {
        "InferenceComponentName": arguments.get("inference_component_name"),
        "EndpointName": arguments.get("endpoint_name"),
        "VariantName": arguments.get("variant_name"),
        "Specification": arguments.get("specification"),
        "RuntimeConfig": arguments.get("runtime_config") or {"CopyCount": 1},
    }
    return Outcome(None, [("CreateInferenceComponent", request)])


_HELPERS: Mapping[str, Callable[[Values], object]] = {
    "production_variant": variant_of,
    "container_def": container_of,
}
_SESSION: Mapping[str, Callable[[Values], Outcome]] = {
    "create_model": _session_model,
    "create_endpoint_config": _session_config,
    "create_endpoint": _session_endpoint,
    "endpoint_from_production_variants": _session_variants,
    "create_inference_component": _session_component,
}


def _arguments_of(name: str, called: Called) -> Values:
    return called.by_name(*_POSITIONS.get(name, ()))
