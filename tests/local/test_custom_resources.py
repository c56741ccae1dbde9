"""
Custom resources: their functions are run, and may call the embedded AWS.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import typer
from aws_cdk import App, CfnOutput, CustomResource, Environment, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from typer.testing import CliRunner

from cdk_sagemaker_llm.cli.commands import add_command
from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError
from tests.local.conftest import REGION
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.deployments import Deployer

# It asks for its own stack while that is being made, and writes down each request.
PYTHON = """
import json, boto3, cfnresponse
def handler(event, context):
    stack = boto3.client("cloudformation").describe_stacks(StackName=event["StackId"])
    asked = event["ResourceProperties"]
    boto3.client("ssm").put_parameter(
        Name=asked["Log"] + event["RequestType"], Overwrite=True, Type="String",
        Value=json.dumps([asked, event.get("OldResourceProperties"),
                          event.get("PhysicalResourceId")]))
    if asked["Word"] == "wrong":
        cfnresponse.send(event, context, "FAILED", {}, "made", reason="a wrong word")
        return
    data = {"Status": stack["Stacks"][0]["StackStatus"], "Word": asked["Word"]}
    cfnresponse.send(event, context, cfnresponse.SUCCESS, data, asked.get("Id", "made"))
"""
NODE = """
const response = require('cfn-response');
exports.handler = (event, context) => {
  const data = { Word: event.ResourceProperties.Word + ' from node' };
  response.send(event, context, response.SUCCESS, data, 'node-made');
};
"""


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="with_callable", scope="module")
def _with_callable() -> Iterator[EmbeddedAws]:
    module = "tests.local.custom_handler"
    handlers = {
        "Custom::Doubled": f"{module}:double",
        "Custom::Stubborn": f"{module}:stubborn",
    }
    with EmbeddedAws(custom_resources=handlers) as aws:
        yield aws


def test_a_python_function_creates_updates_and_deletes(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    It calls the embedded AWS meanwhile; scalars reach it as strings.
    """
    name, log = unique("stack"), f"/{unique('log')}/"
    first = custom(PYTHON, Log=log, Word="one", Number=1, Truth=True)

    assert stacks.create(name, first) == "CREATE_COMPLETE"
    assert stacks.outputs(name) == {
        "Id": "made",
        "Word": "one",
        "Status": "CREATE_IN_PROGRESS",
    }
    assert stacks.update(name, custom(PYTHON, Log=log, Word="two")) == "UPDATE_COMPLETE"
    assert stacks.outputs(name)["Word"] == "two"
    stacks.delete(name)

    created, updated, deleted = (
        written(near_aws, log + kind) for kind in ("Create", "Update", "Delete")
    )
    assert created[0]["Number"] == "1"
    assert created[0]["Truth"] == "true"
    assert created[2] is None
    assert (updated[0]["Word"], updated[1]["Word"], updated[2]) == (
        "two",
        "one",
        "made",
    )
    assert (deleted[0]["Word"], deleted[2]) == ("two", "made")


def test_another_physical_id_has_the_first_resource_deleted(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    After the update, as for every replacement.
    """
    name, log = unique("stack"), f"/{unique('log')}/"
    stacks.create(name, custom(PYTHON, Log=log, Word="a", Id="first"))

    stacks.update(name, custom(PYTHON, Log=log, Word="b", Id="second"))

    assert stacks.physical_ids(name)["Custom"] == "second"
    assert written(near_aws, f"{log}Delete")[2] == "first"


def test_a_failure_is_told_and_cleaned_up(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    The function's reason is the event's; what it may have begun is deleted.
    """
    name, log = unique("stack"), f"/{unique('log')}/"

    assert stacks.create(name, custom(PYTHON, Log=log, Word="wrong")) == (
        "ROLLBACK_COMPLETE"
    )

    assert "Message returned: a wrong word (RequestId" in json.dumps(
        stacks.events(name)
    )
    assert written(near_aws, f"{log}Delete")[2] == "made"


def test_a_failed_update_goes_back(stacks: Stacks) -> None:
    """
    By another request, with what there was before.
    """
    name, log = unique("stack"), f"/{unique('log')}/"
    stacks.create(name, custom(PYTHON, Log=log, Word="one"))

    updated = stacks.update(name, custom(PYTHON, Log=log, Word="wrong"))

    assert updated == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.outputs(name)["Word"] == "one"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def handler(event, context):\n    raise ValueError('oh no')", "oh no"),
        ("def handler(event, context):\n    print('done')", "printed last: done"),
    ],
    ids=["raises", "says nothing"],
)
def test_a_function_that_sends_no_response_fails(
    stacks: Stacks, code: str, reason: str
) -> None:
    """
    At once, where CloudFormation waits an hour, with what was printed last.
    """
    name = unique("stack")

    assert stacks.create(name, custom(code, Word="a")) == "ROLLBACK_COMPLETE"

    events = json.dumps(stacks.events(name))
    assert "did not receive a response" in events or "it printed nothing" in events
    assert reason in events


def test_a_function_for_node_is_run(stacks: Stacks) -> None:
    """
    With the module that Lambda gives to inline code.
    """
    name = unique("stack")

    made = stacks.create(name, custom(NODE, runtime="nodejs20.x", Word="greetings"))

    assert made == "CREATE_COMPLETE", stacks.events(name)
    assert stacks.outputs(name)["Word"] == "greetings from node"


def test_the_provider_framework_is_played(stacks: Stacks) -> None:
    """
    Its functions return what they have to say; the second until it is complete.
    """
    name = unique("stack")
    template = custom("", "nodejs20.x", Word="slow")
    resources = template["Resources"]
    on_event = (
        "def handler(event, context):\n"
        "    word = event['ResourceProperties']['Word']\n"
        "    return {'PhysicalResourceId': 'provided', 'Data': {'Word': word}}\n"
    )
    complete = "def handler(event, context):\n    return {'IsComplete': True}\n"
    variables = {}
    for key, code in (("OnEvent", on_event), ("IsComplete", complete)):
        user = json.loads(json.dumps(resources["Function"]))
        user["Properties"] |= {"Code": {"ZipFile": code}, "Runtime": "python3.12"}
        resources[key] = user
        variable = "ON_EVENT" if key == "OnEvent" else "IS_COMPLETE"
        arn = {"Fn::GetAtt": [key, "Arn"]}
        variables[f"USER_{variable}_FUNCTION_ARN"] = arn
    resources["Function"]["Properties"]["Environment"] = {"Variables": variables}

    assert stacks.create(name, template) == "CREATE_COMPLETE", stacks.events(name)
    assert stacks.outputs(name) == {"Id": "provided", "Word": "slow"}


def test_code_in_s3_is_run(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    A ZIP archive with a module of its own beside the handler's.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("words.py", "WORD = 'packed'")
        archive.writestr("index.py", PYTHON.replace('asked["Word"]}', "words.WORD}"))
        source = archive.read("index.py").replace(b"import json", b"import words, json")
        archive.writestr("src/index.py", source)
    s3_client = near_aws.client("s3")
    s3_client.create_bucket(Bucket="function-code")
    s3_client.put_object(Bucket="function-code", Key="a.zip", Body=packed.getvalue())
    name = unique("stack")
    template = custom("", Log="/packed/", Word="a")
    function = template["Resources"]["Function"]["Properties"]
    function["Code"] = {"S3Bucket": "function-code", "S3Key": "a.zip"}
    function["Handler"] = "src/index.handler"

    assert stacks.create(name, template) == "CREATE_COMPLETE", stacks.events(name)
    assert stacks.outputs(name)["Word"] == "packed"


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"runtime": "java21"}, "runtime java21 are not run"),
        ({"code": "import no_such_module"}, "No module named 'no_such_module'"),
        ({"token": "arn:aws:sns:us-east-1:123456789012:t"}, "no Lambda function"),
    ],
    ids=["other runtime", "missing module", "no function"],
)
def test_what_cannot_be_run_is_recorded_with_a_remark(
    stacks: Stacks, changes: dict[str, str], remark: str
) -> None:
    """
    The stack goes through, and can be deleted.
    """
    name = unique("stack")
    template = custom(changes.get("code", PYTHON), changes.get("runtime", "python3.12"))
    if "token" in changes:
        resource = template["Resources"]["Custom"]["Properties"]
        resource["ServiceToken"] = changes["token"]

    assert stacks.create(name, template) == "CREATE_COMPLETE"

    assert remark in json.dumps(stacks.events(name))
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_the_code_of_a_function_changes_in_place(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Its name and ARN stay, and it runs what it was given last, inline or from S3.
    """
    name, log = unique("stack"), f"/{unique('log')}/"
    client = near_aws.client("lambda")
    s3_client = near_aws.client("s3")
    s3_client.create_bucket(Bucket=name)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "index.py", PYTHON.replace('"Word": asked', '"Word": "2"+asked')
        )
    s3_client.put_object(Bucket=name, Key="code.zip", Body=packed.getvalue())

    def with_code(word: str, code: object, **settings: object) -> Template:
        template = custom(PYTHON, Log=log, Word=word)
        function = template["Resources"]["Function"]["Properties"]
        function |= {"FunctionName": name, "Code": code, **settings}
        return template

    first = with_code("a", {"ZipFile": PYTHON}, Timeout=9)
    second = with_code("b", {"ZipFile": PYTHON.replace('"Word": a', '"Word": "1"+a')})
    third = with_code("c", {"S3Bucket": name, "S3Key": "code.zip"})
    words, arns, timeouts = [], set(), []
    stacks.create(name, first)
    for template in (first, second, third):
        if template is not first:
            assert stacks.update(name, template) == "UPDATE_COMPLETE"
        words.append(stacks.outputs(name)["Word"])
        found = client.get_function_configuration(FunctionName=name)
        arns.add(found["FunctionArn"])
        timeouts.append(found["Timeout"])

    assert words == ["a", "1b", "2c"]
    assert len(arns) == 1
    assert timeouts == [9, 3, 3]


def test_a_callable_stands_for_a_function(with_callable: EmbeddedAws) -> None:
    """
    Whatever its token; what it raises is the reason.
    """
    stacks, name = Stacks(with_callable), unique("stack")
    template: Template = {
        "Resources": {
            "Custom": {
                "Type": "Custom::Doubled",
                "Properties": {"ServiceToken": "none", "Number": 21},
            }
        },
        "Outputs": {"Twice": {"Value": {"Fn::GetAtt": ["Custom", "Twice"]}}},
    }

    assert stacks.create(name, template) == "CREATE_COMPLETE"
    assert stacks.outputs(name) == {"Twice": "42"}
    template["Resources"]["Custom"]["Properties"]["Number"] = "many"
    assert stacks.update(name, template) == "UPDATE_ROLLBACK_COMPLETE"
    assert "invalid literal" in json.dumps(stacks.events(name))


def test_a_rollback_that_failed_goes_on(with_callable: EmbeddedAws) -> None:
    """
    Once what held it up is gone.
    """
    stacks, name = Stacks(with_callable), unique("stack")
    client, ssm = with_callable.client("cloudformation"), with_callable.client("ssm")
    properties = {"ServiceToken": "none", "Number": "1"}
    custom = {"Type": "Custom::Stubborn", "Properties": properties}
    stacks.create(name, {"Resources": {"Custom": custom}})
    ssm.put_parameter(Name="stubborn", Value="yes", Type="String")
    custom["Properties"] = {**properties, "Number": "2"}
    wrong = {"Type": "AWS::CloudWatch::Alarm", "DependsOn": "Custom"}
    broken: Template = {"Resources": {"Custom": custom, "Wrong": wrong}}

    assert stacks.update(name, broken) == "UPDATE_ROLLBACK_FAILED"
    client.continue_update_rollback(StackName=name)
    assert stacks.status(name) == "UPDATE_ROLLBACK_FAILED"
    ssm.delete_parameter(Name="stubborn")
    client.continue_update_rollback(StackName=name)
    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"


def test_an_aws_custom_resource_makes_its_call(stacks: Stacks) -> None:
    """
    The call of each request; its answer by paths, its errors ignored if so declared.
    """
    name, parameter = unique("stack"), unique("parameter")
    put = {
        "service": "@aws-sdk/client-ssm",
        "action": "PutParameterCommand",
        "parameters": {
            "Name": parameter,
            "Value": "kept",
            "Type": "String",
            "Overwrite": "TRUE:BOOLEAN",
        },
        "physicalResourceId": {"id": "called"},
    }
    gone = {
        "service": "SSM",
        "action": "deleteParameter",
        "parameters": {"Name": "nothing"},
        "ignoreErrorCodesMatching": "ParameterNotFound",
    }
    properties = {
        "ServiceToken": "none",
        "Create": json.dumps(put),
        "Delete": json.dumps(gone),
    }
    template: Template = {
        "Resources": {"Call": {"Type": "Custom::AWS", "Properties": properties}},
        "Outputs": {
            "Id": {"Value": {"Ref": "Call"}},
            "Version": {"Value": {"Fn::GetAtt": ["Call", "Version"]}},
        },
    }

    assert stacks.create(name, template) == "CREATE_COMPLETE", stacks.events(name)
    assert stacks.outputs(name) == {"Id": "called", "Version": "1"}
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_a_callable_that_is_not_there_is_refused() -> None:
    """
    Before anything is deployed.
    """
    handlers = {"Custom::Gone": "tests.local.custom_handler:gone"}
    with pytest.raises(EmbeddedAwsError, match="has no attribute 'gone'") as refused:
        EmbeddedAws(custom_resources=handlers).start()
    assert "Traceback" not in str(refused.value)


def test_the_command_takes_callables() -> None:
    """
    And shows why one is refused.
    """
    app = typer.Typer()
    add_command(app, "local")

    for wrong in ("a", "Custom::Wrong=", "Custom::Wrong=module", "=module:function"):
        arguments = ["--port", "0", "--custom-resource", wrong]
        shown = CliRunner().invoke(app, [*arguments, "--", "true"])
        assert shown.exit_code == 2
        assert "NAME=MODULE:FUNCTION" in shown.output
        assert "Traceback" not in shown.output


def test_custom_resources_of_an_app_are_deployed_and_empty_buckets(
    near_aws: EmbeddedAws, near_deployer: Deployer, tmp_path: Path
) -> None:
    """
    The function as an asset; a bucket that the CDK's own resource empties.
    """
    outdir, code = tmp_path / "cdk.out", tmp_path / "code"
    code.mkdir()
    (code / "index.py").write_text(PYTHON)
    app = App(outdir=str(outdir), analytics_reporting=False)
    stack = Stack(
        app, "Customised", env=Environment(account=near_aws.account, region=REGION)
    )
    bucket = s3.Bucket(
        stack,
        "Bucket",
        bucket_name="emptied-bucket",
        auto_delete_objects=True,
        removal_policy=RemovalPolicy.DESTROY,
    )
    function = lambda_.Function(
        stack,
        "Function",
        runtime=lambda_.Runtime.PYTHON_3_12,
        handler="index.handler",
        code=lambda_.Code.from_asset(str(code)),
    )
    made = CustomResource(
        stack,
        "Custom",
        service_token=function.function_arn,
        properties={"Log": "/customised/", "Word": bucket.bucket_name},
    )
    CfnOutput(stack, "Word", value=made.get_att_string("Word"))
    app.synth()

    deployed = near_deployer.deploy(outdir).checked()
    body = b"text"
    near_aws.client("s3").put_object(Bucket="emptied-bucket", Key="k", Body=body)
    near_deployer.destroy(outdir).checked()

    assert deployed.outputs["Customised"]["Word"] == "emptied-bucket"
    buckets = near_aws.client("s3").list_buckets()["Buckets"]
    assert "emptied-bucket" not in [found["Name"] for found in buckets]


def custom(code: str, runtime: str = "python3.12", **properties: object) -> Template:
    """
    Declare a function with inline code, and a custom resource of it.
    """
    function = {
        "Code": {"ZipFile": code},
        "Handler": "index.handler",
        "Runtime": runtime,
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
    }
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": "lambda.amazonaws.com"},
    }
    trust = {"Version": "2012-10-17", "Statement": [statement]}
    role = {"AssumeRolePolicyDocument": trust}
    token = {"Fn::GetAtt": ["Function", "Arn"]}
    template: Template = {
        "Resources": {
            "Role": {"Type": "AWS::IAM::Role", "Properties": role},
            "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
            "Custom": {
                "Type": "AWS::CloudFormation::CustomResource",
                "Properties": {"ServiceToken": token, **properties},
            },
        },
    }
    if "Word" in properties:
        template["Outputs"] = {
            "Id": {"Value": {"Ref": "Custom"}},
            "Word": {"Value": {"Fn::GetAtt": ["Custom", "Word"]}},
        }
    if "Log" in properties:
        status = {"Fn::GetAtt": ["Custom", "Status"]}
        template["Outputs"]["Status"] = {"Value": status}
    return template


def written(aws: EmbeddedAws, name: str) -> list[Any]:
    """
    Return what the function has written down of a request.
    """
    found = aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    noted: list[Any] = json.loads(found)
    return noted
