"""
Where instances and copies come to be: how many fit, on which types, and what is said
of those that do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    ROLE,
    TGI,
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    refusal,
    unique,
)

_COMES = 400
_SMALL = {"InstanceType": "ml.g5.12xlarge"}
_NEEDS = {"NumberOfAcceleratorDevicesRequired": 1, "MinMemoryRequiredInMb": 1024}
_NO_ROOM = (
    "There is not enough hardware resources on the instances for this endpoint to "
    "create a copy of the inference component. On {} x {} (at most {}): accelerators: "
    "needs {}, free {}."
)
_FIRST, _SECOND = "ml.g6e.2xlarge", "ml.g5.2xlarge"


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


def host(aws: HandRunAws) -> str:
    """
    Make an endpoint of one instance with four accelerators.
    """
    endpoint = make_endpoint(aws, make_config(aws, variant=_SMALL))
    aws.run(_COMES)
    return endpoint


def requested(aws: HandRunAws, endpoint: str, copies: int, each: int) -> dict[str, Any]:
    """
    Write a request for copies of so many accelerators.
    """
    needs = {**_NEEDS, "NumberOfAcceleratorDevicesRequired": each}
    return {
        "InferenceComponentName": unique("component"),
        "EndpointName": endpoint,
        "VariantName": "AllTraffic",
        "Specification": {
            "ModelName": make_model(aws),
            "ComputeResourceRequirements": needs,
        },
        "RuntimeConfig": {"CopyCount": copies},
    }


def pools(**settings: Untyped) -> list[dict[str, Any]]:
    """
    Write two pools.
    """
    return [
        {"InstanceType": kind, "Priority": priority, **settings.get(kind, {})}
        for priority, kind in enumerate((_FIRST, _SECOND), start=1)
    ]


def test_copies_fill_an_instance_and_no_more(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Four of one, one of four; a copy that fits nowhere may be none.
    """
    endpoint = host(aws)
    create = sagemaker.create_inference_component
    five = refusal(create, **requested(aws, endpoint, 5, 1))
    whole = refusal(create, **requested(aws, endpoint, 1, 5))
    create(**requested(aws, endpoint, 0, 5))
    create(**requested(aws, endpoint, 3, 1))
    two = refusal(create, **requested(aws, endpoint, 2, 1))
    create(**requested(aws, endpoint, 1, 1))
    one = refusal(create, **requested(aws, endpoint, 1, 1))

    assert five == _NO_ROOM.format(1, "ml.g5.12xlarge", 1, 1, 0)
    assert whole == _NO_ROOM.format(1, "ml.g5.12xlarge", 1, 5, 4)
    assert two == _NO_ROOM.format(1, "ml.g5.12xlarge", 1, 1, 0)
    assert one == _NO_ROOM.format(1, "ml.g5.12xlarge", 1, 1, 0)


def test_more_copies_are_held_against_the_room_there_is(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Those that a component has already count once.
    """
    name = make_component(aws, host(aws), copies=3)
    aws.run(_COMES)
    its = {"InferenceComponentName": name}
    scale = sagemaker.update_inference_component_runtime_config
    update = sagemaker.update_inference_component
    told = _NO_ROOM.format(1, "ml.g5.12xlarge", 1, 1, 0)

    assert refusal(scale, **its, DesiredRuntimeConfig={"CopyCount": 5}) == told
    assert refusal(update, **its, RuntimeConfig={"CopyCount": 5}) == told
    scale(**its, DesiredRuntimeConfig={"CopyCount": 4})
    aws.run(_COMES)
    found = sagemaker.describe_inference_component(**its)
    assert found["RuntimeConfig"] == {"DesiredCopyCount": 4, "CurrentCopyCount": 4}


def test_copies_of_one_that_failed_hold_no_room(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Another component takes it, and the failed one finds none.
    """
    endpoint = host(aws)
    aws.hosting.world.faults.put(Fault(kind="cannot-start", target=endpoint))
    name = make_component(aws, endpoint, copies=4)
    aws.run(_COMES)
    aws.hosting.world.faults.clear()
    make_component(aws, endpoint, copies=4)

    scale = sagemaker.update_inference_component_runtime_config
    its = {"InferenceComponentName": name, "DesiredRuntimeConfig": {"CopyCount": 4}}
    assert refusal(scale, **its) == _NO_ROOM.format(1, "ml.g5.12xlarge", 1, 1, 0)


def test_an_update_keeps_what_it_does_not_say(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    The model, if resources alone change; a container takes the place of a model.
    """
    request = requested(aws, host(aws), 1, 1)
    its = {"InferenceComponentName": request["InferenceComponentName"]}
    sagemaker.create_inference_component(**request)
    aws.run(_COMES)
    more = {"ComputeResourceRequirements": {**_NEEDS, "MinMemoryRequiredInMb": 2048}}

    def after(specification: dict[str, Any]) -> dict[str, Any]:
        sagemaker.update_inference_component(**its, Specification=specification)
        aws.run(_COMES)
        found = sagemaker.describe_inference_component(**its)
        shown: dict[str, Any] = found["Specification"]
        return shown

    model = request["Specification"]["ModelName"]
    assert after(more) == {"ModelName": model, **more}
    image = {"SpecifiedImage": TGI, "ResolvedImage": TGI}
    container = {"Container": {"DeployedImage": image}}
    assert after({**more, "Container": {"Image": TGI}}) == {**more, **container}
    assert after(more) == {**more, **container}
    assert after({**more, "ModelName": model}) == {"ModelName": model, **more}


def test_components_fit_on_the_new_configuration_together(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Two of two copies need four instances of one accelerator.
    """
    endpoint = host(aws)
    for _ in range(2):
        make_component(aws, endpoint, copies=2)
    aws.run(_COMES)

    def config(instances: int) -> str:
        kind = {"InstanceType": "ml.g5.xlarge", "InitialInstanceCount": instances}
        return make_config(aws, variant=kind)

    update = sagemaker.update_endpoint
    for count, free in ((1, 0), (3, 0)):
        its = {"EndpointName": endpoint, "EndpointConfigName": config(count)}
        told = _NO_ROOM.format(count, "ml.g5.xlarge", count, 1, free)
        assert refusal(update, **its) == told
    update(EndpointName=endpoint, EndpointConfigName=config(4))
    aws.run(1000)

    (one,) = sagemaker.describe_endpoint(EndpointName=endpoint)["ProductionVariants"]
    assert one["CurrentInstanceCount"] == 4
    for found in sagemaker.list_inference_components(EndpointNameEquals=endpoint)[
        "InferenceComponents"
    ]:
        shown = sagemaker.describe_inference_component(
            InferenceComponentName=found["InferenceComponentName"]
        )
        assert shown["RuntimeConfig"]["CurrentCopyCount"] == 2


def test_copies_are_counted_on_the_types_they_are_on(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    One instance of the first type could be had, two of the second.
    """
    fault = Fault(kind="no-capacity", target=_FIRST, available=1)
    aws.hosting.world.faults.put(fault)
    config, name = unique("config"), unique("component")
    sagemaker.create_endpoint_config(
        EndpointConfigName=config,
        ExecutionRoleArn=ROLE,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "InitialInstanceCount": 3,
                "InstancePools": pools(),
            }
        ],
    )
    endpoint = make_endpoint(aws, config)
    aws.run(_COMES)
    sagemaker.create_inference_component(
        InferenceComponentName=name,
        EndpointName=endpoint,
        VariantName="AllTraffic",
        Specifications=[
            {
                "InstanceType": kind,
                "Container": {"Image": TGI},
                "ComputeResourceRequirements": _NEEDS,
            }
            for kind in (_FIRST, _SECOND)
        ],
        RuntimeConfig={"CopyCount": 3},
    )
    coming = sagemaker.describe_inference_component(InferenceComponentName=name)
    aws.run(_COMES)
    aws.hosting.world.faults.clear()

    (one,) = sagemaker.describe_endpoint(EndpointName=endpoint)["ProductionVariants"]
    assert one["InstancePools"] == [
        {"InstanceType": _FIRST, "CurrentInstanceCount": 1},
        {"InstanceType": _SECOND, "CurrentInstanceCount": 2},
    ]
    assert "PlacementStatus" not in coming["RuntimeConfig"]
    found = sagemaker.describe_inference_component(InferenceComponentName=name)
    assert found["RuntimeConfig"] == {
        "DesiredCopyCount": 3,
        "CurrentCopyCount": 3,
        "PlacementStatus": [
            {"InstanceType": _FIRST, "CurrentCopyCount": 1},
            {"InstanceType": _SECOND, "CurrentCopyCount": 2},
        ],
    }
    images = [
        one["Container"]["DeployedImage"]["SpecifiedImage"]
        for one in found["Specifications"]
    ]
    assert images == [TGI, TGI]


def test_each_pool_may_have_a_model_of_its_own(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    All their images are told, and each model has to be there.
    """
    own = make_model(aws, image=TGI_3)
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": make_model(aws),
        "InitialInstanceCount": 1,
    }
    create = sagemaker.create_endpoint_config
    wrong = [
        {**variant, "InstancePools": pools(**{_SECOND: {"ModelNameOverride": "no"}})}
    ]
    refused = refusal(create, EndpointConfigName="c", ProductionVariants=wrong)
    assert refused.startswith('Could not find model "arn:aws:sagemaker:')
    right = [
        {**variant, "InstancePools": pools(**{_SECOND: {"ModelNameOverride": own}})}
    ]
    config = unique("config")
    create(EndpointConfigName=config, ProductionVariants=right)
    endpoint = make_endpoint(aws, config)

    (one,) = sagemaker.describe_endpoint(EndpointName=endpoint)["ProductionVariants"]
    images = [image["SpecifiedImage"] for image in one["DeployedImages"]]
    assert images == [TGI, TGI_3]


def test_a_model_has_containers(sagemaker: Untyped) -> None:
    """
    One or several, each of whose images an endpoint tells; or none, which is refused.
    """
    name = unique("model")
    create = sagemaker.create_model
    told = refusal(create, ModelName=name, ExecutionRoleArn=ROLE)
    assert told == "Specify either PrimaryContainer or Containers."
    several = [{"Image": TGI}, {"Image": TGI_3}]
    create(ModelName=name, ExecutionRoleArn=ROLE, Containers=several)
    assert sagemaker.describe_model(ModelName=name)["Containers"] == several
    missing = {"Image": TGI, "ModelDataUrl": "s3://nobody/model.tar.gz"}
    request = {"ModelName": unique("model"), "ExecutionRoleArn": ROLE}

    assert refusal(create, **request, PrimaryContainer=missing) == (
        "Could not access model data at s3://nobody/model.tar.gz. Please ensure that "
        f'the role "{ROLE}" exists and that its trust relationship policy allows the '
        'action "sts:AssumeRole" for the service principal "sagemaker.amazonaws.com". '
        'Also ensure that the role has "s3:GetObject" permissions and that the object '
        "is located in us-east-1."
    )


_INSTANCES = {"InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1}
_PREFIX = {"PrefixLength": 1024, "ConcurrencyThreshold": 1}


def _serverless(memory: int) -> dict[str, Any]:
    return {"ServerlessConfig": {"MemorySizeInMB": memory, "MaxConcurrency": 5}}


def _routed(strategy: str, **prefix: int) -> dict[str, Any]:
    routing = {"RoutingStrategy": strategy}
    asked = {"PrefixAwareRoutingConfig": prefix} if prefix else {}
    return {**_INSTANCES, "RoutingConfig": {**routing, **asked}}


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        (
            {"InitialInstanceCount": 1},
            "specify InstanceType, InstancePools or ServerlessConfig.",
        ),
        (
            {**_INSTANCES, "InstancePools": pools()},
            "specify InstanceType or InstancePools, not both.",
        ),
        ({"InstanceType": "ml.g5.xlarge"}, "InitialInstanceCount is required."),
        (
            {**_INSTANCES, **_serverless(1024)},
            "specify ServerlessConfig or InstanceType, not both.",
        ),
        (
            {"InitialInstanceCount": 1, **_serverless(1024)},
            "specify ServerlessConfig or InitialInstanceCount, not both.",
        ),
        (
            {"InstancePools": pools(), **_serverless(1024)},
            "specify ServerlessConfig or InstancePools, not both.",
        ),
        (
            _serverless(1025),
            (
                "MemorySizeInMB must be one of 1024, 2048, 3072, 4096, 5120, 6144, got "
                "1025."
            ),
        ),
        (
            _routed("RANDOM", **_PREFIX),
            "PrefixAwareRoutingConfig is for PREFIX_AWARE only.",
        ),
        (
            _routed("PREFIX_AWARE"),
            "PREFIX_AWARE needs PrefixLength and ConcurrencyThreshold.",
        ),
    ],
)
def test_a_variant_contradicts_itself(
    aws: HandRunAws, sagemaker: Untyped, variant: dict[str, Any], told: str
) -> None:
    """
    And is told so by its name.
    """
    whole = {"VariantName": "Odd", "ModelName": make_model(aws), **variant}
    create = sagemaker.create_endpoint_config

    refused = refusal(create, EndpointConfigName="c", ProductionVariants=[whole])
    assert refused == f"Variant Odd: {told}"


def test_variants_of_one_configuration(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Have names of their own, and one shadow for one; every memory can be had.
    """
    model = make_model(aws)
    create = sagemaker.create_endpoint_config

    def named(name: str, **settings: Untyped) -> dict[str, Any]:
        whole = settings or _INSTANCES
        return {"VariantName": name, "ModelName": model, **whole}

    def refused(*variants: dict[str, Any], shadows: int = 0) -> str:
        beside = [named(f"Shadow{number}") for number in range(shadows)]
        more = {"ShadowProductionVariants": beside} if shadows else {}
        return refusal(
            create, EndpointConfigName="c", ProductionVariants=list(variants), **more
        )

    twice = "Variant One is there twice; names must be unique."
    assert refused(named("One"), named("One")) == twice
    assert refused(named("One"), named("Two"), shadows=1) == (
        "With ShadowProductionVariants there must be one production variant and one "
        "shadow variant, got 2 and 1."
    )
    managed = {"ManagedInstanceScaling": {"Status": "ENABLED"}}
    assert refused({**named("One"), **managed}) == (
        "ManagedInstanceScaling is only supported for inference component endpoints."
    )
    assert refused({"VariantName": "One", **_INSTANCES}) == (
        "Variant One has no ModelName and the endpoint configuration has no "
        "ExecutionRoleArn; an endpoint for inference components needs the role, any "
        "other endpoint needs the model."
    )
    for memory in range(1024, 6145, 1024):
        one = named("One", **_serverless(memory))
        create(EndpointConfigName=unique("config"), ProductionVariants=[one])


def test_tags_of_what_is_not_there(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Of hosting's kinds by the word of the kind; of other kinds as any resource.
    """
    account = aws.client("sts").get_caller_identity()["Account"]
    prefix = f"arn:aws:sagemaker:us-east-1:{account}"
    told = {
        f"{prefix}:model/no": f'Could not find model "{prefix}:model/no".',
        f"{prefix}:endpoint-config/no": (
            f'Could not find endpoint configuration "{prefix}:endpoint-config/no".'
        ),
        f"{prefix}:training-job/no": (
            f'Could not find training job "{prefix}:training-job/no".'
        ),
        "arn:aws:sagemaker:us-east-1:999999999999:model/no": (
            "Could not find resource "
            '"arn:aws:sagemaker:us-east-1:999999999999:model/no".'
        ),
    }

    assert {arn: refusal(sagemaker.list_tags, ResourceArn=arn) for arn in told} == told


@pytest.mark.parametrize(
    "variant",
    [
        _routed("PREFIX_AWARE", **_PREFIX),
        _routed("RANDOM"),
        _serverless(1024),
        _serverless(6144),
    ],
)
def test_a_variant_that_does_not_contradict_itself(
    aws: HandRunAws, sagemaker: Untyped, variant: dict[str, Any]
) -> None:
    """
    Is taken as it is.
    """
    whole = {"VariantName": "Even", "ModelName": make_model(aws), **variant}
    name = unique("config")
    sagemaker.create_endpoint_config(
        EndpointConfigName=name, ProductionVariants=[whole]
    )

    shown = sagemaker.describe_endpoint_config(EndpointConfigName=name)
    assert shown["ProductionVariants"] == [whole]
