"""
Every public thing that takes arguments, with what it needs to be called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    AdapterInferenceComponent,
    AlarmOptions,
    AllAtOnce,
    Assumptions,
    AsyncInference,
    AvailabilityZoneBalance,
    Canary,
    CapacityReservation,
    Compilation,
    ConnectionParameter,
    CustomContainer,
    DataCapture,
    DeepSpeed,
    DraftModel,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    ImageSource,
    InferenceComponent,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    InstanceType,
    Linear,
    LlamaCpp,
    LlmDashboard,
    LlmEndpoint,
    LmiDist,
    LmiVllm,
    LoraAdapter,
    ManagedInstanceScaling,
    MirroredImage,
    Model,
    Network,
    NeuronX,
    Observability,
    PrefixAwareRouting,
    PrivateAccess,
    ProductionVariant,
    ResourceRequirements,
    RollbackAlarms,
    Rolling,
    RopeScaling,
    S3Model,
    SageMakerLlmChecks,
    ScalableCopyCount,
    ScalableInstanceCount,
    ScalableTarget,
    ScaleInPolicy,
    ScaleInStrategy,
    ScalingStep,
    ServingArtifact,
    ServingFolder,
    Sglang,
    ShadowVariant,
    SmoothQuant,
    StagedModel,
    StepScaling,
    TargetTrackingScaling,
    TensorRtLlm,
    TextEmbeddings,
    Tgi,
    TgiNeuron,
    Vllm,
    VllmNeuron,
    VllmOmni,
    find_image,
)
from cdk_sagemaker_llm.demand import Demand

GPT2 = HuggingFaceModel("gpt2")
PINNED = HuggingFaceModel("gpt2", revision="c" * 40)
TYPE = "ml.g5.12xlarge"
IMAGE = "111111111111.dkr.ecr.us-east-1.amazonaws.com/vllm:1"
METRIC = cloudwatch.Metric(namespace="A", metric_name="B")
Build = Callable[[Stack], Callable[..., object]]


def of_stack(construct: Callable[..., object], **given: object) -> Build:
    """
    Define a construct with what it needs.
    """
    return lambda stack: partial(construct, stack, "It", **given)


def plain(function: Callable[..., object], **given: object) -> Build:
    """
    Call what needs no stack.
    """
    return lambda _: partial(function, **given)


def an_endpoint(stack: Stack) -> LlmEndpoint:
    """
    Return a defined endpoint.
    """
    return LlmEndpoint(stack, "Llm", model=GPT2, serving=LmiVllm(), instance_type=TYPE)


def named(stack: Stack) -> LlmEndpoint:
    """
    Return a defined endpoint with a name.
    """
    return LlmEndpoint(
        stack, "Llm", model=GPT2, instance_type=TYPE, endpoint_name="chat"
    )


def waiting(stack: Stack) -> LlmEndpoint:
    """
    Return a defined endpoint whose requests wait in a queue.
    """
    given = AsyncInference(output="s3://bucket")
    return LlmEndpoint(
        stack, "Llm", model=GPT2, instance_type=TYPE, async_inference=given
    )


def a_host(stack: Stack) -> InferenceComponentEndpoint:
    """
    Return a defined host of components.
    """
    return InferenceComponentEndpoint(stack, "Host", instance_type=TYPE)


def a_component(stack: Stack) -> InferenceComponent:
    """
    Return a component on such a host.
    """
    return a_host(stack).add_model(
        "Gpt", model=GPT2, resources=ResourceRequirements(accelerators=1)
    )


def a_target(stack: Stack) -> ScalableTarget:
    """
    Return a number that may scale.
    """
    return ScalableTarget(
        stack,
        "Target",
        resource_id="endpoint/a/variant/b",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        min_capacity=1,
        max_capacity=2,
    )


def of_method(
    make: Callable[[Stack], object], name: str, *args: object, **given: object
) -> Build:
    """
    Call a method of something that is defined.
    """
    return lambda stack: partial(getattr(make(stack), name), *args, **given)


def a_staged_model(stack: Stack) -> StagedModel:
    """
    Return a model that is staged in a bucket.
    """
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    return StagedModel(stack, "Weights", model=PINNED, bucket=bucket)


def staged(stack: Stack) -> Callable[..., object]:
    """
    Define such a model in an imported bucket.
    """
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    return partial(StagedModel, stack, "It", model=PINNED, bucket=bucket)


def imported(name: str) -> Build:
    """
    Refer to a component that exists.
    """
    return lambda stack: partial(
        getattr(InferenceComponent, name),
        stack,
        "It",
        **{name.removeprefix("from_"): "a"},
        endpoint=Endpoint.from_endpoint_name(stack, "Known", "a"),
    )


CALLS: Mapping[str, tuple[Callable[..., object], Build]] = {
    "StagedModel": (StagedModel, staged),
    "MirroredImage": (
        MirroredImage,
        of_stack(
            MirroredImage,
            image=find_image("vllm", "0.20.2"),
            digest="sha256:" + "0123456789abcdef" * 4,
        ),
    ),
    "ImageSource": (ImageSource, plain(ImageSource, region_name="us-east-1")),
    "Compilation": (
        Compilation,
        plain(
            Compilation,
            image="0.26.0",
            accelerator_model="A10G",
            tensor_parallel_degree=4,
            options={},
        ),
    ),
    "LlmEndpoint": (LlmEndpoint, of_stack(LlmEndpoint, model=GPT2, instance_type=TYPE)),
    **{
        f"{known.__name__}.from_{what}_{by}": (
            getattr(known, f"from_{what}_{by}"),
            of_stack(getattr(known, f"from_{what}_{by}"), **{f"{what}_{by}": "a"}),
        )
        for known, what in (
            (Endpoint, "endpoint"),
            (EndpointConfig, "endpoint_config"),
            (Model, "model"),
        )
        for by in ("name", "arn")
    },
    **{
        f"InferenceComponent.{name}": (
            getattr(InferenceComponent, name),
            imported(name),
        )
        for name in ("from_inference_component_name", "from_inference_component_arn")
    },
    "LlmEndpoint.auto_scale_instance_count": (
        LlmEndpoint.auto_scale_instance_count,
        of_method(an_endpoint, "auto_scale_instance_count", max_capacity=2),
    ),
    "InferenceComponentEndpoint": (
        InferenceComponentEndpoint,
        of_stack(InferenceComponentEndpoint, instance_type=TYPE),
    ),
    "InferenceComponentEndpoint.add_model": (
        InferenceComponentEndpoint.add_model,
        of_method(a_host, "add_model", "It", model=GPT2),
    ),
    "InferenceComponent.add_alarms": (
        InferenceComponent.add_alarms,
        of_method(a_component, "add_alarms"),
    ),
    "LlmEndpoint.on_state_change": (
        LlmEndpoint.on_state_change,
        of_method(an_endpoint, "on_state_change", "Told"),
    ),
    "LlmEndpoint.on_rollback": (
        LlmEndpoint.on_rollback,
        of_method(named, "on_rollback", "Told"),
    ),
    "LlmEndpoint.add_alarms": (
        LlmEndpoint.add_alarms,
        of_method(an_endpoint, "add_alarms"),
    ),
    "InferenceComponent.output_connection": (
        InferenceComponent.output_connection,
        of_method(a_component, "output_connection"),
    ),
    "InferenceComponent.store_connection": (
        InferenceComponent.store_connection,
        of_method(a_component, "store_connection"),
    ),
    "LlmEndpoint.output_connection": (
        LlmEndpoint.output_connection,
        of_method(an_endpoint, "output_connection"),
    ),
    "LlmEndpoint.store_connection": (
        LlmEndpoint.store_connection,
        of_method(an_endpoint, "store_connection"),
    ),
    "ConnectionParameter": (
        ConnectionParameter,
        lambda stack: partial(
            ConnectionParameter,
            stack,
            "It",
            connection=an_endpoint(stack).connection,
        ),
    ),
    "LlmDashboard": (
        LlmDashboard,
        lambda stack: partial(
            LlmDashboard, stack, "It", endpoints=[an_endpoint(stack)]
        ),
    ),
    "Model": (Model, of_stack(Model, serving=LmiVllm(), model=GPT2)),
    "EndpointConfig": (EndpointConfig, of_stack(EndpointConfig, variants=[])),
    "Endpoint": (
        Endpoint,
        lambda stack: partial(
            Endpoint, stack, "It", endpoint_config=an_endpoint(stack).endpoint_config
        ),
    ),
    "Endpoint.auto_scale_instance_count": (
        Endpoint.auto_scale_instance_count,
        of_method(
            lambda stack: an_endpoint(stack).endpoint,
            "auto_scale_instance_count",
            max_capacity=2,
        ),
    ),
    "InferenceComponent": (
        InferenceComponent,
        lambda stack: partial(
            InferenceComponent,
            stack,
            "It",
            endpoint=a_host(stack).endpoint,
            model=Model(stack, "Model", serving=LmiVllm(), model=GPT2),
            resources=ResourceRequirements(accelerators=1),
        ),
    ),
    "InferenceComponent.auto_scale_copy_count": (
        InferenceComponent.auto_scale_copy_count,
        of_method(a_component, "auto_scale_copy_count", max_capacity=2),
    ),
    "InferenceComponent.add_adapter": (
        InferenceComponent.add_adapter,
        of_method(a_component, "add_adapter", "It", artifact="s3://bucket/a/b/"),
    ),
    "AdapterInferenceComponent": (
        AdapterInferenceComponent,
        lambda stack: partial(
            AdapterInferenceComponent,
            stack,
            "It",
            base=a_component(stack),
            artifact="s3://bucket/a/b/",
        ),
    ),
    "PrivateAccess": (
        PrivateAccess,
        lambda stack: partial(
            PrivateAccess, stack, "It", vpc=ec2.Vpc(stack, "Vpc", max_azs=1)
        ),
    ),
    "ServingArtifact": (ServingArtifact, of_stack(ServingArtifact, files={"a": b""})),
    "ScalableTarget": (
        ScalableTarget,
        of_stack(
            ScalableTarget,
            resource_id="endpoint/a/variant/b",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            min_capacity=1,
            max_capacity=2,
        ),
    ),
    "ScalableTarget.scale_to_track_metric": (
        ScalableTarget.scale_to_track_metric,
        of_method(
            a_target,
            "scale_to_track_metric",
            "It",
            predefined_metric="SageMakerVariantInvocationsPerInstance",
            target_value=1,
        ),
    ),
    "ScalableTarget.scale_on_metric": (
        ScalableTarget.scale_on_metric,
        of_method(a_target, "scale_on_metric", "It", metric=METRIC, target_value=1),
    ),
    "ScalableTarget.scale_by_steps": (
        ScalableTarget.scale_by_steps,
        of_method(
            a_target,
            "scale_by_steps",
            "It",
            metric=METRIC,
            steps=[ScalingStep(lower=1, change=1)],
        ),
    ),
    "ScalableTarget.scale_on_schedule": (
        ScalableTarget.scale_on_schedule,
        of_method(
            a_target,
            "scale_on_schedule",
            "It",
            schedule="rate(1 day)",
            min_capacity=1,
        ),
    ),
    "ScalableTarget.office_hours": (
        ScalableTarget.office_hours,
        of_method(
            a_target,
            "office_hours",
            "It",
            opens="08:00",
            closes="18:00",
            min_capacity=2,
            closed_capacity=1,
        ),
    ),
    "ScalingStep": (ScalingStep, plain(ScalingStep, lower=1, change=1)),
    "StepScaling": (
        StepScaling,
        lambda stack: partial(
            StepScaling,
            stack,
            "It",
            target=a_target(stack),
            metric=METRIC,
            steps=[ScalingStep(lower=1, change=1)],
        ),
    ),
    "TargetTrackingScaling": (
        TargetTrackingScaling,
        lambda stack: partial(
            TargetTrackingScaling,
            stack,
            "It",
            target=a_target(stack),
            predefined_metric="SageMakerVariantInvocationsPerInstance",
            target_value=1,
        ),
    ),
    "ScalableInstanceCount": (
        ScalableInstanceCount,
        of_stack(
            ScalableInstanceCount,
            endpoint_name="a",
            variant_name="b",
            min_capacity=1,
            max_capacity=2,
        ),
    ),
    "ScalableInstanceCount.scale_on_invocations": (
        ScalableInstanceCount.scale_on_invocations,
        of_method(
            lambda stack: an_endpoint(stack).auto_scale_instance_count(max_capacity=2),
            "scale_on_invocations",
            "It",
            per_minute=1,
        ),
    ),
    "ScalableInstanceCount.scale_on_concurrency": (
        ScalableInstanceCount.scale_on_concurrency,
        of_method(
            lambda stack: an_endpoint(stack).auto_scale_instance_count(max_capacity=2),
            "scale_on_concurrency",
            "It",
            per_instance=1,
        ),
    ),
    "ScalableInstanceCount.scale_on_backlog": (
        ScalableInstanceCount.scale_on_backlog,
        of_method(
            lambda stack: waiting(stack).auto_scale_instance_count(max_capacity=2),
            "scale_on_backlog",
            "It",
            per_instance=1,
        ),
    ),
    "ScalableCopyCount": (
        ScalableCopyCount,
        of_stack(
            ScalableCopyCount,
            inference_component_name="a",
            min_capacity=1,
            max_capacity=2,
        ),
    ),
    "ScalableCopyCount.scale_on_concurrency": (
        ScalableCopyCount.scale_on_concurrency,
        of_method(
            lambda stack: a_component(stack).auto_scale_copy_count(max_capacity=2),
            "scale_on_concurrency",
            "It",
            per_copy=1,
        ),
    ),
    "ProductionVariant": (
        ProductionVariant,
        plain(ProductionVariant, instance_type=TYPE),
    ),
    "ManagedInstanceScaling": (
        ManagedInstanceScaling,
        plain(ManagedInstanceScaling, min_instance_count=1, max_instance_count=2),
    ),
    "AllAtOnce": (AllAtOnce, plain(AllAtOnce)),
    "Canary": (Canary, plain(Canary)),
    "Linear": (Linear, plain(Linear)),
    "Rolling": (Rolling, plain(Rolling)),
    "RollbackAlarms": (RollbackAlarms, plain(RollbackAlarms)),
    "InstancePool": (
        InstancePool,
        plain(InstancePool, instance_type=TYPE, priority=1),
    ),
    "InstanceCapacity": (InstanceCapacity, plain(InstanceCapacity)),
    "AlarmOptions": (AlarmOptions, plain(AlarmOptions)),
    "Observability": (Observability, plain(Observability)),
    "CapacityReservation": (
        CapacityReservation,
        plain(CapacityReservation, ml_reservation_arn="arn"),
    ),
    "ScaleInPolicy": (
        ScaleInPolicy,
        plain(ScaleInPolicy, strategy=ScaleInStrategy.IDLE_RELEASE),
    ),
    "PrefixAwareRouting": (
        PrefixAwareRouting,
        plain(PrefixAwareRouting, prefix_length=1024, concurrency_threshold=1),
    ),
    "AvailabilityZoneBalance": (
        AvailabilityZoneBalance,
        plain(AvailabilityZoneBalance),
    ),
    "Network": (Network, plain(Network)),
    "ResourceRequirements": (ResourceRequirements, plain(ResourceRequirements)),
    "Assumptions": (Assumptions, plain(Assumptions)),
    "DraftModel": (DraftModel, plain(DraftModel, name="organisation/name")),
    "Demand": (Demand, plain(Demand, architecture=None, assumptions=Assumptions())),
    "InstanceType.of": (
        InstanceType.of,
        plain(
            InstanceType.of,
            name="ml.p9.4xlarge",
            accelerators=1,
            vcpus=1,
            memory_gib=1,
        ),
    ),
    "HuggingFaceModel": (HuggingFaceModel, plain(HuggingFaceModel, model_id="gpt2")),
    "SageMakerLlmChecks": (SageMakerLlmChecks, plain(SageMakerLlmChecks)),
    "S3Model": (S3Model, plain(S3Model, uri="s3://bucket/prefix/")),
    "S3Model.from_bucket": (
        S3Model.from_bucket,
        lambda stack: partial(
            S3Model.from_bucket, bucket=s3.Bucket(stack, "It"), prefix="a"
        ),
    ),
    "LoraAdapter": (LoraAdapter, plain(LoraAdapter, uri="s3://bucket/a/b/")),
    "LoraAdapter.from_bucket": (
        LoraAdapter.from_bucket,
        lambda stack: partial(
            LoraAdapter.from_bucket, bucket=s3.Bucket(stack, "It"), key="a/b/"
        ),
    ),
    "RopeScaling": (RopeScaling, plain(RopeScaling, type="linear", factor=2)),
    "SmoothQuant": (SmoothQuant, plain(SmoothQuant)),
    "CustomContainer": (
        CustomContainer,
        plain(CustomContainer, image=CustomContainer.from_uri(IMAGE).image),
    ),
    "CustomContainer.from_uri": (
        CustomContainer.from_uri,
        plain(CustomContainer.from_uri, uri=IMAGE),
    ),
    "AsyncInference": (AsyncInference, plain(AsyncInference)),
    "DataCapture": (DataCapture, plain(DataCapture, bucket="s3://bucket")),
    "ShadowVariant": (ShadowVariant, plain(ShadowVariant)),
    "DeepSpeed": (DeepSpeed, plain(DeepSpeed, version="0.26.0")),
    "LmiDist": (LmiDist, plain(LmiDist, version="0.30.0")),
    "NeuronX": (NeuronX, plain(NeuronX, version="0.29.0")),
    "ServingFolder": (
        ServingFolder,
        plain(ServingFolder, path="a", container_family="djl-lmi", version="0.30.0"),
    ),
    "TensorRtLlm": (TensorRtLlm, plain(TensorRtLlm, version="0.26.0")),
    "TextEmbeddings": (TextEmbeddings, plain(TextEmbeddings)),
    "Tgi": (Tgi, plain(Tgi, version="3.3.6")),
    "TgiNeuron": (TgiNeuron, plain(TgiNeuron, version="0.0.28")),
    "LmiVllm": (LmiVllm, plain(LmiVllm)),
    "Sglang": (Sglang, plain(Sglang)),
    "LlamaCpp": (LlamaCpp, plain(LlamaCpp)),
    "Vllm": (Vllm, plain(Vllm)),
    "VllmNeuron": (VllmNeuron, plain(VllmNeuron)),
    "VllmOmni": (VllmOmni, plain(VllmOmni)),
}
