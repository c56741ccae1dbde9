"""
Hosting resources of stacks: what an update calls, and what cannot change.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import TGI, TGI_3, unique
from tests.local.stacks import Stacks, Template, hosted, hosting_components

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped


def tags(**values: str) -> list[dict[str, str]]:
    """
    Write tags as a template has them.
    """
    return [{"Key": key, "Value": value} for key, value in values.items()]


def tags_of(stacks: Stacks, arn: str) -> dict[str, str]:
    """
    Return the tags of a resource, without those of CloudFormation itself.
    """
    found = stacks.sagemaker.list_tags(ResourceArn=arn)["Tags"]
    own = {one["Key"]: one["Value"] for one in found}
    assert own.pop("aws:cloudformation:stack-name").startswith("stack-")
    assert own.pop("aws:cloudformation:stack-id").startswith("arn:aws:cloudformation:")
    assert own.pop("aws:cloudformation:logical-id") in {"Model", "Component"}
    return own


def model(**properties: object) -> Template:
    """
    Declare a model alone.
    """
    made = hosted()["Resources"]["Model"]
    resource = {**made, "Properties": {**made["Properties"], **properties}}
    return {"Resources": {"Model": resource}}


def test_tags_follow_the_template(stacks: Stacks) -> None:
    """
    Those that it has no more go; the resource stays.
    """
    name = unique("stack")
    stacks.create(name, model(Tags=tags(a="1", b="1")))
    arn = stacks.physical_ids(name)["Model"]
    assert tags_of(stacks, arn) == {"a": "1", "b": "1"}

    assert stacks.update(name, model(Tags=tags(a="2", c="1"))) == "UPDATE_COMPLETE"
    assert tags_of(stacks, arn) == {"a": "2", "c": "1"}
    assert stacks.update(name, model()) == "UPDATE_COMPLETE"
    assert tags_of(stacks, arn) == {}
    assert stacks.physical_ids(name)["Model"] == arn


def test_a_component_changes_its_number_alone_or_all_of_it(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    What its operation does not take cannot change.
    """
    name = unique("stack")
    assert stacks.create(name, hosting_components(copies=2)) == "CREATE_COMPLETE"
    made = stacks.physical_ids(name)["Component"]
    component = stacks.outputs(name)["Component"]
    hosting = near_aws.client("sagemaker")

    def described() -> Untyped:
        return hosting.describe_inference_component(InferenceComponentName=component)

    def copies() -> int:
        count: int = described()["RuntimeConfig"]["CurrentCopyCount"]
        return count

    assert copies() == 2
    assert stacks.update(name, hosting_components(copies=3)) == "UPDATE_COMPLETE"
    assert copies() == 3
    changed = hosting_components(copies=3, image=TGI_3)
    changed["Resources"]["Component"]["Properties"]["Specification"][
        "ComputeResourceRequirements"
    ]["MinMemoryRequiredInMb"] = 2048
    assert stacks.update(name, changed) == "UPDATE_COMPLETE", stacks.events(name)
    needs = described()["Specification"]["ComputeResourceRequirements"]
    assert needs["MinMemoryRequiredInMb"] == 2048
    assert copies() == 3
    assert stacks.physical_ids(name)["Component"] == made

    moved = changed
    moved["Resources"]["Component"]["Properties"]["VariantName"] = "Other"
    assert stacks.update(name, moved) == "UPDATE_ROLLBACK_COMPLETE"
    words = (
        "VariantName of an inference component cannot change: "
        "UpdateInferenceComponent has no such parameter. Give the resource another "
        "logical id to have it deleted and created."
    )
    assert ("Component", "UPDATE_FAILED", words) in stacks.events(name)
    assert stacks.physical_ids(name)["Component"] == made
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_a_tag_of_a_component_changes_nothing_else(stacks: Stacks) -> None:
    """
    Neither its copies nor its specification.
    """
    name = unique("stack")
    stacks.create(name, hosting_components(copies=1))
    arn = stacks.physical_ids(name)["Component"]

    status = stacks.update(name, hosting_components(copies=1, Tags=tags(a="1")))

    assert status == "UPDATE_COMPLETE"
    assert tags_of(stacks, arn) == {"a": "1"}
    assert stacks.delete(name) == "DELETE_COMPLETE"


@pytest.mark.parametrize(
    ("fault", "words"),
    [("never-healthy", "did not pass the ping health check"), ("no-image", "image")],
)
def test_an_endpoint_that_fails_fails_its_stack(
    near_aws: EmbeddedAws, stacks: Stacks, fault: str, words: str
) -> None:
    """
    It goes with the rest; where it is updated, the one before stays in service.
    """
    name, other = unique("stack"), unique("stack")
    stacks.create(other, hosted())
    endpoint = stacks.outputs(other)["Name"]
    near_aws.fault(fault)
    try:
        created = stacks.create(name, hosted())
        updated = stacks.update(other, hosted(image=TGI_3))
    finally:
        near_aws.clear_faults()

    assert (created, updated) == ("ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
    for stack, status in ((name, "CREATE_FAILED"), (other, "UPDATE_FAILED")):
        (why,) = [
            why
            for what, found, why in stacks.events(stack)
            if (what, found) == ("Endpoint", status)
        ]
        assert words in why
    stacks.delete(name)
    listed = stacks.sagemaker.list_endpoints()["Endpoints"]
    mine = [one for one in listed if one["EndpointName"] == endpoint]
    assert [one["EndpointStatus"] for one in mine] == ["InService"]
    assert stacks.delete(other) == "DELETE_COMPLETE"


def test_what_the_api_does_not_have_is_refused(stacks: Stacks) -> None:
    """
    Before it is asked, with where it stands.
    """
    name = unique("stack")

    status = stacks.create(name, model(Odd="x", VpcConfig={"Sub": ["s"]}))

    assert status == "ROLLBACK_COMPLETE"
    words = (
        "Properties validation failed for resource: #: extraneous key [Odd] is not "
        "permitted; #/VpcConfig: extraneous key [Sub] is not permitted"
    )
    assert ("Model", "CREATE_FAILED", words) in stacks.events(name)


def test_what_is_required_is_asked_for(stacks: Stacks) -> None:
    """
    In the service's words.
    """
    name = unique("stack")
    config = {
        "Type": "AWS::SageMaker::EndpointConfig",
        "Properties": {"EndpointConfigName": name},
    }

    assert stacks.create(name, {"Resources": {"C": config}}) == "ROLLBACK_COMPLETE"

    (why,) = [why for what, status, why in stacks.events(name) if what == "C" and why]
    told = "1 validation error detected: Value null at 'productionVariants' failed"
    rule = "to satisfy constraint: Member must not be null"
    assert why == f'Resource handler returned message: "{told} {rule}"'


def test_attributes_are_names_and_arns(stacks: Stacks) -> None:
    """
    Of a name of one's own, and of one that is made.
    """
    name = unique("stack")
    template = hosted()
    template["Resources"]["Model"]["Properties"]["ModelName"] = name
    parts: dict[str, Any] = {
        "ModelName": ("Model", "ModelName"),
        "ConfigName": ("Config", "EndpointConfigName"),
        "EndpointName": ("Endpoint", "EndpointName"),
    }
    template["Outputs"] = {
        key: {"Value": {"Fn::GetAtt": list(part)}} for key, part in parts.items()
    }
    for key in ("Model", "Config", "Endpoint"):
        template["Outputs"][f"{key}Arn"] = {"Value": {"Ref": key}}
    assert stacks.create(name, template) == "CREATE_COMPLETE"

    found = stacks.outputs(name)

    assert found["ModelName"] == name
    kinds = {"Model": "model", "Config": "endpoint-config", "Endpoint": "endpoint"}
    for key, kind in kinds.items():
        arn, own = found[f"{key}Arn"], found[f"{key}Name"]
        assert arn.partition(":sagemaker:us-east-1:")[2].endswith(f":{kind}/{own}")
    assert found["ConfigName"].startswith("Config-")
    assert stacks.delete(name) == "DELETE_COMPLETE"
    for kind in ("models", "endpoint_configs", "endpoints"):
        (listed,) = [
            value
            for key, value in getattr(stacks.sagemaker, f"list_{kind}")().items()
            if isinstance(value, list)
        ]
        assert not [one for one in listed if name in json.dumps(one, default=str)]


def test_an_image_that_is_described_as_it_was_declared_has_not_drifted(
    stacks: Stacks, client: Untyped
) -> None:
    """
    Though the description has what it resolved to as well.
    """
    name = unique("stack")
    stacks.create(name, hosting_components(copies=1, Tags=tags(a="1")))

    def drift(resource: str) -> Untyped:
        return client.detect_stack_resource_drift(
            StackName=name, LogicalResourceId=resource
        )["StackResourceDrift"]

    for resource in ("Model", "Config", "Endpoint", "Component"):
        assert drift(resource)["StackResourceDriftStatus"] == "IN_SYNC", resource
    shown = json.loads(drift("Model")["ActualProperties"])
    assert shown["PrimaryContainer"]["Image"] == TGI
    stacks.sagemaker.add_tags(
        ResourceArn=stacks.physical_ids(name)["Component"], Tags=tags(b="1")
    )
    found = drift("Component")
    assert found["PropertyDifferences"] == [
        {
            "PropertyPath": "/Tags/1",
            "ExpectedValue": "null",
            "ActualValue": '{"Key": "b", "Value": "1"}',
            "DifferenceType": "ADD",
        }
    ]
