"""
What stacks make of parameters, functions and outputs, and what they keep.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import make_model, unique
from tests.local.stacks import Stacks, Template, hosted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

TOPIC = {"Type": "AWS::SNS::Topic"}


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("cloudformation")


def parameter(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any part of a template
    """
    Declare a parameter of Systems Manager.
    """
    properties = {"Type": "String", "Value": value}
    return {"Type": "AWS::SSM::Parameter", "Properties": properties}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"Fn::Join": ["-", {"Ref": "List"}]}, "a-b-c"),
        ({"Fn::Select": [1, {"Ref": "List"}]}, "b"),
        (
            {"Fn::Select": [2, {"Fn::Cidr": ["10.0.0.0/16", 4, 8]}]},
            "10.0.2.0/24",
        ),
        ({"Fn::Join": [",", {"Ref": "AWS::NotificationARNs"}]}, ""),
        ({"Ref": "Flag"}, "true"),
        (True, "true"),
        (5, "5"),
    ],
)
def test_outputs_are_as_the_service_writes_them(
    stacks: Stacks, value: Untyped, text: str
) -> None:
    """
    The default of a list is a list, and a truth value has small letters.
    """
    name = unique("stack")
    template = {
        "Parameters": {
            "List": {"Type": "CommaDelimitedList", "Default": "a, b,c"},
            "Flag": {"Type": "String", "Default": True},
        },
        "Resources": {"Topic": TOPIC},
        "Outputs": {"Out": {"Value": value}},
    }

    assert stacks.create(name, template) == "CREATE_COMPLETE"
    (output,) = stacks.describe(name)["Outputs"]
    assert output["OutputValue"] == text


def test_an_output_that_is_no_text_fails_the_stack(stacks: Stacks) -> None:
    """
    A list was written down as Python writes it.
    """
    name = unique("stack")
    template = {"Resources": {"T": TOPIC}, "Outputs": {"O": {"Value": ["a"]}}}

    assert stacks.create(name, template) == "ROLLBACK_COMPLETE"


def test_a_parameter_that_is_not_to_be_echoed_is_hidden(
    client: Untyped, stacks: Stacks
) -> None:
    """
    In the stack and in its change sets; the next update still knows it.
    """
    name = unique("stack")
    template = {
        "Parameters": {"Word": {"Type": "String", "NoEcho": True}},
        "Resources": {"A": parameter({"Ref": "Word"})},
    }
    stacks.create(name, template, Word="hush")
    template["Resources"]["Topic"] = TOPIC
    named = {"StackName": name, "ChangeSetName": "change"}
    client.create_change_set(
        **named,
        TemplateBody=json.dumps(template),
        Parameters=[{"ParameterKey": "Word", "UsePreviousValue": True}],
    )

    hidden = [{"ParameterKey": "Word", "ParameterValue": "****"}]
    assert stacks.describe(name)["Parameters"] == hidden
    assert client.describe_change_set(**named)["Parameters"] == hidden


def test_an_export_has_one_stack(client: Untyped, stacks: Stacks) -> None:
    """
    A second stack with it is rolled back, and its end takes nothing from the first.
    """
    name, first, second = unique("export"), unique("stack"), unique("stack")
    exported = {"Value": "same", "Export": {"Name": name}}
    template = {
        "Resources": {"T": TOPIC},
        "Outputs": {"A": {"Value": "same"}, "B": exported},
    }

    assert stacks.create(first, template) == "CREATE_COMPLETE"
    assert stacks.create(second, template) == "ROLLBACK_COMPLETE"
    events = client.describe_stack_events(StackName=second)["StackEvents"]
    stacks.delete(second)

    reasons = [event.get("ResourceStatusReason", "") for event in events]
    told = f"Export with name {name} is already exported by stack {first}"
    assert any(told in reason for reason in reasons)
    outputs = {o["OutputKey"]: o for o in stacks.describe(first)["Outputs"]}
    assert "ExportName" not in outputs["A"]
    assert outputs["B"]["ExportName"] == name
    exports = client.get_paginator("list_exports").paginate().build_full_result()
    assert name in [export["Name"] for export in exports["Exports"]]


def test_stacks_are_listed_by_name_and_status(client: Untyped, stacks: Stacks) -> None:
    """
    Those that are gone are listed too, and a filter leaves them out.
    """
    kept, gone = unique("kept"), unique("gone")
    for name in (kept, gone):
        stacks.create(name, {"Resources": {"T": TOPIC}})
    stacks.delete(gone)
    pages = client.get_paginator("list_stacks")

    found = pages.paginate().build_full_result()["StackSummaries"]
    complete = pages.paginate(StackStatusFilter=["CREATE_COMPLETE"])
    listed = complete.build_full_result()["StackSummaries"]

    statuses = {one["StackName"]: one["StackStatus"] for one in found}
    assert statuses[kept] == "CREATE_COMPLETE"
    assert statuses[gone] == "DELETE_COMPLETE"
    assert {one["StackStatus"] for one in listed} == {"CREATE_COMPLETE"}
    assert kept in [one["StackName"] for one in listed]


def test_a_secret_of_the_stack_can_be_referred_to(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    As the CDK does for a secret that it makes: by its ARN, which is its ``Ref``.
    """
    name = unique("stack")
    wish = {
        "SecretStringTemplate": '{"user": "u"}',
        "GenerateStringKey": "word",
        "PasswordLength": 20,
        "ExcludePunctuation": True,
    }
    reference = {"Fn::Sub": "{{resolve:secretsmanager:${Made}:SecretString:word}}"}
    template = {
        "Resources": {
            "Made": {
                "Type": "AWS::SecretsManager::Secret",
                "Properties": {"GenerateSecretString": wish},
            },
            "A": {**parameter(reference)},
        },
        "Outputs": {"Arn": {"Value": {"Ref": "Made"}}, "A": {"Value": {"Ref": "A"}}},
    }

    assert stacks.create(name, template) == "CREATE_COMPLETE"
    outputs = stacks.outputs(name)
    secrets = near_aws.client("secretsmanager")
    text = secrets.get_secret_value(SecretId=outputs["Arn"])["SecretString"]
    made = near_aws.client("ssm").get_parameter(Name=outputs["A"])
    stacks.delete(name)

    place = f"arn:aws:secretsmanager:us-east-1:{near_aws.account}:"
    assert outputs["Arn"].startswith(place)
    assert len(json.loads(text)["word"]) == len("twenty characters up")
    assert made["Parameter"]["Value"] == json.loads(text)["word"]
    assert outputs["Arn"] not in [
        s["ARN"] for s in secrets.list_secrets()["SecretList"]
    ]


def test_a_secret_is_changed_in_place(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    Its ARN stays; a name that is taken fails the stack.
    """
    name, secret = unique("stack"), unique("secret")

    def template(text: str) -> dict[str, Any]:
        properties = {"Name": secret, "SecretString": text}
        kind = "AWS::SecretsManager::Secret"
        return {"Resources": {"Made": {"Type": kind, "Properties": properties}}}

    client = near_aws.client("secretsmanager")
    stacks.create(name, template("one"))
    arn = client.describe_secret(SecretId=secret)["ARN"]
    status = stacks.update(name, template("two"))

    assert status == "UPDATE_COMPLETE", stacks.events(name)
    assert client.get_secret_value(SecretId=secret)["SecretString"] == "two"
    assert client.describe_secret(SecretId=secret)["ARN"] == arn
    assert stacks.create(unique("stack"), template("one")) == "ROLLBACK_COMPLETE"


def test_parameters_without_a_name_have_one_in_every_stack(stacks: Stacks) -> None:
    """
    Systems Manager refuses names that start with ``ssm`` or ``aws``; stacks may.
    """
    name = unique("ssm-stack")

    status = stacks.create(name, {"Resources": {"A": parameter("x")}})

    assert status == "CREATE_COMPLETE"


def test_a_bucket_that_is_not_empty_stays(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks
) -> None:
    """
    The stack says so, and goes when the bucket is to be retained.
    """
    name, bucket = unique("stack"), unique("bucket")
    properties = {"BucketName": bucket}
    made = {"Type": "AWS::S3::Bucket", "Properties": properties}
    stacks.create(name, {"Resources": {"Bucket": made}})
    stack_id = stacks.describe(name)["StackId"]
    s3 = near_aws.client("s3")
    s3.put_object(Bucket=bucket, Key="a", Body=b"")

    assert stacks.delete(name) == "DELETE_FAILED"
    client.delete_stack(StackName=name, RetainResources=["Bucket"])

    assert stacks.status(stack_id) == "DELETE_COMPLETE"
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1


def test_what_somebody_has_deleted_does_not_hold_a_stack_back(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Whichever service it was of, and by whatever words it says so.
    """
    name, model = unique("stack"), make_model(near_aws)
    variant = {
        "VariantName": "A",
        "ModelName": model,
        "InstanceType": "ml.g5.xlarge",
        "InitialInstanceCount": 1,
    }
    variants = {"ProductionVariants": [variant]}
    config = {"Type": "AWS::SageMaker::EndpointConfig", "Properties": variants}
    queue = {"Type": "AWS::SQS::Queue", "DependsOn": "Word"}
    resources = {"Config": config, "Queue": queue, "Word": parameter("x")}
    stacks.create(name, {"Resources": resources})
    ids = stacks.physical_ids(name)

    hosting = near_aws.client("sagemaker")
    hosting.delete_endpoint_config(EndpointConfigName=ids["Config"].split("/")[-1])
    near_aws.client("sqs").delete_queue(QueueUrl=ids["Queue"])
    near_aws.client("ssm").delete_parameter(Name=ids["Word"])

    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_what_somebody_has_deleted_cannot_be_updated(
    client: Untyped, stacks: Stacks
) -> None:
    """
    The rollback fails as well, until it goes on without the resource.
    """
    name = unique("stack")
    first, changed = (
        unscaled(instance_type) for instance_type in ("ml.g5.xlarge", "ml.g5.2xlarge")
    )
    stacks.create(name, first)
    endpoint = stacks.physical_ids(name)["Endpoint"].rpartition("/")[2]
    stacks.sagemaker.delete_endpoint(EndpointName=endpoint)

    assert stacks.update(name, changed) == "UPDATE_ROLLBACK_FAILED"
    failed = [
        (what, status)
        for what, status, reason in stacks.events(name)
        if "Could not find endpoint" in reason
    ]
    assert failed == [("Endpoint", "UPDATE_FAILED")] * 2
    client.continue_update_rollback(StackName=name, ResourcesToSkip=["Endpoint"])
    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.delete(name) == "DELETE_COMPLETE"


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_rollback_that_failed_leaves_nothing_behind(
    client: Untyped, stacks: Stacks, *, goes_on: bool
) -> None:
    """
    Where it goes on, what was replaced is in use again; what replaced it goes, and with
    the stack all does.
    """
    name, hosting = unique("stack"), stacks.sagemaker
    before = {each["EndpointConfigName"] for each in _configs(hosting)}
    stacks.create(name, unscaled("ml.g5.xlarge"))
    first = stacks.physical_ids(name)
    hosting.delete_endpoint(EndpointName=first["Endpoint"].rpartition("/")[2])
    assert stacks.update(name, unscaled("ml.g5.2xlarge")) == "UPDATE_ROLLBACK_FAILED"

    if goes_on:
        client.continue_update_rollback(StackName=name)
        assert stacks.status(name) == "UPDATE_ROLLBACK_FAILED"
        client.continue_update_rollback(StackName=name, ResourcesToSkip=["Endpoint"])
        assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
        assert stacks.physical_ids(name) == first
        assert len(_configs(hosting)) == len(before) + 1
    assert stacks.delete(name) == "DELETE_COMPLETE"
    assert {each["EndpointConfigName"] for each in _configs(hosting)} == before


def _configs(hosting: Untyped) -> list[Untyped]:
    pages = hosting.get_paginator("list_endpoint_configs").paginate()
    return [each for page in pages for each in page["EndpointConfigs"]]


def unscaled(instance_type: str) -> Template:
    """
    Declare an endpoint and what it needs.
    """
    template = hosted(instance_type=instance_type)
    made = template["Resources"]
    return {"Resources": {k: made[k] for k in ("Model", "Config", "Endpoint")}}


def test_a_repository_without_a_name_is_made(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Its name is made of small letters alone.
    """
    name = unique("Stack")
    made = {"Type": "AWS::ECR::Repository"}

    assert stacks.create(name, {"Resources": {"Repo": made}}) == "CREATE_COMPLETE"
    found = near_aws.client("ecr").describe_repositories()["repositories"]
    assert stacks.physical_ids(name)["Repo"] in [one["repositoryName"] for one in found]


def test_new_tags_replace_nothing(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    A table would lose what is in it, and a network what is attached to it.
    """
    name = unique("stack")
    table = {
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    network = {"CidrBlock": "10.0.0.0/16"}

    def template(tag: str) -> dict[str, Any]:
        tags = {"Tags": [{"Key": "team", "Value": tag}]}
        word = parameter(tag)
        word["Properties"]["Tags"] = {"team": tag}
        return {
            "Resources": {
                "Table": {"Type": "AWS::DynamoDB::Table", "Properties": table | tags},
                "Vpc": {"Type": "AWS::EC2::VPC", "Properties": network | tags},
                "Word": word,
            }
        }

    stacks.create(name, template("one"))
    before = stacks.physical_ids(name)
    status = stacks.update(name, template("two"))

    assert status == "UPDATE_COMPLETE"
    assert stacks.physical_ids(name) == before
    read = near_aws.client("ssm").get_parameter(Name=before["Word"])
    assert read["Parameter"]["Value"] == "two"


def test_a_queue_in_order_has_the_name_of_one(stacks: Stacks) -> None:
    """
    Which is refused without its ending.
    """
    name = unique("stack")
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": True}}

    assert stacks.create(name, {"Resources": {"Queue": queue}}) == "CREATE_COMPLETE"
    assert stacks.physical_ids(name)["Queue"].endswith(".fifo")
