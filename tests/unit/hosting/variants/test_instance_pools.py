"""
Models on instances of several types: a plan, a container and a place for each.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Size, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from cdk_sagemaker_llm import (
    Assumptions,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmEndpoint,
    LmiVllm,
    Model,
    ModelBase,
    Network,
    ProductionVariant,
    ResourceRequirements,
    Tgi,
)
from tests.unit.hosting.expected import ROLE_ARN
from tests.unit.hosting.written import codes_of, properties_of, warnings_of, written

MODEL = "SageMaker::Model"
CONFIG = "SageMaker::EndpointConfig"
COMPONENT = "SageMaker::InferenceComponent"
ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
MIXTRAL = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1")
ONE, TWO = ResourceRequirements(accelerators=1), ResourceRequirements(accelerators=2)
LARGE, SMALL = "ml.g6e.12xlarge", "ml.g5.2xlarge"
EIGHT = "ml.g5.48xlarge"
TGI = Tgi("3.3.6")
STARTED = {"ContainerStartupHealthCheckTimeoutInSeconds": 1800}


def pools(*names: str) -> list[InstancePool]:
    """
    Make pools in the order of their priority.
    """
    return [InstancePool(name, priority=i) for i, name in enumerate(names, start=1)]


def shared(stack: Stack, **given: Any) -> InferenceComponentEndpoint:  # noqa: ANN401 - any keyword
    """
    Define instances of two types for components.
    """
    return InferenceComponentEndpoint(
        stack,
        "Host",
        **{"capacity": InstanceCapacity(pools=pools(LARGE, SMALL)), **given},
    )


def variant_of(stack: Stack) -> dict[str, Any]:
    """
    Return the only variant of the only configuration.
    """
    (variant,) = properties_of(stack, CONFIG)["ProductionVariants"]
    found: dict[str, Any] = variant
    return found


def needs(accelerators: int, cpus: int | None = None) -> dict[str, Any]:
    """
    Write what a copy reserves, as the template does.
    """
    cores = {} if cpus is None else {"NumberOfCpuCoresRequired": cpus}
    return {
        "MinMemoryRequiredInMb": 1024,
        "NumberOfAcceleratorDevicesRequired": accelerators,
        **cores,
    }


def test_one_container_for_all_types_is_one_model(stack: Stack) -> None:
    """
    In place of the type stand the pools; the rest is as for one type.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=LmiVllm(),
        capacity=InstanceCapacity(
            pools=pools(LARGE, SMALL), provision_timeout=Duration.minutes(30)
        ),
    )

    assert llm.models == (llm.model, llm.model)
    assert variant_of(stack) == {
        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
        "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
        "InitialInstanceCount": 1,
        "InitialVariantWeight": 1,
        "InstancePools": [
            {"InstanceType": LARGE, "Priority": 1},
            {"InstanceType": SMALL, "Priority": 2},
        ],
        "ModelName": "${LlmModel.ModelName}",
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "VariantInstanceProvisionTimeoutInSeconds": 1800,
        "VariantName": "AllTraffic",
    }


def test_another_container_for_a_type_is_a_model_of_its_own(stack: Stack) -> None:
    """
    TGI says in its variables over how many GPUs it is split; a role is for both.
    """
    third = "ml.g5.12xlarge"
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=TGI,
        capacity=InstanceCapacity(pools=pools(LARGE, EIGHT, third)),
    )

    models = written(stack, MODEL)
    assert {name: split_of(model) for name, model in models.items()} == {
        "LlmModel": "4",
        "LlmModelG548xlarge": "8",
    }
    assert llm.models == (llm.model, llm.models[1], llm.model)
    assert len(written(stack, "IAM::Role")) == 1
    assert variant_of(stack)["InstancePools"] == [
        {"InstanceType": LARGE, "Priority": 1},
        {
            "InstanceType": EIGHT,
            "ModelNameOverride": "${LlmModelG548xlarge.ModelName}",
            "Priority": 2,
        },
        {"InstanceType": third, "Priority": 3},
    ]


def test_models_of_several_types_are_in_one_network(
    stack: Stack, network: Network
) -> None:
    """
    Behind one security group, as they have one role.
    """
    LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=TGI,
        capacity=InstanceCapacity(pools=pools(LARGE, EIGHT)),
        network=network,
    )
    first, second = written(stack, MODEL).values()

    assert first["Properties"]["VpcConfig"] == second["Properties"]["VpcConfig"]
    assert len(written(stack, "EC2::SecurityGroup")) == 1


def test_what_is_assumed_holds_for_the_instances_of_a_model(stack: Stack) -> None:
    """
    Of each type, or the only one.
    """
    heavy = Assumptions(runtime_gib=1000)
    hosts: dict[str, dict[str, Any]] = {
        "Pools": {"capacity": InstanceCapacity(pools=pools(LARGE, EIGHT))},
        "One": {"instance_type": LARGE},
    }
    for name, given in hosts.items():
        with pytest.raises(ValueError, match=f"(?s)^Test/{name}: .*LLM190"):
            LlmEndpoint(
                stack, name, model=ZEPHYR, serving=TGI, assumptions=heavy, **given
            )


def split_of(model: dict[str, Any]) -> str:
    """
    Return over how many GPUs a model's container is split.
    """
    environment = model["Properties"]["PrimaryContainer"]["Environment"]
    return str(environment["SM_NUM_GPUS"])


def test_the_first_choice_is_that_of_the_lowest_priority(stack: Stack) -> None:
    """
    Whatever the order that pools are written in.
    """
    given = [InstancePool(EIGHT, priority=5), InstancePool(LARGE, priority=2)]
    llm = LlmEndpoint(
        stack, "Llm", model=ZEPHYR, serving=TGI, capacity=InstanceCapacity(pools=given)
    )

    assert [pool["InstanceType"] for pool in variant_of(stack)["InstancePools"]] == [
        LARGE,
        EIGHT,
    ]
    assert llm.model.definition.variables["SM_NUM_GPUS"] == "4"


def test_fails_if_one_type_does_not_hold_the_model(stack: Stack) -> None:
    """
    The type is named; nothing is said of the one that does.
    """
    with pytest.raises(ValueError, match=f"LLM190 .* on {SMALL} ") as caught:
        LlmEndpoint(
            stack,
            "Llm",
            model=MIXTRAL,
            capacity=InstanceCapacity(pools=pools("ml.p5.48xlarge", SMALL)),
        )

    assert "p5" not in str(caught.value)
    assert stack.node.children == []


def test_what_is_wrong_on_all_types_is_told_once(stack: Stack) -> None:
    """
    The serving configuration is the same.
    """
    with pytest.raises(ValueError, match="LLM163") as caught:
        LlmEndpoint(
            stack,
            "Llm",
            model=ZEPHYR,
            serving=Tgi("3.3.6", speculate=2, options={"SPECULATE": 3}),
            capacity=InstanceCapacity(pools=pools(LARGE, SMALL)),
        )

    assert str(caught.value).count("LLM163") == 1


def test_fails_if_one_type_refuses_a_volume_or_a_key(stack: Stack) -> None:
    """
    Storage is local on some types.
    """
    key = kms.Key(stack, "Key")
    for given in ({"volume_size": Size.gibibytes(100)}, {"kms_key": key}):
        with pytest.raises(ValueError, match=f"LLM121 {LARGE} refuses") as caught:
            shared(
                stack,
                capacity=InstanceCapacity(pools=pools("ml.p3.2xlarge", LARGE)),
                inference_ami_version="al2-ami-sagemaker-inference-gpu-2",
                **given,
            )
        assert "p3" not in str(caught.value).replace("ml.p3.2xlarge, ", "")


def test_instances_of_several_types_are_scaled(stack: Stack) -> None:
    """
    As those of one: the type of each is SageMaker's to choose.
    """
    llm = LlmEndpoint(
        stack, "Llm", model=ZEPHYR, capacity=InstanceCapacity(pools=pools(LARGE, SMALL))
    )
    llm.auto_scale_instance_count(max_capacity=3)

    target = properties_of(stack, "ApplicationAutoScaling::ScalableTarget")
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 3)
    assert codes_of(stack) == [("/Test/Llm/Endpoint/Scaling", "LLM816")]


def test_warns_if_a_scaled_pools_type_may_change(stack: Stack) -> None:
    """
    One that is known at deployment only.
    """
    name = CfnParameter(stack, "Type").value_as_string
    llm = LlmEndpoint(
        stack, "Llm", model=ZEPHYR, capacity=InstanceCapacity(pools=pools(LARGE, name))
    )
    llm.auto_scale_instance_count(max_capacity=3)

    assert ("/Test/Llm/Endpoint/Scaling", "LLM244") in codes_of(stack)


def test_copies_reserve_what_the_plan_asks_for_on_each_type(stack: Stack) -> None:
    """
    The cores that a GPU has to itself are not the same.
    """
    shared(stack).add_model("Chat", model=ZEPHYR)

    component = properties_of(stack, COMPONENT)
    assert "Specification" not in component
    assert component["Specifications"] == [
        {
            "ComputeResourceRequirements": needs(1, 9),
            "InstanceType": LARGE,
            "ModelName": "${HostChatModel.ModelName}",
            "StartupParameters": STARTED,
        },
        {
            "ComputeResourceRequirements": needs(1, 6),
            "InstanceType": SMALL,
            "ModelName": "${HostChatModel.ModelName}",
            "StartupParameters": STARTED,
        },
    ]
    assert component["RuntimeConfig"] == {"CopyCount": 1}


def test_the_same_on_all_types_is_one_specification(stack: Stack) -> None:
    """
    The guide has it so where model and resources are the same.
    """
    shared(stack).add_model("Chat", model=ZEPHYR, resources=ONE)

    assert properties_of(stack, COMPONENT)["Specification"] == {
        "ComputeResourceRequirements": needs(1),
        "ModelName": "${HostChatModel.ModelName}",
        "StartupParameters": STARTED,
    }


def test_resources_by_type_make_a_container_for_each(stack: Stack) -> None:
    """
    Over as many GPUs as a copy reserves there.
    """
    component = shared(stack).add_model(
        "Chat", model=ZEPHYR, serving=TGI, resources={LARGE: TWO, SMALL: ONE}
    )

    models = written(stack, MODEL)
    assert {name: split_of(model) for name, model in models.items()} == {
        "HostChatModel": "2",
        "HostChatModelG52xlarge": "1",
    }
    assert [
        (each["InstanceType"], each["ModelName"], each["ComputeResourceRequirements"])
        for each in properties_of(stack, COMPONENT)["Specifications"]
    ] == [
        (LARGE, "${HostChatModel.ModelName}", needs(2)),
        (SMALL, "${HostChatModelG52xlarge.ModelName}", needs(1)),
    ]
    assert component.resources == TWO


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({LARGE: ONE}, f"must be for {LARGE}, {SMALL}, got {LARGE}"),
        ({}, f"must be for {LARGE}, {SMALL}, got nothing"),
        (
            {LARGE: ONE, SMALL: ONE, EIGHT: ONE},
            f"must be for {LARGE}, {SMALL}, got {LARGE}, {SMALL}, {EIGHT}",
        ),
        (
            {LARGE: ONE, SMALL: ResourceRequirements(copies=2, accelerators=1)},
            "start 1 or 2 copies: their number is the component's, whatever the type",
        ),
    ],
    ids=["too few", "none", "too many", "other copies"],
)
def test_fails_if_resources_are_for_other_types(
    stack: Stack, given: dict[str, ResourceRequirements], message: str
) -> None:
    """
    All types of the pools, and no other.
    """
    host = shared(stack)

    with pytest.raises(ValueError, match="LLM315") as caught:
        host.add_model("Chat", model=ZEPHYR, resources=given)

    assert f"LLM315 resources {message}" in str(caught.value)
    assert host.node.try_find_child("Chat") is None


def test_resources_by_type_are_for_one_type_too(stack: Stack) -> None:
    """
    Whoever has several environments writes it once.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type=LARGE)
    host.add_model("Chat", model=ZEPHYR, resources={LARGE: ONE})

    assert "Specification" in properties_of(stack, COMPONENT)


def test_fails_if_a_copy_is_larger_than_one_type(stack: Stack) -> None:
    """
    Instances of that type would start for nothing.
    """
    with pytest.raises(ValueError, match="LLM104") as caught:
        shared(stack).add_model("Chat", model=HuggingFaceModel("gpt2"), resources=TWO)

    assert (
        "LLM104 a copy of Chat is larger than an instance (accelerators: needs 2, free "
        f"1) ({SMALL})"
    ) in str(caught.value)


def test_warns_if_copies_do_not_all_fit_one_type(stack: Stack) -> None:
    """
    Where all instances come from that pool; the other one holds them.
    """
    host = shared(stack)
    host.add_model("Chat", model=ZEPHYR, resources=ONE, copies=4)

    told = [text for _, text in warnings_of(stack) if "LLM416" in text]
    assert told == [
        (
            f"4 copies of Chat do not fit, one instance holds 1 ({SMALL}) "
            "[ack: cdk-sagemaker-llm:LLM416]"
        )
    ]


def test_fails_if_no_type_holds_all_copies(stack: Stack) -> None:
    """
    Five on four GPUs, or on one.
    """
    with pytest.raises(ValueError, match="LLM104") as caught:
        shared(stack).add_model("Chat", model=ZEPHYR, resources=ONE, copies=5)

    assert [line[4:10] for line in str(caught.value).splitlines()[1:]] == [
        "LLM104",
        "LLM104",
    ]


def test_doubts_where_a_mixture_of_types_may_hold_what_none_does(stack: Stack) -> None:
    """
    Copies are small on the one type, and instances large of the other; of one instance
    there is no mixture.
    """
    gpt2 = HuggingFaceModel("gpt2")
    wide = ResourceRequirements(accelerators=3, memory_mib=200 * 1024)
    odd = {
        LARGE: ResourceRequirements(accelerators=2, memory_mib=1024),
        EIGHT: ResourceRequirements(accelerators=8, memory_mib=1024),
    }
    two = shared(
        stack,
        capacity=InstanceCapacity(pools=pools(LARGE, EIGHT)),
        max_instance_count=2,
    )
    two.add_model("Wide", model=gpt2, resources=wide, copies=2)
    one = InferenceComponentEndpoint(
        stack, "One", capacity=InstanceCapacity(pools=pools(LARGE, EIGHT))
    )
    one.add_model("Wide", model=gpt2, resources=wide)

    two.add_model("Odd", model=gpt2, resources=odd, copies=2)
    with pytest.raises(ValueError, match="LLM104"):
        one.add_model("Odd", model=gpt2, resources=odd)

    assert ("/Test/Host/Odd", "LLM416") in [
        (path.removesuffix("/Component"), code) for path, code in codes_of(stack)
    ]


def test_instances_are_filled_by_what_the_least_of_them_holds(stack: Stack) -> None:
    """
    So many copies have a place whatever the type.
    """
    host = shared(stack, max_instance_count=3)
    component = host.add_model("Chat", model=ZEPHYR, resources=ONE, copies="fill")

    assert component.resources.copies == 3


def test_scaling_is_warned_of_where_no_type_has_the_room(stack: Stack) -> None:
    """
    Four on the larger one are possible, five on none.
    """
    host = shared(stack)
    for name, most in (("Four", 4), ("Five", 5)):
        chat = host.add_model(name, model=ZEPHYR, resources=ONE, copies=0)
        chat.auto_scale_copy_count(max_capacity=most)

    assert codes_of(stack).count(("/Test/Host/Five/Component", "LLM203")) == 1
    assert ("/Test/Host/Four/Component", "LLM203") not in codes_of(stack)


class TestBuildingBlocks:
    """
    Variant, configuration and component by themselves.
    """

    @pytest.fixture(name="model")
    def _model(self, stack: Stack, own_role: iam.IRole) -> Model:
        return Model(stack, "Model", serving=TGI, model=ZEPHYR, role=own_role)

    @pytest.fixture(name="endpoint")
    def _endpoint(self, stack: Stack, own_role: iam.IRole) -> Endpoint:
        variant = ProductionVariant(
            capacity=InstanceCapacity(pools=pools(LARGE, SMALL)), engine=TGI
        )
        config = EndpointConfig(
            stack, "Config", variants=[variant], execution_role=own_role
        )
        return Endpoint(stack, "Endpoint", endpoint_config=config)

    def test_a_pool_has_a_model_of_its_own(self, stack: Stack, model: Model) -> None:
        """
        In the service's words: it overrides the variant's.
        """
        other = Model.from_model_name(stack, "Other", "other")
        variant = ProductionVariant(
            model=model,
            capacity=InstanceCapacity(
                pools=[
                    InstancePool(LARGE, priority=1),
                    InstancePool(SMALL, priority=2, model=other),
                ]
            ),
        )
        EndpointConfig(stack, "Config", variants=[variant])

        assert list(variant.models) == [model, other]
        assert variant_of(stack)["InstancePools"] == [
            {"InstanceType": LARGE, "Priority": 1},
            {"InstanceType": SMALL, "ModelNameOverride": "other", "Priority": 2},
        ]

    def test_a_pools_model_must_fit_its_type(self, stack: Stack, model: Model) -> None:
        """
        Not those of the others.
        """
        split = Model(stack, "Split", serving=Tgi("3.3.6", num_gpus=4), model=ZEPHYR)
        variant = ProductionVariant(
            model=model,
            capacity=InstanceCapacity(
                pools=[
                    InstancePool(LARGE, priority=1),
                    InstancePool(SMALL, priority=2, model=split),
                ]
            ),
        )

        with pytest.raises(ValueError, match=f"LLM172 .* has 1 on {SMALL}"):
            EndpointConfig(stack, "Config", variants=[variant])

    def test_a_component_has_a_model_for_each_type(
        self, stack: Stack, endpoint: Endpoint, model: Model, own_role: iam.IRole
    ) -> None:
        """
        In place of its own, where one is given.
        """
        other = Model(
            stack,
            "Other",
            serving=Tgi("3.3.6", max_input_tokens=100),
            model=ZEPHYR,
            role=own_role,
        )
        component = InferenceComponent(
            stack,
            "Component",
            endpoint=endpoint,
            model=model,
            model_overrides={SMALL: other},
            resources=ONE,
        )

        assert component.model is model
        assert [
            (each["InstanceType"], each["ModelName"])
            for each in properties_of(stack, COMPONENT)["Specifications"]
        ] == [(LARGE, "${Model.ModelName}"), (SMALL, "${Other.ModelName}")]
        assert properties_of(stack, CONFIG)["ExecutionRoleArn"] == ROLE_ARN

    def test_fails_if_a_model_is_for_another_type(
        self, stack: Stack, endpoint: Endpoint, model: Model
    ) -> None:
        """
        There are no such instances.
        """
        given: dict[str, ModelBase] = {EIGHT: model}
        with pytest.raises(
            ValueError,
            match=f"LLM315 model_overrides must be for {LARGE}, {SMALL}, got {EIGHT}",
        ):
            InferenceComponent(
                stack,
                "Component",
                endpoint=endpoint,
                model=model,
                model_overrides=given,
                resources=ONE,
            )

    def test_fails_if_a_models_role_is_another(
        self, stack: Stack, endpoint: Endpoint, model: Model
    ) -> None:
        """
        Of every type's model.
        """
        other = Model(stack, "Other", serving=TGI, model=ZEPHYR)
        with pytest.raises(ValueError, match="LLM125"):
            InferenceComponent(
                stack,
                "Component",
                endpoint=endpoint,
                model=model,
                model_overrides={SMALL: other},
                resources=ONE,
            )

    def test_fails_if_nothing_names_an_imported_endpoints_types(
        self, stack: Stack, model: Model
    ) -> None:
        """
        By resources; up to five, as the API takes them.
        """
        imported = Endpoint.from_endpoint_name(stack, "Imported", "chat")
        sizes = ("", 2, 4, 8, 12, 16)
        six = {f"ml.g5.{size}xlarge": ONE for size in sizes}

        with pytest.raises(ValueError, match="LLM315 .* resources for each type"):
            InferenceComponent(
                stack,
                "Component",
                endpoint=imported,
                model=model,
                model_overrides={SMALL: model},
                resources=ONE,
            )
        with pytest.raises(ValueError, match="must be for 1 to 5 instance types"):
            InferenceComponent(
                stack, "Component", endpoint=imported, model=model, resources=six
            )
        five = {name: six[name] for name in list(six)[:5]}
        InferenceComponent(
            stack, "Component", endpoint=imported, model=model, resources=five
        )

    def test_an_imported_endpoints_types_are_those_that_are_named(
        self, stack: Stack, model: Model
    ) -> None:
        """
        Nothing else is known of them.
        """
        imported = Endpoint.from_endpoint_name(stack, "Imported", "chat")
        InferenceComponent(
            stack,
            "Component",
            endpoint=imported,
            model=model,
            resources={LARGE: TWO, SMALL: ONE},
        )

        assert [
            (each["InstanceType"], each["ComputeResourceRequirements"])
            for each in properties_of(stack, COMPONENT)["Specifications"]
        ] == [(LARGE, needs(2)), (SMALL, needs(1))]
