"""
Builds and jobs that the function starts, and what it makes of their ends: in the
embedded AWS, without a stack.
"""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import TENSORRT_LLM
from cdk_sagemaker_llm.staging import jobs, starting
from cdk_sagemaker_llm.staging.jobs import Made
from cdk_sagemaker_llm.staging.prefix import StagedPrefix
from cdk_sagemaker_llm.staging.signalling import put, signal
from tests.local.building.projects import Projects, buildspec
from tests.local.conftest import REGION
from tests.local.hosting_requests import ROLE, unique
from tests.local.staging.listener import Told
from tests.local.staging.test_worker import contents
from tests.local.test_jobs import LMI_28, PLAIN
from tests.local.waiting import until

BASE = "models/it-tensorrt-llm-1"
TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of one request
COMPILED = {"image": "0.28.0", "options": {}}
TYPES = {"processing": ("ml.g5.12xlarge", 4), "training": ("ml.p4d.24xlarge", 8)}
EVENTS = {"processing": "ProcessingJobName", "training": "TrainingJobName"}


class Bench:
    """
    A bucket with weights, and what a stack wants there.
    """

    def __init__(self, aws: EmbeddedAws, told: Told) -> None:
        self.aws, self.told = aws, told
        self.s3 = aws.client("s3")
        self.bucket = unique("ends")
        self.s3.create_bucket(Bucket=self.bucket)
        for name, body in PLAIN.items():
            self.put(f"weights/{name}", body)

    def put(self, key: str, body: bytes) -> None:
        """
        Put an object there.
        """
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=body)

    def order(self, kind: str, **more: object) -> dict[str, Any]:
        """
        Write what is compiled.
        """
        type_name, degree = TYPES[kind]
        return {
            "kind": kind,
            "name": unique("job"),
            "image": LMI_28,
            "instance_type": type_name,
            "role": ROLE,
            "arguments": TENSORRT_LLM.command("0.28.0", degree),
            "weights": f"s3://{self.bucket}/weights/",
            "properties": "option.dtype=fp16\n",
            "volume_gib": 71,
            "seconds": 3600,
            "folder": "",
            "needed": "*.engine",
            "compiled": COMPILED,
            **more,
        }

    def wanted(self, order: object, project: str = "") -> StagedPrefix:
        """
        Write what a stack wants.
        """
        return StagedPrefix(
            bucket=self.bucket,
            base=BASE,
            handle=f"{self.told.url}/handle",
            keeps=True,
            project=project,
            order=json.dumps(order),
            owner="me",
        )

    def found(self) -> set[str]:
        """
        Return what lies there beside the weights.
        """
        found = contents(self.s3, self.bucket)
        return {key for key in found if not key.startswith("weights/")}


@pytest.fixture(name="bench")
def _bench(in_aws: EmbeddedAws, told: Told) -> Bench:
    return Bench(in_aws, told)


@pytest.mark.parametrize("kind", ["processing", "training"])
def test_what_a_job_made_is_put_in_place(bench: Bench, kind: str) -> None:
    """
    Each engine, the manifest with all sizes, and nothing twice.
    """
    order = bench.order(kind)
    name = f"{order['name']}-{TOKEN}"
    jobs.start(bench.wanted(order), TOKEN)
    folder = f"{BASE}.jobs/{name}"
    before = contents(bench.s3, bench.bucket)
    starting.handler({"source": "aws.sagemaker", "detail": {EVENTS[kind]: name}}, None)
    after = contents(bench.s3, bench.bucket)

    assert before[f"{folder}/properties/serving.properties"] == b"option.dtype=fp16\n"
    assert json.loads(before[f"{folder}.json"]) == {
        "handle": f"{bench.told.url}/handle",
        "compiled": COMPILED,
        "folder": "",
        "needed": "*.engine",
    }
    made = f"{folder}/output/model/"
    written = {
        key.removeprefix(made): body
        for key, body in before.items()
        if key.startswith(made)
    }
    ranks = range(TYPES[kind][1])
    assert {f"tensorrt_llm/1/rank{rank}.engine" for rank in ranks} <= set(written)
    assert {key for key in after if not key.startswith("weights/")} == {
        *(f"{BASE}/{path}" for path in written),
        f"{BASE}.json",
        f"{folder}.json",
        f"{folder}/properties/serving.properties",
    }
    assert {path: after[f"{BASE}/{path}"] for path in written} == written
    assert json.loads(after[f"{BASE}.json"]) == {
        "compiled": COMPILED,
        "job": name,
        "files": {path: {"size": len(body)} for path, body in written.items()},
    }
    kept = bench.s3.get_object(Bucket=bench.bucket, Key=f"{BASE}.json")
    assert kept["ContentType"] == "application/json"
    assert bench.told.at("/handle") == [
        {"Status": "SUCCESS", "Reason": "staged", "UniqueId": name, "Data": ""}
    ]


@pytest.mark.parametrize("kind", ["processing", "training"])
def test_what_a_job_is_for_is_written_before_it_starts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """
    A job may end before the function that started it goes on.
    """
    called: list[str] = []
    session = boto3.Session()
    session.events.register("before-call", lambda model, **_: called.append(model.name))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session)

    jobs.start(bench.wanted(bench.order(kind)), TOKEN)

    assert called == ["PutObject", "PutObject", f"Create{kind.title()}Job"]


@pytest.mark.parametrize(
    ("kind", "group"), [("processing", "Processing"), ("training", "Training")]
)
def test_why_a_job_failed_is_told(bench: Bench, kind: str, group: str) -> None:
    """
    With the job's own words and where its log is; nothing is put in place.
    """
    order = bench.order(kind, arguments=["ls"])
    name = f"{order['name']}-{TOKEN}"
    jobs.start(bench.wanted(order), TOKEN)
    starting.handler({"source": "aws.sagemaker", "detail": {EVENTS[kind]: name}}, None)

    assert bench.told.at("/handle") == [
        {
            "Status": "FAILURE",
            "Reason": f"job {name} ended as Failed: AlgorithmError: , exit code: 127; "
            f"its log is {name} in /aws/sagemaker/{group}Jobs",
            "UniqueId": name,
            "Data": "",
        }
    ]
    assert f"{BASE}.json" not in bench.found()


def test_a_job_that_was_stopped_is_no_success(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As where its time was up.
    """
    with EmbeddedAws(clock="by hand") as slow:
        for name, value in slow.process_environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        bench = Bench(slow, told)
        order = bench.order("training", seconds=60)
        name = f"{order['name']}-{TOKEN}"
        jobs.start(bench.wanted(order), TOKEN)
        client = slow.client("sagemaker")
        until(lambda: status(client, name) == "Stopped", by=slow)
        jobs.tell({"detail": {"TrainingJobName": name}})

    (heard,) = told.at("/handle")
    assert heard["Status"] == "FAILURE"
    assert heard["Reason"] == (
        f"job {name} ended as Stopped: it says no reason; "
        f"its log is {name} in /aws/sagemaker/TrainingJobs"
    )


def status(client: Untyped, name: str) -> str:
    """
    Return how a training job is.
    """
    told = client.describe_training_job(TrainingJobName=name)
    return str(told["TrainingJobStatus"])


def test_a_job_is_started_once(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Whoever asks again with the same token gets the same job.
    """
    order = bench.order("processing")
    name = f"{order['name']}-{TOKEN}"
    for _ in range(2):
        jobs.start(bench.wanted(order), TOKEN)

    assert capsys.readouterr().out.splitlines() == [
        f"s3://{bench.bucket}/{BASE}/ is compiled by {name}",
        f"{name} was started before",
    ]


def test_a_long_name_is_cut_to_what_the_api_takes(bench: Bench) -> None:
    """
    63 characters, of which the last is no hyphen.
    """
    for word, expected in (
        ("a" * 40, f"{'a' * 40}-{TOKEN[:22]}"),
        ("b" * 62, "b" * 62),
    ):
        order = bench.order("processing", name=word)
        jobs.start(bench.wanted(order), TOKEN)
        client = bench.aws.client("sagemaker")
        job = client.describe_processing_job(ProcessingJobName=expected)
        assert job["ProcessingJobStatus"] == "Completed"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), "wrote no *.engine, but nothing"),
        (("log", "a.engine.txt"), "wrote no *.engine, but ['a.engine.txt', 'log']"),
    ],
)
def test_a_job_without_engines_is_none(
    bench: Bench, files: tuple[str, ...], words: str
) -> None:
    """
    What it wrote stays where it is, and is told.
    """
    note = {
        "handle": f"{bench.told.url}/handle",
        "compiled": COMPILED,
        "folder": "",
        "needed": "*.engine",
    }
    bench.put(f"{BASE}.jobs/job.json", json.dumps(note).encode())
    for name in files:
        bench.put(f"{BASE}.jobs/job/output/model/{name}", b"x")
    before = bench.found()
    Made(bench.bucket, BASE, "job").end("")

    (heard,) = bench.told.at("/handle")
    assert (heard["Status"], heard["Reason"]) == ("FAILURE", f"job job {words}")
    assert bench.found() == before


def test_what_cannot_be_put_in_place_is_told(bench: Bench) -> None:
    """
    By the kind of the fault and its words.
    """
    note = {"handle": f"{bench.told.url}/handle"}
    bench.put(f"{BASE}.jobs/job.json", json.dumps(note).encode())
    Made(bench.bucket, BASE, "job").end("")

    (heard,) = bench.told.at("/handle")
    assert (heard["Status"], heard["Reason"]) == ("FAILURE", "KeyError: 'folder'")
    assert heard["UniqueId"] == "job"


def variables(build: Untyped) -> dict[str, tuple[str, str]]:
    """
    Return a build's variables that staging gave it.
    """
    every = build["environment"]["environmentVariables"]
    return {
        one["name"]: (one["value"], one["type"])
        for one in every
        if one["name"].startswith("STAGING")
    }


def asked(bench: Bench, project: str, request_id: str) -> dict[str, Any]:
    """
    Write what CloudFormation sends.
    """
    return {
        "RequestType": "Create",
        "RequestId": request_id,
        "ResponseURL": f"{bench.told.url}/answer",
        "StackId": "stack",
        "LogicalResourceId": "Start",
        "ResourceProperties": {
            "Bucket": bench.bucket,
            "Base": BASE,
            "Handle": f"{bench.told.url}/handle",
            "Keep": "true",
            "Project": project,
            "Order": '{"model_id": "a/b"}',
        },
    }


def test_a_build_is_started_once_and_its_end_is_told(bench: Bench) -> None:
    """
    It has the order and the handle; and what it could not say itself is said for it.
    """
    projects = Projects(bench.aws)
    project = projects.make(buildspec(build=["echo so >&2; exit 3"]))
    for request in ("first", "first", "second"):
        starting.handler(asked(bench, project, request), None)
    ids = projects.client.list_builds_for_project(projectName=project)["ids"]
    build = projects.ended(ids[0])
    arn = f"arn:aws:codebuild:us-east-1:123456789012:build/{ids[0]}"
    event = {"source": "aws.codebuild", "detail": {"build-id": arn}}
    starting.handler(event, None)

    assert len(ids) == 2
    assert [one["Status"] for one in bench.told.at("/answer")] == ["SUCCESS"] * 3
    assert variables(build) == {
        "STAGING_ORDER": ('{"model_id": "a/b"}', "PLAINTEXT"),
        "STAGING_HANDLE": (f"{bench.told.url}/handle", "PLAINTEXT"),
    }
    (heard,) = bench.told.at("/handle")
    assert (heard["Status"], heard["UniqueId"]) == ("FAILURE", ids[0])
    log = f"{build['logs']['streamName']} in /aws/codebuild/{project}"
    assert heard["Reason"].startswith(f"build {ids[0]} ended as FAILED: BUILD FAILED ")
    assert heard["Reason"].endswith(f"; its log is {log}")
    assert bench.found() == {f"{BASE}.owners/{owner_of(bench, project)}"}


def owner_of(bench: Bench, project: str) -> str:
    """
    Return who asks.
    """
    return StagedPrefix.of(asked(bench, project, "any"), "ResourceProperties").owner


def test_a_build_of_nobodys_is_not_told(bench: Bench) -> None:
    """
    One that was started by hand has no handle.
    """
    projects = Projects(bench.aws)
    build = projects.run(buildspec(build=["exit 3"]))
    event = {"source": "aws.codebuild", "detail": {"build-id": build["arn"]}}
    starting.handler(event, None)

    assert bench.told.heard == []


def test_an_order_without_a_project_is_a_job(bench: Bench) -> None:
    """
    Named after the request, whose same event is one job.
    """
    event = asked(bench, "", "first")
    event["ResourceProperties"]["Order"] = json.dumps(
        bench.order("processing", name="j")
    )
    starting.handler(event, None)

    # printf first | sha256sum, its first 32 characters.
    name = "j-a7937b64b8caa58f03721bb6bacf5c78"
    job = bench.aws.client("sagemaker").describe_processing_job(ProcessingJobName=name)
    assert job["ProcessingJobStatus"] == "Completed"
    (answer,) = bench.told.at("/answer")
    assert answer["PhysicalResourceId"] == f"s3://{bench.bucket}/{BASE}/"


@pytest.mark.usefixtures("in_aws")
def test_a_reason_has_the_length_that_is_shown(told: Told) -> None:
    """
    3000 characters, of a wait condition's and of a custom resource's.
    """
    signal(f"{told.url}/handle", unique_id="it", reason="x" * 3001)
    event = {
        "RequestType": "Create",
        "RequestId": "it",
        "ResponseURL": f"{told.url}/answer",
        "StackId": "stack",
        "LogicalResourceId": "Start",
        "ResourceProperties": "y" * 4000,
    }
    starting.handler(event, None)

    assert told.at("/handle")[0]["Reason"] == "x" * 3000
    (answer,) = told.at("/answer")
    words = "TypeError: ResourceProperties must be an object, got '"
    assert answer["Reason"] == (words + "y" * 4000)[:3000]
    assert answer["Status"] == "FAILED"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x", ""])
def test_fails_if_an_address_is_no_presigned_one(url: str) -> None:
    """
    Nothing else is opened.
    """
    with pytest.raises(ValueError, match="^url must be a presigned address, got '"):
        put(url, {})
