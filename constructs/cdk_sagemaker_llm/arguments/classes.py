"""
The classes that arguments may be of, by the names that annotations have for them.

A class goes by its name, and an interface of the CDK by the attribute that is read of
it: neither is imported, nor is Node asked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from cdk_sagemaker_llm.arguments.kinds import NUMBER, WHOLE_NUMBER, Kind
from cdk_sagemaker_llm.tokens import is_unresolved

# What stands for several kinds under one name.
ALIASES: Mapping[str, str] = {
    "ArgumentValue": (
        "str | int | float | bool | Sequence[str | int | float | bool] "
        "| Mapping[str, Any]"
    ),
    "CacheType": (
        "Literal['f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0', "
        "'iq4_nl']"
    ),
    "Copies": "int | Literal['fill']",
    "EndpointStatus": (
        "Literal['OutOfService', 'Creating', 'Updating', 'SystemUpdating', "
        "'RollingBack', 'InService', 'Deleting', 'Failed', 'UpdateRollbackFailed']"
    ),
    "Engine": "Literal['vllm', 'lmi-vllm', 'sglang']",
    "EngineName": (
        "Literal['vllm', 'sglang', 'tgi', 'tensorrt-llm', 'llama.cpp', 'tei']"
    ),
    "EnvironmentValue": "str | int | float | bool | Sequence[str] | Sequence[int]",
    "ImageDistribution": "Literal['aws', 'huggingface']",
    "Needs": "ResourceRequirements | Mapping[str, ResourceRequirements] | None",
    "Processor": "Literal['x86_64', 'arm64']",
    "PropertyValue": "str | int | float | bool",
    "Routing": "Literal['LEAST_OUTSTANDING_REQUESTS', 'RANDOM']",
    "Seconds": "float | ByType",
}


@functools.cache
def _names_of(owner: type) -> frozenset[str]:
    return frozenset(base.__name__ for base in owner.__mro__)


def _types(value: object) -> list[type]:
    # What jsii hands out as an interface stands before proxies of the interfaces.
    return [type(value), *map(type, getattr(value, "_delegates", ()))]


def _is_a(*names: str) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        own: type = type(value)
        # Nearly always it is this one.
        if not _names_of(own).isdisjoint(names):
            return True
        return any(not _names_of(one).isdisjoint(names) for one in _types(value))

    return holds


def _has(*attributes: str) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        return any(hasattr(one, a) for one in _types(value) for a in attributes)

    return holds


def _called(value: object) -> str:
    return f"write {value.__name__}(...)" if isinstance(value, type) else ""


def _instance_of(name: str, words: str = "", way_out: str = "") -> Kind:
    return Kind(
        words or f"{_article(name)} {name}",
        _is_a(name),
        lambda value: _called(value) if _names(value, name) else way_out,
    )


def _article(name: str) -> str:
    return "an" if name[0] in "AEIOU" else "a"


def _names(value: object, name: str) -> bool:
    return isinstance(value, type) and value.__name__ == name


def _interface(words: str, *attributes: str, way_out: str = "") -> Kind:
    return Kind(words, _has(*attributes), lambda _: way_out)


def _unit(name: str, factory: str) -> Kind:
    def way_out(value: object) -> str:
        is_number = NUMBER.holds(value) and not any(NUMBER.parts(name, value))
        number = "..." if not is_number or is_unresolved(value) else value
        return f"write {name}.{factory}({number})"

    return Kind(f"a {name}", _is_a(name), way_out)


def _model_written(value: object) -> str:
    if isinstance(value, type):
        return _called(value)
    if _is_a("StagedModel")(value):
        return "write its attribute model, such as staged.model"
    if not isinstance(value, str) or is_unresolved(value):
        return ""
    # A credential has no slash: what may be one is not repeated.
    if value.startswith("s3://"):
        return f"write S3Model({value!r})"
    name = repr(value) if "/" in value else "'organisation/name'"
    return f"write HuggingFaceModel({name})"


def _member_of(enumeration: str, usual: str) -> Kind:
    def written(value: object) -> str:
        name = value.upper() if isinstance(value, str) and value.isidentifier() else ""
        return f"write {enumeration}.{name or usual}"

    return Kind(f"{_article(enumeration)} {enumeration}", _is_a(enumeration), written)


def _is_hosting_type(value: object) -> bool:
    # EC2's class of the CDK has the same name.
    return _is_a("InstanceType")(value) and not hasattr(type(value), "is_burstable")


def _hosting_type_written(value: object) -> str:
    if _is_a("InstanceType")(value):
        return f"write {'ml.' + str(value.to_string())!r}"  # type: ignore[attr-defined] # EC2's class
    return _called(value) if _names(value, "InstanceType") else ""


_KEPT_ELSEWHERE = (
    "use a Secret, or SecretValue.secrets_manager(...): what stands in code or in a "
    "template is no secret"
)

# Whose name says it all.
_PLAIN = (
    "AlarmOptions",
    "Artifact",
    "Assumptions",
    "AsyncInference",
    "AvailabilityZoneBalance",
    "Benchmark",
    "Bounds",
    "ByType",
    "CapacityReservation",
    "Compilation",
    "Container",
    "Demand",
    "DraftModel",
    "EndpointConfig",
    "Fault",
    "Finding",
    "FleetTimes",
    "InferenceComponentEndpoint",
    "Latency",
    "Lengths",
    "LlmEndpoint",
    "LoadSettings",
    "LoraAdapter",
    "ManagedInstanceScaling",
    "Measurement",
    "MetricDelays",
    "MetricQuery",
    "ModelArchitecture",
    "NeuronX",
    "Objective",
    "Observability",
    "Plan",
    "Pool",
    "PrefixAwareRouting",
    "ProductionVariant",
    "Question",
    "RollbackAlarms",
    "RopeScaling",
    "Row",
    "ScalableTarget",
    "ScaleIn",
    "ScaleInPolicy",
    "Scenario",
    "ScheduledAction",
    "ServingFolder",
    "ShadowVariant",
    "SmoothQuant",
    "Speedups",
    "TensorRtLlm",
    "TracedRequest",
    "Workload",
)
CLASSES: Mapping[str, Kind] = {
    **{name: _instance_of(name) for name in _PLAIN},
    # Those who read these say what they may be, in better words.
    "Architecture": Kind("an architecture", lambda _: True),
    "Rows": Kind("rows of sequences and seconds", lambda _: True),
    "ServiceTimes": Kind("ServiceTimes(...)", lambda _: True),
    "Traffic": Kind("a traffic", lambda _: True),
    "Users": Kind("Users(...)", lambda _: True),
    "Available": Kind("a function", callable),
    "Policy": Kind(
        "a TargetTracking or a StepScaling", _is_a("TargetTracking", "StepScaling")
    ),
    "AsyncTopic": Kind("an AsyncTopic", _is_a("AsyncTopic")),
    "InstanceCapacity": Kind(
        "an InstanceCapacity",
        _is_a("InstanceCapacity"),
        lambda _: "write InstanceCapacity(pools=[...])",
    ),
    "CaptureMode": Kind("a CaptureMode", _is_a("CaptureMode")),
    "Connection": Kind(
        "a Connection",
        _is_a("Connection"),
        lambda _: "write such as endpoint.connection",
    ),
    "Construct": _interface("a construct, such as a stack", "node"),
    "DataCapture": _instance_of("DataCapture", way_out="write DataCapture(bucket=...)"),
    "Duration": _unit("Duration", "seconds"),
    "EndpointBase": _instance_of("EndpointBase", "an Endpoint"),
    "EndpointConfigBase": _instance_of("EndpointConfigBase", "an EndpointConfig"),
    "ImageRelease": _instance_of(
        "ImageRelease",
        "an image of the catalogue",
        "write CustomContainer.from_uri(...), or find_image(...)",
    ),
    "Accelerators": Kind(
        "a whole number of accelerators, a function that counts them, or None",
        lambda value: value is None or WHOLE_NUMBER.holds(value) or callable(value),
        WHOLE_NUMBER.way_out,
    ),
    "ImageSource": _instance_of("ImageSource", way_out="write ImageSource.region(...)"),
    "InstancePool": _instance_of(
        "InstancePool", way_out="write InstancePool('ml.g5.2xlarge', priority=1)"
    ),
    "InferenceComponentBase": _instance_of(
        "InferenceComponentBase", "an InferenceComponent"
    ),
    "InstanceType": Kind("an InstanceType", _is_hosting_type, _hosting_type_written),
    "Model": _instance_of("Model", "a Model that is defined in a stack"),
    "ModelBase": _instance_of("ModelBase", "a Model that is defined in a stack"),
    "ModelSource": Kind(
        "a HuggingFaceModel or an S3Model",
        _is_a("HuggingFaceModel", "S3Model"),
        _model_written,
        is_secret=True,
    ),
    "Network": _instance_of("Network", way_out="write Network(vpc=...)"),
    "Path": Kind("a Path", lambda value: isinstance(value, Path)),
    "PlacementStrategy": _member_of("PlacementStrategy", "SPREAD"),
    "IAlarmRef": _interface("an alarm", "alarm_ref"),
    "Rolling": _instance_of("Rolling", way_out="write Rolling(percent=...)"),
    "Rollout": Kind(
        "an AllAtOnce, a Canary, a Linear or a Rolling",
        _is_a("AllAtOnce", "Canary", "Linear", "Rolling"),
        _called,
    ),
    "HuggingFaceModel": _instance_of(
        "HuggingFaceModel", way_out="write HuggingFaceModel('organisation/name', ...)"
    ),
    "RemovalPolicy": _member_of("RemovalPolicy", "RETAIN"),
    "ResourceRequirements": _instance_of(
        "ResourceRequirements",
        way_out="write ResourceRequirements(copies=..., accelerators=...)",
    ),
    "RoutingStrategy": _member_of("RoutingStrategy", "LEAST_OUTSTANDING_REQUESTS"),
    "ScaleInStrategy": _member_of("ScaleInStrategy", "IDLE_RELEASE"),
    "ScalableTargetBase": _instance_of("ScalableTargetBase", "a ScalableTarget"),
    "ScalingStep": _instance_of("ScalingStep", way_out="write ScalingStep(...)"),
    "Schema": _member_of("Schema", "OPENAI"),
    "SecretValue": Kind(
        "a SecretValue",
        _is_a("SecretValue"),
        lambda _: _KEPT_ELSEWHERE,
        is_secret=True,
    ),
    "ServingConfiguration": Kind(
        "a serving configuration such as Vllm()",
        lambda value: hasattr(type(value), "prepare"),
        lambda value: (
            "write its attribute serving, such as staged.serving"
            if _is_a("StagedModel")(value)
            else _called(value)
        ),
    ),
    "Size": _unit("Size", "gibibytes"),
    "TimeZone": _instance_of("TimeZone", way_out="write such as 'Europe/Berlin'"),
    "Words": _instance_of("Words", way_out="write Words(engine=...)"),
    "appscaling.AdjustmentType": _instance_of("AdjustmentType"),
    "appscaling.MetricAggregationType": _instance_of("MetricAggregationType"),
    "appscaling.Schedule": _instance_of(
        "Schedule", way_out="write such as 'cron(0 20 * * ? *)'"
    ),
    "cloudwatch.IMetric": _interface(
        "a metric of CloudWatch or a MathExpression", "to_metric_config"
    ),
    "cloudwatch.TreatMissingData": _instance_of("TreatMissingData"),
    "codebuild.ComputeType": _member_of("ComputeType", "LARGE"),
    "codebuild.IBuildImage": _interface(
        "a build image",
        "image_id",
        way_out="write LinuxBuildImage.from_ecr_repository(...)",
    ),
    "datetime": _instance_of("datetime", way_out="write datetime(...)"),
    "cloudwatch.IAlarmAction": _interface(
        "an action of an alarm", "bind", way_out="write SnsAction(topic)"
    ),
    "ecr.IRepository": _interface(
        "a repository",
        "repository_arn",
        way_out="write Repository.from_repository_name(...)",
    ),
    "ecr_assets.DockerImageAsset": _interface(
        "an image asset", "image_uri", way_out="write DockerImageAsset(...)"
    ),
    "ec2.IConnectable": _interface(
        "what has security groups, such as a function", "connections"
    ),
    "ec2.ISecurityGroup": _interface("a security group", "security_group_id"),
    "ec2.IVpc": _interface("a VPC", "vpc_id", way_out="write Vpc.from_lookup(...)"),
    "ec2.SubnetSelection": _instance_of(
        "SubnetSelection", way_out="write SubnetSelection(...)"
    ),
    "events.IRuleTarget": _interface(
        "a target of a rule",
        "bind",
        way_out="write SnsTopic(topic) of aws_events_targets",
    ),
    "iam.IGrantable": _interface(
        "whom to grant it, such as a function or a role", "grant_principal"
    ),
    "iam.IRole": _interface(
        "an IAM role", "role_arn", way_out="write Role.from_role_arn(...)"
    ),
    "kms.IKey": _interface(
        "a KMS key", "key_arn", way_out="write Key.from_key_arn(...)"
    ),
    # A CfnBucket has a name, too.
    "s3.IBucket": _interface(
        "a bucket",
        "grant_read",
        way_out="write Bucket(...), or Bucket.from_cfn_bucket(...)",
    ),
    "sns.ITopic": _interface("a topic", "topic_arn"),
    "secretsmanager.ISecret": Kind(
        "a secret", _has("secret_value"), lambda _: _KEPT_ELSEWHERE, is_secret=True
    ),
}
