"""
Reading what an app hosts: everything that can be played out, and why the rest cannot.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.simulated import HostedApp, HostedVariant, read_hosted
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation.fleet import Pool, ScaleIn
from cdk_sagemaker_llm.simulation.scaling import StepScaling, TargetTracking
from tests.unit.cli.app.templates import (
    Resources,
    components,
    name_of,
    resource,
    stepping,
    target,
    template,
    tracking,
    variant,
)


def read(folder: Path, resources: Resources, **sections: object) -> HostedApp:
    """
    Read a single template.
    """
    return read_hosted(template(folder, resources, **sections))


def only(folder: Path, resources: Resources) -> HostedVariant:
    """
    Read the only variant of a template of which nothing is left out.
    """
    found = read(folder, resources)
    assert found.left_out == ()
    (one,) = found.variants
    return one


def test_a_variant_with_a_model_has_a_copy_on_each_instance(tmp_path: Path) -> None:
    """
    It stays as it is where nothing scales it; AWS routes at random unless told.
    """
    found = only(tmp_path, variant(InitialInstanceCount=2))

    assert (found.endpoint, found.variant) == ("Host/Host", "AllTraffic")
    assert found.pools == (Pool("ml.g5.xlarge"),)
    assert (found.instances, found.minimum, found.maximum) == (2, 2, 2)
    assert (found.managed, found.routing, found.share) == (False, "RANDOM", 1.0)
    (model,) = found.models
    assert (model.name, model.needs, model.copies) == ("AllTraffic", None, 2)
    assert model.served.unknown == "the app does not say which model it serves"


def test_components_reserve_what_the_template_says(tmp_path: Path) -> None:
    """
    On instances that SageMaker manages, by the policy that is written.
    """
    managed = {
        "Status": "ENABLED",
        "MinInstanceCount": 0,
        "MaxInstanceCount": "3",
        "ScaleInPolicy": {
            "Strategy": "CONSOLIDATION",
            "MaximumStepSize": 2,
            "CooldownInMinutes": 10,
        },
    }
    found = only(
        tmp_path,
        components(
            ManagedInstanceScaling=managed,
            RoutingConfig={"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
            VariantInstanceProvisionTimeoutInSeconds=600,
        ),
    )

    assert (found.instances, found.minimum, found.maximum) == (1, 0, 3)
    assert found.managed
    assert found.scale_in == ScaleIn(
        strategy="CONSOLIDATION", maximum_step=2, cooldown=600.0
    )
    assert found.routing == "LEAST_OUTSTANDING_REQUESTS"
    assert found.provision_timeout == 600
    (model,) = found.models
    assert model.name == "Host/Llama"
    assert model.needs == ResourceRequirements(accelerators=1, memory_mib=1024)


def test_instance_pools_and_needs_by_type_are_read(tmp_path: Path) -> None:
    """
    In the order of their priority; each type with what a copy reserves there.
    """
    hosts = components(
        InstancePools=[
            {"InstanceType": "ml.g6.xlarge", "Priority": 2},
            {"InstanceType": "ml.g5.xlarge", "Priority": 1},
        ]
    )
    del hosts["Config"]["Properties"]["ProductionVariants"][0]["InstanceType"]
    needs = {"NumberOfAcceleratorDevicesRequired": 1, "MinMemoryRequiredInMb": 2048}
    llama = hosts["Llama"]["Properties"]
    del llama["Specification"]
    llama["Specifications"] = [
        {
            "InstanceType": name,
            "ModelName": name_of("Model", "ModelName"),
            "ComputeResourceRequirements": needs,
        }
        for name in ("ml.g5.xlarge", "ml.g6.xlarge")
    ]
    found = only(tmp_path, hosts)

    assert found.pools == (Pool("ml.g5.xlarge", 1), Pool("ml.g6.xlarge", 2))
    wanted = ResourceRequirements(accelerators=1, memory_mib=2048)
    assert found.models[0].needs == {"ml.g5.xlarge": wanted, "ml.g6.xlarge": wanted}


def test_literal_names_and_references_mean_the_same(tmp_path: Path) -> None:
    """
    An endpoint with a name of its own is found by it.
    """
    hosts = components()
    hosts["Host"]["Properties"]["EndpointName"] = "chat"
    hosts["Llama"]["Properties"]["EndpointName"] = "chat"

    assert [model.name for model in only(tmp_path, hosts).models] == ["Host/Llama"]


def test_traffic_is_shared_by_weight(tmp_path: Path) -> None:
    """
    Three to one; a weight that is left out is one.
    """
    hosts = variant(InitialVariantWeight=3)
    variants = hosts["Config"]["Properties"]["ProductionVariants"]
    variants.append({**variants[0], "VariantName": "Canary"})
    del variants[1]["InitialVariantWeight"]

    found = read(tmp_path, hosts).variants

    assert [(one.variant, one.share) for one in found] == [
        ("AllTraffic", 0.75),
        ("Canary", 0.25),
    ]


@pytest.mark.parametrize(
    ("weights", "shares", "assumed"),
    [
        (
            (0, 0),
            (0.5, 0.5),
            ("of Host/Host, no variant has a weight: all get the same",),
        ),
        (
            (3, {"Ref": "Open"}),
            (0.75, 0.25),
            ("of Host/Host, a weight that is not known is taken for 1",),
        ),
        ((1, 0), (1.0, 0.0), ()),
    ],
    ids=["none", "one that is open", "one of nothing"],
)
def test_no_request_is_lost_or_doubled_between_variants(
    weights: tuple[object, ...],
    shares: tuple[float, ...],
    assumed: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """
    Whatever the weights are, and what was assumed of them is told.
    """
    hosts = variant()
    (first,) = hosts["Config"]["Properties"]["ProductionVariants"]
    hosts["Config"]["Properties"]["ProductionVariants"] = [
        {**first, "VariantName": f"V{number}", "InitialVariantWeight": weight}
        for number, weight in enumerate(weights)
    ]
    found = read(tmp_path, hosts)

    assert tuple(one.share for one in found.variants) == shares
    assert found.assumed == assumed


def test_what_a_container_serves_is_read_from_its_variables(tmp_path: Path) -> None:
    """
    The name of the model, and over how many accelerators it is split.
    """
    hosts = variant()
    variables = {
        "HF_MODEL_ID": "mistralai/Mistral-7B-v0.1",
        "SM_NUM_GPUS": "4",
        "HF_TOKEN": {"Ref": "Unknown"},
    }
    hosts["Model"]["Properties"]["PrimaryContainer"] = {"Environment": variables}
    served = only(tmp_path, hosts).models[0].served

    assert served.model == "mistralai/Mistral-7B-v0.1"
    assert (served.degree, served.source, served.unknown) == (4, "hub", "")


def test_a_model_that_the_catalogue_lacks_is_told(tmp_path: Path) -> None:
    """
    By its name; weights on S3 come from there.
    """
    hosts = variant()
    variables = {"HF_MODEL_ID": "s3://weights/mine/"}
    hosts["Model"]["Properties"]["PrimaryContainer"] = {"Environment": variables}
    served = only(tmp_path, hosts).models[0].served

    assert served.source == "s3"
    assert served.unknown == (
        "the catalogue does not have its model s3://weights/mine/"
    )


def changed(hosts: Resources, name: str, **properties: object) -> Resources:
    """
    Change properties of a resource.
    """
    hosts[name]["Properties"].update(properties)
    return hosts


UNPLAYABLE: dict[str, tuple[Resources, str]] = {
    "a serverless variant": (
        variant(ServerlessConfig={"MaxConcurrency": 5}),
        "Host/Host: serverless variant AllTraffic is not simulated",
    ),
    "a queue of two variants": (
        changed(
            variant(),
            "Config",
            AsyncInferenceConfig={},
            ProductionVariants=[{"VariantName": "A"}, {"VariantName": "B"}],
        ),
        "Host/Host: one queue of several variants is not simulated",
    ),
    "an unknown type": (
        variant(InstanceType={"Ref": "Type"}),
        (
            "Host/Host: the InstanceType of AllTraffic is ${Type}, known at deployment "
            "only"
        ),
    ),
    "an unknown count": (
        variant(InitialInstanceCount={"Ref": "Count"}),
        (
            "Host/Host: the InitialInstanceCount of AllTraffic is ${Count}, known at "
            "deployment only"
        ),
    ),
    "a configuration elsewhere": (
        changed(variant(), "Host", EndpointConfigName="old"),
        "Host/Host: its configuration is not in the app: old",
    ),
    "nothing on it": (
        {name: one for name, one in components().items() if name != "Llama"},
        "Host/Host: nothing runs on its variant AllTraffic",
    ),
    "needs that the API refuses": (
        changed(
            components(),
            "Llama",
            Specification={
                "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 64}
            },
        ),
        "Host/Llama: memory_mib must be at least 128, got 64",
    ),
}


@pytest.mark.parametrize(("resources", "why"), UNPLAYABLE.values(), ids=UNPLAYABLE)
def test_what_cannot_be_played_out_is_told(
    resources: Resources, why: str, tmp_path: Path
) -> None:
    """
    By its stack and logical id, and why.
    """
    found = read(tmp_path, resources)

    assert found.variants == ()
    assert why in "\n".join(found.left_out)


TOLD: dict[str, tuple[Resources, str]] = {
    "routing by prefix": (
        variant(RoutingConfig={"RoutingStrategy": "PREFIX_AWARE"}),
        (
            "Host/Host: routing by 'PREFIX_AWARE' is simulated as "
            "LEAST_OUTSTANDING_REQUESTS"
        ),
    ),
    "shadows": (
        changed(variant(), "Config", ShadowProductionVariants=[{"VariantName": "B"}]),
        "Host/Host: its shadow variants are not simulated",
    ),
    "a policy that the API refuses": (
        variant(
            ManagedInstanceScaling={
                "ScaleInPolicy": {"Strategy": "IDLE_RELEASE", "CooldownInMinutes": 1}
            }
        ),
        (
            "Host/Host: its ScaleInPolicy is not simulated: cooldown must be 300 to "
            "86400, got 60.0"
        ),
    ),
    "an open policy": (
        variant(ManagedInstanceScaling={"ScaleInPolicy": {"Strategy": {"Ref": "S"}}}),
        "Host/Host: its ScaleInPolicy is known at deployment only",
    ),
    "a model of a pool's own": (
        variant(
            InstancePools=[{"InstanceType": "ml.g5.xlarge", "ModelNameOverride": "x"}]
        ),
        (
            "Host/Host: the model of its own of ml.g5.xlarge in AllTraffic is not "
            "simulated"
        ),
    ),
    "an adapter": (
        {
            **components(),
            "Adapter": resource(
                "SageMaker::InferenceComponent",
                EndpointName=name_of("Host", "EndpointName"),
                Specification={"BaseInferenceComponentName": "llama"},
            ),
        },
        "Host/Adapter: adapters share their base's copies; it has no own",
    ),
    "copies that are not written": (
        changed(components(), "Llama", RuntimeConfig={"CopyCount": {"Ref": "N"}}),
        "Host/Llama: its CopyCount is not in the template; taken as 1",
    ),
}


@pytest.mark.parametrize(("resources", "why"), TOLD.values(), ids=TOLD)
def test_what_is_left_out_of_what_is_played_is_told(
    resources: Resources, why: str, tmp_path: Path
) -> None:
    """
    The rest of it is played out.
    """
    found = read(tmp_path, resources)

    assert len(found.variants) == 1
    assert found.left_out == (why,)


TAKEN_FOR_ONE = (
    "of Host/Host, MaxConcurrentInvocationsPerInstance is SageMaker's choice, which is "
    "not published: it is taken for 1"
)


@pytest.mark.parametrize(
    ("client", "at_once", "assumed"),
    [
        ({"MaxConcurrentInvocationsPerInstance": 4}, 4, ()),
        (
            {},
            1,
            (TAKEN_FOR_ONE,),
        ),
    ],
)
def test_an_asynchronous_endpoint_is_read_with_what_scales_it(
    client: dict[str, int], at_once: int, assumed: tuple[str, ...], tmp_path: Path
) -> None:
    """
    Its queue, and the policies on what waits there, to zero and back.
    """
    name = name_of("Host", "EndpointName")
    dimensions = [{"Name": "EndpointName", "Value": name}]
    backlog = {
        "PredefinedMetricSpecification": {},
        "CustomizedMetricSpecification": {
            "Namespace": "AWS/SageMaker",
            "MetricName": "ApproximateBacklogSizePerInstance",
            "Dimensions": dimensions,
            "Statistic": "Average",
        },
    }
    waking = stepping(
        MetricName="HasBacklogWithoutCapacity",
        Dimensions=dimensions,
        Statistic="Average",
        Period=60,
        EvaluationPeriods=2,
    )
    config = {"ClientConfig": client}
    hosts = changed(variant(), "Config", AsyncInferenceConfig=config)
    found = read(
        tmp_path, {**hosts, **target(MinCapacity=0), **tracking(**backlog), **waking}
    )
    (one,) = found.variants
    (model,) = one.models

    assert found.left_out == ()
    assert found.assumed == assumed
    assert model.at_once == at_once
    assert (one.minimum, one.maximum) == (0, 4)
    assert model.scaling is not None
    track, wake = model.scaling.policies
    of_endpoint = (("EndpointName", "Host/Host"),)
    assert isinstance(track, TargetTracking)
    assert [each.dimensions for each in track.query.metrics()] == [of_endpoint]
    assert isinstance(wake, StepScaling)
    assert [each.name for each in wake.alarm.query.metrics()] == [
        "HasBacklogWithoutCapacity"
    ]


def test_parameters_and_conditions_of_the_template_count(tmp_path: Path) -> None:
    """
    Defaults are taken; what a condition rules out is not there.
    """
    hosts = variant(InitialInstanceCount={"Ref": "Count"})
    hosts["Second"] = {**hosts["Host"], "Condition": "IsProd"}
    found = read(
        tmp_path,
        hosts,
        Parameters={
            "Count": {"Type": "Number", "Default": 3},
            "Stage": {"Type": "String", "Default": "test"},
        },
        Conditions={"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}},
    )

    assert [(one.endpoint, one.instances) for one in found.variants] == [
        ("Host/Host", 3)
    ]


def test_nested_stacks_are_read_and_missing_ones_told(tmp_path: Path) -> None:
    """
    As ``plan`` reads them.
    """
    nested: dict[str, Any] = {"Type": "AWS::CloudFormation::Stack"}
    asset = {"aws:asset:path": "Inner.template.json"}
    template(tmp_path, variant()).rename(tmp_path / "Inner.template.json")
    outer = {"Child": {**nested, "Metadata": asset}, "Gone": nested}
    found = read(tmp_path, outer)

    assert [one.endpoint for one in found.variants] == ["Host/Child/Host"]
    assert found.left_out == ("Host/Gone: its template is not in the assembly",)


def test_fails_if_a_path_is_neither(tmp_path: Path) -> None:
    """
    A folder without a manifest, and a file that is no JSON.
    """
    with pytest.raises(AssemblyError, match=".") as raised:
        read_hosted(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path} is neither a cloud assembly, such as cdk.out, nor a template in "
        "JSON; write one with: cdk synth"
    )
    (tmp_path / "x.yaml").write_text("Resources: {}")
    with pytest.raises(AssemblyError, match="is no JSON"):
        read_hosted(tmp_path / "x.yaml")


def test_a_broken_resource_is_told_and_the_rest_is_played(tmp_path: Path) -> None:
    """
    Never a crash.
    """
    found = read(tmp_path, {**variant(), "Broken": {"Type": 5}})

    assert len(found.variants) == 1
    assert "Resources.Broken.Type must be text" in found.left_out[0]


def test_reading_needs_neither_the_cdk_nor_numpy(tmp_path: Path) -> None:
    """
    Help is there in a tenth of a second.
    """
    path = template(tmp_path, variant())
    code = (
        "import sys, json; from pathlib import Path;"
        "from cdk_sagemaker_llm.cli.app.simulated import read_hosted;"
        f"read_hosted(Path({json.dumps(str(path))}));"
        "print([m for m in ('aws_cdk', 'jsii', 'numpy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
