"""
Change sets of type IMPORT: what they take over, and what they refuse in the service's
words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.local.hosting_requests import make_model, unique

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

MODEL = "AWS::SageMaker::Model"


class Imports:
    """
    Imports of one account, in few words.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws = aws
        self.client: Untyped = aws.client("cloudformation")

    def arn(self, name: str) -> str:
        """
        Return a model's ARN.
        """
        return f"arn:aws:sagemaker:us-east-1:{self.aws.account}:model/{name}"

    def template(self, **more: Untyped) -> dict[str, Any]:
        """
        Declare a model as ``make_model`` makes it.
        """
        name = more.pop("name")
        model = self.aws.client("sagemaker").describe_model(ModelName=name)
        properties = {
            key: model[key] for key in ("ExecutionRoleArn", "PrimaryContainer")
        }
        body = {"Type": MODEL, "Properties": properties, "DeletionPolicy": "Retain"}
        return {"Resources": {"Model": body}, **more}

    def prepare(
        self, stack: str, template: dict[str, Any], **identifier: str
    ) -> list[dict[str, Any]]:
        """
        Make a change set that imports the model, and return its changes.
        """
        self.client.create_change_set(
            StackName=stack,
            ChangeSetName="import",
            ChangeSetType="IMPORT",
            TemplateBody=json.dumps(template),
            ResourcesToImport=[
                {
                    "LogicalResourceId": "Model",
                    "ResourceType": MODEL,
                    "ResourceIdentifier": identifier,
                }
            ],
        )
        found = self.client.describe_change_set(StackName=stack, ChangeSetName="import")
        return [one["ResourceChange"] for one in found["Changes"]]

    def take_over(self, stack: str, template: dict[str, Any], name: str) -> str:
        """
        Import the model, and return the stack's status.
        """
        self.prepare(stack, template, ModelArn=self.arn(name))
        self.client.execute_change_set(StackName=stack, ChangeSetName="import")
        status: str = self.client.describe_stacks(StackName=stack)["Stacks"][0][
            "StackStatus"
        ]
        return status


@pytest.fixture(name="imports")
def _imports(near_aws: EmbeddedAws) -> Imports:
    return Imports(near_aws)


def test_what_exists_becomes_the_stacks(imports: Imports) -> None:
    """
    As it is; the stack keeps it, and a second stack cannot have it.
    """
    name, stack = make_model(imports.aws), unique("stack")
    template = imports.template(name=name)

    assert imports.take_over(stack, template, name) == "IMPORT_COMPLETE"

    (row,) = imports.client.describe_stack_resources(StackName=stack)["StackResources"]
    assert row["PhysicalResourceId"] == imports.arn(name)
    assert row["ResourceStatus"] == "IMPORT_COMPLETE"
    with pytest.raises(ClientError, match="already belongs to stack"):
        imports.take_over(unique("stack"), template, name)
    imports.client.delete_stack(StackName=stack)
    assert imports.aws.client("sagemaker").describe_model(ModelName=name)


def test_a_change_set_announces_imports(imports: Imports) -> None:
    """
    And no other action.
    """
    name = make_model(imports.aws)
    template = imports.template(name=name)

    changes = imports.prepare(unique("stack"), template, ModelArn=imports.arn(name))

    assert [one["Action"] for one in changes] == ["Import"]


def test_what_is_not_there_leaves_nothing(imports: Imports) -> None:
    """
    The import is rolled back, and its event says why.
    """
    name, stack = make_model(imports.aws), unique("stack")
    template = imports.template(name=name)

    status = imports.take_over(stack, template, "nobody")

    events = imports.client.describe_stack_events(StackName=stack)["StackEvents"]
    reasons = {one["ResourceStatus"]: one.get("ResourceStatusReason") for one in events}
    assert status == "IMPORT_ROLLBACK_COMPLETE"
    assert "there is no AWS::SageMaker::Model" in reasons["IMPORT_FAILED"]
    rows = imports.client.describe_stack_resources(StackName=stack)
    assert rows["StackResources"] == []


@pytest.mark.parametrize(
    ("change", "identifier", "words"),
    [
        ({"DeletionPolicy": None}, "ModelArn", r"\[Model\] must have DeletionPolicy"),
        ({}, "ModelName", "Model is found by ModelArn"),
        ({"Type": "AWS::SageMaker::Endpoint"}, "ModelArn", "is not in the template"),
    ],
)
def test_a_wrong_import_is_refused(
    imports: Imports, change: dict[str, Any], identifier: str, words: str
) -> None:
    """
    Before there is a stack.
    """
    name, stack = make_model(imports.aws), unique("stack")
    template = imports.template(name=name)
    body = template["Resources"]["Model"] | change
    template["Resources"]["Model"] = {k: v for k, v in body.items() if v is not None}

    with pytest.raises(ClientError, match=words):
        imports.prepare(stack, template, **{identifier: imports.arn(name)})

    with pytest.raises(ClientError, match="does not exist"):
        imports.client.describe_stacks(StackName=stack)


def test_nothing_else_changes_with_an_import(imports: Imports) -> None:
    """
    No output, and no resource that is not taken over.
    """
    name, stack = make_model(imports.aws), unique("stack")
    outputs = {"Name": {"Value": {"Fn::GetAtt": ["Model", "ModelName"]}}}
    more = imports.template(name=name)
    more["Resources"]["Topic"] = {"Type": "AWS::SNS::Topic"}

    for template, what in (
        (imports.template(name=name, Outputs=outputs), "Outputs"),
        (more, "Topic"),
    ):
        with pytest.raises(ClientError, match=rf"cannot modify or add \[{what}\]"):
            imports.prepare(stack, template, ModelArn=imports.arn(name))


def test_a_summary_says_what_is_found_by_what(imports: Imports) -> None:
    """
    As the CDK CLI asks for it, of the types that can be taken over.
    """
    template = imports.template(name=make_model(imports.aws))
    template["Resources"]["Topic"] = {"Type": "AWS::SNS::Topic"}

    found = imports.client.get_template_summary(TemplateBody=json.dumps(template))

    assert found["ResourceIdentifierSummaries"] == [
        {
            "ResourceType": MODEL,
            "LogicalResourceIds": ["Model"],
            "ResourceIdentifiers": ["ModelArn"],
        }
    ]
