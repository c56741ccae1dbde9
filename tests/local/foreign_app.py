"""
An app as another team writes it around the library: a Stage, a synthesizer with a
qualifier of its own, its role, VPC and key, twelve models on one host, a component
that is defined by itself, and an endpoint of two variants that scales.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import (
    Acknowledgment,
    App,
    CfnResource,
    DefaultStackSynthesizer,
    Environment,
    RemovalPolicy,
    Size,
    Stack,
    Stage,
    Tags,
    Validations,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    InferenceComponent,
    InferenceComponentEndpoint,
    ManagedInstanceScaling,
    Model,
    Network,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    Tgi,
)

if TYPE_CHECKING:
    from pathlib import Path

    from constructs import Construct

QUALIFIER = "acme"
TWELVE = tuple(f"M{number:02}" for number in range(1, 13))
_ENVIRONMENT = Environment(account="123456789012", region="us-east-1")
_ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
_TGI = Tgi("1.4.5", max_total_tokens=4096)
_ONE = ResourceRequirements(accelerators=1)
# A new copy starts beside the old one.
_ROOM = ManagedInstanceScaling(min_instance_count=1, max_instance_count=2)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """
    What the team changes from one deployment to the next.

    Args:
        buckets: Buckets that are defined before all else.

        models: The models of the shared host.

        tokens: How long a sequence of theirs may be.

        home: The endpoint of the component that is defined by itself.

        variant: The variant that it runs on.

        prefix: What its name begins with; ``None`` for none.

        name: Its name; ``None`` for none of its own.

        canary: The share of requests that the second variant gets.

        instance_type: What the variants run on.

        scaled: Whether the first variant scales.
    """

    buckets: int = 0
    models: tuple[str, ...] = TWELVE
    tokens: int = 4096
    home: str = "Blue"
    variant: str = "AllTraffic"
    prefix: str | None = "reranker"
    name: str | None = None
    canary: float = 0.1
    instance_type: str = "ml.g5.xlarge"
    scaled: bool = True


def synth(outdir: Path, choices: Choices) -> Path:
    """
    Write the cloud assembly, held against cdk-nag.
    """
    app = App(
        outdir=str(outdir),
        analytics_reporting=False,
        context={"@aws-cdk/core:validateAgainstDefaultRules": True},
    )
    stage = Stage(app, "Prod", env=_ENVIRONMENT)
    ground = _Ground(stage, "Ground", synthesizer=_own())
    shared = _Shared(stage, "Shared", ground, choices)
    traffic = _Traffic(stage, "Traffic", ground, choices)
    for stack in (ground, shared, traffic):
        Tags.of(stack).add("team", "search")
        _acknowledge_interfaces(stack)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    return outdir


def _own() -> DefaultStackSynthesizer:
    return DefaultStackSynthesizer(qualifier=QUALIFIER)


class _Ground(Stack):
    """
    What other teams own: the network, the key and the role.
    """

    def __init__(
        self, scope: Construct, id: str, *, synthesizer: DefaultStackSynthesizer
    ) -> None:
        super().__init__(scope, id, synthesizer=synthesizer)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            availability_zones=["us-east-1a", "us-east-1b"],
            nat_gateways=0,
            restrict_default_security_group=False,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Models", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
                )
            ],
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(
                    service=ec2.GatewayVpcEndpointAwsService.S3
                )
            },
        )
        _acknowledge(
            self.vpc,
            nag={"AwsSolutions-VPC7": "the network team logs flows of every VPC"},
            checkov={},
        )
        self.key = kms.Key(
            self, "Key", enable_key_rotation=True, removal_policy=RemovalPolicy.DESTROY
        )
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
        )
        self.group = ec2.SecurityGroup(
            self, "Models", vpc=self.vpc, description="Models", allow_all_outbound=False
        )

    @property
    def network(self) -> Network:
        """
        Where all models run.
        """
        return Network(
            vpc=self.vpc,
            subnets=_ISOLATED,
            security_groups=[self.group],
            isolated=True,
        )

    def weights(self, name: str) -> S3Model:
        """
        The weights of a model, encrypted with the key.
        """
        return S3Model(f"s3://team-weights/{name.lower()}/", kms_key=self.key)


class _Shared(Stack):
    """
    Twelve models on one host, and one component that finds its own.
    """

    def __init__(
        self, scope: Construct, id: str, ground: _Ground, choices: Choices
    ) -> None:
        super().__init__(scope, id, synthesizer=_own())
        for number in range(choices.buckets):
            bucket = s3.Bucket(
                self,
                f"Unrelated{number}",
                encryption=s3.BucketEncryption.S3_MANAGED,
                enforce_ssl=True,
            )
            _acknowledge(
                bucket,
                nag={"AwsSolutions-S1": "holds nothing"},
                checkov={
                    "CKV_AWS_18": "holds nothing",
                    "CKV_AWS_21": "holds nothing",
                    "CKV_AWS_53": "the account blocks public access",
                    "CKV_AWS_54": "the account blocks public access",
                    "CKV_AWS_55": "the account blocks public access",
                    "CKV_AWS_56": "the account blocks public access",
                },
            )
        network = ground.network
        host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type="ml.p3.16xlarge",
            instance_count=2,
            max_instance_count=3,
            role=ground.role,
            network=network,
            engine=_TGI,
            volume_size=Size.gibibytes(200),
            kms_key=ground.key,
        )
        for name in choices.models:
            host.add_model(
                name,
                model=ground.weights(name),
                serving=Tgi("1.4.5", max_total_tokens=choices.tokens),
                resources=_ONE,
            )
        self._define_reranker(ground, network, choices)

    def _define_reranker(
        self, ground: _Ground, network: Network, choices: Choices
    ) -> None:
        config = EndpointConfig(
            self,
            "RerankerConfig",
            variants=[
                ProductionVariant(
                    instance_type="ml.g5.xlarge",
                    variant_name=name,
                    engine=_TGI,
                    managed_instance_scaling=_ROOM,
                )
                for name in ("AllTraffic", "Spare")
            ],
            execution_role=ground.role,
            network=network,
        )
        homes = {
            name: Endpoint(self, name, endpoint_config=config)
            for name in ("Blue", "Green")
        }
        model = Model(
            self,
            "RerankerModel",
            model=ground.weights("reranker"),
            serving=_TGI,
            role=ground.role,
            network=network,
        )
        self.reranker = InferenceComponent(
            self,
            "Reranker",
            endpoint=homes[choices.home],
            variant_name=choices.variant,
            model=model,
            resources=_ONE,
            inference_component_name=choices.name,
            inference_component_name_prefix=choices.prefix,
        )


class _Traffic(Stack):
    """
    Two variants of a model share the requests; the first one scales.
    """

    def __init__(
        self, scope: Construct, id: str, ground: _Ground, choices: Choices
    ) -> None:
        super().__init__(scope, id, synthesizer=_own())
        network = ground.network
        weights = {"Stable": 1 - choices.canary, "Canary": choices.canary}
        variants = [
            ProductionVariant(
                variant_name=name,
                instance_type=choices.instance_type,
                initial_instance_count=2,
                initial_variant_weight=weight,
                model=Model(
                    self,
                    name,
                    model=ground.weights(name),
                    serving=_TGI,
                    role=ground.role,
                    network=network,
                ),
            )
            for name, weight in weights.items()
        ]
        config = EndpointConfig(self, "Config", variants=variants)
        endpoint = Endpoint(
            self, "Endpoint", endpoint_config=config, endpoint_name="team-traffic"
        )
        if choices.scaled:
            instances = endpoint.auto_scale_instance_count(
                variant_name="Stable", max_capacity=4
            )
            instances.scale_on_concurrency("Load", per_instance=8)


def _acknowledge_interfaces(stack: Stack) -> None:
    """
    Say why the role may attach to the VPC without naming what does not exist yet.
    """
    reason = (
        "SageMaker attaches instances by network interfaces that it makes itself: the "
        "guide gives these actions no resource to name (host-vpc)"
    )
    skipped = [
        {"id": rule, "comment": reason} for rule in ("CKV_AWS_109", "CKV_AWS_111")
    ]
    for each in stack.node.find_all():
        if isinstance(each, iam.CfnPolicy | iam.CfnManagedPolicy):
            each.add_metadata("checkov", {"skip": skipped})


def _acknowledge(
    construct: Construct, *, nag: dict[str, str], checkov: dict[str, str]
) -> None:
    """
    Say what is not followed, and why, to both linters.
    """
    for rule, reason in nag.items():
        Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
    resource = construct.node.default_child
    if checkov and isinstance(resource, CfnResource):
        skipped = [{"id": rule, "comment": why} for rule, why in checkov.items()]
        resource.add_metadata("checkov", {"skip": skipped})
