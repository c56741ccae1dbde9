"""
Inference components, alone and on their endpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Annotations, Match, Template

from cdk_sagemaker_llm import (
    AvailabilityZoneBalance,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    Network,
    PlacementStrategy,
    ProductionVariant,
    ResourceRequirements,
    Rolling,
    S3Model,
    Tgi,
)
from tests.unit.hosting.written import (
    codes_of,
    fields_at_default,
    keywords_of,
    left_at_default,
    required_keywords_of,
    written,
)

Properties = Callable[[Stack, str], dict[str, Any]]
COMPONENT = "AWS::SageMaker::InferenceComponent"
LLAMA = HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf")
TGI = Tgi("1.4.5")
ONE = ResourceRequirements(accelerators=1)


def test_every_keyword_reaches_the_template(
    stack: Stack, own_role: iam.IRole, vpc: ec2.IVpc, group: ec2.ISecurityGroup
) -> None:
    """
    Beside a model of the endpoint's role and network, on one variant of several.
    """
    network = Network(vpc=vpc, security_groups=[group], isolated=True)
    config = EndpointConfig(
        stack,
        "Config",
        variants=[
            ProductionVariant(instance_type="ml.p4d.24xlarge", variant_name=name)
            for name in ("Blue", "Green")
        ],
        execution_role=own_role,
        network=network,
    )
    endpoint = Endpoint(stack, "Endpoint", endpoint_config=config, endpoint_name="chat")
    model = Model(
        stack,
        "Model",
        model=S3Model("s3://weights-bucket/llama/"),
        serving=TGI,
        role=own_role,
        network=network,
    )
    every_keyword: dict[str, Any] = {
        "endpoint": endpoint,
        "model": model,
        "resources": ResourceRequirements(
            copies=3, accelerators=2, cpus=10.5, memory_mib=20480
        ),
        "variant_name": "Green",
        "inference_component_name": "llama",
        "inference_component_name_prefix": None,
        "container_startup_health_check_timeout": Duration.seconds(1501),
        "model_data_download_timeout": Duration.seconds(1201),
        "rollout": Rolling(percent=50),
        "retain_copy_count": True,
        "model_overrides": None,
        "placement_strategy": PlacementStrategy.BINPACK,
        "availability_zone_balance": AvailabilityZoneBalance(max_imbalance=0),
        "data_caching": False,
    }
    component = InferenceComponent(stack, "Component", **every_keyword)

    assert keywords_of(InferenceComponent.__init__) == set(every_keyword)
    assert left_at_default(InferenceComponent.__init__, every_keyword) == {
        "inference_component_name_prefix",
        "model_overrides",
    }
    assert fields_at_default(every_keyword["resources"]) == set()
    assert written(stack, "SageMaker::InferenceComponent") == {
        # sha256sum of "chat/llama/Green/Test/Endpoint": another name, variant or
        # endpoint is another resource.
        "ComponentResourceab7753a4": {
            "Type": COMPONENT,
            "Properties": {
                "DeploymentConfig": {
                    "RollingUpdatePolicy": {
                        "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                        "WaitIntervalInSeconds": 300,
                    }
                },
                "EndpointName": "${Endpoint.EndpointName}",
                "InferenceComponentName": "llama",
                "Specification": {
                    "ComputeResourceRequirements": {
                        "MinMemoryRequiredInMb": 20480,
                        "NumberOfAcceleratorDevicesRequired": 2,
                        "NumberOfCpuCoresRequired": 10.5,
                    },
                    "DataCacheConfig": {"EnableCaching": False},
                    "ModelName": "${Model.ModelName}",
                    "SchedulingConfig": {
                        "AvailabilityZoneBalance": {
                            "EnforcementMode": "PERMISSIVE",
                            "MaxImbalance": 0,
                        },
                        "PlacementStrategy": "BINPACK",
                    },
                    "StartupParameters": {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1501,
                        "ModelDataDownloadTimeoutInSeconds": 1201,
                    },
                },
                "VariantName": "Green",
            },
        }
    }
    assert component.endpoint is endpoint
    assert component.model is model
    assert component.resources is every_keyword["resources"]
    assert component.variant_name == "Green"
    assert component.definition.inference_component_name == "llama"


def test_the_smallest_call_reaches_the_template(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    One copy, which reserves a little memory; half an hour to start.
    """
    model = Model(
        stack,
        "Model",
        model=LLAMA,
        serving=TGI,
        role=host.role,
        network=host.endpoint_config.network,
    )
    smallest: dict[str, Any] = {
        "endpoint": host.endpoint,
        "model": model,
        "resources": ONE,
    }
    component = InferenceComponent(stack, "Component", **smallest)

    assert required_keywords_of(InferenceComponent.__init__) == set(smallest)
    assert written(stack, "SageMaker::InferenceComponent") == {
        # sha256sum of "Test/Host/Endpoint".
        "ComponentResourceb4470664": {
            "Type": COMPONENT,
            "Properties": {
                "EndpointName": "${HostEndpoint.EndpointName}",
                "RuntimeConfig": {"CopyCount": 1},
                "Specification": {
                    "ComputeResourceRequirements": {
                        "MinMemoryRequiredInMb": 1024,
                        "NumberOfAcceleratorDevicesRequired": 1,
                    },
                    "ModelName": "${Model.ModelName}",
                    "StartupParameters": {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1800
                    },
                },
                "VariantName": "AllTraffic",
            },
        }
    }
    reference = {
        "Ref": stack.get_logical_id(component.cfn_inference_component),
    }
    assert stack.resolve(component.inference_component_arn) == reference
    assert stack.resolve(component.inference_component_name) == {
        "Fn::Select": [1, {"Fn::Split": ["/", reference]}]
    }


def test_the_ids_of_named_components_stay() -> None:
    """
    Another id would delete and create what is running.
    """
    ids: list[str] = []
    for endpoint_name, name in ((None, None), (None, "a"), ("e", None), ("e", "a")):
        stack = Stack(App(), "Stack")
        host = InferenceComponentEndpoint(
            stack, "Host", instance_type="ml.p4d.24xlarge", endpoint_name=endpoint_name
        )
        host.add_model(
            "M",
            model=LLAMA,
            serving=TGI,
            resources=ONE,
            inference_component_name=name,
        )
        ids += Template.from_stack(stack).find_resources(COMPONENT)

    # The first eight of sha256sum of "a", "e" and "e/a"; the last eight are the CDK's.
    assert [each[:-8] for each in ids] == [
        "HostMComponent",
        "HostMComponentResourceca978112",
        "HostMComponentResource3f79bb7b",
        "HostMComponentResource5cbc911d",
    ]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [({"max_capacity": 4, "min_capacity": 2}, (2, 4)), ({"max_capacity": 4}, (1, 4))],
    ids=["every keyword", "smallest call"],
)
def test_its_copies_scale_between_the_bounds(
    stack: Stack,
    host: InferenceComponentEndpoint,
    bounds: dict[str, int],
    expected: tuple[int, int],
) -> None:
    """
    Its name is what ends its ARN.
    """
    component = host.add_model("A", model=LLAMA, serving=TGI, resources=ONE)
    component.auto_scale_copy_count(**bounds)

    assert keywords_of(InferenceComponent.auto_scale_copy_count) == {
        "max_capacity",
        "min_capacity",
    }
    assert written(stack, "ApplicationAutoScaling::ScalableTarget") == {
        "HostAComponentScaling": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "MinCapacity": expected[0],
                "MaxCapacity": expected[1],
                "ResourceId": {
                    "Fn::Join": [
                        "",
                        [
                            "inference-component/",
                            {
                                "Fn::Select": [
                                    1,
                                    {"Fn::Split": ["/", "${HostAComponent}"]},
                                ]
                            },
                        ],
                    ]
                },
                "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
                "ServiceNamespace": "sagemaker",
            },
        }
    }


@pytest.mark.parametrize(("most", "codes"), [(16, []), (17, ["LLM203"])])
def test_scaling_to_the_last_place_is_no_warning(
    stack: Stack, host: InferenceComponentEndpoint, most: int, codes: list[str]
) -> None:
    """
    Two instances of eight devices hold sixteen copies, and not one more.
    """
    component = host.add_model("A", model=LLAMA, serving=TGI, resources=ONE)
    component.auto_scale_copy_count(max_capacity=most)

    assert [code for _, code in codes_of(stack) if code == "LLM203"] == codes


def test_room_that_is_not_known_is_not_warned_of(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    On an endpoint of another stack, and for resources that the deployment decides.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    foreign = Endpoint.from_endpoint_name(stack, "Shared", "shared-host")
    model = Model(stack, "Model", model=LLAMA, serving=TGI)
    unknown = ResourceRequirements(accelerators=1, cpus=number)
    component = InferenceComponent(
        stack, "Mine", endpoint=foreign, model=model, resources=ONE
    )
    component.auto_scale_copy_count(max_capacity=99)
    host.add_model(
        "A", model=LLAMA, serving=TGI, resources=unknown
    ).auto_scale_copy_count(max_capacity=99)

    assert "LLM203" not in {code for _, code in codes_of(stack)}


def test_a_component_needs_both_role_and_network_of_its_endpoint(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    One of the two is not enough, and equal networks need not be the same object.
    """
    config = EndpointConfig(
        stack,
        "Config",
        variants=[ProductionVariant(instance_type="ml.p4d.24xlarge")],
        execution_role=own_role,
        network=Network(isolated=True),
    )
    endpoint = Endpoint(stack, "Endpoint", endpoint_config=config)
    weights = S3Model("s3://weights-bucket/llama/")

    def model(id: str, **changes: Any) -> Model:  # noqa: ANN401 - any keyword
        return Model(stack, id, model=weights, serving=TGI, **changes)

    other_role = model("OtherRole", network=Network(isolated=True))
    other_network = model("OtherNetwork", role=own_role)
    fitting = model("Fitting", role=own_role, network=Network(isolated=True))

    for name, one in (("A", other_role), ("B", other_network)):
        with pytest.raises(ValueError, match="LLM125"):
            InferenceComponent(stack, name, endpoint=endpoint, model=one, resources=ONE)
    InferenceComponent(stack, "C", endpoint=endpoint, model=fitting, resources=ONE)


def test_components_count_together_whoever_defines_them(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    By the pattern, or one by one on its endpoint.
    """
    model = Model(
        stack,
        "Model",
        model=LLAMA,
        serving=TGI,
        role=host.role,
        network=host.endpoint_config.network,
    )

    def component(id: str, copies: int) -> InferenceComponent:
        return InferenceComponent(
            stack,
            id,
            endpoint=host.endpoint,
            model=model,
            resources=ResourceRequirements(copies=copies, accelerators=1),
        )

    host.add_model("Some", model=LLAMA, serving=TGI, resources=ONE, copies=4)
    component("Half", 8)
    with pytest.raises(
        ValueError,
        match="4 x Some, 8 x Half, 5 x Over need 17 accelerators, 2 instances hold 16",
    ):
        component("Over", 5)
    component("Rest", 4)
    with pytest.raises(ValueError, match="1 x Last need 17 accelerators"):
        host.add_model("Last", model=LLAMA, serving=TGI, resources=ONE)


def test_a_model_is_hosted_with_its_resources(
    stack: Stack, host: InferenceComponentEndpoint, properties: Properties
) -> None:
    """
    Reference deployment C: 8 copies of 1 accelerator, 10 cores, 100 GiB.
    """
    host.add_model(
        "Llama13B",
        model=LLAMA,
        serving=TGI,
        resources=ResourceRequirements(
            copies=8, accelerators=1, cpus=10, memory_mib=100 * 1024
        ),
        inference_component_name="llama",
        container_startup_health_check_timeout=Duration.minutes(25),
        model_data_download_timeout=Duration.minutes(5),
    )
    component = properties(stack, COMPONENT)

    assert component["InferenceComponentName"] == "llama"
    assert component["VariantName"] == "AllTraffic"
    assert component["RuntimeConfig"] == {"CopyCount": 8}
    specification = component["Specification"]
    assert specification["ComputeResourceRequirements"] == {
        "NumberOfAcceleratorDevicesRequired": 1,
        "NumberOfCpuCoresRequired": 10,
        "MinMemoryRequiredInMb": 102400,
    }
    assert specification["StartupParameters"] == {
        "ContainerStartupHealthCheckTimeoutInSeconds": 1500,
        "ModelDataDownloadTimeoutInSeconds": 300,
    }


def test_the_role_is_shared_and_so_are_the_permissions(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    The service demands one role, and what a role may have is limited.
    """
    host.add_model("A", model=LLAMA, serving=TGI, resources=ONE)
    host.add_model("B", model=LLAMA, serving=TGI, resources=ONE)
    template = Template.from_stack(stack)

    template.resource_count_is("AWS::IAM::Role", 1)
    template.resource_count_is("AWS::IAM::Policy", 1)
    (role,) = template.find_resources("AWS::IAM::Role")
    arn = {"Fn::GetAtt": [role, "Arn"]}
    template.all_resources_properties(
        "AWS::SageMaker::Model", {"ExecutionRoleArn": arn}
    )
    template.has_resource_properties(
        "AWS::SageMaker::EndpointConfig", {"ExecutionRoleArn": arn}
    )


def test_the_network_is_shared(
    stack: Stack, network: Network, properties: Properties
) -> None:
    """
    Endpoint and model name the same subnets and the same group.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", network=network
    )
    host.add_model("A", model=LLAMA, serving=TGI, resources=ONE)

    config = properties(stack, "AWS::SageMaker::EndpointConfig")
    model = properties(stack, "AWS::SageMaker::Model")

    assert config["VpcConfig"] == model["VpcConfig"]
    assert len(host.connections.security_groups) == 1
    Template.from_stack(stack).resource_count_is("AWS::EC2::SecurityGroup", 1)


def test_instances_follow_the_copies_within_bounds(
    stack: Stack,
    host: InferenceComponentEndpoint,  # noqa: ARG001 - its definition is synthesised
    properties: Properties,
) -> None:
    """
    Managed instance scaling is switched on by max_instance_count.
    """
    (variant,) = properties(stack, "AWS::SageMaker::EndpointConfig")[
        "ProductionVariants"
    ]

    assert variant["ManagedInstanceScaling"] == {
        "Status": "ENABLED",
        "MinInstanceCount": 1,
        "MaxInstanceCount": 2,
    }


def test_invoking_is_granted_on_endpoint_and_component(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    A call names both.
    """
    component = host.add_model("A", model=LLAMA, serving=TGI, resources=ONE)
    principal = iam.ServicePrincipal("lambda.amazonaws.com")
    caller = iam.Role(stack, "Caller", assumed_by=principal)

    component.grant_invoke(caller)
    template = Template.from_stack(stack)
    (endpoint_id,) = template.find_resources("AWS::SageMaker::Endpoint")
    (component_id,) = template.find_resources(COMPONENT)

    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    {
                        "Action": [
                            "sagemaker:InvokeEndpoint",
                            "sagemaker:InvokeEndpointWithResponseStream",
                        ],
                        "Effect": "Allow",
                        "Resource": [{"Ref": endpoint_id}, {"Ref": component_id}],
                    }
                ],
                "Version": Match.any_value(),
            }
        },
    )


def test_a_name_that_cannot_change_in_place_changes_the_id() -> None:
    """
    CloudFormation deletes and creates, for the service cannot rename.
    """
    ids: set[str] = set()
    for endpoint_name, name in (
        (None, None),
        (None, "a"),
        (None, "b"),
        ("e", "a"),
        ("f", "a"),
    ):
        stack = Stack(App(), "Stack")
        host = InferenceComponentEndpoint(
            stack,
            "Host",
            instance_type="ml.p4d.24xlarge",
            endpoint_name=endpoint_name,
        )
        host.add_model(
            "M",
            model=LLAMA,
            serving=TGI,
            resources=ONE,
            inference_component_name=name,
        )
        ids.update(Template.from_stack(stack).find_resources(COMPONENT))

    assert len(ids) == 5


def test_an_imported_endpoint_takes_components(
    stack: Stack, properties: Properties
) -> None:
    """
    A team adds its model to an endpoint of another stack.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Shared", "shared-host")
    model = Model(stack, "Model", model=LLAMA, serving=TGI)
    InferenceComponent(stack, "Mine", endpoint=endpoint, model=model, resources=ONE)

    assert properties(stack, COMPONENT)["EndpointName"] == "shared-host"


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        (
            ResourceRequirements(copies=17, accelerators=1),
            "LLM104 17 copies of M do not fit, 2 instances hold 16 .ml.p4d.24xlarge",
        ),
        (
            ResourceRequirements(accelerators=9),
            "LLM104 a copy of M is larger than an instance .accelerators: needs 9",
        ),
        (
            ResourceRequirements(cpus=97),
            "LLM104 a copy of M is larger than an instance .CPU cores: needs 97",
        ),
        (
            ResourceRequirements(copies=3, memory_mib=1000 * 1024),
            "LLM104 3 copies of M do not fit, 2 instances hold 2",
        ),
    ],
    ids=["copies", "accelerators", "cpus", "memory"],
)
def test_fails_if_the_copies_do_not_fit(
    host: InferenceComponentEndpoint, resources: ResourceRequirements, message: str
) -> None:
    """
    Against the most instances that there may be.
    """
    with pytest.raises(ValueError, match=message):
        host.add_model("M", model=LLAMA, serving=TGI, resources=resources)

    assert "M" not in [child.node.id for child in host.node.children]


def test_fails_if_models_do_not_fit_together(host: InferenceComponentEndpoint) -> None:
    """
    What is already placed is named.
    """
    ten = ResourceRequirements(copies=10, accelerators=1)
    host.add_model("A", model=LLAMA, serving=TGI, resources=ten)

    with pytest.raises(
        ValueError, match="10 x A, 10 x B need 20 accelerators, 2 instances hold 16"
    ):
        host.add_model("B", model=LLAMA, serving=TGI, resources=ten)


def test_warns_if_scaling_cannot_reach_its_maximum(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    Application Auto Scaling accepts it, and fails later in its log only.
    """
    component = host.add_model("A", model=LLAMA, serving=TGI, resources=ONE)
    component.auto_scale_copy_count(max_capacity=17)

    Annotations.from_stack(stack).has_warning(
        "/Test/Host/A/Component",
        Match.string_like_regexp("at most 16 copies fit.*LLM203"),
    )


def test_fails_with_all_faults_at_once(host: InferenceComponentEndpoint) -> None:
    """
    Name, time-out, image and placement in one message.
    """
    with pytest.raises(ValueError, match="Test/Host/M: 4 errors") as raised:
        host.add_model(
            "M",
            model=LLAMA,
            serving=Tgi("1.4.6"),
            resources=ResourceRequirements(copies=17, accelerators=1),
            inference_component_name="a b",
            model_data_download_timeout=Duration.seconds(1),
        )

    for code in ("LLM102", "LLM104", "LLM106", "LLM111"):
        assert code in str(raised.value)


def test_fails_on_an_endpoint_that_a_model_fills(
    stack: Stack, endpoint: LlmEndpoint
) -> None:
    """
    The service refuses it after minutes.
    """
    with pytest.raises(ValueError, match="LLM124 the endpoint's variant has a model"):
        InferenceComponent(
            stack,
            "Mine",
            endpoint=endpoint.endpoint,
            model=endpoint.model,
            resources=ONE,
        )


def test_fails_if_role_or_variant_are_not_the_endpoints(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    The service compares them when the component is created.
    """
    other = Model(stack, "Other", model=LLAMA, serving=TGI)

    with pytest.raises(ValueError, match="LLM125 a component's model must have"):
        InferenceComponent(
            stack, "A", endpoint=host.endpoint, model=other, resources=ONE
        )
    with pytest.raises(ValueError, match="must be one of AllTraffic, got 'Blue'"):
        InferenceComponent(
            stack,
            "B",
            endpoint=host.endpoint,
            model=other,
            resources=ONE,
            variant_name="Blue",
        )
