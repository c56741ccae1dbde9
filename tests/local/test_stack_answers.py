"""
The operations on stacks beside creating, updating and deleting them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

TOPIC = {"Type": "AWS::SNS::Topic"}


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("cloudformation")


def test_a_template_is_given_back_and_summarised(
    client: Untyped, stacks: Stacks
) -> None:
    """
    With the capabilities that it needs and the parameters that it declares.
    """
    name = unique("stack")
    template = {
        "Description": "A word",
        "Parameters": {"Word": {"Type": "String", "Default": "a", "NoEcho": True}},
        "Resources": {"Topic": TOPIC, "Role": role(RoleName=name)},
    }
    stacks.create(name, template)

    given = client.get_template(StackName=name)
    told = client.get_template_summary(StackName=name)
    checked = client.validate_template(TemplateBody=json.dumps(template))

    assert given["TemplateBody"] == template
    assert given["StagesAvailable"] == ["Original", "Processed"]
    assert told["ResourceTypes"] == ["AWS::IAM::Role", "AWS::SNS::Topic"]
    assert told["Capabilities"] == ["CAPABILITY_NAMED_IAM"]
    assert told["Parameters"][0]["DefaultValue"] == "a"
    assert checked["Parameters"] == [
        {"ParameterKey": "Word", "DefaultValue": "a", "NoEcho": True}
    ]
    assert checked["Description"] == "A word"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "Template format error: JSON not well-formed"),
        ("word", "Template format error: unsupported structure"),
        ("{}", "At least one Resources member must be defined"),
        (
            '{"Resources": {"A": {}}}',
            r"\[/Resources/A\] Every Resources object must contain a Type member",
        ),
        (
            '{"Resources": {"A": {"Type": "AWS::SNS::Topic", "Condition": "C"}}}',
            "Unresolved condition dependency C in the Resources block",
        ),
    ],
)
def test_what_is_no_template_is_refused_everywhere(
    client: Untyped, body: str, message: str
) -> None:
    """
    By the validation, by a change set and by a creation alike.
    """
    named = {"StackName": unique("stack"), "TemplateBody": body}
    change = {"ChangeSetName": "change", "ChangeSetType": "CREATE"}

    with pytest.raises(ClientError, match=message):
        client.validate_template(TemplateBody=body)
    with pytest.raises(ClientError, match=message):
        client.create_change_set(**named, **change)
    with pytest.raises(ClientError, match=message):
        client.create_stack(**named)


def test_change_sets_are_listed_by_stack(client: Untyped, stacks: Stacks) -> None:
    """
    Those of another stack are not among them.
    """
    one, other = unique("stack"), unique("stack")
    body = json.dumps({"Resources": {"Topic": TOPIC, "Second": TOPIC}})
    for name in (one, other):
        stacks.create(name, {"Resources": {"Topic": TOPIC}})
        client.create_change_set(
            StackName=name, ChangeSetName=f"of-{name}", TemplateBody=body
        )

    listed = client.list_change_sets(StackName=one)["Summaries"]

    assert [(s["ChangeSetName"], s["Status"]) for s in listed] == [
        (f"of-{one}", "CREATE_COMPLETE")
    ]
    template = client.get_template(StackName=one, ChangeSetName=f"of-{one}")
    assert template["TemplateBody"] == json.loads(body)


def test_an_export_in_use_stays(client: Untyped, stacks: Stacks) -> None:
    """
    Neither its stack is deleted nor the export taken away, until nobody imports it.
    """
    producer, consumer, name = unique("producer"), unique("consumer"), unique("export")
    stacks.create(producer, exporting(name))
    with pytest.raises(ClientError, match="is not imported by any stack"):
        client.list_imports(ExportName=name)
    topic = {**TOPIC, "Properties": {"DisplayName": {"Fn::ImportValue": name}}}
    stacks.create(consumer, {"Resources": {"Topic": topic}})

    assert client.list_imports(ExportName=name)["Imports"] == [consumer]
    client.delete_stack(StackName=producer)
    assert stacks.status(producer) == "CREATE_COMPLETE"
    words = (
        f"Delete canceled. Cannot delete export {name} as it is in use by {consumer}."
    )
    assert stacks.events(producer)[-1][2] == words
    without = {"Resources": {"Topic": TOPIC}}
    assert stacks.update(producer, without) == "UPDATE_ROLLBACK_COMPLETE"
    lost = f"Export {name} cannot be deleted as it is in use by {consumer}"
    assert lost in json.dumps(stacks.events(producer))

    stacks.delete(consumer)
    assert stacks.delete(producer) == "DELETE_COMPLETE"
    exports = [export["Name"] for export in client.list_exports()["Exports"]]
    assert name not in exports


def test_what_cannot_be_cancelled_or_continued_is_refused(
    client: Untyped, stacks: Stacks
) -> None:
    """
    A stack at rest has neither an update nor a failed rollback.
    """
    name = unique("stack")
    stacks.create(name, {"Resources": {"Topic": TOPIC}})

    with pytest.raises(ClientError, match="cannot be called from current stack status"):
        client.cancel_update_stack(StackName=name)
    with pytest.raises(ClientError, match="can not continue the rollback"):
        client.continue_update_rollback(StackName=name)


def test_a_stack_that_was_rolled_back_is_not_updated(
    client: Untyped, stacks: Stacks
) -> None:
    """
    Neither directly nor by a change set: it can only be deleted.
    """
    name = unique("stack")
    alarm = {"Type": "AWS::CloudWatch::Alarm"}
    assert stacks.create(name, {"Resources": {"A": alarm}}) == "ROLLBACK_COMPLETE"
    named = {
        "StackName": name,
        "TemplateBody": json.dumps({"Resources": {"Topic": TOPIC}}),
    }
    words = "is in ROLLBACK_COMPLETE state and can not be updated"

    with pytest.raises(ClientError, match=words):
        client.update_stack(**named)
    with pytest.raises(ClientError, match=words):
        client.create_change_set(**named, ChangeSetName="change")
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_resources_are_found_by_their_stack_and_by_their_id(
    client: Untyped, stacks: Stacks
) -> None:
    """
    One of them, all of them, and the stack that a physical id belongs to.
    """
    name = unique("stack")
    stacks.create(name, {"Resources": {"Topic": TOPIC, "Second": TOPIC}})
    physical_id = stacks.physical_ids(name)["Topic"]

    one = client.describe_stack_resource(StackName=name, LogicalResourceId="Topic")
    by_id = client.describe_stack_resources(PhysicalResourceId=physical_id)
    listed = client.list_stack_resources(StackName=name)["StackResourceSummaries"]

    assert one["StackResourceDetail"]["PhysicalResourceId"] == physical_id
    assert {r["StackName"] for r in by_id["StackResources"]} == {name}
    assert {r["LogicalResourceId"] for r in listed} == {"Topic", "Second"}
    with pytest.raises(ClientError, match="does not exist"):
        client.describe_stack_resources(PhysicalResourceId="nobody")


def exporting(name: str) -> Template:
    """
    Declare a topic and export its name.
    """
    output = {"Value": {"Ref": "Topic"}, "Export": {"Name": name}}
    return {"Resources": {"Topic": TOPIC}, "Outputs": {"Arn": output}}


def role(**properties: str) -> Template:
    """
    Declare a role that SageMaker may assume.
    """
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
    }
    trust = {"Version": "2012-10-17", "Statement": [statement]}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": trust, **properties},
    }


@pytest.mark.parametrize(
    ("policy", "options", "stays"),
    [
        ("Retain", {}, True),
        ("Retain", {"RetainExceptOnCreate": True}, False),
        ("RetainExceptOnCreate", {}, False),
        ("Delete", {}, False),
    ],
)
@pytest.mark.parametrize("operation", ["create_stack", "update_stack"])
def test_what_a_rollback_finds_new_may_be_retained(
    near_aws: EmbeddedAws,
    client: Untyped,
    stacks: Stacks,
    *,
    operation: str,
    policy: str,
    options: dict[str, bool],
    stays: bool,
) -> None:
    """
    By ``Retain`` it is, as from any deletion, unless the caller or the policy makes an
    exception of what was just created.
    """
    name, role_name = unique("stack"), unique("role")
    if operation == "update_stack":
        stacks.create(name, {"Resources": {"Topic": TOPIC}})
    new = {**role(RoleName=role_name), "DeletionPolicy": policy}
    wrong = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String"}}
    resources = {"Topic": TOPIC, "Role": new, "Wrong": {**wrong, "DependsOn": "Role"}}

    getattr(client, operation)(
        StackName=name,
        TemplateBody=json.dumps({"Resources": resources}),
        Capabilities=["CAPABILITY_NAMED_IAM"],
        **options,
    )

    assert stacks.status(name).endswith("ROLLBACK_COMPLETE")
    events = client.describe_stack_events(StackName=name)["StackEvents"]
    of_role = [e["ResourceStatus"] for e in events if e["LogicalResourceId"] == "Role"]
    roles = near_aws.client("iam").list_roles()["Roles"]
    assert (role_name in {one["RoleName"] for one in roles}) is stays
    assert of_role[0] == ("DELETE_SKIPPED" if stays else "DELETE_COMPLETE")


@pytest.mark.parametrize("empties", [False, True])
def test_a_repository_with_images_goes_if_it_is_to_be_emptied(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks, *, empties: bool
) -> None:
    """
    By ``EmptyOnDelete``; any other stays with its stack.
    """
    name = unique("stack")
    properties = {"RepositoryName": name, "EmptyOnDelete": empties}
    repository = {"Type": "AWS::ECR::Repository", "Properties": properties}
    stacks.create(name, {"Resources": {"Images": repository}})
    ecr = near_aws.client("ecr")
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "layers": []})
    ecr.put_image(repositoryName=name, imageManifest=manifest, imageTag="a")

    client.delete_stack(StackName=name)

    left = ecr.describe_repositories()["repositories"]
    assert (name in [one["repositoryName"] for one in left]) is not empties


def test_what_is_retained_outlives_its_stack(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks
) -> None:
    """
    As the role of an endpoint does, which SageMaker needs some minutes longer.
    """
    name = unique("stack")
    kept = {**role(RoleName=name), "DeletionPolicy": "RetainExceptOnCreate"}
    stacks.create(name, {"Resources": {"Role": kept, "Topic": TOPIC}})

    client.delete_stack(StackName=name)
    client.get_waiter("stack_delete_complete").wait(
        StackName=name, WaiterConfig={"Delay": 1}
    )

    assert near_aws.client("iam").get_role(RoleName=name)["Role"]["RoleName"]
