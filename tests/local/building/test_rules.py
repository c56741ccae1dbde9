"""
Rules of EventBridge that have functions hear of builds; projects of stacks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.building.projects import Projects, buildspec, trusting
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks
from tests.local.waiting import until

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

# It keeps what it was called with, under the name that it was called for.
LISTENER = """
import json, boto3
def handler(event, context):
    detail = event["detail"]
    name = "/heard/" + detail["project-name"] + "/" + detail["build-status"]
    boto3.client("ssm").put_parameter(
        Name=name, Value=json.dumps(event), Type="String", Overwrite=True)
"""
FORGETFUL = """
import boto3
def handler(event, context):
    ssm = boto3.client("ssm")
    name = "/tries/" + event["detail"]["project-name"]
    try:
        tries = int(ssm.get_parameter(Name=name)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        tries = 0
    ssm.put_parameter(Name=name, Value=str(tries + 1), Type="String", Overwrite=True)
    if tries < 2:
        raise ValueError("not yet")
"""


def listening(projects: Projects, code: str, pattern: Untyped) -> dict[str, Any]:
    """
    Declare a project, and a rule that calls a function.
    """
    trust = json.loads(trusting("lambda"))
    return {
        "Resources": {
            "Role": {
                "Type": "AWS::IAM::Role",
                "Properties": {"AssumeRolePolicyDocument": trust},
            },
            "Function": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "Runtime": "python3.12",
                    "Handler": "index.handler",
                    "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                    "Code": {"ZipFile": code},
                },
            },
            "Project": {
                "Type": "AWS::CodeBuild::Project",
                "Properties": {
                    "Source": {
                        "Type": "NO_SOURCE",
                        "BuildSpec": buildspec(build=["test $GOOD = yes"]),
                    },
                    "Artifacts": {"Type": "NO_ARTIFACTS"},
                    "TimeoutInMinutes": "30",
                    "Environment": {
                        "Type": "LINUX_CONTAINER",
                        "Image": "aws/codebuild/standard:7.0",
                        "ComputeType": "BUILD_GENERAL1_SMALL",
                        "EnvironmentVariables": [{"Name": "GOOD", "Value": "yes"}],
                    },
                    "ServiceRole": projects.role,
                },
            },
            "Rule": {
                "Type": "AWS::Events::Rule",
                "Properties": {
                    "EventPattern": pattern,
                    "Targets": [
                        {"Id": "F", "Arn": {"Fn::GetAtt": ["Function", "Arn"]}}
                    ],
                },
            },
        },
        "Outputs": {
            "Project": {"Value": {"Ref": "Project"}},
            "Arn": {"Value": {"Fn::GetAtt": ["Project", "Arn"]}},
            "Rule": {"Value": {"Ref": "Rule"}},
        },
    }


def heard(aws: EmbeddedAws, name: str) -> Untyped:
    """
    Return a parameter's value, once it is there.
    """
    ssm = aws.client("ssm")
    until(lambda: ssm.get_parameters(Names=[name])["Parameters"])
    return json.loads(ssm.get_parameter(Name=name)["Parameter"]["Value"])


def test_a_rule_has_a_function_hear_of_builds(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    Of those that its pattern matches, in the form that CodeBuild documents.
    """
    stacks, name = Stacks(embedded_aws), unique("stack")
    pattern: dict[str, Any] = {
        "source": ["aws.codebuild"],
        "detail-type": ["CodeBuild Build State Change"],
        "detail": {"build-status": ["FAILED", {"prefix": "SUCC"}]},
    }
    assert stacks.create(name, listening(projects, LISTENER, pattern)) == (
        "CREATE_COMPLETE"
    ), stacks.events(name)
    outputs = stacks.outputs(name)
    project = outputs["Project"]

    good = projects.ended(projects.start(project))
    first = heard(embedded_aws, f"/heard/{project}/SUCCEEDED")
    bad = projects.ended(
        projects.start(
            project, environmentVariablesOverride=[{"name": "GOOD", "value": "no"}]
        )
    )
    second = heard(embedded_aws, f"/heard/{project}/FAILED")

    assert outputs["Arn"].endswith(f":project/{project}")
    assert good["timeoutInMinutes"] == 30
    assert (first["source"], first["resources"]) == ("aws.codebuild", [good["arn"]])
    assert first["time"].endswith("Z")
    assert first["detail"]["build-id"] == good["arn"]
    more = second["detail"]["additional-information"]
    assert second["detail"]["build-id"] == bad["arn"]
    assert more["build-complete"] is True
    assert {"name": "GOOD", "value": "no", "type": "PLAINTEXT"} in more["environment"][
        "environment-variables"
    ]
    failed = {phase["phase-type"]: phase for phase in more["phases"]}["BUILD"]
    assert failed["phase-status"] == "FAILED"
    (context,) = failed["phase-context"]
    assert context.startswith("COMMAND_EXECUTION_ERROR: Error while executing command")
    assert context.endswith("test $GOOD = yes. Reason: exit status 1")
    # What the pattern does not match was not told.
    names = [f"/heard/{project}/IN_PROGRESS"]
    assert not embedded_aws.client("ssm").get_parameters(Names=names)["Parameters"]
    # It would hear of the builds of other tests as well.
    stacks.delete(name)


def test_a_function_that_fails_is_called_again_twice(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    As Lambda does with what nobody waits for.
    """
    stacks, name = Stacks(embedded_aws), unique("stack")
    pattern = {"source": ["aws.codebuild"], "detail": {"build-status": ["SUCCEEDED"]}}
    stacks.create(name, listening(projects, FORGETFUL, pattern))
    project = stacks.outputs(name)["Project"]

    projects.ended(projects.start(project))

    until(lambda: heard(embedded_aws, f"/tries/{project}") == 3)
    stacks.delete(name)


@pytest.mark.parametrize("by_the_clock", [False, True])
def test_a_rule_that_is_switched_off_or_by_the_clock_tells_nothing(
    embedded_aws: EmbeddedAws, projects: Projects, *, by_the_clock: bool
) -> None:
    """
    Until it is on, or by a pattern.
    """
    stacks, name = Stacks(embedded_aws), unique("stack")
    pattern = {"source": ["aws.codebuild"]}
    stacks.create(name, listening(projects, LISTENER, pattern))
    outputs, events = stacks.outputs(name), embedded_aws.client("events")
    rule = outputs["Rule"]
    if by_the_clock:
        events.put_rule(Name=rule, ScheduleExpression="rate(1 day)")
    else:
        events.disable_rule(Name=rule)
    projects.ended(projects.start(outputs["Project"]))
    if by_the_clock:
        events.put_rule(Name=rule, EventPattern=json.dumps(pattern))
    else:
        events.enable_rule(Name=rule)
    second = projects.start(outputs["Project"])
    projects.ended(second)

    told = heard(embedded_aws, f"/heard/{outputs['Project']}/SUCCEEDED")

    assert told["detail"]["build-id"].endswith(second)
    stacks.delete(name)


ECHO = """
import json, boto3
def handler(event, context):
    name = PREFIX + "-".join(sorted(event))
    boto3.client("ssm").put_parameter(
        Name=name, Value=json.dumps(event), Type="String", Overwrite=True)
"""


def test_a_target_may_be_given_another_input(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    One that is always the same; one made of the event's parts is not emulated.
    """
    stacks, name = Stacks(embedded_aws), unique("stack")
    prefix = f"/{unique('echo')}/"
    pattern = {"source": ["aws.codebuild"], "detail": {"build-status": ["SUCCEEDED"]}}
    code = ECHO.replace("PREFIX", repr(prefix))
    template = listening(projects, code, pattern)
    arn = {"Fn::GetAtt": ["Function", "Arn"]}
    status = {
        "InputPathsMap": {"to": "$.detail.build-status"},
        "InputTemplate": '{"status": <to>}',
    }
    template["Resources"]["Rule"]["Properties"]["Targets"] = [
        {"Id": "A", "Arn": arn, "Input": '{"always": 1}'},
        {"Id": "B", "Arn": arn, "InputTransformer": status},
    ]
    stacks.create(name, template)
    projects.ended(projects.start(stacks.outputs(name)["Project"]))

    assert heard(embedded_aws, f"{prefix}always") == {"always": 1}
    # Called by the second target, it would have written of the event's parts.
    found = embedded_aws.client("ssm").get_parameters_by_path(Path=prefix)
    assert [one["Name"] for one in found["Parameters"]] == [f"{prefix}always"]
    stacks.delete(name)


def test_a_project_of_a_stack_changes_and_goes(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    In place, unless its name is another one.
    """
    stacks, name = Stacks(embedded_aws), unique("stack")
    template = listening(projects, LISTENER, {"source": ["x"]})
    stacks.create(name, template)
    project = stacks.outputs(name)["Project"]
    declared = template["Resources"]["Project"]["Properties"]

    declared["TimeoutInMinutes"] = 45
    assert stacks.update(name, template) == "UPDATE_COMPLETE"
    (shown,) = projects.client.batch_get_projects(names=[project])["projects"]
    declared["Colour"] = "blue"
    assert stacks.update(name, template) == "UPDATE_ROLLBACK_COMPLETE"
    declared.pop("Colour")
    declared["Name"] = unique("named")
    assert stacks.update(name, template) == "UPDATE_COMPLETE"

    assert shown["timeoutInMinutes"] == 45
    assert "extraneous key [colour]" in json.dumps(stacks.events(name))
    assert stacks.outputs(name)["Project"] == declared["Name"]
    assert project not in projects.client.list_projects()["projects"]
    stacks.delete(name)
    assert declared["Name"] not in projects.client.list_projects()["projects"]
