"""
What change sets announce, and what ``cdk diff`` shows of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local import tiny_app
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template, as_list, hosted

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.conftest import Cdk

UNKNOWN = "{{changeSet:KNOWN_AFTER_APPLY}}"


class ChangeSets:
    """
    Change sets of one server, in few words.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._client = aws.client("cloudformation")

    def announced(
        self, stack: str, template: Template, **parameters: str
    ) -> dict[str, dict[str, Any]]:
        """
        Make a change set, and return its changes by logical id.
        """
        made = self._make(stack, template, parameters)
        found = self._client.describe_change_set(
            ChangeSetName=made, IncludePropertyValues=True
        )
        self._client.delete_change_set(ChangeSetName=made)
        changes = (change["ResourceChange"] for change in found["Changes"])
        return {change["LogicalResourceId"]: change for change in changes}

    def carry_out(self, stack: str, template: Template, **parameters: str) -> None:
        """
        Make a change set and execute it.
        """
        made = self._make(stack, template, parameters)
        self._client.execute_change_set(ChangeSetName=made)

    def pages(self, stack: str, template: Template) -> list[int]:
        """
        Return how many changes stand on each page.
        """
        made = self._make(stack, template, {}, kind="CREATE")
        pages = self._client.get_paginator("describe_change_set").paginate(
            ChangeSetName=made
        )
        return [len(page["Changes"]) for page in pages]

    def plain(self, stack: str, template: Template) -> list[dict[str, Any]]:
        """
        Return the changes of a change set whose values nobody asks for.
        """
        made = self._make(stack, template, {})
        found = self._client.describe_change_set(ChangeSetName=made)
        changes: list[dict[str, Any]] = found["Changes"]
        return changes

    def _make(
        self,
        stack: str,
        template: Template,
        parameters: dict[str, str],
        kind: str = "UPDATE",
    ) -> str:
        made: str = self._client.create_change_set(
            StackName=stack,
            ChangeSetName=unique("change"),
            ChangeSetType=kind,
            TemplateBody=json.dumps(template),
            Parameters=as_list(parameters),
        )["Id"]
        return made


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="change_sets", scope="module")
def _change_sets(near_aws: EmbeddedAws) -> ChangeSets:
    return ChangeSets(near_aws)


def test_a_changed_target_is_announced_with_both_values(
    stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    A modification in place, of one property, written in the template itself.
    """
    name = unique("stack")
    stacks.create(name, hosted())

    announced = change_sets.announced(name, hosted(max_capacity=6))

    physical = stacks.physical_ids(name)["Target"]
    change = announced.pop("Target")
    assert announced == {}
    assert json.loads(change.pop("BeforeContext"))["Properties"]["MaxCapacity"] == 4
    assert json.loads(change.pop("AfterContext"))["Properties"]["MaxCapacity"] == 6
    assert change == {
        "Action": "Modify",
        "LogicalResourceId": "Target",
        "PhysicalResourceId": physical,
        "ResourceType": "AWS::ApplicationAutoScaling::ScalableTarget",
        "Replacement": "False",
        "Scope": ["Properties"],
        "Details": [
            {
                "Target": {
                    "Attribute": "Properties",
                    "Name": "MaxCapacity",
                    "RequiresRecreation": "Never",
                    "Path": "/Properties/MaxCapacity",
                    "BeforeValue": "4",
                    "AfterValue": "6",
                    "AttributeChangeType": "Modify",
                },
                "Evaluation": "Static",
                "ChangeSource": "DirectModification",
            }
        ],
    }


def test_a_replacement_reaches_what_refers_to_it(
    stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    The model certainly, the configuration on its account, the endpoint in place.
    """
    name = unique("stack")
    stacks.create(name, hosted())
    before = stacks.physical_ids(name)
    changed = hosted(environment={"NUMBER": 2})

    announced = change_sets.announced(name, changed)

    assert {key: c["Replacement"] for key, c in announced.items()} == {
        "Model": "True",
        "Config": "Conditional",
        "Endpoint": "False",
    }
    assert announced["Model"]["PolicyAction"] == "ReplaceAndDelete"
    assert announced["Config"]["Details"][0]["Evaluation"] == "Dynamic"
    assert announced["Config"]["Details"][0]["ChangeSource"] == "ResourceAttribute"
    assert announced["Config"]["Details"][0]["CausingEntity"] == "Model.ModelName"
    assert announced["Endpoint"]["Details"][0]["Target"]["AfterValue"] == UNKNOWN
    change_sets.carry_out(name, changed)
    after = stacks.physical_ids(name)
    assert {key for key in after if after[key] != before[key]} == {"Model", "Config"}


def test_what_comes_and_what_goes_is_announced(
    stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    With the policy that says whether what goes is kept.
    """
    name = unique("stack")
    first = {"Resources": {"Old": _topic(), "Kept": {**_topic()}}}
    first["Resources"]["Kept"]["DeletionPolicy"] = "Retain"
    stacks.create(name, first)

    announced = change_sets.announced(name, {"Resources": {"New": _topic()}})

    assert announced["New"]["Action"] == "Add"
    assert "PhysicalResourceId" not in announced["New"]
    assert announced["Old"]["Action"] == "Remove"
    assert announced["Old"]["PolicyAction"] == "Delete"
    assert announced["Kept"]["PolicyAction"] == "Retain"


def test_a_parameter_and_a_policy_are_named_as_causes(
    stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    A secret parameter's value is not shown.
    """
    name = unique("stack")
    template: Template = {
        "Parameters": {"Shown": {"Type": "String", "NoEcho": True}},
        "Resources": {"Topic": _topic(DisplayName={"Ref": "Shown"})},
    }
    stacks.create(name, template, Shown="before-word")
    template["Resources"]["Topic"]["DeletionPolicy"] = "Retain"

    change = change_sets.announced(name, template, Shown="after-word")["Topic"]

    assert change["Scope"] == ["DeletionPolicy", "Properties"]
    assert change["Details"][0]["ChangeSource"] == "ParameterReference"
    assert change["Details"][0]["CausingEntity"] == "Shown"
    assert "after-word" not in json.dumps(change)


def test_no_secret_is_shown_before_or_after_nor_the_rest_of_one(
    stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    One may be a part of another; the one that it was may be in use elsewhere.
    """
    name = unique("stack")
    secret = {"Type": "String", "NoEcho": True}
    tags = [{"Key": "owner", "Value": {"Ref": "Short"}}]
    template: Template = {
        "Parameters": {"Short": secret, "Long": secret},
        "Resources": {"Topic": _topic(DisplayName={"Ref": "Long"}, Tags=tags)},
    }
    stacks.create(name, template, Short="first", Long="first-remainder")

    change = change_sets.announced(
        name, template, Short="second", Long="second-ending"
    )["Topic"]

    assert change["Scope"] == ["Properties", "Tags"]
    for word in ("first", "remainder", "second", "ending"):
        assert word not in json.dumps(change)


def test_values_are_shown_only_where_they_are_asked_for(
    stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    Without ``IncludePropertyValues`` there is the name of the property alone.
    """
    name = unique("stack")
    stacks.create(name, {"Resources": {"Topic": _topic(DisplayName="a")}})

    changes = change_sets.plain(name, {"Resources": {"Topic": _topic(DisplayName="b")}})

    change = changes[0]["ResourceChange"]
    assert "BeforeContext" not in change
    assert change["Details"][0]["Target"] == {
        "Attribute": "Properties",
        "Name": "DisplayName",
        "RequiresRecreation": "Never",
    }


def test_changes_come_a_page_at_a_time(change_sets: ChangeSets) -> None:
    """
    A hundred to a page.
    """
    template = {"Resources": {f"Topic{n}": _topic() for n in range(101)}}

    assert change_sets.pages(unique("stack"), template) == [100, 1]


def test_a_parameter_of_systems_manager_is_seen_to_have_changed(
    near_aws: EmbeddedAws, stacks: Stacks, change_sets: ChangeSets
) -> None:
    """
    The template is the same, word for word.
    """
    ssm = near_aws.client("ssm")
    parameter = unique("/parameter")
    ssm.put_parameter(Name=parameter, Value="one", Type="String")
    template: Template = {
        "Parameters": {
            "Stored": {
                "Type": "AWS::SSM::Parameter::Value<String>",
                "Default": parameter,
            }
        },
        "Resources": {"Topic": _topic(DisplayName={"Ref": "Stored"})},
    }
    name = unique("stack")
    stacks.create(name, template)
    ssm.put_parameter(Name=parameter, Value="two", Type="String", Overwrite=True)

    announced = change_sets.announced(name, template)

    assert announced["Topic"]["Details"][0]["Target"]["AfterValue"] == "two"


@pytest.mark.whole
def test_cdk_diff_finds_nothing_after_a_deployment_and_what_an_edit_changes(
    cdk: Cdk, tmp_path: Path
) -> None:
    """
    By exit status, and with the replacement that the change set tells of.
    """
    first = tiny_app.synth(tmp_path / "first")
    edited = tiny_app.synth(tmp_path / "edited", batch_size="32")
    deployed = cdk("deploy", "--require-approval", "never", app=first)
    assert deployed.returncode == 0, deployed.stdout

    same = cdk("diff", "--fail", app=first)
    differing = cdk("diff", "--fail", app=edited)

    assert same.returncode == 0, same.stdout
    assert "There were no differences" in same.stdout
    assert differing.returncode == 1
    assert "AWS::SageMaker::Model Model Model replace" in differing.stdout
    assert "may be replaced" in differing.stdout
    assert "AWS::SageMaker::Endpoint Endpoint Endpoint" in differing.stdout
    assert cdk("destroy", "--force", app=first).returncode == 0


def _topic(**properties: object) -> Template:
    return {"Type": "AWS::SNS::Topic", "Properties": properties}
