"""
Endpoints that somebody made become an app that makes the same, and a stack takes them
over without changing one.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import aws_cdk
import boto3
import pytest
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint
from cdk_sagemaker_llm.account.reader import AccountReader, policy_of
from cdk_sagemaker_llm.adoption.deployment import Deployment, Request
from cdk_sagemaker_llm.adoption.reading import CALLS, read_deployment
from cdk_sagemaker_llm.cli.app.adopting import MAPPING, adopted
from cdk_sagemaker_llm.local import EmbeddedAws
from tests import secrecy
from tests.deployments import Deployer, synthesised
from tests.local import adopted_shapes as shapes
from tests.local import by_hand
from tests.local.conftest import Cdk
from tests.local.made_again import described, made_again
from tests.local.near import NearAws
from tests.running import run

if TYPE_CHECKING:
    import subprocess

    from botocore.awsrequest import AWSPreparedRequest
    from botocore.model import OperationModel

    from cdk_sagemaker_llm.local.aws.untyped import Untyped

_SERVICES = {
    *("application-autoscaling", "cloudformation", "cloudwatch", "ec2"),
    "sagemaker",
}


@dataclass(frozen=True)
class App:
    """
    An account with endpoints, and the app that was written for them.
    """

    aws: EmbeddedAws
    folder: Path
    said: subprocess.CompletedProcess[str]

    @property
    def mapping(self) -> dict[str, dict[str, str]]:
        """
        What ``cdk import`` is given.
        """
        found: dict[str, dict[str, str]] = json.loads(
            (self.folder / MAPPING).read_text()
        )
        return found

    @property
    def name(self) -> str:
        """
        The stack's.
        """
        (path,) = (self.folder / "cdk.out").glob("*.template.json")
        return path.name.partition(".")[0]

    @property
    def template(self) -> dict[str, Any]:
        """
        What the app synthesises to.
        """
        path = self.folder / "cdk.out" / f"{self.name}.template.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    @property
    def stack(self) -> str:
        """
        The app's lines.
        """
        return (self.folder / "adopted_stack.py").read_text()

    def resources(self, kind: str) -> list[dict[str, Any]]:
        """
        Return the properties of each resource of a type.
        """
        return [
            body.get("Properties", {})
            for body in self.template["Resources"].values()
            if body["Type"].endswith(f"::{kind}")
        ]

    def take_over(self) -> str:
        """
        Import it as the CDK CLI does, and return the stack's status.
        """
        stacks = self.aws.client("cloudformation")
        stacks.create_change_set(
            StackName=self.name,
            ChangeSetName="import",
            ChangeSetType="IMPORT",
            TemplateBody=json.dumps(self.template),
            ResourcesToImport=[
                {
                    "LogicalResourceId": name,
                    "ResourceType": self.template["Resources"][name]["Type"],
                    "ResourceIdentifier": identifier,
                }
                for name, identifier in self.mapping.items()
            ],
        )
        stacks.execute_change_set(StackName=self.name, ChangeSetName="import")
        status: str = stacks.describe_stacks(StackName=self.name)["Stacks"][0][
            "StackStatus"
        ]
        return status

    def update(self) -> tuple[str, str]:
        """
        Announce a deployment of the same; return its status and the reason.
        """
        stacks = self.aws.client("cloudformation")
        stacks.create_change_set(
            StackName=self.name,
            ChangeSetName="update",
            ChangeSetType="UPDATE",
            TemplateBody=json.dumps(self.template),
        )
        found = stacks.describe_change_set(StackName=self.name, ChangeSetName="update")
        return found["Status"], found["StatusReason"]

    def drifted(self) -> dict[str, Any]:
        """
        Return what is otherwise than in the template, by logical id.
        """
        stacks = self.aws.client("cloudformation")
        stacks.detect_stack_drift(StackName=self.name)
        rows = stacks.describe_stack_resource_drifts(StackName=self.name)
        return {
            row["LogicalResourceId"]: row["PropertyDifferences"]
            for row in rows["StackResourceDrifts"]
            if row["StackResourceDriftStatus"] != "IN_SYNC"
        }


def _adopt(aws: EmbeddedAws, folder: Path, *names: str) -> App:
    """
    Adopt endpoints by the command, and synthesise the app as its user would.
    """
    said = run("adopt", *names, "--output", folder, "--endpoint-url", aws.url)
    assert said.returncode == 0, said.stderr
    with mock.patch.object(sys, "path", [str(folder), *sys.path]):
        synthesised(folder / "app.py", folder / "cdk.out")
    # The next app has a module of the same name.
    sys.modules.pop("adopted_stack")
    return App(aws, folder, said)


def _reader(aws: EmbeddedAws, session: boto3.Session | None = None) -> AccountReader:
    chosen = session or boto3.Session("test", "test", region_name="us-east-1")
    return AccountReader(chosen, CALLS, endpoint_url=aws.url)


def _read(aws: EmbeddedAws, *names: str) -> Deployment:
    return read_deployment(_reader(aws), names, lambda _: None)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    with NearAws() as aws:
        yield aws


@pytest.fixture(name="app", scope="module")
def _app(aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> App:
    """
    One app for endpoints of many shapes, taken over by a stack.
    """
    names = shapes.make_endpoints(aws, shapes.FEW)
    return _taken_over(_adopt(aws, tmp_path_factory.mktemp("adopted") / "app", *names))


def _taken_over(app: App) -> App:
    aws = app.aws
    before = aws.client("sagemaker").list_endpoints(MaxResults=100)["Endpoints"]

    assert app.take_over() == "IMPORT_COMPLETE"

    after = aws.client("sagemaker").list_endpoints(MaxResults=100)["Endpoints"]
    assert after == before
    return app


def test_all_that_is_there_is_written(app: App) -> None:
    """
    Every endpoint with all that belongs to it, and nothing beside it.
    """
    kinds = Counter(
        body["Type"].rpartition(":")[2] for body in app.template["Resources"].values()
    )

    assert kinds == {
        "Model": 14,
        "EndpointConfig": 12,
        "Endpoint": 12,
        "InferenceComponent": 6,
        "ScalableTarget": 5,
        "ScalingPolicy": 5,
        "Alarm": 4,
    }
    assert app.mapping.keys() == app.template["Resources"].keys()


def test_what_is_taken_over_is_as_the_app_has_it(app: App) -> None:
    """
    Whatever shape it has, by drift detection's own look at every property.
    """
    assert app.drifted() == {}


def test_it_makes_the_same_once_more(app: App) -> None:
    """
    Under other names the app comes to what is described of the endpoints, whole.
    """
    _store_secrets(app)
    names = [str(one["EndpointName"]) for one in app.resources("Endpoint")]
    template = app.folder / "cdk.out" / f"{app.name}.template.json"

    assert made_again(app.aws, template, names) == described(app.aws, names)


def test_a_deployment_afterwards_changes_nothing(app: App) -> None:
    """
    As ``cdk diff`` shows it.
    """
    status, reason = app.update()

    assert status == "FAILED"
    assert "didn't contain changes" in reason


def test_an_import_takes_over_and_makes_nothing(app: App) -> None:
    """
    No resource was created, replaced or deleted.
    """
    stacks = app.aws.client("cloudformation")
    pages = stacks.get_paginator("describe_stack_events").paginate(StackName=app.name)

    statuses = {
        event["ResourceStatus"] for page in pages for event in page["StackEvents"]
    }

    assert statuses == {"REVIEW_IN_PROGRESS", "IMPORT_IN_PROGRESS", "IMPORT_COMPLETE"}


def test_names_are_kept(app: App) -> None:
    """
    Of all that applications call; models and configurations are found by the mapping.
    """
    endpoints = {one.get("EndpointName") for one in app.resources("Endpoint")}
    components = {
        one.get("InferenceComponentName") for one in app.resources("InferenceComponent")
    }

    rows = app.aws.client("sagemaker").list_endpoints(MaxResults=100)["Endpoints"]
    assert endpoints == {row["EndpointName"] for row in rows}
    assert components == {"base", "tenant-a", "tenant-b", "small", "large", "dozing"}
    assert not any("ModelName" in one for one in app.resources("Model"))


def test_most_is_written_with_the_library(app: App) -> None:
    """
    CloudFormation's own class is for what no construct says, each with the reason.
    """
    plain = app.stack.count("= CfnResource(") + app.stack.count("        CfnResource(")

    assert plain <= 5
    assert "# No construct of this library says all of it:" in app.stack
    for name in (
        "InferenceComponent(",
        ".add_adapter(",
        ".auto_scale_copy_count(",
        ".auto_scale_instance_count(",
        ".scale_by_steps(",
        ".scale_on_metric(",
        ".scale_on_schedule(",
        ".scale_to_track_metric(",
        "AsyncInference(",
        "ManagedInstanceScaling(",
        "Network(",
        "S3Model(",
        "shadow_variants=",
    ):
        assert name in app.stack, name


def test_a_role_stays_as_it_is(app: App) -> None:
    """
    Nothing of IAM is in the app.
    """
    assert "mutable=False" in app.stack
    assert not any("IAM" in body["Type"] for body in app.template["Resources"].values())


def test_what_a_construct_would_warn_of_stands_beside_the_line(app: App) -> None:
    """
    And is told, with its code.
    """
    line = "MAX_INPUT_LENGHT is no variable of TGI's launcher"

    assert f"LLM261: {line}" in app.said.stdout
    assert f"# LLM261: {line}" in app.stack


def test_no_secret_is_written_or_told(app: App) -> None:
    """
    A token and a password are read from Secrets Manager, and where is told.
    """
    (gated,) = (
        one["PrimaryContainer"]["Environment"]
        for one in app.resources("Model")
        if "TELEMETRY_PASSWORD" in str(one)
    )

    assert secrecy.in_files(app.folder) == []
    for text in (app.said.stdout, app.said.stderr, app.stack):
        assert secrecy.TOKEN not in text
        assert secrecy.TOKEN[::-1] not in text
    assert gated == {
        "HF_MODEL_ID": "meta-llama/Llama-3.1-8B-Instruct",
        "HUGGING_FACE_HUB_TOKEN": "{{resolve:secretsmanager:adopted/gated-model/"
        "HUGGING_FACE_HUB_TOKEN:SecretString:::}}",
        "TELEMETRY_PASSWORD": "{{resolve:secretsmanager:adopted/gated-model/"
        "TELEMETRY_PASSWORD:SecretString:::}}",
    }
    assert "store it in Secrets Manager as adopted/gated-model/" in app.said.stdout


def test_what_a_stack_has_is_told(app: App) -> None:
    """
    CloudFormation takes over nothing that a stack has.
    """
    remarks = [
        one
        for one in _read(app.aws, "closed").remarks
        if one.where == "stack AdoptedAdapted"
    ]

    assert len(remarks) == 1
    assert "endpoint/closed" in remarks[0].what
    assert "DeletionPolicy: Retain" in remarks[0].what


def test_a_stack_that_may_not_be_asked_is_told(aws: EmbeddedAws, app: App) -> None:
    """
    It may have all that it has made, and what could not be asked stands there too.
    """

    def deny(request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        if "/cloudformation/" not in str(request.headers.get("Authorization")):
            return None
        body: Untyped = by_hand._Raw(_DENIED)  # noqa: SLF001 - as its clients
        return AWSResponse(request.url, 403, HTTPHeaders(), body)

    session = boto3.Session("test", "test", region_name="us-east-1")
    events: Untyped = session.events
    events.register_first("before-send", deny)
    found = read_deployment(_reader(aws, session), ["closed"], lambda _: None)

    told = {one.where: one.what for one in found.remarks}
    assert "endpoint/closed already" in told["stack AdoptedAdapted"]
    assert "cloudformation:ListStackResources is not allowed" in str(told)
    assert '"closed"' in app.stack


_DENIED = b"""<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>
<Message>not authorized</Message></Error><RequestId>1</RequestId></ErrorResponse>"""


def test_all_calls_are_in_the_printed_policy(aws: EmbeddedAws, app: App) -> None:
    """
    Whatever boto3 sends, its action is allowed there, and all of it only reads.
    """
    called = set()

    def record(model: OperationModel, **_: object) -> None:
        called.add((model.service_model.service_name, xform_name(model.name)))

    session = boto3.Session("test", "test", region_name="us-east-1")
    session.events.register("before-call", record)
    names = [str(one["EndpointName"]) for one in app.resources("Endpoint")]

    found = read_deployment(_reader(aws, session), names, lambda _: None)

    printed = json.loads(run("adopt", "--policy").stdout)
    actions = {(call.service, call.operation): call.actions for call in CALLS}
    allowed = {a for one in printed["Statement"] for a in one["Action"]}
    assert printed == policy_of(CALLS)
    assert called == {(call.service, call.operation) for call in CALLS}
    assert {each for one in called for each in actions[one]} == allowed
    assert all(call.operation.startswith(("describe_", "list_")) for call in CALLS)
    assert {service for service, _ in called} == _SERVICES
    assert [one for one in found.remarks if not one.where.startswith("stack ")] == []


def test_throttling_is_survived(aws: EmbeddedAws, app: App) -> None:
    """
    What is refused for the rate is asked again.
    """
    refused = {"sagemaker": 2, "application-autoscaling": 1}

    def throttle(request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        auth = str(request.headers.get("Authorization"))
        for service, left in refused.items():
            if left and f"/{service}/" in auth:
                refused[service] -= 1
                body: Untyped = by_hand._Raw(_THROTTLED)  # noqa: SLF001 - as its clients
                return AWSResponse(request.url, 400, HTTPHeaders(), body)
        return None

    session = boto3.Session("test", "test", region_name="us-east-1")
    events: Untyped = session.events
    events.register_first("before-send", throttle)
    with mock.patch.object(time, "sleep"):
        found = read_deployment(_reader(aws, session), ["closed"], lambda _: None)

    assert set(refused.values()) == {0}
    assert [one.operation for one in found.requests] == [
        "CreateModel",
        "CreateEndpointConfig",
        "CreateEndpoint",
    ]
    assert "closed" in app.stack


_THROTTLED = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'


def test_what_may_not_be_described_is_referred_to(aws: EmbeddedAws, app: App) -> None:
    """
    A model that may not be read is the app's by its name, and that is told.
    """
    read = _read(aws, "tf")
    kept = [one for one in read.requests if one.operation != "CreateModel"]

    found = adopted(Deployment(requests=kept, region=read.region, account=read.account))

    text = found.files["adopted_stack.py"].decode()
    assert 'Model.from_model_name(self, "ExistingModel", "tf-model")' in text
    assert '"tf"' in app.stack


def test_what_the_library_made_is_adopted(
    near_aws: EmbeddedAws, near_deployer: Deployer, tmp_path: Path
) -> None:
    """
    A host that scales to zero and was left behind by its stack: its policy and alarm
    are those that the construct makes.
    """
    cdk_app = aws_cdk.App(outdir=str(tmp_path / "made"))
    stack = aws_cdk.Stack(cdk_app, "Made")
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.2xlarge",
        min_instance_count=0,
        max_instance_count=2,
        endpoint_name="made",
    )
    copies = host.add_model("Model", model=HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct"))
    copies.auto_scale_copy_count(min_capacity=0, max_capacity=2).scale_on_concurrency(
        "Load", per_copy=4
    )
    for one in stack.node.find_all():
        if isinstance(one, aws_cdk.CfnResource):
            one.apply_removal_policy(aws_cdk.RemovalPolicy.RETAIN)
    cdk_app.synth()
    near_deployer.deploy(tmp_path / "made")
    before = _read(near_aws, "made").remarks
    near_aws.client("cloudformation").delete_stack(StackName="Made")

    app = _taken_over(_adopt(near_aws, tmp_path / "app", "made"))

    plain = app.stack.replace("isinstance(one, CfnResource)", "")
    assert [one.where for one in before] == ["stack Made"]
    assert "stack Made" not in app.said.stdout
    assert "CfnResource(" not in plain
    assert "auto_scale_copy_count(min_capacity=0, max_capacity=2)" in app.stack
    assert app.drifted() == {}
    assert app.update()[0] == "FAILED"


def test_an_endpoint_that_is_not_there_is_told(
    aws: EmbeddedAws, tmp_path: Path
) -> None:
    """
    And nothing is written.
    """
    said = run("adopt", "nobody", "-o", tmp_path / "app", "--endpoint-url", aws.url)

    assert said.returncode == 2
    assert "there is no endpoint 'nobody' in us-east-1" in said.stderr
    assert not (tmp_path / "app").exists()


def test_a_folder_that_has_something_is_left_alone(tmp_path: Path) -> None:
    """
    Before anything is asked.
    """
    (tmp_path / "notes.txt").write_text("mine")

    said = run("adopt", "chat", "--output", tmp_path)

    assert said.returncode == 2
    assert f"{tmp_path} is there already; --output names another folder" in said.stderr


def test_what_does_not_run_yet_is_told(aws: EmbeddedAws, app: App) -> None:
    """
    An endpoint that failed is adopted as it is, and that it failed is told.
    """
    account = shapes.Account(aws)
    aws.fault("no-capacity", "ml.p3.2xlarge")
    model = account.model("never-model", {"HF_MODEL_ID": "gpt2"})
    account.endpoint("never", shapes.variant(model, InstanceType="ml.p3.2xlarge"))
    aws.clear_faults()

    (remark,) = _read(aws, "never").remarks

    assert remark.where == "never"
    assert remark.what.startswith("is Failed: what was read may change")
    assert '"never"' not in app.stack


def test_json_has_the_same(aws: EmbeddedAws, tmp_path: Path, app: App) -> None:
    """
    For whoever goes on from there.
    """
    said = run(
        *("adopt", "shadowed", "--json", "--output", tmp_path / "app"),
        *("--endpoint-url", aws.url),
    )

    found = json.loads(said.stdout)
    (endpoint,) = (
        one for one in found["resources"] if one["type"].endswith("::Endpoint")
    )
    assert '"shadowed"' in app.stack
    assert endpoint["name"] == "shadowed"
    assert endpoint["identifier"]["EndpointArn"].endswith(":endpoint/shadowed")
    assert found["files"] == [
        *("adopted_stack.py", "app.py", "cdk.json", "import.json"),
        "requirements.txt",
    ]


@pytest.mark.whole
@pytest.mark.timeout(300)
def test_all_shapes_are_taken_over(fresh_aws: EmbeddedAws, tmp_path: Path) -> None:
    """
    Twenty, and what is there is as the app has it.
    """
    names = shapes.make_endpoints(fresh_aws, shapes.SHAPES.values())

    app = _taken_over(_adopt(fresh_aws, tmp_path / "app", *names))

    assert len(shapes.SHAPES) == 20
    assert len(app.mapping) == 85
    assert app.drifted() == {}
    assert app.update()[0] == "FAILED"
    _store_secrets(app)
    template = app.folder / "cdk.out" / f"{app.name}.template.json"
    assert made_again(fresh_aws, template, names) == described(fresh_aws, names)


def _store_secrets(app: App) -> None:
    """
    Store what the app reads from Secrets Manager, with the values of the endpoint.
    """
    secrets = app.aws.client("secretsmanager")
    for name in set(re.findall(r"secretsmanager:([^:]+):", str(app.template))):
        token = secrecy.TOKEN
        value = token[::-1] if name.endswith("PASSWORD") else token
        secrets.create_secret(Name=name, SecretString=value)


@pytest.mark.whole
@pytest.mark.timeout(300)
def test_200_components_are_adopted(aws: EmbeddedAws, tmp_path: Path) -> None:
    """
    Described in a few seconds, and written.
    """
    account = shapes.Account(aws)
    account.host("crowded", InstanceType="ml.p5.48xlarge", InitialInstanceCount=2)
    account.model("crowd-model", {"HF_MODEL_ID": "gpt2"})
    account.component("crowd", "crowded", Specification=_FIRST)
    for number in range(199):
        account.component(
            f"tenant-{number}",
            "crowded",
            Specification={
                "BaseInferenceComponentName": "crowd",
                "Container": {"ArtifactUrl": f"s3://adapters/{number}.tar.gz"},
            },
        )
    started = time.monotonic()

    read = _read(aws, "crowded")

    assert time.monotonic() - started < 20
    assert len([*read.of("CreateInferenceComponent")]) == 200
    found = adopted(read)
    assert len(found.resources) == 203
    assert not tmp_path.joinpath("adopted").exists()


_FIRST = {"ModelName": "crowd-model"}


@pytest.mark.whole
@pytest.mark.timeout(300)
def test_the_real_command_takes_over(
    embedded_aws: EmbeddedAws, cdk: Cdk, tmp_path: Path
) -> None:
    """
    ``cdk import`` ends well for every shape, and ``cdk diff`` shows nothing.
    """
    names = shapes.make_endpoints(embedded_aws, shapes.SHAPES.values())
    app = _adopt(embedded_aws, tmp_path / "app", *names)

    imported = cdk("import", "--resource-mapping", MAPPING, cwd=app.folder)
    after = cdk("diff", "--fail", cwd=app.folder)

    assert imported.returncode == 0, imported.stdout
    assert "skipping" not in imported.stdout
    assert after.returncode == 0, after.stdout
    assert "There were no differences" in after.stdout
    assert app.drifted() == {}


def test_a_request_keeps_no_credential() -> None:
    """
    Whoever reads it, and wherever it stands.
    """
    made = Deployment(
        requests=[
            Request(
                operation="CreateModel",
                parameters={
                    "PrimaryContainer": {
                        "Environment": {
                            "ARGUMENTS": json.dumps({"token": secrecy.TOKEN}),
                            "EOS_TOKEN": "</s>",
                            "MAX_BATCH_KEY": "4",
                        }
                    },
                    "Tags": [{"Key": "ApiKey", "Value": "of-our-own-make"}],
                },
            )
        ]
    )

    assert secrecy.TOKEN not in repr(made)
    assert "of-our-own-make" not in repr(made)
    environment = made.requests[0].parameters["PrimaryContainer"]["Environment"]
    kept = {name: one for name, one in environment.items() if isinstance(one, str)}
    assert kept == {"EOS_TOKEN": "</s>", "MAX_BATCH_KEY": "4"}
