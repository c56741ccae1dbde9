"""
CodeBuild as a service, and builds that run.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from botocore.parsers import RpcV2CBORParser
from botocore.serialize import RpcV2CBORSerializer

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.building.projects import Projects, buildspec, phases, trusting, why
from tests.local.hosting_requests import unchecked, unique
from tests.local.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(name="fast", scope="module")
def _fast() -> Iterator[EmbeddedAws]:
    """
    Ten minutes a second.
    """
    with EmbeddedAws(speed=600) as aws:
        yield aws


def packed(**files: str) -> bytes:
    """
    Pack files, with the mode of programs.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in files.items():
            member = zipfile.ZipInfo(name.replace("__", "/").replace("_dot_", "."))
            member.external_attr = 0o755 << 16
            archive.writestr(member, text)
    return written.getvalue()


def test_commands_run_one_after_the_other(projects: Projects) -> None:
    """
    In the folder of the source, and what is printed is in the log as it came.
    """
    build = projects.run(
        buildspec(build=["touch one; printf 'no end'", "ls", "echo é >&2"])
    )

    assert build["buildStatus"] == "SUCCEEDED"
    assert projects.said(build) == ["no end", "one", "é"]
    assert phases(build) == {
        **dict.fromkeys(
            (
                *("SUBMITTED", "QUEUED", "PROVISIONING", "DOWNLOAD_SOURCE", "INSTALL"),
                *("PRE_BUILD", "BUILD", "POST_BUILD", "UPLOAD_ARTIFACTS"),
                "FINALIZING",
            ),
            "SUCCEEDED",
        ),
        "COMPLETED": "",
    }


def test_a_build_has_its_variables_and_those_of_codebuild(projects: Projects) -> None:
    """
    Those of its start win over its project's.
    """
    spec = buildspec(
        build=[
            "echo $A $B",
            "echo $CODEBUILD_BUILD_ID $CODEBUILD_BUILD_NUMBER $AWS_REGION",
            'test "$PWD" = "$CODEBUILD_SRC_DIR"',
        ],
    )
    project = projects.make(
        spec, variables=[{"name": "A", "value": "p"}, {"name": "B", "value": "p"}]
    )

    build = projects.ended(
        projects.start(
            project, environmentVariablesOverride=[{"name": "A", "value": "start"}]
        )
    )

    assert projects.said(build) == ["start p", f"{build['id']} 1 us-east-1"]
    shown = build["environment"]["environmentVariables"]
    assert {"name": "A", "value": "start", "type": "PLAINTEXT"} in shown
    assert build["buildNumber"] == 1


@pytest.mark.parametrize("is_reversed", [False, True], ids=["short", "long"])
def test_of_secrets_that_contain_each_other_nothing_is_left(
    embedded_aws: EmbeddedAws, projects: Projects, *, is_reversed: bool
) -> None:
    """
    Whichever comes first, and also where a line of one is in another.
    """
    texts = ["tree", "a-tree-house", "first\nhouse-first-tree"]
    client = embedded_aws.client("secretsmanager")
    arns = [
        client.create_secret(Name=unique("secret"), SecretString=text)["ARN"]
        for text in texts
    ]
    variables = [
        {"name": f"SECRET_{number}", "value": arn, "type": "SECRETS_MANAGER"}
        for number, arn in enumerate(arns)
    ]
    spec = buildspec(build=["echo $SECRET_0 . $SECRET_1 . house-first-tree; exit 1"])

    build = projects.run(spec, variables=variables[:: -1 if is_reversed else 1])

    assert projects.said(build) == ["*** . *** . ***"]
    # Why a phase ended is for whoever may look at builds, and has the command in it.
    assert "SECRET_1 . ***; exit 1. Reason: exit status 1" in why(build, "BUILD")[1]


def test_secrets_are_there_and_not_in_the_log(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    By name or ARN, with a key of their JSON; nor does an answer have them.
    """
    value = "hf_very-secret"
    kept = json.dumps({"token": value, "number": 123456})
    client = embedded_aws.client("secretsmanager")
    secret = client.create_secret(Name=unique("secret"), SecretString=kept)
    plain = client.create_secret(Name=unique("secret"), SecretString="whole-secret")
    variables = [
        {"name": "BY_ARN", "value": f"{secret['ARN']}:token"},
        {"name": "BY_NAME", "value": f"{secret['Name']}:token:AWSCURRENT"},
        {"name": "NUMBER", "value": f"{secret['ARN']}:number::"},
        {"name": "WHOLE", "value": plain["ARN"]},
    ]
    spec = buildspec(
        build=[
            'test ${#BY_ARN} = 14 && test "$BY_NAME" = "$BY_ARN"',
            "echo $BY_ARN $NUMBER $WHOLE. | cat",
            "echo $BY_ARN; exit 1",
        ],
    )

    build = projects.run(
        spec, variables=[{**one, "type": "SECRETS_MANAGER"} for one in variables]
    )

    assert projects.said(build) == ["*** *** ***.", "***"], "\n".join(
        projects.log(build)
    )
    told = json.dumps([projects.log(build), build], default=str)
    for secret_text in ("hf_very-secret", "whole-secret"):
        assert secret_text not in told
    assert variables[0]["value"] in told


def test_the_source_is_unpacked(embedded_aws: EmbeddedAws, projects: Projects) -> None:
    """
    An archive in S3, whose programs can be run.
    """
    s3, bucket = embedded_aws.client("s3"), unique("bucket")
    s3.create_bucket(Bucket=bucket)
    greet = packed(bin__greet="#!/bin/sh\necho greetings\n")
    s3.put_object(Bucket=bucket, Key="a/code.zip", Body=greet)
    source = {
        "type": "S3",
        "location": f"{bucket}/a/code.zip",
        "buildspec": "version: 0.2\nphases: {build: {commands: [./bin/greet]}}\n",
    }

    assert projects.said(projects.run("", source=source)) == ["greetings"]


def test_python_is_that_of_the_embedded_aws_and_calls_it(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    With its packages, and with no home or token of whoever runs it.
    """
    code = "import boto3, moto; print(boto3.client('s3').list_buckets()['Buckets'][0])"
    embedded_aws.client("s3").create_bucket(Bucket=unique("a-first-bucket"))
    names = "print([k for k in os.environ if k.startswith('HF_')])"

    build = projects.run(
        buildspec(
            build=[
                f'python3 -c "{code}"',
                f'python3 -c "import os; {names}"',
                "test -d $HOME && test $HOME = $(dirname $TMPDIR)/home",
            ]
        )
    )

    said = projects.said(build)
    assert build["buildStatus"] == "SUCCEEDED", projects.log(build)
    assert "'Name'" in said[0]
    assert said[1:] == ["[]"]


@pytest.mark.parametrize("variable", ["A=B", "A\0"])
def test_a_variable_that_no_process_can_have_fails_the_build(
    projects: Projects, variable: str
) -> None:
    """
    And not the embedded AWS.
    """
    variables = [{"name": variable, "value": "x"}]

    build = projects.run(buildspec(build=["true"]), variables=variables)

    assert build["buildStatus"] == "FAILED"
    assert phases(build)["BUILD"] == "FAILED"


def test_nothing_is_installed_and_the_log_says_so(projects: Projects) -> None:
    """
    There is no index to install from.
    """
    build = projects.run(buildspec(install=["pip install nothing"], build=["true"]))

    log = "\n".join(projects.log(build))
    assert build["buildStatus"] == "SUCCEEDED"
    assert "does not run the commands of the phase INSTALL" in log
    assert "Not run: pip install nothing" in log
    assert "Running command pip" not in log


def test_the_log_goes_where_the_project_says(projects: Projects) -> None:
    """
    To a group of its name, or to another one.
    """
    spec = buildspec(build=["echo here"])
    named = {"status": "ENABLED", "groupName": unique("group"), "streamName": "mine"}

    plain = projects.run(spec)
    other = projects.run(spec, logsConfig={"cloudWatchLogs": named})

    assert plain["logs"]["groupName"] == f"/aws/codebuild/{plain['projectName']}"
    assert plain["id"] == f"{plain['projectName']}:{plain['logs']['streamName']}"
    assert projects.said(plain) == ["here"]
    assert other["logs"]["groupName"] == named["groupName"]
    assert other["logs"]["streamName"].startswith("mine/")
    assert projects.said(other) == ["here"]


def test_lines_are_in_the_log_as_they_come(projects: Projects, tmp_path: Path) -> None:
    """
    While the build goes on.
    """
    gate = tmp_path / "gate"
    wait = f"until [ -e {gate} ]; do sleep 0.05; done"
    build = projects.start(projects.make(buildspec(build=[f"echo first; {wait}"])))

    until(lambda: "first" in projects.said(projects.show(build)))
    during = projects.show(build)
    gate.touch()

    assert (during["buildStatus"], during["currentPhase"]) == ("IN_PROGRESS", "BUILD")
    assert projects.ended(build)["buildStatus"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("false", "exit status 1"),
        ("exit 7", "exit status 7"),
        ("no-such-program", "exit status 127"),
        ("kill -9 $$", "signal: killed"),
        ("kill -9 0", "signal: killed"),
    ],
)
def test_a_command_that_fails_fails_the_build(
    projects: Projects, command: str, reason: str
) -> None:
    """
    With CodeBuild's words, and what follows is not run.
    """
    build = projects.run(buildspec(build=[command, "echo never"]))

    assert build["buildStatus"] == "FAILED"
    assert phases(build)["BUILD"] == "FAILED"
    assert phases(build)["POST_BUILD"] == "SUCCEEDED"
    assert why(build, "BUILD") == (
        "COMMAND_EXECUTION_ERROR",
        f"Error while executing command: {command}. Reason: {reason}",
    )
    assert "never" not in projects.said(build)


@pytest.mark.parametrize(
    ("settings", "phase_end"),
    [
        ({"source": {"type": "S3", "location": "no-bucket/a.zip"}}, "NoSuchKey"),
        ({"source": {"type": "GITHUB", "location": "x/y"}}, "type GITHUB are not"),
        ({"spec": "version: 0.1\nphases: {}"}, "only 0.2 is emulated"),
        ({"spec": "version: 0.2\nphases:\n  biuld: {}"}, "emulated: phases/biuld of"),
        ({"spec": "version: 0.2\nphases: {pre_build: {}}"}, "emulated: phases/pre_b"),
        ({"spec": "a: [\nb"}, "YAML location is not valid"),
        ({"spec": "elsewhere.yml"}, "emulated: a buildspec in a file of the source"),
        (
            {"spec": "version: 0.2\nphases:\n  build:\n    commands:\n    - a: b"},
            "Expected phases/build/commands[0] to be of string type",
        ),
        ({"spec": "version: 0.2\nenv: {shell: zsh}\nphases: {}"}, "emulated: env of"),
        (
            {"spec": "version: 0.2\nphases: {build: {finally: [ls]}}"},
            "not emulated: phases/build/finally of a buildspec",
        ),
        ({"secret": "nowhere:key"}, "can't find the specified secret: nowhere"),
        ({"parameter": "/no/where"}, "emulated: variables of type PARAMETER_STORE"),
    ],
    ids=lambda given: str(given) if isinstance(given, str) else "",
)
def test_a_build_fails_before_it_begins(
    projects: Projects, settings: dict[str, Any], phase_end: str
) -> None:
    """
    In the phase that brings source, buildspec and secrets together.
    """
    spec = settings.pop("spec", buildspec(build=["echo never"]))
    kinds = {"secret": "SECRETS_MANAGER", "parameter": "PARAMETER_STORE"}
    settings["variables"] = [
        {"name": "A", "value": settings.pop(name), "type": kind}
        for name, kind in kinds.items()
        if name in settings
    ]

    build = projects.run(spec, **settings)

    assert build["buildStatus"] == "FAILED"
    assert phases(build)["DOWNLOAD_SOURCE"] == "FAILED"
    assert phase_end in why(build, "DOWNLOAD_SOURCE")[1]
    assert "INSTALL" not in phases(build)


def test_stop_ends_a_build_and_all_that_it_started(
    projects: Projects, tmp_path: Path
) -> None:
    """
    Also what runs in the background, and nothing comes after.
    """
    process = tmp_path / "process"
    build = projects.start(
        projects.make(
            buildspec(build=[f"sleep 600 & echo $! > {process}; echo up", "sleep 600"])
        )
    )
    until(lambda: "up" in projects.said(projects.show(build)))

    projects.client.stop_build(id=build)
    ended = projects.ended(build)

    assert ended["buildStatus"] == "STOPPED"
    assert phases(ended)["BUILD"] == "STOPPED"
    assert "POST_BUILD" not in phases(ended)
    assert is_gone(int(process.read_text()))
    # Once more is no error, and changes nothing.
    assert projects.client.stop_build(id=build)["build"]["buildStatus"] == "STOPPED"


def test_a_build_ends_with_the_embedded_aws(tmp_path: Path) -> None:
    """
    However that ends.
    """
    process = tmp_path / "process"
    with EmbeddedAws() as aws:
        projects = Projects(aws)
        projects.start(
            projects.make(buildspec(build=[f"echo $$ > {process}; sleep 600"]))
        )
        until(lambda: process.exists() and process.read_text())

    until(lambda: is_gone(int(process.read_text())))


def is_gone(process: int) -> bool:
    """
    Tell whether a process is there no more.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_a_build_has_its_time(fast: EmbeddedAws) -> None:
    """
    Which is that of the clock in there: five minutes of it are half a second.
    """
    projects = Projects(fast)

    build = projects.run(buildspec(build=["sleep 600"]), timeoutInMinutes=5)

    assert build["buildStatus"] == "TIMED_OUT"
    assert phases(build)["BUILD"] == "TIMED_OUT"
    assert why(build, "BUILD") == ("BUILD_TIMED_OUT", "Build has timed out. ")
    taken = build["endTime"] - build["startTime"]
    assert 300 <= taken.total_seconds() < 3600


def test_the_same_token_gives_the_same_build(
    projects: Projects, fast: EmbeddedAws
) -> None:
    """
    For five minutes, in one project.
    """
    project = projects.make(buildspec(build=["true"]))
    another = projects.make(buildspec(build=["true"]))

    first = projects.start(project, idempotencyToken="once")

    assert projects.start(project, idempotencyToken="once") == first
    assert projects.start(project, idempotencyToken="twice") != first
    assert projects.start(project) != first
    assert projects.start(another, idempotencyToken="once") != first
    quick = Projects(fast)
    later = quick.make(buildspec(build=["true"]))
    before, moment = quick.start(later, idempotencyToken="a"), fast.now
    until(lambda: fast.now > moment + 300)
    assert quick.start(later, idempotencyToken="a") != before


def test_builds_and_projects_are_listed(projects: Projects) -> None:
    """
    The newest first; by ARN as well as by name.
    """
    client = projects.client
    project = projects.make(buildspec(build=["true"]), timeoutInMinutes=7)
    builds = [projects.ended(projects.start(project))["id"] for _ in range(2)]
    (shown,) = client.batch_get_projects(names=[project])["projects"]

    assert client.list_builds_for_project(projectName=project)["ids"] == builds[::-1]
    assert (
        client.list_builds_for_project(projectName=project, sortOrder="ASCENDING")[
            "ids"
        ]
        == builds
    )
    assert project in client.list_projects()["projects"]
    assert shown["timeoutInMinutes"] == 7
    found = client.batch_get_projects(names=[shown["arn"], "nothing"])
    assert [one["name"] for one in found["projects"]] == [project]
    assert found["projectsNotFound"] == ["nothing"]
    assert client.batch_get_builds(ids=["no:build"])["buildsNotFound"] == ["no:build"]
    client.update_project(name=project, timeoutInMinutes=9)
    assert projects.show(projects.start(project))["timeoutInMinutes"] == 9
    client.delete_project(name=project)
    assert project not in client.list_projects()["projects"]


@pytest.mark.parametrize(
    ("operation", "request_", "code", "words"),
    [
        (
            "start_build",
            {"projectName": "nothing"},
            "ResourceNotFoundException",
            "found: arn:aws:codebuild:us-east-1:123456789012:project/nothing",
        ),
        (
            "stop_build",
            {"id": "nothing:at-all"},
            "ResourceNotFoundException",
            "Build cannot be found: nothing:at-all",
        ),
        (
            "list_builds_for_project",
            {"projectName": "nothing"},
            "ResourceNotFoundException",
            "Project cannot be found",
        ),
        ("start_build", {}, "InvalidInputException", "'projectName'"),
        ("start_build", {"projectName": 7}, "SerializationException", "a String"),
        ("retry_build", {"id": "x"}, "NotImplemented", "codebuild RetryBuild"),
    ],
)
def test_requests_are_refused(
    embedded_aws: EmbeddedAws,
    operation: str,
    request_: dict[str, Any],
    code: str,
    words: str,
) -> None:
    """
    With the service's codes and, where they are known, its words.
    """
    client = unchecked(embedded_aws, "codebuild")

    with pytest.raises(client.exceptions.ClientError) as refused:
        getattr(client, operation)(**request_)

    assert refused.value.response["Error"]["Code"] == code
    assert words in refused.value.response["Error"]["Message"]


def test_what_a_start_may_change_is_its_variables(projects: Projects) -> None:
    """
    The rest is not emulated.
    """
    project = projects.make(buildspec(build=["true"]))

    with pytest.raises(
        projects.client.exceptions.InvalidInputException, match="imageOverride"
    ):
        projects.start(project, imageOverride="another")


def test_the_newest_clients_may_ask_in_cbor(
    embedded_aws: EmbeddedAws, projects: Projects
) -> None:
    """
    And are answered in it, refusals as well.
    """
    project = projects.make(buildspec(build=["true"]))
    operation = projects.client.meta.service_model.operation_model("StartBuild")

    def ask(name: str) -> Untyped:
        sent = RpcV2CBORSerializer().serialize_to_request(
            {"projectName": name}, operation
        )
        answered = requests.post(
            embedded_aws.url + sent["url_path"],
            data=sent["body"],
            headers={
                **sent["headers"],
                "Authorization": "AWS4-HMAC-SHA256 Credential=a/20261122/us-east-1/"
                "codebuild/aws4_request",
            },
            timeout=30,
            proxies={"http": ""},
        )
        told = {
            "body": answered.content,
            "headers": answered.headers,
            "status_code": answered.status_code,
        }
        return RpcV2CBORParser().parse(told, operation.output_shape)

    build, refused = ask(project)["build"], ask("nothing")

    assert projects.ended(build["id"])["startTime"].timestamp() == pytest.approx(
        build["startTime"].timestamp(), abs=0.01
    )
    assert refused["Error"]["Code"] == "ResourceNotFoundException"


def test_projects_are_refused(embedded_aws: EmbeddedAws, projects: Projects) -> None:
    """
    One that is there already, and one whose role CodeBuild cannot assume.
    """
    client, spec = projects.client, buildspec(build=["true"])
    name = projects.make(spec)
    other = embedded_aws.client("iam").create_role(
        RoleName=unique("other"), AssumeRolePolicyDocument=trusting("lambda")
    )["Role"]["Arn"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"name": name}, "ResourceAlreadyExistsException"),
        ({"serviceRole": other}, f"sts:AssumeRole on {other}"),
        ({"serviceRole": f"{other}-gone"}, f"sts:AssumeRole on {other}-gone"),
        ({"timeoutInMinutes": 4}, "greater than or equal to 5"),
        ({"source": {"type": "NO_SOURCE"}}, "NO_SOURCE requires a buildspec"),
        ({"source": {"type": "S3"}}, "source location is required"),
        (
            {"logsConfig": {"cloudWatchLogs": {"status": "DISABLED"}}},
            "not emulated: builds without a log in CloudWatch",
        ),
    ]
    for settings, words in cases:
        with pytest.raises(client.exceptions.ClientError, match=words):
            unchecked(embedded_aws, "codebuild").create_project(
                **projects.declared(spec, **settings)
            )
