"""
The life of a build: its source, its buildspec, its variables, its log and its end.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from moto.secretsmanager.models import secretsmanager_backends

from cdk_sagemaker_llm.local.aws.clock import CLOCK, now
from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.build_records import Build
from cdk_sagemaker_llm.local.builds.build_runs import (
    PhaseError,
    Run,
    Variables,
    _bring_source,
    _read_buildspec,
    _surroundings,
)
from cdk_sagemaker_llm.local.regions import MotoSurroundings

ACCOUNT, REGION = "111111111111", "eu-west-1"
GOOD = "version: 0.2\nphases: {build: {commands: [echo one, echo two]}}\n"
SAID = re.compile(r"\[Container\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} (.*)")


class Around(MotoSurroundings):
    """
    Surroundings with some objects, which keep what they are told.
    """

    def __init__(self, **objects: bytes) -> None:
        super().__init__(ACCOUNT, REGION, "aws")
        self._objects = {Location("bucket", key): it for key, it in objects.items()}
        self.lines: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.logs: set[tuple[str, str]] = set()

    def read_object(self, location: Location) -> bytes | None:
        """
        Return an object of the bucket.
        """
        return self._objects.get(location)

    def write_log(
        self, group: str, stream: str, lines: Sequence[str], moment: float
    ) -> None:
        """
        Keep lines.
        """
        assert abs(moment - CLOCK.now) < 60 * (CLOCK.speed or 1.0)
        self.threads |= {*threading.enumerate()}
        self.lines += lines
        self.logs.add((group, stream))

    @property
    def log(self) -> list[str]:
        """
        The log, without the time of each line.
        """
        found = [(SAID.fullmatch(line), line) for line in self.lines]
        return [match[1] if match else line for match, line in found]


def build(
    spec: str = GOOD,
    *variables: dict[str, str],
    source: dict[str, str] | None = None,
    **settings: Any,  # noqa: ANN401 - of a build
) -> Build:
    """
    Return a build that has begun.
    """
    request = {
        "name": "mine",
        "source": {"buildspec": spec, **(source or {"type": "NO_SOURCE"})},
        "environment": {"environmentVariables": [*variables]},
        "timeoutInMinutes": 60,
        **settings,
    }
    return Build(
        id="mine:one",
        arn=f"arn:aws:codebuild:{REGION}:{ACCOUNT}:build/mine:one",
        number=3,
        request=request,
        started=now(),
        initiator="embedded-aws",
        log_group="/a/group",
        log_stream="stream",
    )


def lived(one: Build, around: Around) -> list[tuple[str, str]]:
    """
    Run a build, wait for its end, and return what was told of it meanwhile.
    """
    told: list[tuple[str, str]] = []

    def tell(it: Build) -> None:
        told.append((it.status, it.phases[-1].type))

    Run(one, around, tell).start()
    with CLOCK.lock:
        assert CLOCK.lock.wait_for(lambda: one.is_over, 60)
    return told


def ends(one: Build) -> dict[str, tuple[str | None, str, str]]:
    """
    Return how each phase ended.
    """
    return {it.type: (it.status, it.code, it.message) for it in one.phases}


def test_a_build_lives_through_its_phases() -> None:
    """
    Its beginning and its end are told, and the log has each step between them.
    """
    one, around = build(), Around()
    before = {*threading.enumerate()}

    told = lived(one, around)

    # None holds up the end of the embedded AWS.
    assert {thread.daemon for thread in around.threads - before} == {True}
    assert told == [("IN_PROGRESS", "DOWNLOAD_SOURCE"), ("SUCCEEDED", "COMPLETED")]
    assert (one.status, one.is_over) == ("SUCCEEDED", True)
    *others, last = one.phases
    assert [it.type for it in others] == [
        *("SUBMITTED", "QUEUED", "PROVISIONING", "DOWNLOAD_SOURCE", "INSTALL"),
        *("PRE_BUILD", "BUILD", "POST_BUILD", "UPLOAD_ARTIFACTS", "FINALIZING"),
    ]
    assert {it.status for it in others} == {"SUCCEEDED"}
    assert all(it.end is not None and it.end >= it.start for it in others)
    assert (last.type, last.status, last.end) == ("COMPLETED", None, None)
    well = "Phase context status code:  Message: "
    assert around.log == [
        *("Phase complete: DOWNLOAD_SOURCE State: SUCCEEDED", well),
        "Entering phase INSTALL",
        *("Phase complete: INSTALL State: SUCCEEDED", well),
        "Entering phase PRE_BUILD",
        *("Phase complete: PRE_BUILD State: SUCCEEDED", well),
        "Entering phase BUILD",
        *("Running command echo one", "one", "Running command echo two", "two"),
        *("Phase complete: BUILD State: SUCCEEDED", well),
        "Entering phase POST_BUILD",
        *("Phase complete: POST_BUILD State: SUCCEEDED", well),
        "Entering phase UPLOAD_ARTIFACTS",
        *("Phase complete: UPLOAD_ARTIFACTS State: SUCCEEDED", well),
    ]
    assert around.logs == {("/a/group", "stream")}


@pytest.fixture(name="heeded")
def _heeded() -> Iterator[None]:
    """
    Heed a lost terminal, which nohup has its command ignore, and that its children.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("exit 3", "exit status 3"),
        ("kill -TERM $$", "signal: terminated"),
        ("kill -HUP $$", "signal: hangup"),
        ("kill -KILL $$", "signal: killed"),
    ],
)
def test_a_command_that_fails_ends_its_phase(command: str, reason: str) -> None:
    """
    What comes after the build is passed, and nothing is kept of it.
    """
    spec = json.dumps({"version": 0.2, "phases": {"build": {"commands": [command]}}})
    one, around = build(spec), Around()

    told = lived(one, around)

    code = "COMMAND_EXECUTION_ERROR"
    message = f"Error while executing command: {command}. Reason: {reason}"
    assert told[-1] == ("FAILED", "COMPLETED")
    assert ends(one)["BUILD"] == ("FAILED", code, message)
    assert ends(one)["POST_BUILD"] == ("SUCCEEDED", "", "")
    assert ends(one)["FINALIZING"] == ("SUCCEEDED", "", "")
    assert "UPLOAD_ARTIFACTS" not in ends(one)
    at = around.log.index(f"Running command {command}")
    assert around.log[at + 1 : at + 4] == [
        f"Command did not exit successfully {command} {reason}",
        "Phase complete: BUILD State: FAILED",
        f"Phase context status code: {code} Message: {message}",
    ]


def test_a_build_that_cannot_begin_has_failed() -> None:
    """
    By the phase that it failed in, and with its last ones.
    """
    one, around = build("version: 1"), Around()

    told = lived(one, around)

    message = "invalid buildspec version 1: only 0.2 is emulated"
    assert told == [("IN_PROGRESS", "DOWNLOAD_SOURCE"), ("FAILED", "COMPLETED")]
    assert ends(one)["DOWNLOAD_SOURCE"] == ("FAILED", "YAML_FILE_ERROR", message)
    assert [*ends(one)][-3:] == ["DOWNLOAD_SOURCE", "FINALIZING", "COMPLETED"]
    assert around.log == [
        "Phase complete: DOWNLOAD_SOURCE State: FAILED",
        f"Phase context status code: YAML_FILE_ERROR Message: {message}",
    ]


def test_a_fault_of_the_service_ends_a_build(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    It is over, and whoever runs the service sees why.
    """
    one = build()
    del one.request["source"]["type"]

    assert lived(one, Around())[-1] == ("FAULT", "COMPLETED")
    assert "KeyError: 'type'" in capsys.readouterr().err


def test_packages_are_not_installed() -> None:
    """
    The log says which were not, if any are.
    """
    phases = {
        "install": {"commands": ["one", "two"], "runtime-versions": {"python": 3}}
    }
    one, around = build(json.dumps({"version": "0.2", "phases": phases})), Around()

    assert lived(one, around)[-1] == ("SUCCEEDED", "COMPLETED")
    at = around.log.index("Entering phase INSTALL")
    assert around.log[at + 1 : at + 5] == [
        (
            "The embedded AWS does not run the commands of the phase INSTALL: packages "
            "are "
            "those of the Python that it runs on itself"
        ),
        "Not run: one",
        "Not run: two",
        "Phase complete: INSTALL State: SUCCEEDED",
    ]


def test_a_build_that_is_stopped_before_it_works_does_nothing() -> None:
    """
    And one that is over stays what it became.
    """
    one, around = build(), Around()
    run = Run(one, around, lambda _: None)
    with CLOCK.lock:
        run.start()
        run.stop()
        assert CLOCK.lock.wait_for(lambda: one.is_over, 60)

    message = "Build has been stopped."
    assert one.status == "STOPPED"
    assert ends(one)["BUILD"] == ("STOPPED", "", message)
    assert "POST_BUILD" not in ends(one)
    assert "one" not in around.log
    assert around.log[-2:] == [
        "Phase complete: BUILD State: STOPPED",
        f"Phase context status code:  Message: {message}",
    ]
    over = build()
    later = Run(over, Around(), lambda _: None)
    later.start()
    with CLOCK.lock:
        assert CLOCK.lock.wait_for(lambda: over.is_over, 60)
        later.stop()
    assert over.status == "SUCCEEDED"


def test_a_build_that_takes_too_long_is_ended() -> None:
    """
    By its own time, which is that of the clock: ten minutes a second here.
    """
    spec = "version: 0.2\nphases: {build: {commands: [sleep 600, echo never]}}"
    CLOCK.run_at(600.0)
    try:
        one = build(spec, timeoutInMinutes=5)
        around = Around()
        lived(one, around)
    finally:
        CLOCK.run_at(None)

    assert one.status == "TIMED_OUT"
    words = ("TIMED_OUT", "BUILD_TIMED_OUT", "Build has timed out. ")
    assert ends(one)["BUILD"] == words
    assert "POST_BUILD" not in ends(one)
    assert "Running command echo never" not in around.log
    assert around.log[-1] == (
        "Phase context status code: BUILD_TIMED_OUT Message: Build has timed out. "
    )


def test_what_goes_on_in_the_background_is_not_waited_for() -> None:
    """
    Its output may stay open for a second, and it ends with the build.
    """
    spec = "version: 0.2\nphases: {build: {commands: [sleep 600 & echo up]}}"
    one, around = build(spec), Around()

    lived(one, around)

    assert one.status == "SUCCEEDED"
    assert "up" in around.log
    assert one.ended is not None
    assert one.ended - one.started < 30


def packed(*members: tuple[str, str, int]) -> bytes:
    """
    Pack members with their modes, 0 for none.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text, mode in members:
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16 | 0x20  # An archive of MS-DOS has this.
            archive.writestr(member, text)
    return written.getvalue()


@pytest.mark.parametrize("start", ["", "arn:aws:s3:::"])
def test_a_source_has_the_modes_of_its_archive(tmp_path: Path, start: str) -> None:
    """
    Where it has any, and of files alone; its place may be said as an ARN.
    """
    archive = packed(
        ("run.sh", "one", 0o100750), ("plain", "two", 0), ("folder/", "", 0o40000)
    )
    source = {"type": "S3", "location": f"{start}bucket/a/code.zip"}
    around = Around(**{"a/code.zip": archive})
    (tmp_path / "usual").touch()

    _bring_source(build(source=source), around, tmp_path)

    assert (tmp_path / "run.sh").read_text() == "one"
    assert (tmp_path / "run.sh").stat().st_mode == 0o100750
    assert (tmp_path / "plain").read_text() == "two"
    assert (tmp_path / "plain").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "folder").stat().st_mode & 0o700 == 0o700


def test_no_source_brings_nothing(tmp_path: Path) -> None:
    """
    Nor is anything looked for.
    """
    _bring_source(build(), Around(), tmp_path)

    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            {"type": "GITHUB", "location": "bucket/code.zip"},
            "sources of type GITHUB are not emulated: use S3",
        ),
        (
            {"type": "S3", "location": "bucket/a/gone.zip"},
            (
                "NoSuchKey: The specified key does not exist. status code: 404 for "
                "primary "
                "source s3://bucket/a/gone.zip"
            ),
        ),
        (
            {"type": "S3", "location": "bucket/text"},
            "cannot unpack s3://bucket/text: File is not a zip file",
        ),
    ],
)
def test_a_source_that_cannot_be_brought_is_an_error_of_the_client(
    tmp_path: Path, source: dict[str, str], words: str
) -> None:
    """
    With its place.
    """
    with pytest.raises(PhaseError) as raised:
        _bring_source(build(source=source), Around(text=b"no archive"), tmp_path)

    assert (raised.value.code, raised.value.message) == ("CLIENT_ERROR", words)
    assert str(raised.value) == words


ELSEWHERE = "not emulated: a buildspec in a file of the source; write it in the project"
NOTHING: dict[str, list[str]] = {"install": [], "build": []}


@pytest.mark.parametrize(
    ("phases", "commands"),
    [
        ("{}", NOTHING),
        ("", NOTHING),
        ("{build: }", NOTHING),
        ("{build: {commands: }}", NOTHING),
        (
            "{install: {commands: [a]}, build: {commands: [b, c]}}",
            {
                "install": ["a"],
                "build": ["b", "c"],
            },
        ),
        ("{install: {runtime-versions: {python: 3.12}}}", NOTHING),
    ],
)
@pytest.mark.parametrize("version", ["0.2", "'0.2'"])
def test_a_buildspec_has_commands(
    version: str, phases: str, commands: dict[str, list[str]]
) -> None:
    """
    Of two phases, each of which may be left out.
    """
    assert _read_buildspec(f"version: {version}\nphases: {phases}") == commands


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            "",
            ELSEWHERE,
        ),
        (
            "spec.yml",
            ELSEWHERE,
        ),
        ("phases: {}", "invalid buildspec version None: only 0.2 is emulated"),
        ("version: 0.1", "invalid buildspec version 0.1: only 0.2 is emulated"),
        (
            "version: 0.2\nenv: {}\nphases: {post_build: {}, build: {on-failure: x}}",
            (
                "not emulated: env, phases/build/on-failure, phases/post_build of a "
                "buildspec; builds run the commands of the phase build"
            ),
        ),
        (
            "version: 0.2\nphases: {install: {packages: []}}",
            (
                "not emulated: phases/install/packages of a buildspec; builds run the "
                "commands of the phase build"
            ),
        ),
        (
            "version: 0.2\nphases: {build: {runtime-versions: {}}}",
            (
                "not emulated: phases/build/runtime-versions of a buildspec; builds "
                "run "
                "the commands of the phase build"
            ),
        ),
        (
            "version: 0.2\nphases: [{build: {commands: [ls]}}]",
            "Expected phases to be a map, got [{'build': {'commands': ['ls']}}]",
        ),
        (
            "version: 0.2\nphases: {build: [ls]}",
            "Expected phases/build to be a map, got ['ls']",
        ),
        (
            "version: 0.2\nphases: {build: {commands: ls}}",
            "Expected phases/build/commands to be a list of commands",
        ),
        (
            "version: 0.2\nphases: {install: {commands: [ls, {a: b}]}}",
            (
                "Expected phases/install/commands[1] to be of string type: found "
                "{'a': 'b'} instead"
            ),
        ),
    ],
)
def test_a_buildspec_that_is_not_read_is_an_error(spec: str, words: str) -> None:
    """
    That names what is wrong in it.
    """
    with pytest.raises(PhaseError) as raised:
        _read_buildspec(spec)

    assert (raised.value.code, raised.value.message) == ("YAML_FILE_ERROR", words)


def test_a_buildspec_that_is_no_yaml_is_an_error() -> None:
    """
    In YAML's own words.
    """
    with pytest.raises(PhaseError) as raised:
        _read_buildspec("a: [")

    assert raised.value.code == "YAML_FILE_ERROR"
    assert raised.value.message.startswith("YAML location is not valid: while parsing")


def secret(text: str, name: str) -> str:
    """
    Keep a secret, and return its ARN.
    """
    backend: Untyped = secretsmanager_backends[ACCOUNT][REGION]
    made = backend.create_secret(
        name=name,
        secret_string=text,
        secret_binary=None,
        description=None,
        tags=[],
        kms_key_id=None,
        client_request_token=None,
        replica_regions=[],
        force_overwrite=False,
    )
    return str(json.loads(made)["ARN"])


def of_secrets(**references: str) -> list[dict[str, str]]:
    """
    Declare variables whose values are secrets.
    """
    return [
        {"name": name, "value": value, "type": "SECRETS_MANAGER"}
        for name, value in references.items()
    ]


def test_a_variable_may_be_a_part_of_a_secret() -> None:
    """
    By its name or ARN, the key in its JSON, its stage and its version.
    """
    kept = {"a": "b", "number": 7, "list": ["c"], "none": None}
    arn = secret(json.dumps(kept), "references")
    backend: Untyped = secretsmanager_backends[ACCOUNT][REGION]
    first = backend.get_secret_value("references", "", "")["VersionId"]
    backend.put_secret_value("references", '{"a": "second"}', "", "", ["AWSCURRENT"])

    found = Variables(
        build(
            GOOD,
            {"name": "PLAIN", "value": "p"},
            {"name": "SAID", "value": "q", "type": "PLAINTEXT"},
            *of_secrets(
                WHOLE="references",
                BY_ARN=arn,
                KEY="references:a",
                KEY_OF_ARN=f"{arn}:a",
                EMPTY="references:::",
                BEFORE="references:a:AWSPREVIOUS",
                OF_VERSION=f"{arn}:number::{first}",
                LIST=f"references:list:AWSPREVIOUS:{first}",
                NONE="references:none:AWSPREVIOUS",
            ),
        )
    )

    assert found.values == {
        "PLAIN": "p",
        "SAID": "q",
        "WHOLE": '{"a": "second"}',
        "BY_ARN": '{"a": "second"}',
        "KEY": "second",
        "KEY_OF_ARN": "second",
        "EMPTY": '{"a": "second"}',
        "BEFORE": "b",
        "OF_VERSION": "7",
        "LIST": '["c"]',
        "NONE": "null",
    }


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        (
            {"name": "A", "value": "b", "type": "PARAMETER_STORE"},
            "not emulated: variables of type PARAMETER_STORE",
        ),
        *(
            (of_secrets(A=reference)[0], f"Secrets Manager{words}")
            for reference, words in (
                (":a", ": invalid reference :a"),
                ("a:b:c:d:e", ": invalid reference a:b:c:d:e"),
                ("flat:a", ": the secret flat has no key a in its JSON"),
                ("listed:a", ": the secret listed has no key a in its JSON"),
                ("keyed:b", ": the secret keyed has no key b in its JSON"),
                (
                    "nowhere:a",
                    (
                        " Error Message: ResourceNotFoundException: Secrets Manager "
                        "can't "
                        "find the specified secret: nowhere"
                    ),
                ),
                (
                    "keyed:a:NO_STAGE",
                    (
                        " Error Message: ResourceNotFoundException: Secrets Manager "
                        "can't "
                        "find the specified secret: keyed"
                    ),
                ),
            )
        ),
    ],
)
def test_a_variable_that_is_nowhere_is_an_error_of_the_client(
    variable: dict[str, str], words: str
) -> None:
    """
    That names the secret, and never shows it.
    """
    backend: Untyped = secretsmanager_backends[ACCOUNT][REGION]
    for name, text in (("flat", "text"), ("listed", "[1]"), ("keyed", '{"a": "b"}')):
        if name not in backend.secrets:
            secret(text, name)

    with pytest.raises(PhaseError) as raised:
        Variables(build(GOOD, variable))

    assert (raised.value.code, raised.value.message) == ("CLIENT_ERROR", words)


def test_each_line_of_a_secret_is_hidden() -> None:
    """
    Those that have something in them, and the longest first; plain ones are shown.
    """
    secret("ab\n \n\nabc", "lines")
    secret("xyz", "another")

    found = Variables(
        build(
            GOOD,
            {"name": "B", "value": "plain"},
            *of_secrets(A="lines", C="another"),
        )
    )

    assert found.hide("abc ab  a plain xyz") == "*** ***  a plain ***"


def test_why_a_phase_ended_hides_secrets() -> None:
    """
    In the build as well as in the log.
    """
    secret("hidden-text", "hidden")
    spec = "version: 0.2\nphases: {build: {commands: ['echo hidden-text; exit 1']}}"
    one, around = build(spec, *of_secrets(A="hidden")), Around()

    lived(one, around)

    words = "Error while executing command: echo ***; exit 1. Reason: exit status 1"
    assert ends(one)["BUILD"] == ("FAILED", "COMMAND_EXECUTION_ERROR", words)
    assert "***" in around.log
    assert not [line for line in around.lines if "hidden-text" in line]


def test_a_command_has_little_of_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A home and a Python of its own, and what says where it is.
    """
    kept = {
        name: f"a {name}"
        for name in (
            *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH"),
            *("VIRTUAL_ENV", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy"),
            *("https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"),
            *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_ENDPOINT_URL"),
        )
    }
    lost = {"HF_TOKEN": "t", "HOME": "h", "USER": "u", "XAWS_A": "a", "TMPDIR": "/tmp"}  # noqa: S108 - of the host
    for name in [*os.environ]:
        monkeypatch.delenv(name)
    for name, value in {**kept, **lost, "AWS_REGION": "host", "PATH": "/p"}.items():
        monkeypatch.setenv(name, value)

    found = _surroundings(build(), tmp_path, tmp_path / "src")

    assert found == {
        **kept,
        "PATH": f"{tmp_path}/bin:{Path(sys.executable).parent}:/p",
        "HOME": f"{tmp_path}/home",
        "TMPDIR": str(tmp_path / "tmp"),
        "CI": "true",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "CODEBUILD_BUILD_ARN": f"arn:aws:codebuild:{REGION}:{ACCOUNT}:build/mine:one",
        "CODEBUILD_BUILD_ID": "mine:one",
        "CODEBUILD_BUILD_NUMBER": "3",
        "CODEBUILD_SRC_DIR": f"{tmp_path}/src",
    }
    for name in ("python", "python3"):
        program = tmp_path / "bin" / name
        assert program.read_text() == f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
        assert program.stat().st_mode == 0o100755
    assert (tmp_path / "home").is_dir()
    assert (tmp_path / "tmp").is_dir()
