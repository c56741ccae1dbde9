"""
For each rule the smallest input that breaks it, by way of what users call.

Most stand in the tables of the engines' own tests: a new rule adds a row there, or an
entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from aws_cdk import App, CfnParameter, Duration, Environment, SecretValue, Size, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from cdk_sagemaker_llm import (
    AdapterInferenceComponent,
    AlarmOptions,
    AllAtOnce,
    AsyncInference,
    AsyncTopic,
    Canary,
    CustomContainer,
    DataCapture,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    InstanceType,
    Linear,
    LlamaCpp,
    LlmDashboard,
    LlmEndpoint,
    LmiVllm,
    LoraAdapter,
    ManagedInstanceScaling,
    Model,
    Network,
    NeuronX,
    Observability,
    PrivateAccess,
    ProductionVariant,
    ResourceRequirements,
    RollbackAlarms,
    Rolling,
    Rollout,
    S3Model,
    ScalableCopyCount,
    ScalingStep,
    ServingConfiguration,
    ServingFolder,
    Sglang,
    ShadowVariant,
    TensorRtLlm,
    Tgi,
    TgiNeuron,
    Vllm,
)
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving import check_environment, check_properties
from cdk_sagemaker_llm.serving.lmi.lmi_family import lmi_findings
from tests.conftest import ROOT
from tests.unit.account_rule_examples import ACCOUNT_RULES
from tests.unit.capacity_rule_examples import CAPACITY
from tests.unit.engine_rule_examples import ENGINES
from tests.unit.engine_support_rule_examples import OF_ENGINES
from tests.unit.mirroring_rule_examples import MIRRORING
from tests.unit.serving.lmi.checks.test_rules import (
    AUTO,
    DS,
    ERRORS,
    LMI,
    MPI,
    PYTHON,
    TRT,
    VLLM,
    WARNINGS,
)
from tests.unit.serving.tgi.test_checks import BROKEN, MODEL
from tests.unit.staging_rule_examples import STAGING
from tests.unit.support_rule_examples import SUPPORT

GPT2 = HuggingFaceModel("gpt2")
# One that takes adapters.
SMALL = HuggingFaceModel("Qwen/Qwen2.5-1.5B-Instruct")
CODE_LLAMA = HuggingFaceModel("codellama/CodeLlama-7b-hf")
MIXTRAL = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1")
QWEN = HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct")
ON_S3 = S3Model("s3://bucket/model/")
WITH_TOKEN = HuggingFaceModel("a/b", token=SecretValue.secrets_manager("hub"))
PLAIN_TOKEN = "hf_" + "a" * 34
TGI = Tgi("3.3.6")
SAGEMAKER = iam.ServicePrincipal("sagemaker.amazonaws.com")
TEAM = "111111111111.dkr.ecr.us-east-1.amazonaws.com/team"
ONE = ResourceRequirements(accelerators=1)
G5 = "ml.g5.12xlarge"
ADAPTER = "s3://bucket/adapters/a/"
HEADS = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 32}
DEGREE_OF_3 = f"{PYTHON}{VLLM}option.tensor_parallel_degree=3\n"

_lmi_environment = partial(
    lmi_findings, container=LMI, version="0.36.0", accelerators=4
)
_file = partial(check_properties, accelerators=4)
_model = partial(Model, id="It", model=GPT2)
_endpoint = partial(LlmEndpoint, id="It", model=GPT2, instance_type="ml.g5.12xlarge")


def _variables(
    version: str, given: dict[str, str], accelerators: int | None = None
) -> Callable[[], list[Finding]]:
    return partial(
        check_environment,
        {**MODEL, **given},
        container="huggingface-llm",
        version=version,
        accelerators=accelerators,
    )


def _variant(
    *,
    volume_size: Size | None = None,
    managed_instance_scaling: ManagedInstanceScaling | None = None,
) -> Callable[[Stack], object]:
    def define(stack: Stack) -> object:
        variant = ProductionVariant(
            instance_type="ml.g5.xlarge",
            model=Model(stack, "Model", serving=TGI, model=GPT2),
            volume_size=volume_size,
            managed_instance_scaling=managed_instance_scaling,
        )
        return EndpointConfig(stack, "It", variants=[variant])

    return define


def _component(
    *,
    model: HuggingFaceModel | S3Model = GPT2,
    resources: ResourceRequirements | None = None,
    serving: LmiVllm | None = None,
) -> Callable[[Stack], object]:
    def define(stack: Stack) -> object:
        host = _host(stack)
        return host.add_model("It", model=model, serving=serving, resources=resources)

    return define


def _host(stack: Stack) -> InferenceComponentEndpoint:
    return InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )


def _in_another_region(_: Stack) -> object:
    stack = Stack(App(), "Iso", env=Environment(region="us-iso-east-1"))
    return Model(stack, "It", serving=TensorRtLlm("0.26.0"), model=GPT2)


def _without_model_and_role(stack: Stack) -> object:
    variant = ProductionVariant(instance_type="ml.g5.xlarge")
    return EndpointConfig(stack, "It", variants=[variant])


def _with_another_role(stack: Stack) -> object:
    model = Model(stack, "Model", serving=TGI, model=GPT2)
    endpoint = _host(stack).endpoint
    return InferenceComponent(
        stack, "It", endpoint=endpoint, model=model, resources=ONE
    )


def _filled_at_deployment(stack: Stack) -> object:
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type=CfnParameter(stack, "Type").value_as_string
    )
    return host.add_model("It", model=GPT2, resources=ONE, copies="fill")


def _named_twice(stack: Stack) -> object:
    _endpoint(stack, id="First", endpoint_name="chat")
    return _endpoint(stack, endpoint_name="Chat")


def _adapted(
    serving: ServingConfiguration | None = None, artifact: str | LoraAdapter = ADAPTER
) -> Callable[[Stack], AdapterInferenceComponent]:
    def define(stack: Stack) -> AdapterInferenceComponent:
        base = _host(stack).add_model("It", model=SMALL, serving=serving, resources=ONE)
        return base.add_adapter("A", artifact=artifact)

    return define


def _adapted_twice(stack: Stack) -> object:
    base = _adapted()(stack)
    return AdapterInferenceComponent(stack, "It", base=base, artifact=ADAPTER)


def _adapted_elsewhere(stack: Stack) -> object:
    endpoint = Endpoint.from_endpoint_name(stack, "Endpoint", "chat")
    base = InferenceComponent.from_inference_component_name(
        stack, "It", "chat", endpoint=endpoint
    )
    return AdapterInferenceComponent(stack, "A", base=base, artifact=ADAPTER)


def _adapted_hundreds_of_times(stack: Stack) -> None:
    base = _host(stack).add_model("It", model=SMALL, resources=ONE)
    for number in range(400):
        base.add_adapter(f"A{number}", artifact=f"{ADAPTER}{number}/")


def _scaled_too_far(stack: Stack) -> object:
    component = _host(stack).add_model("It", model=GPT2, resources=ONE)
    return component.auto_scale_copy_count(max_capacity=17)


def _scaled_twice(stack: Stack) -> object:
    component = _host(stack).add_model("It", model=GPT2, resources=ONE)
    component.auto_scale_copy_count(max_capacity=2)
    return component.auto_scale_copy_count(max_capacity=2)


def _copies(stack: Stack, *, least: int = 1, instances: int = 1) -> ScalableCopyCount:
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", min_instance_count=instances
    )
    component = host.add_model("It", model=GPT2, resources=ONE)
    return component.auto_scale_copy_count(min_capacity=least, max_capacity=2)


def _follows_elsewhere(stack: Stack) -> object:
    metric = cloudwatch.Metric(
        namespace="A", metric_name="B", period=Duration.seconds(5)
    )
    steps = [ScalingStep(lower=1, change=1)]
    return _copies(stack).scale_by_steps("It", metric=metric, steps=steps)


def _steps_with_a_gap(stack: Stack) -> object:
    return _stepped(
        stack,
        ScalingStep(lower=1, upper=2, change=1),
        ScalingStep(lower=3, change=2),
    )


def _many_steps(stack: Stack) -> object:
    return _stepped(stack, *(ScalingStep(lower=each, change=1) for each in range(21)))


def _stepped(stack: Stack, *steps: ScalingStep) -> object:
    metric = cloudwatch.Metric(namespace="A", metric_name="B")
    return _copies(stack).scale_by_steps("It", metric=metric, steps=steps)


def _on_no_schedule(stack: Stack) -> object:
    return _copies(stack).scale_on_schedule(
        "It", schedule="cron(0 20 * * *)", min_capacity=1
    )


def _half_to_zero(stack: Stack) -> object:
    component = _host(stack).add_model("It", model=GPT2, resources=ONE)
    return component.auto_scale_copy_count(min_capacity=0, max_capacity=2)


def _to_zero(stack: Stack) -> object:
    return _copies(stack, least=0, instances=0)


def _kept_awake(stack: Stack) -> object:
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", min_instance_count=0
    )
    sleeping = host.add_model("Sleeping", model=GPT2, resources=ONE)
    host.add_model("Awake", model=GPT2, resources=ONE)
    return sleeping.auto_scale_copy_count(min_capacity=0, max_capacity=2)


def _split_too_far(stack: Stack) -> object:
    model = Model(stack, "Model", serving=LmiVllm(tensor_parallel_degree=4), model=GPT2)
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)
    return EndpointConfig(stack, "It", variants=[variant])


def _started_outside(stack: Stack) -> object:
    component = _host(stack).add_model("It", model=GPT2, resources=ONE, copies=4)
    return component.auto_scale_copy_count(max_capacity=2)


def _scaled_of_any_type(stack: Stack) -> object:
    any_type = CfnParameter(stack, "Type").value_as_string
    llm = LlmEndpoint(stack, "It", model=GPT2, instance_type=any_type)
    return llm.auto_scale_instance_count(max_capacity=2)


def _rolled_batches(stack: Stack) -> object:
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            variant_name=name,
            initial_instance_count=2,
            model=Model(stack, name, serving=TGI, model=GPT2),
        )
        for name in ("Blue", "Green")
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    return Endpoint(stack, "It", endpoint_config=config, rollout=Rolling(percent=50))


def _rolled_by(rollout: Rollout, **given: Any) -> Callable[[Stack], object]:  # noqa: ANN401 - what the construct takes by keyword
    return lambda stack: InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.p4d.24xlarge",
        max_instance_count=2,
        rollout=rollout,
        **given,
    )


def _watched_by_whom(stack: Stack) -> object:
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "theirs")
    return Endpoint(
        stack, "It", endpoint_config=config, rollout=AllAtOnce(rollback_on=["bad"])
    )


def _reset_by_an_update(stack: Stack) -> object:
    component = _host(stack).add_model(
        "It", model=GPT2, resources=ONE, copies=2, rollout=Rolling(copies=1)
    )
    return component.auto_scale_copy_count(min_capacity=2, max_capacity=4)


def _in_subnets(*ids: str) -> Callable[[Stack], object]:
    def define(stack: Stack) -> object:
        vpc = ec2.Vpc.from_vpc_attributes(
            stack,
            "Vpc",
            vpc_id="vpc-12345678",
            availability_zones=["us-east-1a"],
            isolated_subnet_ids=list(ids),
        )
        isolated = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        network = Network(vpc=vpc, subnets=isolated)
        return Model(stack, "It", serving=TGI, model=GPT2, network=network)

    return define


_without_subnets = _in_subnets()
_without_a_way_out = _in_subnets("subnet-12345678")


def _closed(stack: Stack, **given: Any) -> ec2.Vpc:  # noqa: ANN401 - what the VPC takes by keyword
    closed = ec2.SubnetConfiguration(
        name="Closed", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
    )
    return ec2.Vpc(stack, "Vpc", max_azs=2, subnet_configuration=[closed], **given)


def _app_of(stack: Stack) -> App:
    return cast("App", stack.node.root)


def _at_the_end(define: Callable[[Stack], object]) -> Callable[[Stack], None]:
    """
    Have an error raised that only shows when everything is defined.
    """

    def defined(stack: Stack) -> None:
        define(stack)
        try:
            _app_of(stack).synth()
        except RuntimeError as fault:
            raise ValueError(str(fault)) from fault

    return defined


def _on_a_parameters_type(stack: Stack) -> None:
    name = CfnParameter(stack, "Type").value_as_string
    LlmEndpoint(stack, "It", model=HuggingFaceModel("gpt2"), instance_type=name)


def _where_the_type_is_not_offered(stack: Stack) -> None:
    InferenceComponentEndpoint(stack, "It", instance_type="ml.p5.4xlarge")


def _scaled_from_a_moving_commit(stack: Stack) -> None:
    model = HuggingFaceModel("gpt2")
    endpoint = LlmEndpoint(stack, "It", model=model, instance_type="ml.g6.xlarge")
    endpoint.auto_scale_instance_count(max_capacity=2)


def _with_a_model_elsewhere(stack: Stack) -> None:
    app = cast("App", stack.node.root)
    home = Environment(account=stack.account, region=stack.region)
    there = Stack(app, "There", env=home)
    model = Model(there, "Model", serving=Vllm(), model=HuggingFaceModel("gpt2"))
    variant = ProductionVariant(instance_type="ml.g6.xlarge", model=model)
    EndpointConfig(stack, "It", variants=[variant])


def _at_a_silent_topic(stack: Stack) -> None:
    topic = sns.Topic(stack, "Pager", enforce_ssl=True)
    host = InferenceComponentEndpoint(stack, "It", instance_type="ml.g5.12xlarge")
    model = host.add_model("A", model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"))
    model.add_alarms(options=AlarmOptions(alarm_actions=[actions.SnsAction(topic)]))


def _named_in_two_stacks(stack: Stack) -> None:
    app = cast("App", stack.node.root)
    home = Environment(account=stack.account, region=stack.region)
    for each in (Stack(app, "There", env=home), stack):
        config = EndpointConfig.from_endpoint_config_name(each, "Config", "mine")
        Endpoint(each, "It", endpoint_config=config, endpoint_name="chat")


def _in_few_addresses(mask: int, instances: int) -> Callable[[Stack], object]:
    def define(stack: Stack) -> object:
        cidr = ec2.IpAddresses.cidr(f"10.0.0.0/{mask}")
        network = Network(vpc=_closed(stack, ip_addresses=cidr))
        return _endpoint(stack, network=network, instance_count=instances)

    return define


def _privately_in(stack: Stack, vpc: ec2.IVpc, weights: S3Model) -> None:
    Model(stack, "It", serving=TGI, model=weights, network=Network(vpc=vpc))


def _privately(stack: Stack) -> ec2.Vpc:
    vpc = _closed(stack)
    _privately_in(stack, vpc, S3Model("s3://bucket/weights/"))
    return vpc


def _twice_private(stack: Stack) -> None:
    vpc = _privately(stack)
    PrivateAccess(stack, "One", vpc=vpc)
    PrivateAccess(stack, "Two", vpc=vpc)


def _without_routes(stack: Stack) -> None:
    _without_a_way_out(stack)
    vpc = stack.node.find_child("Vpc")
    PrivateAccess(stack, "Private", vpc=cast("ec2.IVpc", vpc))


def _from_another_stack(stack: Stack) -> None:
    vpc = _closed(stack)
    other = Stack(_app_of(stack), "Other", env=Environment(region="us-east-1"))
    bucket = s3.Bucket(other, "Bucket")
    _privately_in(other, vpc, S3Model.from_bucket(bucket, "weights"))
    PrivateAccess(stack, "Private", vpc=vpc)


def _after_the_models(stack: Stack) -> None:
    models = Stack(_app_of(stack), "Models", env=Environment(region="us-east-1"))
    vpc = _closed(models)
    _endpoint(models, network=Network(vpc=vpc))
    PrivateAccess(stack, "Private", vpc=vpc)


def _too_much(stack: Stack) -> None:
    role = iam.Role(stack, "Role", assumed_by=SAGEMAKER)
    for number in range(40):
        weights = S3Model(f"s3://bucket/{'x' * 980}{number}/")
        Model(stack, f"It{number}", serving=TGI, model=weights, role=role)


def _of_another_account(stack: Stack) -> object:
    arn = "arn:aws:iam::222222222222:role/theirs"
    role = iam.Role.from_role_arn(stack, "Theirs", arn)
    return Model(stack, "It", serving=TGI, model=GPT2, role=role)


def _hidden_image(stack: Stack) -> object:
    uri = CfnParameter(stack, "Image").value_as_string
    return Model(stack, "It", serving=CustomContainer.from_uri(uri))


def _untouched(stack: Stack) -> object:
    arn = "arn:aws:iam::111111111111:role/ours"
    role = iam.Role.from_role_arn(stack, "Ours", arn, mutable=False)
    return Model(stack, "It", serving=TGI, model=GPT2, role=role)


def _lacking(stack: Stack) -> object:
    service = iam.ServicePrincipal("sagemaker.amazonaws.com")
    role = iam.Role(stack, "Ours", assumed_by=service).without_policy_updates()
    return Model(stack, "It", serving=TGI, model=GPT2, role=role)


def _distrusting(stack: Stack) -> object:
    service = iam.ServicePrincipal("lambda.amazonaws.com")
    role = iam.Role(stack, "Ours", assumed_by=service)
    return Model(stack, "It", serving=TGI, model=GPT2, role=role)


def _arn_of_another_kind(stack: Stack) -> object:
    arn = "arn:aws:sagemaker:us-east-1:111111111111:model/it"
    return Endpoint.from_endpoint_arn(stack, "It", arn)


def _shown_together(count: int, stack: Stack) -> object:
    host = Endpoint.from_endpoint_name(stack, "Host", "chat")
    components = [
        InferenceComponent.from_inference_component_name(
            stack, f"It{number}", f"model-{number}", endpoint=host
        )
        for number in range(count)
    ]
    return LlmDashboard(stack, "It", components=components)


def _lmi(given: dict[str, str], **known: Any) -> Callable[[], list[Finding]]:  # noqa: ANN401 - what the function takes by keyword
    environment = {"HF_MODEL_ID": "a/b", **given}
    return partial(_lmi_environment, environment, **known)


# What is checked without a construct.
def _tells_of_a_component(stack: Stack) -> None:
    rollout = Rolling(copies=1, notify=sns.Topic(stack, "Topic"))
    _host(stack).add_model(
        "It",
        model=GPT2,
        resources=ResourceRequirements(copies=2, accelerators=1),
        rollout=rollout,
    )


TEXTS: dict[str, Callable[[], Sequence[Finding]]] = {
    **ACCOUNT_RULES,
    **{
        code: partial(_file, text, container=container, version=version)
        for _, container, version, text, code in (*ERRORS, *WARNINGS)
    },
    "LLM128": partial(
        _file, MPI, container=TRT, version="0.26.0", architecture="ChatGLMModel"
    ),
    "LLM134": partial(_file, PYTHON, container=DS, version="0.26.0", backend="vllm"),
    "LLM156": partial(
        _file, DEGREE_OF_3, container=LMI, version="0.30.0", architecture=HEADS
    ),
    "LLM158": partial(
        _file, f"{PYTHON}option.x=1\n", container=LMI, version="0.36.0", strict=True
    ),
    "LLM206": partial(
        _file,
        MPI + AUTO,
        container=DS,
        version="0.26.0",
        architecture="MistralForCausalLM",
    ),
    "LLM207": partial(
        _file, MPI + AUTO, container=DS, version="0.26.0", backend="lmi-dist"
    ),
    "LLM175": partial(
        _file,
        f"{MPI}option.rolling_batch=disable\n",
        container=TRT,
        version="0.27.0",
        architecture="MistralForCausalLM",
    ),
    **{code: _variables(version, given) for version, given, code in BROKEN},
    "LLM235": partial(_file, "\ufeff# x\n", container=LMI, version="0.36.0"),
    "LLM162": _variables("1.4.5", {"MAX_INPUT_LENGTH": "?"}),
    "LLM174": _variables("1.4.5", {"NUM_SHARD": "4"}, accelerators=2),
    "LLM178": _lmi({"SERVING_BATCH_SIZE": "many"}),
    "LLM179": partial(_lmi_environment, {}, has_model_data=False),
    "LLM181": _lmi({}, file={"option.model_id": "c/d"}),
    "LLM227": _lmi({"OPTION_MODEL": "c/d"}),
    "LLM228": _lmi({"HUGGINGFACE_MODEL_ID": "c/d"}),
    "LLM229": _lmi({"OPTION_MODEL_ID": "c/d"}),
    "LLM230": _lmi({}, file={"engine": "Python"}),
    **ENGINES,
    **{code: broken for code, (broken, _) in SUPPORT.items()},
    **{code: broken for code, (broken, _) in OF_ENGINES.items()},
}


def _called_asynchronously(stack: Stack) -> object:
    return _endpoint(stack).grant_invoke_async(iam.Role.from_role_name(stack, "R", "a"))


def _without_topic(stack: Stack) -> object:
    given = AsyncInference(include_inference_response_in=[AsyncTopic.ERROR])
    return _endpoint(stack, async_inference=given)


def _components_asynchronously(stack: Stack) -> object:
    variant = ProductionVariant(instance_type="ml.g5.xlarge")
    role = iam.Role(stack, "Role", assumed_by=SAGEMAKER)
    given = AsyncInference(output="s3://bucket")
    return EndpointConfig(
        stack, "It", variants=[variant], execution_role=role, async_inference=given
    )


def _shadows(*names: str, has_model: bool) -> Callable[[Stack], object]:
    def define(stack: Stack) -> object:
        model = Model(stack, "Model", serving=TGI, model=GPT2)
        variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)
        shadow = replace(variant, model=model if has_model else None)
        shadows = [replace(shadow, variant_name=name) for name in names]
        return EndpointConfig(stack, "It", variants=[variant], shadow_variants=shadows)

    return define


def _scaled_on_what_is_not_there(stack: Stack) -> object:
    llm = _endpoint(stack, async_inference=AsyncInference(output="s3://bucket"))
    instances = llm.auto_scale_instance_count(max_capacity=2)
    return instances.scale_on_invocations("Load", per_minute=5)


# What a construct refuses, or warns of.
DEFINITIONS: dict[str, Callable[[Stack], object]] = {
    "LLM101": partial(_endpoint, instance_type="ml.g5.13xlarge"),
    "LLM103": _in_another_region,
    "LLM104": _component(resources=ResourceRequirements(copies=17, accelerators=1)),
    "LLM105": partial(_endpoint, instance_count=0),
    "LLM106": partial(_endpoint, endpoint_name="a_b"),
    "LLM107": partial(_model, serving=TGI, environment={"MY_KEY": PLAIN_TOKEN}),
    "LLM111": partial(_endpoint, model_data_download_timeout=Duration.seconds(59)),
    "LLM113": partial(_model, serving=TGI, environment={"HF_MODEL_ID": "a/b"}),
    "LLM117": partial(
        _model,
        serving=ServingFolder(
            ROOT / "assets" / "mixtral-8x7b", container_family=TRT, version="0.26.0"
        ),
    ),
    "LLM119": partial(_model, serving=LmiVllm(), network=Network(isolated=True)),
    "LLM120": partial(_model, serving=TGI, environment={"V": "x" * 1025}),
    "LLM121": _variant(volume_size=Size.gibibytes(30)),
    "LLM122": _variant(
        managed_instance_scaling=ManagedInstanceScaling(
            min_instance_count=1, max_instance_count=2
        )
    ),
    "LLM123": partial(EndpointConfig, id="It", variants=[]),
    "LLM124": _without_model_and_role,
    "LLM125": _with_another_role,
    "LLM127": partial(_endpoint, instance_type="ml.inf2.48xlarge"),
    "LLM521": partial(_endpoint, instance_type="ml.m5.xlarge"),
    "LLM523": partial(_endpoint, serving=LlamaCpp(), instance_type="ml.c7g.xlarge"),
    "LLM525": partial(
        _model, serving=Vllm(), model=HuggingFaceModel("a/b-GGUF:Q4_K_M")
    ),
    "LLM558": partial(
        _model,
        serving=Sglang(options={"model-loader-extra-config": "{"}),
        model=QWEN,
    ),
    "LLM631": partial(
        _model, serving=LlamaCpp(), model=HuggingFaceModel("a/b-GGUF", revision="c")
    ),
    "LLM129": partial(_endpoint, model_data_download_timeout=Duration.millis(61500)),
    "LLM159": partial(_model, serving=TensorRtLlm("0.26.0", precompiled=True)),
    "LLM160": partial(_model, serving=Tgi("3.3.6", options={"MAX_BEST": 4})),
    "LLM163": partial(
        _model, serving=Tgi("3.3.6", speculate=2, options={"SPECULATE": 3})
    ),
    "LLM551": partial(_model, serving=Vllm(options={"max_num_sequence": 4})),
    "LLM553": partial(_model, serving=Vllm(options={"swap_space": 4})),
    "LLM555": partial(_model, serving=Sglang(lora_paths=["a=b", "c=d"])),
    "LLM531": partial(_model, serving=Vllm(quantization="")),
    "LLM533": partial(_model, model=ON_S3, serving=LlamaCpp(options={"port": 80})),
    "LLM557": partial(_model, serving=Vllm("2")),
    "LLM652": partial(
        _model,
        serving=Vllm(
            "0.24.0", options={"generation_config": "a #b"}, tensor_parallel_size=1
        ),
    ),
    "LLM180": partial(_model, serving=TgiNeuron("0.0.28", auto_cast_type="bfloat16")),
    "LLM188": _of_another_account,
    "LLM189": _too_much,
    "LLM182": partial(_endpoint, instance_count="2"),
    "LLM183": _named_twice,
    "LLM184": partial(
        _endpoint, inference_ami_version="al2-ami-sagemaker-inference-gpu-9"
    ),
    "LLM187": partial(
        _model,
        model=None,
        serving=ServingFolder(
            ROOT / "assets" / "mixtral-8x7b",
            container_family="huggingface-llm",
            version="3.3.6",
        ),
    ),
    "LLM190": partial(_endpoint, model=MIXTRAL),
    "LLM191": _component(
        model=QWEN, resources=ResourceRequirements(accelerators=8), serving=LmiVllm()
    ),
    "LLM192": _component(model=ON_S3),
    "LLM193": _filled_at_deployment,
    "LLM172": _split_too_far,
    "LLM196": partial(
        InferenceComponentEndpoint,
        id="It",
        instance_type="ml.g5.xlarge",
        cuda_version="13.0",
        engine=TGI,
    ),
    "LLM197": _component(resources=ResourceRequirements()),
    "LLM325": _adapted(artifact="s3://bucket/adapter"),
    "LLM326": _adapted(TGI),
    "LLM327": _adapted(LmiVllm("0.30.0")),
    "LLM328": _adapted(LmiVllm(enable_lora=False)),
    "LLM329": _adapted(artifact=LoraAdapter("s3://bucket/adapters/a/", rank=17)),
    "LLM330": _adapted_twice,
    "LLM420": _adapted_elsewhere,
    "LLM421": _adapted_hundreds_of_times,
    "LLM198": partial(
        _endpoint,
        serving=LmiVllm(),
        inference_ami_version="al2-ami-sagemaker-inference-gpu-2",
    ),
    "LLM199": _without_subnets,
    "LLM195": _arn_of_another_kind,
    "LLM194": partial(
        _endpoint,
        instance_type="ml.g5.xlarge",
        model=CODE_LLAMA,
        serving=LmiVllm("0.34.0", max_model_len=16384),
    ),
    "LLM301": _scaled_twice,
    "LLM302": _follows_elsewhere,
    "LLM303": _steps_with_a_gap,
    "LLM304": _on_no_schedule,
    "LLM305": _half_to_zero,
    "LLM401": _many_steps,
    "LLM402": _to_zero,
    "LLM403": _to_zero,
    "LLM404": _kept_awake,
    "LLM201": partial(_model, serving=TGI),
    "LLM202": partial(_model, serving=TGI, model=WITH_TOKEN),
    "LLM203": _scaled_too_far,
    "LLM213": partial(_endpoint, serving=LmiVllm(model_loading_timeout=7200)),
    "LLM219": partial(
        _model,
        serving=TensorRtLlm("0.25.0"),
        model=HuggingFaceModel("a/b", architecture="MistralForCausalLM"),
    ),
    "LLM221": partial(
        _endpoint, inference_ami_version="al2-ami-sagemaker-inference-gpu-3-1"
    ),
    "LLM244": _scaled_of_any_type,
    "LLM245": _component(resources=ResourceRequirements(copies=16, accelerators=1)),
    "LLM246": partial(
        _endpoint,
        model=ON_S3,
        serving=NeuronX("0.29.0"),
        instance_type="ml.inf2.48xlarge",
    ),
    "LLM247": _without_a_way_out,
    # One subnet, and that an isolated one.
    "LLM450": _without_a_way_out,
    "LLM701": _at_the_end(_in_few_addresses(27, 23)),
    "LLM702": _at_the_end(_twice_private),
    "LLM703": _at_the_end(_without_routes),
    "LLM704": lambda stack: PrivateAccess(
        stack, "It", vpc=_closed(stack, enable_dns_hostnames=False)
    ),
    "LLM705": lambda stack: PrivateAccess(
        stack, "It", vpc=_closed(stack), without=["s4"]
    ),
    "LLM707": partial(
        _model,
        serving=Vllm(),
        model=HuggingFaceModel("a/b", token=SecretValue.ssm_secure("/hub/token")),
    ),
    "LLM801": _in_few_addresses(27, 6),
    "LLM808": _with_a_model_elsewhere,
    "LLM810": _at_a_silent_topic,
    "LLM709": partial(_model, serving=TGI, environment={"A": str(object())}),
    "LLM812": _named_in_two_stacks,
    "LLM806": _on_a_parameters_type,
    "LLM814": _where_the_type_is_not_offered,
    "LLM818": partial(
        _endpoint,
        endpoint_name="chat",
        rollout=AllAtOnce(rollback_on=RollbackAlarms()),
    ),
    "LLM816": _scaled_from_a_moving_commit,
    "LLM802": _from_another_stack,
    "LLM803": _privately,
    "LLM805": _after_the_models,
    "LLM804": lambda stack: PrivateAccess(stack, "It", vpc=_closed(stack)),
    "LLM248": _started_outside,
    "LLM237": _untouched,
    "LLM821": _lacking,
    "LLM822": _distrusting,
    "LLM823": partial(
        _model,
        serving=LmiVllm(),
        model=S3Model("s3://weights/a/", accept_eula=True),
    ),
    "LLM238": _hidden_image,
    "LLM232": partial(
        _model,
        serving=TGI,
        model=HuggingFaceModel("a/b", architecture="LlamForCausalLM"),
    ),
    "LLM224": partial(_model, serving=LmiVllm(image=f"{TEAM}/vllm:1")),
    "LLM335": partial(_endpoint, instance_count=2, rollout=Canary()),
    "LLM365": _tells_of_a_component,
    "LLM336": partial(_endpoint, rollout=Canary(percent=50)),
    "LLM337": partial(
        _endpoint,
        instance_count=2,
        rollout=Linear(percent=10, maximum_execution_timeout=Duration.minutes(45)),
    ),
    "LLM338": _rolled_batches,
    "LLM339": partial(_endpoint, rollout=AllAtOnce(rollback_on=RollbackAlarms())),
    "LLM425": _rolled_by(Canary(percent=50)),
    "LLM426": partial(
        _endpoint,
        rollout=AllAtOnce(termination_wait=Duration.seconds(0), rollback_on=["bad"]),
    ),
    "LLM427": _watched_by_whom,
    "LLM428": _rolled_by(
        AllAtOnce(rollback_on=RollbackAlarms()), endpoint_name="shared"
    ),
    "LLM429": _reset_by_an_update,
    "LLM270": partial(
        _model, serving=TgiNeuron("0.0.28", options={"HF_BATCH_SIZE": 4})
    ),
    "LLM290": partial(
        _endpoint,
        instance_type="ml.g5.xlarge",
        model=CODE_LLAMA,
        serving=LmiVllm("0.30.0", max_model_len=14000),
    ),
    "LLM291": partial(
        _endpoint,
        instance_type="ml.g5.xlarge",
        model=CODE_LLAMA,
        serving=Tgi("1.4.5", max_batch_total_tokens=65536),
    ),
    "LLM360": lambda stack: _endpoint(stack).metric_invocations(statistic="p99"),
    "LLM361": lambda stack: _endpoint(stack).metric_gpu_reservation(),
    "LLM363": partial(
        _endpoint, observability=Observability(publish_frequency=Duration.seconds(20))
    ),
    "LLM345": _shadows("One", "Two", has_model=True),
    "LLM346": _shadows("One", has_model=False),
    "LLM347": partial(_endpoint, async_inference=AsyncInference(output="bucket")),
    "LLM348": partial(
        _endpoint, data_capture=DataCapture(bucket="s3://bucket", capture=[])
    ),
    "LLM349": _called_asynchronously,
    "LLM435": _without_topic,
    "LLM436": partial(
        InferenceComponentEndpoint,
        id="It",
        instance_type="ml.g5.xlarge",
        data_capture=DataCapture(bucket="s3://bucket"),
    ),
    "LLM437": _components_asynchronously,
    "LLM438": _scaled_on_what_is_not_there,
    "LLM439": partial(
        _endpoint,
        async_inference=AsyncInference(output="s3://bucket"),
        shadow=ShadowVariant(),
    ),
    "LLM362": partial(_shown_together, 417),
    "LLM364": partial(LlmDashboard, id="It"),
    "LLM445": partial(_shown_together, 31),
    "LLM446": partial(_endpoint, monthly_budget=5000, hourly_prices={G5: 7.0}),
    "LLM447": lambda stack: InferenceComponentEndpoint(
        stack,
        "It",
        instance_type=InstanceType.of(
            "ml.g9.xlarge", accelerators=1, vcpus=4, memory_gib=32
        ),
        cuda_version="12.4",
        monthly_budget=5000,
    ),
    "LLM292": partial(
        _endpoint,
        instance_type="ml.g5.xlarge",
        model=CODE_LLAMA,
        serving=LmiVllm("0.30.0", gpu_memory_utilization=0.585, max_model_len=128),
    ),
    **CAPACITY,
    **MIRRORING,
    **STAGING,
}

# Serving folders: their files by size, none for no folder; less than nothing is a pipe.
FOLDERS: dict[str, dict[str, int]] = {
    "LLM108": {},
    "LLM109": {"model.py": 1},
    "LLM118": {"serving.properties": 1, "model.safetensors": 65 * 2**20},
    "LLM126": {"one/serving.properties": 1, "two/serving.properties": 1},
    "LLM185": {"serving.properties": 1, "pipe": -1},
    "LLM186": {"serving.properties": 0},
}
