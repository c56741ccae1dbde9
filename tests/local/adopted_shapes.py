"""
Endpoints as notebooks, tools and other constructs make them, for ``adopt`` to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import LMI_28, REGISTRY, TGI_3
from tests.secrecy import TOKEN

VLLM = f"{REGISTRY}/djl-inference:0.33.0-lmi15.0.0-cu128"
DIMENSIONS = {
    "endpoint": "sagemaker:variant:DesiredInstanceCount",
    "inference-component": "sagemaker:inference-component:DesiredCopyCount",
}
_NEEDS = {"NumberOfAcceleratorDevicesRequired": 1, "MinMemoryRequiredInMb": 4096}


@dataclass(frozen=True)
class Account:
    """
    An account that endpoints are made in, in few words.
    """

    aws: EmbeddedAws

    @property
    def role(self) -> str:
        """
        The role of whoever made them.
        """
        return f"arn:aws:iam::{self.aws.account}:role/service-role/SageMakerRole"

    def call(self, service: str, operation: str, **request: Untyped) -> Untyped:
        """
        Call the API.
        """
        return getattr(self.aws.client(service), operation)(**request)

    def stored(self, bucket: str, key: str) -> str:
        """
        Put an object into a bucket of its own, and return its address.
        """
        name = f"{bucket}-{self.aws.account}"
        self.call("s3", "create_bucket", Bucket=name)
        self.call("s3", "put_object", Bucket=name, Key=key, Body=b"{}")
        return f"s3://{name}/{key}"

    def model(
        self,
        name: str,
        environment: Mapping[str, str] | None = None,
        image: str = TGI_3,
        **request: Untyped,
    ) -> str:
        """
        Create a model, and return its name.
        """
        container = {"Image": image, **request.pop("container", {})}
        if environment:
            container["Environment"] = dict(environment)
        self.call(
            "sagemaker",
            "create_model",
            **{
                "ModelName": name,
                "ExecutionRoleArn": self.role,
                "PrimaryContainer": container,
                **request,
            },
        )
        return name

    def endpoint(
        self,
        name: str,
        *variants: Mapping[str, Any],
        deployment: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        **config: Untyped,
    ) -> str:
        """
        Create an endpoint and its configuration.
        """
        rows = [{"Key": key, "Value": value} for key, value in (tags or {}).items()]
        self.call(
            "sagemaker",
            "create_endpoint_config",
            EndpointConfigName=f"{name}-config",
            ProductionVariants=list(variants),
            **({"Tags": rows} if rows else {}),
            **config,
        )
        self.call(
            "sagemaker",
            "create_endpoint",
            EndpointName=name,
            EndpointConfigName=f"{name}-config",
            **({"DeploymentConfig": deployment} if deployment else {}),
            **({"Tags": rows} if rows else {}),
        )
        return name

    def host(self, name: str, **variant: Untyped) -> str:
        """
        Create an endpoint for inference components.
        """
        return self.endpoint(
            name,
            {
                "VariantName": "AllTraffic",
                "InstanceType": "ml.g5.48xlarge",
                "InitialInstanceCount": 1,
                **variant,
            },
            ExecutionRoleArn=self.role,
        )

    def component(self, name: str, endpoint: str, **request: Untyped) -> str:
        """
        Create an inference component.
        """
        specification = request.pop("Specification", {})
        copies = request.pop("copies", 1)
        if "BaseInferenceComponentName" not in specification:
            specification = {
                "ModelName": f"{name}-model",
                "ComputeResourceRequirements": _NEEDS,
                **specification,
            }
            request = {
                "VariantName": "AllTraffic",
                "RuntimeConfig": {"CopyCount": copies},
                **request,
            }
        self.call(
            "sagemaker",
            "create_inference_component",
            InferenceComponentName=name,
            EndpointName=endpoint,
            Specification=specification,
            **request,
        )
        return name

    def scale(
        self, resource_id: str, least: int, most: int, **request: Untyped
    ) -> None:
        """
        Register a scalable target.
        """
        self.call(
            "application-autoscaling",
            "register_scalable_target",
            **self.scaled(resource_id),
            MinCapacity=least,
            MaxCapacity=most,
            **request,
        )

    def scaled(self, resource_id: str) -> dict[str, str]:
        """
        Return what tells a scalable target from others.
        """
        return {
            "ServiceNamespace": "sagemaker",
            "ResourceId": resource_id,
            "ScalableDimension": DIMENSIONS[resource_id.partition("/")[0]],
        }

    def track(self, resource_id: str, name: str, **config: Untyped) -> None:
        """
        Put a policy that tracks a target.
        """
        self.call(
            "application-autoscaling",
            "put_scaling_policy",
            PolicyName=name,
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=config,
            **self.scaled(resource_id),
        )

    def step(
        self,
        resource_id: str,
        name: str,
        alarm: Mapping[str, Any],
        *,
        actions: int = 1,
        **config: Untyped,
    ) -> None:
        """
        Put a policy by steps, and the alarm that sets it off.
        """
        made = self.call(
            "application-autoscaling",
            "put_scaling_policy",
            PolicyName=name,
            PolicyType="StepScaling",
            StepScalingPolicyConfiguration=config,
            **self.scaled(resource_id),
        )
        topic = f"arn:aws:sns:us-east-1:{self.aws.account}:pages"
        self.call(
            "cloudwatch",
            "put_metric_alarm",
            AlarmActions=[made["PolicyARN"], *([topic] if actions > 1 else [])],
            **alarm,
        )


def variant(model: str, **more: Untyped) -> dict[str, Any]:
    """
    Return a variant that a model fills.
    """
    return {
        "VariantName": "AllTraffic",
        "ModelName": model,
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
        **more,
    }


def boto3_least(a: Account) -> None:
    """
    As few words as boto3 takes.
    """
    a.endpoint("least", variant(a.model("least-model", {"HF_MODEL_ID": "gpt2"})))


def sdk_v2_tgi(a: Account) -> None:
    """
    ``HuggingFaceModel(...).deploy(...)`` of the SageMaker SDK 2, with its long names.
    """
    model = a.model(
        "huggingface-pytorch-tgi-inference-2026-03-01-10-11-12-131",
        {
            "HF_MODEL_ID": "mistralai/Mistral-7B-Instruct-v0.3",
            "SM_NUM_GPUS": "4",
            "MAX_INPUT_LENGTH": "4095",
            "MAX_TOTAL_TOKENS": "4096",
            "SAGEMAKER_CONTAINER_LOG_LEVEL": "20",
            "SAGEMAKER_REGION": "us-east-1",
        },
        Tags=[{"Key": "project", "Value": "chat"}, {"Key": "Owner", "Value": "nlp"}],
    )
    a.endpoint(
        "tgi-inference-2026-03-01-10-11-12-790",
        variant(
            model,
            InitialVariantWeight=1.0,
            ContainerStartupHealthCheckTimeoutInSeconds=900,
        ),
        tags={"project": "chat"},
    )


def sdk_v2_lmi(a: Account) -> None:
    """
    ``DJLModel`` with a tarball that has its serving.properties.
    """
    url = a.stored("sagemaker-us-east-1", "lmi/code/mymodel.tar.gz")
    model = a.model(
        "lmi-model",
        image=LMI_28,
        container={"ModelDataUrl": url, "Mode": "SingleModel"},
    )
    a.endpoint("lmi", variant(model, InitialVariantWeight=1.0))


def sdk_v2_capture(a: Account) -> None:
    """
    ``DataCaptureConfig`` of the SageMaker SDK 2.
    """
    a.endpoint(
        "captured",
        variant(a.model("captured-model", {"HF_MODEL_ID": "gpt2"})),
        DataCaptureConfig={
            "EnableCapture": True,
            "InitialSamplingPercentage": 20,
            "DestinationS3Uri": "s3://captures/of/chat",
            "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
            "CaptureContentTypeHeader": {
                "CsvContentTypes": ["text/csv"],
                "JsonContentTypes": ["application/json"],
            },
        },
    )


def sdk_v2_async(a: Account) -> None:
    """
    ``AsyncInferenceConfig``, scaled to zero by its backlog.
    """
    topic = f"arn:aws:sns:us-east-1:{a.aws.account}"
    a.endpoint(
        "queued",
        variant(a.model("queued-model", {"HF_MODEL_ID": "gpt2"})),
        AsyncInferenceConfig={
            "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 4},
            "OutputConfig": {
                "S3OutputPath": "s3://answers/out",
                "S3FailurePath": "s3://answers/failed",
                "NotificationConfig": {
                    "SuccessTopic": f"{topic}:done",
                    "ErrorTopic": f"{topic}:failed",
                },
            },
        },
    )
    resource = "endpoint/queued/variant/AllTraffic"
    a.scale(resource, 0, 5)
    a.track(
        resource,
        "Backlog",
        TargetValue=5.0,
        CustomizedMetricSpecification={
            "MetricName": "ApproximateBacklogSizePerInstance",
            "Namespace": "AWS/SageMaker",
            "Dimensions": [{"Name": "EndpointName", "Value": "queued"}],
            "Statistic": "Average",
        },
        ScaleInCooldown=600,
        ScaleOutCooldown=300,
    )


def cli_steps(a: Account) -> None:
    """
    Steps and their alarm by the AWS CLI, with a schedule for the night.
    """
    a.endpoint("stepped", variant(a.model("stepped-model", {"HF_MODEL_ID": "gpt2"})))
    resource = "endpoint/stepped/variant/AllTraffic"
    a.scale(resource, 1, 8)
    a.step(
        resource,
        "by-steps",
        {
            "AlarmName": "stepped-is-busy",
            "AlarmDescription": "Many requests",
            "Namespace": "AWS/SageMaker",
            "MetricName": "Invocations",
            "Dimensions": [
                {"Name": "EndpointName", "Value": "stepped"},
                {"Name": "VariantName", "Value": "AllTraffic"},
            ],
            "Statistic": "Sum",
            "Period": 60,
            "EvaluationPeriods": 2,
            "Threshold": 100,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        },
        AdjustmentType="ChangeInCapacity",
        Cooldown=120,
        MetricAggregationType="Average",
        StepAdjustments=[
            {
                "MetricIntervalLowerBound": 0,
                "MetricIntervalUpperBound": 100,
                "ScalingAdjustment": 1,
            },
            {"MetricIntervalLowerBound": 100, "ScalingAdjustment": 3},
        ],
    )
    zone = {"Timezone": "Europe/Berlin"}
    for name, hour, least, where in (("night", 20, 1, zone), ("day", 7, 2, {})):
        a.call(
            "application-autoscaling",
            "put_scheduled_action",
            ScheduledActionName=name,
            Schedule=f"cron(0 {hour} * * ? *)",
            ScalableTargetAction={"MinCapacity": least, "MaxCapacity": 8},
            **where,
            **a.scaled(resource),
        )


def cli_alarm_of_two(a: Account) -> None:
    """
    An alarm that sets off a policy and a topic, which no method makes.
    """
    a.endpoint("paged", variant(a.model("paged-model", {"HF_MODEL_ID": "gpt2"})))
    resource = "endpoint/paged/variant/AllTraffic"
    a.scale(resource, 1, 2, Tags={"team": "nlp"})
    a.step(
        resource,
        "exactly",
        {
            "AlarmName": "paged-is-slow",
            "Namespace": "AWS/SageMaker",
            "MetricName": "ModelLatency",
            "Dimensions": [{"Name": "EndpointName", "Value": "paged"}],
            "ExtendedStatistic": "p99",
            "Period": 300,
            "EvaluationPeriods": 3,
            "DatapointsToAlarm": 2,
            "Threshold": 5e6,
            "ComparisonOperator": "GreaterThanThreshold",
            "TreatMissingData": "notBreaching",
        },
        actions=2,
        AdjustmentType="ExactCapacity",
        StepAdjustments=[{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 2}],
    )


def boto3_in_a_vpc(a: Account) -> None:
    """
    Weights that are not compressed, in a VPC, cut off from all networks.
    """
    weights = a.stored("weights", "mistral-7b/config.json")
    ec2 = a.aws.client("ec2")
    subnets = ec2.describe_subnets()["Subnets"][:2]
    group = ec2.create_security_group(
        GroupName="models", Description="models", VpcId=subnets[0]["VpcId"]
    )["GroupId"]
    model = a.model(
        "closed-model",
        {"HF_MODEL_ID": "/opt/ml/model"},
        container={
            "ModelDataSource": {
                "S3DataSource": {
                    "S3Uri": weights.removesuffix("config.json"),
                    "S3DataType": "S3Prefix",
                    "CompressionType": "None",
                }
            }
        },
        VpcConfig={
            "Subnets": [one["SubnetId"] for one in subnets],
            "SecurityGroupIds": [group],
        },
        EnableNetworkIsolation=True,
    )
    a.endpoint("closed", variant(model))


def boto3_everything(a: Account) -> None:
    """
    Key, volume, time-outs, host image, routing and metrics.
    """
    name = "11112222-3333-4444-5555-666677778888"
    key = f"arn:aws:kms:us-east-1:{a.aws.account}:key/{name}"
    model = a.model("full-model", {"HF_MODEL_ID": "gpt2"})
    a.endpoint(
        "full",
        variant(
            model,
            InstanceType="ml.p3.2xlarge",
            VolumeSizeInGB=256,
            ModelDataDownloadTimeoutInSeconds=1200,
            ContainerStartupHealthCheckTimeoutInSeconds=1200,
            InferenceAmiVersion="al2-ami-sagemaker-inference-gpu-2",
            RoutingConfig={"RoutingStrategy": "RANDOM"},
        ),
        KmsKeyId=key,
        MetricsConfig={
            "EnableEnhancedMetrics": True,
            "MetricPublishFrequencyInSeconds": 30,
        },
    )


def boto3_two_variants(a: Account) -> None:
    """
    Two variants that share the requests.
    """
    a.endpoint(
        "shared",
        variant(
            a.model("shared-a", {"HF_MODEL_ID": "gpt2"}),
            VariantName="Old",
            InitialVariantWeight=9,
        ),
        variant(
            a.model("shared-b", {"HF_MODEL_ID": "gpt2"}),
            VariantName="New",
            InitialVariantWeight=1,
        ),
    )


def boto3_shadow(a: Account) -> None:
    """
    A variant whose answers are dropped.
    """
    a.endpoint(
        "shadowed",
        variant(a.model("shadowed-a", {"HF_MODEL_ID": "gpt2"})),
        ShadowProductionVariants=[
            variant(
                a.model("shadowed-b", {"HF_MODEL_ID": "gpt2"}),
                VariantName="Shadow",
                InitialVariantWeight=0.5,
            )
        ],
    )


def boto3_rollout(a: Account) -> None:
    """
    A deployment by a canary, with the alarm that turns it back.
    """
    a.call(
        "cloudwatch",
        "put_metric_alarm",
        AlarmName="careful-fails",
        Namespace="AWS/SageMaker",
        MetricName="Invocation5XXErrors",
        Dimensions=[{"Name": "EndpointName", "Value": "careful"}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        Tags=[{"Key": "team", "Value": "nlp"}],
    )
    a.endpoint(
        "careful",
        variant(a.model("careful-model", {"HF_MODEL_ID": "gpt2"})),
        deployment={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {
                    "Type": "CANARY",
                    "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                    "WaitIntervalInSeconds": 300,
                },
                "TerminationWaitInSeconds": 60,
            },
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "careful-fails"}]},
        },
    )


def alpha_constructs(a: Account) -> None:
    """
    The CDK's alpha constructs: containers in a list, weights that are written out.
    """
    a.call(
        "sagemaker",
        "create_model",
        ModelName="Alpha-Model0A1B2C3D-xyz",
        ExecutionRoleArn=a.role,
        Containers=[{"Image": TGI_3, "Environment": {"HF_MODEL_ID": "gpt2"}}],
    )
    a.endpoint(
        "alpha",
        variant("Alpha-Model0A1B2C3D-xyz", InitialVariantWeight=1.0),
    )


def generative_ai_constructs(a: Account) -> None:
    """
    ``HuggingFaceSageMakerEndpoint`` of the generative-AI constructs.
    """
    model = a.model(
        "genai-model",
        {
            "HF_MODEL_ID": "HuggingFaceH4/zephyr-7b-beta",
            "MODEL_CACHE_ROOT": "/opt/ml/model",
            "SAGEMAKER_ENV": "1",
            "SM_NUM_GPUS": "1",
        },
        container={"Mode": "SingleModel"},
        Tags=[{"Key": "modelId", "Value": "HuggingFaceH4/zephyr-7b-beta"}],
    )
    a.endpoint(
        "genai",
        variant(
            model,
            InstanceType="ml.g5.2xlarge",
            InitialVariantWeight=1,
            ContainerStartupHealthCheckTimeoutInSeconds=600,
        ),
    )


def terraform(a: Account) -> None:
    """
    Terraform's way: all names, a digest, and a variable that no check would let pass.
    """
    model = a.model(
        "tf-model",
        {"HF_MODEL_ID": "gpt2", "MAX_INPUT_LENGHT": "1024"},
        EnableNetworkIsolation=False,
    )
    a.endpoint("tf", variant(model), tags={"ManagedBy": "terraform"})


def with_a_token(a: Account) -> None:
    """
    A token, and a password, that somebody wrote into the environment.
    """
    model = a.model(
        "gated-model",
        {
            "HF_MODEL_ID": "meta-llama/Llama-3.1-8B-Instruct",
            "HUGGING_FACE_HUB_TOKEN": TOKEN,
            "TELEMETRY_PASSWORD": TOKEN[::-1],
        },
    )
    a.endpoint("gated", variant(model))


def two_of_one_model(a: Account) -> None:
    """
    Two endpoints that run one model.
    """
    model = a.model("twice-model", {"HF_MODEL_ID": "gpt2"})
    a.endpoint("twice-a", variant(model))
    a.endpoint("twice-b", variant(model, InitialInstanceCount=2))


def boto3_components(a: Account) -> None:
    """
    Two components on instances that come and go with them.
    """
    a.host(
        "host",
        ManagedInstanceScaling={
            "Status": "ENABLED",
            "MinInstanceCount": 1,
            "MaxInstanceCount": 2,
        },
        RoutingConfig={"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
    )
    for name in ("small", "large"):
        a.model(f"{name}-model", {"HF_MODEL_ID": "gpt2"})
        a.component(
            name,
            "host",
            copies=2,
            Specification={
                "StartupParameters": {
                    "ContainerStartupHealthCheckTimeoutInSeconds": 600,
                    "ModelDataDownloadTimeoutInSeconds": 600,
                }
            },
        )
    resource = "inference-component/small"
    a.scale(resource, 1, 4)
    a.track(
        resource,
        "Load",
        TargetValue=4.0,
        PredefinedMetricSpecification={
            "PredefinedMetricType": "SageMakerInferenceComponentInvocationsPerCopy"
        },
        DisableScaleIn=True,
    )


def scale_to_zero(a: Account) -> None:
    """
    Scale to zero as AWS's post shows it: a target, a policy by steps and an alarm.
    """
    a.host(
        "sleeper",
        ManagedInstanceScaling={
            "Status": "ENABLED",
            "MinInstanceCount": 0,
            "MaxInstanceCount": 1,
        },
    )
    a.model("dozing-model", {"HF_MODEL_ID": "gpt2"})
    a.component("dozing", "sleeper")
    resource = "inference-component/dozing"
    a.scale(resource, 0, 2)
    a.step(
        resource,
        "wake-up",
        {
            "AlarmName": "ic-step-scaling-alarm",
            "Namespace": "AWS/SageMaker",
            "MetricName": "NoCapacityInvocationFailures",
            "Dimensions": [{"Name": "InferenceComponentName", "Value": "dozing"}],
            "Statistic": "Maximum",
            "Period": 30,
            "EvaluationPeriods": 1,
            "DatapointsToAlarm": 1,
            "Threshold": 1,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "missing",
        },
        AdjustmentType="ChangeInCapacity",
        MetricAggregationType="Maximum",
        Cooldown=60,
        StepAdjustments=[{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
    )


def boto3_adapters(a: Account) -> None:
    """
    Two adapters on a base, whose image takes them by its environment.
    """
    a.host("adapted")
    a.model(
        "base-model",
        {
            "HF_MODEL_ID": "meta-llama/Llama-3.1-8B-Instruct",
            "OPTION_ROLLING_BATCH": "vllm",
            "OPTION_ENABLE_LORA": "true",
            "OPTION_MAX_LORAS": "4",
        },
        image=VLLM,
    )
    a.component("base", "adapted")
    for name in ("tenant-a", "tenant-b"):
        a.component(
            name,
            "adapted",
            Specification={
                "BaseInferenceComponentName": "base",
                "Container": {"ArtifactUrl": a.stored(name, "adapter.tar.gz")},
            },
        )


SHAPES: Mapping[str, Callable[[Account], None]] = {
    make.__name__: make
    for make in (
        boto3_least,
        sdk_v2_tgi,
        sdk_v2_lmi,
        sdk_v2_capture,
        sdk_v2_async,
        cli_steps,
        cli_alarm_of_two,
        boto3_in_a_vpc,
        boto3_everything,
        boto3_two_variants,
        boto3_shadow,
        boto3_rollout,
        alpha_constructs,
        generative_ai_constructs,
        terraform,
        with_a_token,
        two_of_one_model,
        boto3_components,
        scale_to_zero,
        boto3_adapters,
    )
}


# Of every construct that is written one shape at least.
FEW = (
    sdk_v2_async,
    cli_steps,
    cli_alarm_of_two,
    boto3_in_a_vpc,
    boto3_shadow,
    boto3_rollout,
    alpha_constructs,
    terraform,
    with_a_token,
    boto3_components,
    scale_to_zero,
    boto3_adapters,
)


def make_endpoints(
    aws: EmbeddedAws, makers: Iterable[Callable[[Account], None]]
) -> list[str]:
    """
    Make endpoints of some shapes, and return the names of all that there are.
    """
    account = Account(aws)
    for make in makers:
        make(account)
    rows = aws.client("sagemaker").list_endpoints(MaxResults=100)["Endpoints"]
    return sorted(row["EndpointName"] for row in rows)
