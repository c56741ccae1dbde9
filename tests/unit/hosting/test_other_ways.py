"""
Other ways to break the rules of the constructs than their examples: what users read.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Environment, SecretValue, Stack, Token
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm import (
    AdapterInferenceComponent,
    AlarmOptions,
    AllAtOnce,
    AsyncInference,
    ConnectionParameter,
    CustomContainer,
    DataCapture,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    ImageSource,
    InferenceComponent,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmDashboard,
    LlmEndpoint,
    LmiVllm,
    LoraAdapter,
    Model,
    Network,
    PrefixAwareRouting,
    ProductionVariant,
    ResourceRequirements,
    RollbackAlarms,
    Rolling,
    S3Model,
    ScalableInstanceCount,
    ScalableTarget,
    ScalingStep,
    TargetTrackingScaling,
    TensorRtLlm,
    Tgi,
    find_image,
)
from tests.unit.hosting.scaling.made import (
    copies_of,
    instances_of,
    metric,
)
from tests.unit.hosting.written import warnings_of
from tests.unit.mirroring_rule_examples import mirrored
from tests.unit.staging_rule_examples import staged

GPT2 = HuggingFaceModel("gpt2")
# One whose class takes adapters.
QWEN = HuggingFaceModel("Qwen/Qwen2.5-1.5B-Instruct")
TGI = Tgi("3.3.6")
ONE = ResourceRequirements(accelerators=1)
Definition = Callable[[Stack], object]


def later(stack: Stack) -> str:
    """
    Return a text that is known only at deployment.
    """
    return CfnParameter(stack, "Later").value_as_string


def later_number(stack: Stack) -> float:
    """
    Return a number that is known only at deployment.
    """
    return CfnParameter(stack, "LaterNumber", type="Number").value_as_number


def later_time(stack: Stack) -> Duration:
    """
    Return a time that is known only at deployment.
    """
    return Duration.minutes(Token.as_number(later_number(stack)))


def llm(**changes: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Define an endpoint of a small model with some keywords changed.
    """
    usual: dict[str, Any] = {
        "model": GPT2,
        "serving": TGI,
        "instance_type": "ml.g5.xlarge",
    }
    return lambda stack: LlmEndpoint(stack, "It", **{**usual, **changes})


def host(stack: Stack, **changes: Any) -> InferenceComponentEndpoint:  # noqa: ANN401 - any keyword
    """
    Define an endpoint of two instances with eight devices each.
    """
    usual = {"instance_type": "ml.p4d.24xlarge", "max_instance_count": 2}
    return InferenceComponentEndpoint(stack, "Host", **{**usual, **changes})


def component(stack: Stack) -> InferenceComponent:
    """
    Define a component of two instances with eight devices each.
    """
    return host(stack).add_model("It", model=GPT2, serving=TGI, resources=ONE)


def adapter(stack: Stack) -> AdapterInferenceComponent:
    """
    Define an adapter of a component.
    """
    base = host(stack).add_model("It", model=QWEN, resources=ONE)
    return base.add_adapter("A", artifact="s3://bucket/a/")


def adapter_of_an_adapter(stack: Stack) -> object:
    """
    Take an adapter for a base.
    """
    return AdapterInferenceComponent(
        stack, "B", base=adapter(stack), artifact="s3://bucket/b/"
    )


def adapter_from_where_nobody_knows(stack: Stack) -> object:
    """
    Name an adapter that only deployment knows.
    """
    base = host(stack).add_model("It", model=QWEN, resources=ONE)
    return base.add_adapter("A", artifact=LoraAdapter(later(stack)))


def scaled_in_another(**place: str) -> Definition:
    """
    Scale an imported component in another region or account.
    """
    usual = {"region": "us-east-1", "account": "111111111111"}

    def define(_: Stack) -> object:
        stack = Stack(App(), "Other", env=Environment(**{**usual, **place}))
        theirs = InferenceComponent.from_inference_component_arn(
            stack,
            "It",
            "arn:aws:sagemaker:us-east-1:111111111111:inference-component/chat",
            endpoint=Endpoint.from_endpoint_name(stack, "Endpoint", "chat"),
        )
        return theirs.auto_scale_copy_count(max_capacity=2)

    return define


def imported_with_models_by_type(stack: Stack) -> object:
    """
    Give models by instance type where the types are not known.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Endpoint", "chat")
    model = Model(stack, "Model", serving=TGI, model=GPT2)
    return InferenceComponent(
        stack,
        "It",
        endpoint=endpoint,
        model=model,
        model_overrides={"ml.g5.xlarge": model},
        resources=ONE,
    )


def stored_as(name: str) -> Definition:
    """
    Store a connection under a name.
    """
    return lambda stack: ConnectionParameter(
        stack, "It", connection=component(stack).connection, parameter_name=name
    )


def stored_later(stack: Stack) -> object:
    """
    Store a connection under a name that only deployment knows.
    """
    return ConnectionParameter.from_parameter_name(stack, "It", later(stack))


def shadowed(stack: Stack, **more: Any) -> object:  # noqa: ANN401 - any keyword
    """
    Define a configuration with a shadow.
    """
    model = Model(stack, "Model", serving=TGI, model=GPT2)
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)
    shadow = ProductionVariant(
        instance_type="ml.g5.xlarge", model=model, variant_name="Shadow"
    )
    usual: dict[str, Any] = {"variants": [variant], "shadow_variants": [shadow]}
    return EndpointConfig(stack, "It", **{**usual, **more})


def shadow_beside_components(stack: Stack) -> object:
    """
    Shadow a variant that hosts components.
    """
    role = host(stack).endpoint_config.execution_role
    hosting = ProductionVariant(instance_type="ml.g5.xlarge")
    return shadowed(stack, variants=[hosting], execution_role=role)


def asked_at_once(stack: Stack) -> object:
    """
    Ask an asynchronous endpoint how to talk to it.
    """
    define = llm(async_inference=AsyncInference(output="s3://bucket/answers"))
    endpoint = define(stack)
    assert isinstance(endpoint, LlmEndpoint)
    return endpoint.connection


def followed(**changes: Any) -> Definition:  # noqa: ANN401 - any keyword of a metric
    """
    Track a metric of the user's.
    """
    return lambda stack: copies_of(stack).scale_on_metric(
        "It", metric=metric(**changes), target_value=1
    )


def formula(text: str, **metrics: cloudwatch.IMetric) -> Definition:
    """
    Track a formula.
    """
    return lambda stack: copies_of(stack).scale_on_metric(
        "It",
        metric=cloudwatch.MathExpression(expression=text, using_metrics=metrics),
        target_value=1,
    )


def stepped(*steps: ScalingStep, **more: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Scale by steps.
    """
    return lambda stack: copies_of(stack).scale_by_steps(
        "It", **{"metric": metric(), "steps": steps, **more}
    )


def stepped_later(stack: Stack) -> object:
    """
    Scale by two steps, one of which only deployment knows.
    """
    bound = later_number(stack)
    steps = [ScalingStep(lower=bound, change=1), ScalingStep(lower=9, change=2)]
    return copies_of(stack).scale_by_steps("It", metric=metric(), steps=steps)


def at(**changes: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Schedule an action.
    """
    usual = {"schedule": "cron(0 20 * * ? *)", "min_capacity": 1}
    return lambda stack: copies_of(stack).scale_on_schedule(
        changes.get("id", "It"),
        **{**usual, **{k: v for k, v in changes.items() if k != "id"}},
    )


def office(**changes: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Keep office hours.
    """
    usual = {
        "opens": "08:00",
        "closes": "18:00",
        "min_capacity": 1,
        "closed_capacity": 0,
    }
    return lambda stack: copies_of(stack, least=0).office_hours(
        "It", **{**usual, **changes}
    )


def office_later(stack: Stack) -> object:
    """
    Open when only deployment knows.
    """
    return office(opens=later(stack))(stack)


def twice(define: Callable[[Any], object], make: Callable[[Stack], Any]) -> Definition:
    """
    Do something twice with the same.
    """

    def both(stack: Stack) -> None:
        made = make(stack)
        define(made)
        define(made)

    return both


def never_below(stack: Stack) -> object:
    """
    Schedule a most that is below each least, and a least above each most.
    """
    count = copies_of(stack, least=2, most=4)
    count.scale_on_schedule("Low", schedule="rate(1 day)", max_capacity=1)
    count.scale_on_schedule("High", schedule="rate(1 day)", min_capacity=9)
    raise ValueError("; ".join(count.node.validate()))


def rolled(
    rollout: object,
    *,
    names: tuple[str, ...] = ("Blue",),
    instance_type: str = "ml.g5.xlarge",
    endpoint_name: str | None = "chat",
) -> Definition:
    """
    Define an endpoint with a rollout.
    """

    def define(stack: Stack) -> object:
        variants = [
            ProductionVariant(
                instance_type=instance_type,
                variant_name=name,
                initial_instance_count=2,
                model=Model(stack, name, serving=TGI, model=GPT2),
            )
            for name in names
        ]
        config = EndpointConfig(stack, "Config", variants=variants)
        return Endpoint(
            stack,
            "It",
            endpoint_config=config,
            rollout=rollout,  # type: ignore[arg-type] # any of them
            endpoint_name=endpoint_name,
        )

    return define


def alarms(**given: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Turn updates back on alarms.
    """
    return rolled(AllAtOnce(rollback_on=RollbackAlarms(**given)))


def alarms_later(stack: Stack) -> object:
    """
    Turn updates back on a list that only deployment knows.
    """
    names = CfnParameter(stack, "Names", type="CommaDelimitedList").value_as_list
    return rolled(AllAtOnce(rollback_on=names))(stack)


def alarms_of_a_later_time(stack: Stack) -> object:
    """
    Turn updates back on a time that only deployment knows.
    """
    return alarms(model_latency=later_time(stack))(stack)


def watched_hosts(stack: Stack) -> object:
    """
    Watch the requests of an endpoint that hosts components.
    """
    rollout = AllAtOnce(rollback_on=RollbackAlarms())
    return host(stack, rollout=rollout, endpoint_name="chat")


def watched_elsewhere(stack: Stack) -> object:
    """
    Watch the variants of an imported configuration.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "theirs")
    rollout = AllAtOnce(rollback_on=RollbackAlarms())
    return Endpoint(
        stack, "It", endpoint_config=config, rollout=rollout, endpoint_name="chat"
    )


def pools(*types: str, **more: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Take instances of several types.
    """
    chosen = [InstancePool(name, priority=at + 1) for at, name in enumerate(types)]
    return llm(instance_type=None, capacity=InstanceCapacity(pools=chosen), **more)


def pool_with_a_model(stack: Stack) -> object:
    """
    Give a pool a model where the variant has none.
    """
    model = Model(stack, "Model", serving=TGI, model=GPT2)
    chosen = [
        InstancePool("ml.g5.xlarge", priority=1, model=model),
        InstancePool("ml.g5.2xlarge", priority=2),
    ]
    variant = ProductionVariant(capacity=InstanceCapacity(pools=chosen))
    role = host(stack).endpoint_config.execution_role
    return EndpointConfig(stack, "It", variants=[variant], execution_role=role)


def alarmed(id: str, **given: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Add alarms to a component.
    """
    return lambda stack: component(stack).add_alarms(id, **given)


def alarmed_later(stack: Stack) -> object:
    """
    Add alarms under an id that only deployment knows.
    """
    return component(stack).add_alarms(later(stack), copies=1)


def alarmed_elsewhere(_: Stack) -> object:
    """
    Add alarms of an endpoint in another region.
    """
    stack = Stack(App(), "Other", env=Environment(region="eu-west-1"))
    theirs = Endpoint.from_endpoint_arn(
        stack, "It", "arn:aws:sagemaker:us-east-1:111111111111:endpoint/chat"
    )
    return theirs.add_alarms(variant_name="Blue", server_error_rate=0.1)


def measured(**options: Any) -> Definition:  # noqa: ANN401 - any option
    """
    Ask a component for a metric.
    """
    return lambda stack: component(stack).metric_invocations(**options)


def measured_later(stack: Stack) -> object:
    """
    Ask for a metric of a period that only deployment knows.
    """
    return component(stack).metric_invocations(period=later_time(stack))


def answers_at(place: str) -> Definition:
    """
    Answer on S3.
    """
    return llm(async_inference=AsyncInference(output=place))


def answers_later(stack: Stack) -> object:
    """
    Answer where only deployment knows.
    """
    return answers_at(later(stack))(stack)


def mirrored_with(**more: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Mirror an image.
    """
    return lambda stack: mirrored(stack, **more)


def mirrored_later(name: str) -> Definition:
    """
    Mirror an image by what only deployment knows.
    """

    def define(stack: Stack) -> object:
        text = later(stack)
        value: Any = ImageSource.region(text) if name == "source" else text
        return mirrored(stack, **{name: value})

    return define


def staged_with(**more: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Stage a model.
    """
    return lambda stack: staged(stack, **more)


def staged_later(give: Callable[[Stack], dict[str, Any]]) -> Definition:
    """
    Stage a model by what only deployment knows.
    """
    return lambda stack: staged(stack, **give(stack))


def served_from(address: str) -> Definition:
    """
    Serve by an image of the user's.
    """
    return llm(serving=CustomContainer.from_uri(address))


def named(name: str, value: str = "1") -> Definition:
    """
    Set a variable.
    """
    return llm(environment={name: value})


def named_later(stack: Stack) -> object:
    """
    Set a variable whose name only deployment knows.
    """
    return named(later(stack))(stack)


def secret_variable(stack: Stack) -> object:
    """
    Write a secret into a variable.
    """
    secret = SecretValue.secrets_manager("hub").unsafe_unwrap()
    return named("TOKEN", secret)(stack)


def in_a_subnet_of_no_kind(stack: Stack) -> object:
    """
    Choose subnets that the VPC does not have.
    """
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=0)
    private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    return llm(network=Network(vpc=vpc, subnets=private))(stack)


def names_a_bucket_elsewhere(_: Stack) -> object:
    """
    Use a bucket, a topic and a key of another region.
    """
    app = App()
    stack = Stack(app, "Other", env=Environment(region="eu-west-1"))
    far = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="bucket", region="us-east-1"
    )
    topic = sns.Topic.from_topic_arn(
        stack, "Topic", "arn:aws:sns:us-east-1:111111111111:answers"
    )
    waiting = AsyncInference(
        output=far, failure=far, inputs=far, success_topic=topic, error_topic=topic
    )
    return llm(async_inference=waiting)(stack)


def captures_elsewhere(_: Stack) -> object:
    """
    Capture data in a bucket of another region.
    """
    stack = Stack(App(), "Other", env=Environment(region="eu-west-1"))
    far = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="bucket", region="us-east-1"
    )
    return llm(data_capture=DataCapture(bucket=far))(stack)


def weights_elsewhere(_: Stack) -> object:
    """
    Serve weights of another region.
    """
    stack = Stack(App(), "Other", env=Environment(region="eu-west-1"))
    far = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="bucket", region="us-east-1"
    )
    return Model(
        stack, "It", serving=LmiVllm(), model=S3Model.from_bucket(far, "weights/")
    )


def turned_back_without_a_name(stack: Stack) -> object:
    """
    Watch copies whose name CloudFormation makes.
    """
    rollout = Rolling(percent=50, rollback_on=RollbackAlarms())
    return host(stack).add_model(
        "It", model=GPT2, serving=TGI, resources=ONE, rollout=rollout
    )


def tracked(**given: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Track by the building block.
    """
    return lambda stack: TargetTrackingScaling(
        stack, "It", target=copies_of(stack), target_value=1, **given
    )


def never_to_zero(stack: Stack) -> object:
    """
    Let instances go, and keep the copies.
    """
    it = host(stack, min_instance_count=0)
    it.add_model("It", model=GPT2, serving=TGI, resources=ONE)
    raise ValueError("; ".join(it.node.validate()))


def begins_later(stack: Stack) -> object:
    """
    Name a component by a beginning that only deployment knows.
    """
    return host(stack).add_model(
        "It",
        model=GPT2,
        serving=TGI,
        resources=ONE,
        inference_component_name_prefix=later(stack),
    )


def keys_elsewhere(_: Stack) -> object:
    """
    Encrypt answers, captured data and weights with a key of another region.
    """
    stack = Stack(App(), "Other", env=Environment(region="eu-west-1"))
    far = kms.Key.from_key_arn(
        stack, "Key", "arn:aws:kms:us-east-1:111111111111:key/abc"
    )
    return llm(
        model=S3Model("s3://bucket/weights/", kms_key=far),
        serving=LmiVllm(),
        async_inference=AsyncInference(output="s3://answers", kms_key=far),
        data_capture=DataCapture(bucket="s3://captured", kms_key=far),
    )(stack)


def token_of_a_parameter(stack: Stack) -> object:
    """
    Keep a token where CloudFormation does not look it up.
    """
    token = SecretValue.ssm_secure("token", "1")
    return llm(model=HuggingFaceModel("a/b", token=token))(stack)


WAYS: dict[str, Definition] = {
    "copies: watched without a name": turned_back_without_a_name,
    "copies: begin with what is known later": begins_later,
    "hosts: never to zero": never_to_zero,
    "keys: far": keys_elsewhere,
    "mirror: gallery without it": mirrored_with(
        image=find_image("djl-lmi", "0.36.0"), source=ImageSource.public_gallery()
    ),
    "staged: compiled where nothing is": staged_with(
        model=HuggingFaceModel("mistralai/Mistral-7B-v0.1", revision="a" * 40),
        compile=TensorRtLlm("0.26.0", tensor_parallel_degree=4),
        instance_type="ml.c5.xlarge",
    ),
    "token: of a secure parameter": token_of_a_parameter,
    "tracking: neither": tracked(),
    "tracking: both": tracked(
        metric=metric(),
        predefined_metric="SageMakerInferenceComponentInvocationsPerCopy",
    ),
    "routing: by prefix to one host": lambda stack: host(
        stack,
        max_instance_count=1,
        routing_strategy=PrefixAwareRouting(
            prefix_length=1024, concurrency_threshold=2
        ),
    ),
    "adapter: of an adapter": adapter_of_an_adapter,
    "adapter: scaled": lambda stack: adapter(stack).auto_scale_copy_count(
        max_capacity=2
    ),
    "adapter: known later": adapter_from_where_nobody_knows,
    "alarms: no id": alarmed("", copies=1),
    "alarms: id known later": alarmed_later,
    "alarms: id taken": twice(lambda it: it.add_alarms("A", copies=1), component),
    "alarms: another region": alarmed_elsewhere,
    "alarms: of endpoints": alarmed("A", instances=1, backlog_per_instance=2),
    "alarms: share": alarmed("A", server_error_rate=1.5),
    "alarms: percent": alarmed("A", gpu_memory_percent=101),
    "alarms: seconds": alarmed("A", model_latency_seconds=-1),
    "alarms: count": alarmed("A", copies=-1),
    "alarms: periods": alarmed(
        "A", copies=1, options=AlarmOptions(evaluation_periods=0)
    ),
    "async: place without bucket": answers_at("s3:///answers"),
    "async: no address": answers_at("answers"),
    "async: name of a bucket": answers_at("s3://My_Bucket/answers"),
    "async: known later": answers_later,
    "async: asked at once": asked_at_once,
    "async: far": names_a_bucket_elsewhere,
    "backlog: answers at once": lambda stack: instances_of(stack).scale_on_backlog(
        "It", per_instance=1
    ),
    "capture: far": captures_elsewhere,
    "component: far region": scaled_in_another(region="eu-west-1"),
    "component: far account": scaled_in_another(account="222222222222"),
    "component: metric of a variant": measured(variant_name="Blue"),
    "component: models by type": imported_with_models_by_type,
    "component: copies by type": lambda stack: host(
        stack,
        instance_type=None,
        capacity=InstanceCapacity(
            pools=[
                InstancePool("ml.g5.xlarge", priority=1),
                InstancePool("ml.g5.2xlarge", priority=2),
            ]
        ),
    ).add_model(
        "It",
        model=GPT2,
        resources={
            "ml.g5.xlarge": ResourceRequirements(accelerators=1, copies=1),
            "ml.g5.2xlarge": ResourceRequirements(accelerators=1, copies=2),
        },
    ),
    "connection: known later": stored_later,
    "connection: blank in name": stored_as("my chat"),
    "connection: reserved name": stored_as("/AWS/chat"),
    "connection: long name": stored_as("/" + "a" * 1011),
    "connection: many parts": stored_as("/a" * 16),
    "dashboard: name": lambda stack: LlmDashboard(
        stack, "It", endpoints=[host(stack)], dashboard_name="my board"
    ),
    "image: account known later": served_from(
        "${AWS::AccountId}.dkr.ecr.eu-west-1.amazonaws.com/team/vllm:1"
    ),
    "metric: of another region": lambda _: followed(region="eu-west-1")(
        Stack(App(), "Other", env=Environment(region="us-east-1"))
    ),
    "metric: of another account": lambda _: followed(account="222222222222")(
        Stack(
            App(),
            "Other",
            env=Environment(region="us-east-1", account="111111111111"),
        )
    ),
    "metric: search": formula("SUM(SEARCH('{AWS/SageMaker}', 'Sum', 60))"),
    "metric: unknown name": formula("orders / visits", orders=metric()),
    "metric: neither": lambda stack: copies_of(stack).scale_to_track_metric(
        "It", target_value=1, predefined_metric="Orders"
    ),
    "metric: of no value": lambda stack: copies_of(stack).scale_on_metric(
        "It", metric=metric(), target_value=0
    ),
    "metric: period known later": measured_later,
    "metric: period": measured(period=Duration.seconds(61)),
    "metric: color": measured(color="blue"),
    "metric: blank dimension": measured(dimensions_map={"Shop": " "}),
    "metric: statistic": measured(statistic="p99"),
    "mirror: tag known later": mirrored_later("digest"),
    "mirror: source known later": mirrored_later("source"),
    "mirror: two digests": mirrored_with(
        image=find_image("vllm", "0.20.2"), digest="sha256:abc"
    ),
    "network: no such subnets": in_a_subnet_of_no_kind,
    "pools: one": pools("ml.g5.xlarge"),
    "pools: twice": pools("ml.g5.xlarge", "ml.g5.xlarge"),
    "pools: model": pool_with_a_model,
    "pools: type beside": llm(
        capacity=InstanceCapacity(
            pools=[
                InstancePool("ml.g5.xlarge", priority=1),
                InstancePool("ml.g5.2xlarge", priority=2),
            ]
        )
    ),
    "routing: by prefix to one": llm(
        routing_strategy=PrefixAwareRouting(prefix_length=1024, concurrency_threshold=2)
    ),
    "rollback: list known later": alarms_later,
    "rollback: time known later": alarms_of_a_later_time,
    "rollback: no time": alarms(first_chunk_latency=Duration.seconds(0)),
    "rollback: statistic": alarms(latency_statistic="median"),
    "rollback: rate": alarms(mid_stream_error_rate=2),
    "rollback: count": alarms(invocation_5xx_error_count=-1),
    "rollback: half a minute": alarms(period=Duration.seconds(90)),
    "rollback: more than a day": alarms(
        period=Duration.minutes(30), evaluation_periods=49
    ),
    "rollback: more than a week": alarms(
        period=Duration.hours(1), evaluation_periods=169
    ),
    "rollback: nothing": alarms(
        invocation_5xx_error_rate=None, invocation_model_error_rate=None
    ),
    "rollback: empty name": rolled(AllAtOnce(rollback_on=[" "])),
    "rollback: many": rolled(AllAtOnce(rollback_on=[f"a{n}" for n in range(11)])),
    "rollback: no name": rolled(
        AllAtOnce(rollback_on=RollbackAlarms()), endpoint_name=None
    ),
    "rollback: hosts": watched_hosts,
    "rollback: imported": watched_elsewhere,
    "rollout: rolling two variants": rolled(
        Rolling(percent=50), names=("Blue", "Green")
    ),
    "scaling: instances twice": twice(
        lambda it: it.auto_scale_instance_count(max_capacity=2), llm()
    ),
    "scaling: policy twice": twice(
        lambda it: it.scale_on_metric("It", metric=metric(), target_value=1),
        copies_of,
    ),
    "scaling: metric twice": lambda stack: [
        (it := copies_of(stack)).scale_on_invocations("One", per_minute=1),
        it.scale_on_invocations("Two", per_minute=1),
    ],
    "scaling: id known later": lambda stack: copies_of(stack).scale_on_metric(
        later(stack), metric=metric(), target_value=1
    ),
    "scaling: to zero": lambda stack: ScalableInstanceCount(
        stack,
        "It",
        endpoint_name="chat",
        variant_name="Blue",
        min_capacity=0,
        max_capacity=1,
    ),
    "schedule: nothing": at(min_capacity=None),
    "schedule: zone": at(time_zone="Mars/Olympus"),
    "schedule: id": at(id="a:b"),
    "schedule: ends before": at(
        start=datetime(2027, 1, 2, tzinfo=UTC), end=datetime(2027, 1, 1, tzinfo=UTC)
    ),
    "schedule: twice": twice(
        lambda it: it.scale_on_schedule("It", schedule="rate(1 day)", min_capacity=1),
        copies_of,
    ),
    "schedule: bounds": at(min_capacity=3, max_capacity=2),
    "schedule: never below": never_below,
    "schedule: hours known later": office_later,
    "schedule: no time": office(opens="8"),
    "schedule: no hours": office(closes="08:00"),
    "schedule: no days": office(days="MON-FUN"),
    "shadow: of components": shadow_beside_components,
    "shadow: none": partial(shadowed, shadow_variants=[], variants=[]),
    "staged: part of a path": staged_with(folder="a/../b"),
    "staged: long folder": staged_with(folder="a" * 513),
    "staged: slashes": staged_with(folder="a//b"),
    "staged: pattern from the root": staged_with(include=["/config.json"]),
    "staged: hidden pattern": staged_with(exclude=["./.gitattributes"]),
    "staged: hub with a password": staged_with(hub_url="https://me:secret@hub.example"),
    "staged: hub with a query": staged_with(hub_url="https://hub.example?a=b"),
    "staged: no revision": staged_with(model=GPT2),
    "staged: timeout known later": staged_later(
        lambda stack: {"timeout": later_time(stack)}
    ),
    "staged: folder known later": staged_later(lambda stack: {"folder": later(stack)}),
    "staged: pattern known later": staged_later(
        lambda stack: {"include": [later(stack)]}
    ),
    "staged: revision known later": staged_later(
        lambda stack: {"model": HuggingFaceModel("gpt2", revision=later(stack))}
    ),
    "steps: none": stepped(),
    "steps: both ends": stepped(ScalingStep(lower=1, upper=2, change=1)),
    "steps: both ways": stepped(
        ScalingStep(lower=1, change=1), ScalingStep(upper=0, change=-1)
    ),
    "steps: overlap": stepped(
        ScalingStep(lower=1, upper=3, change=1), ScalingStep(lower=2, change=2)
    ),
    "steps: end": stepped(
        ScalingStep(upper=3, change=-1),
        ScalingStep(lower=0, upper=2, change=-2),
    ),
    "steps: known later": stepped_later,
    "steps: magnitude": stepped(
        ScalingStep(lower=1, change=1), min_adjustment_magnitude=2
    ),
    "steps: datapoints": stepped(ScalingStep(lower=1, change=1), datapoints_to_alarm=2),
    "steps: exact": stepped(
        ScalingStep(lower=1, change=-1),
        adjustment_type=appscaling.AdjustmentType.EXACT_CAPACITY,
    ),
    "steps: formula of many": stepped(
        ScalingStep(lower=1, change=1),
        metric=cloudwatch.MathExpression(
            expression="+".join(f"m{n}" for n in range(11)),
            using_metrics={f"m{n}": metric(f"M{n}") for n in range(11)},
        ),
    ),
    "target: dimension": lambda stack: ScalableTarget(
        stack,
        "It",
        resource_id="endpoint/a/variant/b",
        scalable_dimension="sagemaker:variant:Count",
        min_capacity=1,
        max_capacity=2,
    ),
    "target: resource": lambda stack: ScalableTarget(
        stack,
        "It",
        resource_id="endpoint/a",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        min_capacity=1,
        max_capacity=2,
    ),
    "variable: digit first": named("1ST"),
    "variable: long name": named("A" * 1025),
    "variable: name known later": named_later,
    "variable: character": named("A", "a\0b"),
    "variable: secret": secret_variable,
    "weights: far": weights_elsewhere,
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_says_what_is_wrong_and_the_way_out(
    way: str, stack: Stack, snapshot: SnapshotAssertion
) -> None:
    """
    To the last letter; what is doubtful is shown, and what is certain is raised.
    """
    try:
        WAYS[way](stack)
    except (TypeError, ValueError) as fault:
        found = [f"{type(fault).__name__}: {fault}"]
    else:
        found = [f"{path}: {text}" for path, text in warnings_of(stack)]

    assert found
    assert found == snapshot
