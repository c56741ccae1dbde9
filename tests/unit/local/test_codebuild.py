"""
CodeBuild as a service: what it makes of requests, and how it refuses them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto.iam.models import iam_backends

from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import codebuild
from cdk_sagemaker_llm.local.builds.codebuild import CodeBuild, _trusts
from tests.unit.local.test_build_runs import ACCOUNT, GOOD, REGION, Around

PREFIX = f"arn:aws:codebuild:{REGION}:{ACCOUNT}"
ROLE = "codebuild-of-tests"
PRINCIPAL = {"Service": "codebuild.amazonaws.com"}
TRUST = {"Statement": [{"Effect": "Allow", "Principal": PRINCIPAL}]}


class Told(Around):
    """
    Surroundings that keep what EventBridge is told.
    """

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str, str, str]] = []

    def notify(
        self, source: str, kind: str, detail: dict[str, Any], resource: str
    ) -> None:
        """
        Keep an event.
        """
        self.told.append((source, kind, detail["build-status"], resource))


@pytest.fixture(name="around")
def _around() -> Told:
    backend: Untyped = iam_backends[ACCOUNT]["aws"]
    if ROLE not in {role.name for role in backend.get_roles()}:
        backend.create_role(ROLE, json.dumps(TRUST), "/", None, "", [], 3600)
    return Told()


@pytest.fixture(name="service")
def _service(around: Told) -> CodeBuild:
    return CodeBuild(ACCOUNT, REGION, "aws", around)


def project(**settings: Untyped) -> dict[str, Untyped]:
    """
    Declare a project.
    """
    return {
        "name": "mine",
        "source": {"type": "NO_SOURCE", "buildspec": GOOD},
        "artifacts": {"type": "NO_ARTIFACTS"},
        "environment": {
            "type": "LINUX_CONTAINER",
            "image": "an/image",
            "computeType": "BUILD_GENERAL1_SMALL",
        },
        "serviceRole": ROLE,
        **settings,
    }


def started(service: CodeBuild, **settings: Untyped) -> dict[str, Untyped]:
    """
    Start a build, wait for its end, and return what it was when it began.
    """
    asked = {"projectName": "mine", **settings}
    build: dict[str, Untyped] = service.call("StartBuild", asked)["build"]
    with CLOCK.lock:
        assert CLOCK.lock.wait_for(lambda: shown(service, build)["buildComplete"], 60)
    return build


def shown(service: CodeBuild, build: dict[str, Untyped]) -> dict[str, Untyped]:
    """
    Return what a build is by now.
    """
    found = service.call("BatchGetBuilds", {"ids": [build["id"]]})
    (one,) = found["builds"]
    assert found["buildsNotFound"] == []
    return dict(one)


def test_a_project_is_kept_as_it_was_declared(service: CodeBuild) -> None:
    """
    Whatever becomes of the request.
    """
    request = project(description="one", environment={**project()["environment"]})

    made = service.call("CreateProject", request)["project"]
    request["environment"]["image"] = "another"
    (kept,) = service.call("BatchGetProjects", {"names": ["mine"]})["projects"]

    assert made["arn"] == f"{PREFIX}:project/mine"
    assert made["created"] <= made["lastModified"]
    assert kept["environment"]["image"] == "an/image"
    source = {**request["source"]}
    update = {"name": "mine", "timeoutInMinutes": 7, "source": source}
    changed = service.call("UpdateProject", update)["project"]
    source["buildspec"] = ""
    assert (changed["description"], changed["timeoutInMinutes"]) == ("one", 7)
    assert changed["lastModified"] > changed["created"]
    (kept,) = service.call("BatchGetProjects", {"names": ["mine"]})["projects"]
    assert kept["source"]["buildspec"] == GOOD
    assert service.call("ListProjects", {}) == {"projects": ["mine"]}
    service.call("CreateProject", project(name="another"))
    assert service.call("ListProjects", {}) == {"projects": ["another", "mine"]}
    found = service.call("BatchGetProjects", {"names": ["gone", "another"]})
    assert [one["name"] for one in found["projects"]] == ["another"]
    assert found["projectsNotFound"] == ["gone"]
    for _ in range(2):
        assert service.call("DeleteProject", {"name": "mine"}) == {}
    assert service.call("ListProjects", {}) == {"projects": ["another"]}


def test_a_build_is_its_projects_unless_its_start_says_otherwise(
    service: CodeBuild, around: Told
) -> None:
    """
    With CodeBuild's times and log, and variables that are plain.
    """
    variables = [{"name": "A", "value": "a"}, {"name": "B", "value": "b"}]
    environment = {**project()["environment"], "environmentVariables": variables}
    service.call("CreateProject", project(environment=environment))

    over = [{"name": "B", "value": "c"}]
    build = started(service, environmentVariablesOverride=over)

    own = build["id"].removeprefix("mine:")
    assert len(own) == 36
    assert build["arn"] == f"{PREFIX}:build/{build['id']}"
    assert (build["timeoutInMinutes"], build["queuedTimeoutInMinutes"]) == (60, 480)
    assert (build["buildStatus"], build["initiator"]) == ("IN_PROGRESS", "embedded-aws")
    assert build["currentPhase"] == "DOWNLOAD_SOURCE"
    assert build["environment"]["environmentVariables"] == [
        {"name": "A", "value": "a", "type": "PLAINTEXT"},
        {"name": "B", "value": "c", "type": "PLAINTEXT"},
    ]
    (kept,) = service.call("BatchGetProjects", {"names": ["mine"]})["projects"]
    assert kept["environment"]["environmentVariables"] == variables
    assert (build["logs"]["groupName"], build["logs"]["streamName"]) == (
        "/aws/codebuild/mine",
        own,
    )
    assert around.told == [
        ("aws.codebuild", "CodeBuild Build State Change", status, build["arn"])
        for status in ("IN_PROGRESS", "SUCCEEDED")
    ]


@pytest.mark.parametrize(
    ("logs", "group", "start"),
    [
        ({"groupName": "there"}, "there", ""),
        ({"streamName": "mine"}, "/aws/codebuild/mine", "mine/"),
        ({"groupName": "there", "streamName": "mine"}, "there", "mine/"),
    ],
)
def test_a_log_is_where_its_project_says(
    service: CodeBuild, around: Told, logs: dict[str, str], group: str, start: str
) -> None:
    """
    Its group, and what the names of its streams begin with.
    """
    config = {"cloudWatchLogs": {"status": "ENABLED", **logs}}
    service.call("CreateProject", project(logsConfig=config))

    build = started(service)

    stream = f"{start}{build['id'].removeprefix('mine:')}"
    assert around.logs == {(group, stream)}


def test_builds_are_listed_of_all_projects_and_of_one(service: CodeBuild) -> None:
    """
    The newest first unless the order is said, each with its number in its project.
    """
    for name in ("mine", "other"):
        service.call("CreateProject", project(name=name))
    builds = [
        started(service, projectName=name)["id"] for name in ("mine", "other", "mine")
    ]
    of_mine = {"projectName": f"{PREFIX}:project/mine"}
    ascending = {"sortOrder": "ASCENDING"}

    def ids(operation: str, request: dict[str, str]) -> list[str]:
        return list(service.call(operation, request)["ids"])

    assert ids("ListBuilds", {}) == builds[::-1]
    assert ids("ListBuilds", {"sortOrder": "DESCENDING"}) == builds[::-1]
    assert ids("ListBuilds", ascending) == builds
    assert ids("ListBuildsForProject", of_mine) == [builds[2], builds[0]]
    assert ids("ListBuildsForProject", of_mine | ascending) == [builds[0], builds[2]]
    found = service.call(
        "BatchGetBuilds", {"ids": [f"{PREFIX}:build/{builds[2]}", "x"]}
    )
    assert [one["buildNumber"] for one in found["builds"]] == [2]
    assert found["buildsNotFound"] == ["x"]


def test_a_token_is_remembered_for_five_minutes(
    service: CodeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The same start is the same build until then.
    """
    moment = [1000.0]
    monkeypatch.setattr(codebuild, "now", lambda: moment[0])
    service.call("CreateProject", project())
    found = []
    for moment[0] in (1000.0, 1299.0, 1300.0, 1599.0):
        found.append(started(service, idempotencyToken="once")["id"])

    assert found[0] == found[1] != found[2] == found[3]
    assert started(service)["id"] != started(service)["id"]


INVALID, ABSENT = "InvalidInputException", "ResourceNotFoundException"
GONE = f"Project cannot be found: {PREFIX}:project/gone"


@pytest.mark.parametrize(
    ("operation", "request_", "code", "message"),
    [
        ("Dance", {}, "UnknownOperationException", "unknown operation Dance"),
        ("ListFleets", {}, "NotImplemented", "not emulated: codebuild ListFleets"),
        (
            "CreateProject",
            project(),
            "ResourceAlreadyExistsException",
            f"Project already exists: {PREFIX}:project/mine",
        ),
        ("UpdateProject", {"name": "gone"}, ABSENT, GONE),
        ("StartBuild", {"projectName": "gone"}, ABSENT, GONE),
        ("StartBuild", {"projectName": f"{PREFIX}:project/gone"}, ABSENT, GONE),
        ("StopBuild", {"id": "gone"}, ABSENT, "Build cannot be found: gone"),
        (
            "StartBuild",
            {"projectName": "mine", "imageOverride": "a", "debugSessionEnabled": True},
            INVALID,
            "not emulated: debugSessionEnabled, imageOverride of StartBuild",
        ),
        (
            "UpdateProject",
            {"name": "mine", "serviceRole": "nobody"},
            INVALID,
            "CodeBuild is not authorized to perform: sts:AssumeRole on nobody",
        ),
        *(
            ("CreateProject", project(name="new", **wrong), INVALID, message)
            for wrong, message in (
                (
                    {"logsConfig": {"cloudWatchLogs": {"status": "DISABLED"}}},
                    "not emulated: builds without a log in CloudWatch",
                ),
                (
                    {"source": {"type": "NO_SOURCE", "buildspec": ""}},
                    (
                        "Project source type NO_SOURCE requires a buildspec: no "
                        "buildspec "
                        "provided"
                    ),
                ),
                (
                    {"source": {"type": "S3", "location": "bucket"}},
                    "Project source location is required",
                ),
                (
                    {"source": {"type": "S3"}},
                    "Project source location is required",
                ),
            )
        ),
    ],
)
def test_a_request_is_refused(
    service: CodeBuild,
    operation: str,
    request_: dict[str, Untyped],
    code: str,
    message: str,
) -> None:
    """
    With a code and words, and nothing has changed.
    """
    service.call("CreateProject", project())

    with pytest.raises(AwsError) as refused:
        service.call(operation, request_)

    assert (refused.value.code, refused.value.message) == (code, message)
    assert service.call("ListProjects", {}) == {"projects": ["mine"]}
    assert service.call("ListBuilds", {}) == {"ids": []}


@pytest.mark.parametrize(
    "source",
    [
        {"type": "S3", "location": "bucket/key"},
        {"type": "GITHUB", "location": "https://github.com/org/repository"},
    ],
)
def test_other_sources_need_no_buildspec(
    service: CodeBuild, source: dict[str, str]
) -> None:
    """
    They may bring one.
    """
    assert service.call("CreateProject", project(source=source))


ALLOW = {"Effect": "Allow"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, False),
        ({"Statement": []}, False),
        ({"Statement": ALLOW | {"Principal": PRINCIPAL}}, True),
        ({"Statement": {"Principal": PRINCIPAL}}, False),
        ({"Statement": ALLOW}, False),
        ({"Statement": ALLOW | {"Principal": "*"}}, True),
        ({"Statement": ALLOW | {"Principal": {"AWS": "*"}}}, False),
        ({"Statement": {"Effect": "Deny", "Principal": "*"}}, False),
        (
            {"Statement": [ALLOW | {"Principal": {"Service": ["a", "b"]}}, ALLOW]},
            False,
        ),
        (
            {
                "Statement": [
                    {"Effect": "Deny", "Principal": {"Service": "a"}},
                    ALLOW
                    | {"Principal": {"Service": ["a", "codebuild.amazonaws.com"]}},
                ]
            },
            True,
        ),
        (
            {
                "Statement": ALLOW
                | {"Principal": {"Service": "x.codebuild.amazonaws.com"}}
            },
            False,
        ),
    ],
)
def test_a_role_trusts_codebuild(
    document: dict[str, object], *, expected: bool
) -> None:
    """
    By any statement that allows it.
    """
    assert _trusts(json.dumps(document)) is expected
