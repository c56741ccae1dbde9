"""
Functions of Lambda: how they are run, what they are told, and what they answer.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import threading
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest
from moto.events.models import Rule, events_backends

from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import functions, python_runner
from cdk_sagemaker_llm.local.builds.functions import (
    RESPONSE_PATH,
    Callback,
    Function,
    FunctionError,
    NotRunnableError,
    Outcome,
    _command,
    _deliver,
    _input,
    _unpack,
    find_function,
    receive_response,
    run_function,
)

ARN = "arn:aws:lambda:eu-west-1:111111111111:function:mine"


def packed(**files: str) -> bytes:
    """
    Pack files, whose names have ``__`` for a slash and ``_dot_`` for a dot.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return written.getvalue()


def function(
    code: bytes | str = b"",
    handler: str = "index.handler",
    runtime: str = "python3.12",
    **more: Any,  # noqa: ANN401 - of a function
) -> Function:
    """
    Declare a function, of an archive or of a module's text.
    """
    here = {"A": "b", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    given = {"environment": here, "timeout": 60.0, "memory": 256, **more}
    if isinstance(code, str):
        code = packed(index_dot_py=code)
    return Function(
        arn=ARN, name="mine", runtime=runtime, handler=handler, code=code, **given
    )


TELLING = """
import json, os
def handler(event, context):
    print("first")
    told = {name: value for name, value in vars(context).items() if name[0] != "_"}
    left = context.get_remaining_time_in_millis()
    names = ("A", "PATH", "AWS_REGION", "AWS_DEFAULT_REGION",
        "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME", "LAMBDA_TASK_ROOT")
    print("last ")
    print()
    return [event, told, left, {name: os.environ[name] for name in names}, os.getcwd()]
"""


def test_a_function_is_told_where_it_is() -> None:
    """
    By its variables and by its context, with the event as it was sent.
    """
    outcome = run_function(function(TELLING), {"a": [1, "é"]})

    event, context, left, variables, folder = outcome.returned
    stream = context["log_stream_name"]
    assert event == {"a": [1, "é"]}
    assert context == {
        "function_name": "mine",
        "function_version": "$LATEST",
        "invoked_function_arn": ARN,
        "memory_limit_in_mb": "256",
        "log_group_name": "/aws/lambda/mine",
        "log_stream_name": stream,
        "aws_request_id": stream,
    }
    assert len(stream) == 32
    assert 30_000 < left <= 60_000
    assert variables == {
        "A": "b",
        "PATH": os.environ["PATH"],
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_LAMBDA_FUNCTION_NAME": "mine",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/mine",
        "AWS_LAMBDA_LOG_STREAM_NAME": stream,
        "LAMBDA_TASK_ROOT": folder,
    }
    assert outcome.printed == "last"
    assert not Path(folder).exists()


def test_a_function_in_a_folder_imports_its_own_modules() -> None:
    """
    What it returns may hold what JSON does not know.
    """
    code = packed(
        lib__main_dot_py="import beside, datetime\n"
        "def run(event, context):\n"
        "    return [beside.WORD, datetime.date(2026, 1, 2)]",
        beside_dot_py="WORD = 'here'",
        cfnresponse_dot_py="",
    )

    assert run_function(function(code, "lib/main.run"), {}) == Outcome(
        ["here", "2026-01-02"], "it printed nothing"
    )


@pytest.mark.parametrize(
    ("code", "handler", "words"),
    [
        ("", "index.handler", "module 'index' has no attribute 'handler'"),
        ("", "gone.handler", "No module named 'gone'"),
        (
            "import no_such_package",
            "index.handler",
            "No module named 'no_such_package'",
        ),
    ],
)
def test_what_cannot_be_loaded_is_not_run(code: str, handler: str, words: str) -> None:
    """
    Python's words say why.
    """
    with pytest.raises(NotRunnableError) as raised:
        run_function(function(code, handler), {})

    assert str(raised.value) == words


def test_what_fails_is_told_by_its_last_line() -> None:
    """
    Which may be among the errors; what it has returned does not count.
    """
    raising = "def handler(event, context): raise ValueError('wrong')"
    silent = "import os\ndef handler(event, context): os._exit(3)"

    with pytest.raises(FunctionError, match="^ValueError: wrong$"):
        run_function(function(raising), {})
    with pytest.raises(FunctionError, match="^it printed nothing$"):
        run_function(function(silent), {})


def test_a_function_may_end_without_returning() -> None:
    """
    One that answers by an address does.
    """
    ending = "import sys\ndef handler(event, context): print('x'); sys.exit(0)"

    assert run_function(function(ending), {}) == Outcome(None, "x")


def test_a_function_that_takes_too_long_is_ended() -> None:
    """
    By its own time.
    """
    slow = "import time\ndef handler(event, context): time.sleep(600)"

    with pytest.raises(FunctionError, match="^mine timed out after 0 seconds$"):
        run_function(function(slow, timeout=0.4), {})


@pytest.mark.parametrize(
    ("code", "handler", "expected"),
    [
        (
            "exports.handler = async (event, context) => [event.a, context];",
            "index.handler",
            "",
        ),
        (
            "exports.run = (event, context, done) => done(null, [event.a, context]);",
            "lib/index.run",
            "",
        ),
        (
            "exports.run = (event, context) => context.succeed([event.a, context]);",
            "index.run",
            "",
        ),
        ("exports.run = 1;", "index.run", "index.run is not a function"),
        ("exports.run = async () => { throw new Error('no') };", "index.run", "no"),
        ("exports.run = (e, c) => c.fail('so');", "index.run", "so"),
    ],
)
def test_a_function_for_node_is_told_likewise(
    code: str, handler: str, expected: str
) -> None:
    """
    It answers by a promise, a callback or its context.
    """
    name = f"{handler.rpartition('.')[0]}_dot_js".replace("/", "__")
    declared = function(packed(**{name: code}), handler, "nodejs20.x")
    if expected:
        with pytest.raises((FunctionError, NotRunnableError), match=f"^{expected}$"):
            run_function(declared, {"a": 1})
        return

    word, context = run_function(declared, {"a": 1}).returned

    assert word == 1
    stream = context.pop("logStreamName")
    assert context == {
        "functionName": "mine",
        "functionVersion": "$LATEST",
        "invokedFunctionArn": ARN,
        "memoryLimitInMB": "256",
        "logGroupName": "/aws/lambda/mine",
        "awsRequestId": stream,
    }


def test_a_runtime_chooses_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of Python this one, of Node what is on the PATH; of others none.
    """
    monkeypatch.setattr(shutil, "which", lambda name: f"/there/{name}")

    assert _command(function(runtime="python3.9")) == [
        sys.executable,
        python_runner.__file__,
    ]
    assert _command(function(runtime="nodejs22.x")) == [
        *("/there/node", "-e"),
        functions.NODE_SCRIPT,
    ]
    with pytest.raises(NotRunnableError, match="^functions of runtime java17 are not"):
        _command(function(runtime="java17"))
    with pytest.raises(NotRunnableError, match="^functions of runtime image are not r"):
        _command(function(runtime=""))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NotRunnableError, match="^there is no node on the PATH to run"):
        _command(function(runtime="nodejs22.x"))


def unpacked(declared: Function, root: Path) -> dict[str, str]:
    """
    Return the files of a function by their paths.
    """
    _unpack(declared, root)
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text() for path in files}


def test_inline_code_is_where_its_handler_looks_for_it(tmp_path: Path) -> None:
    """
    With what Lambda gives to such code in Node; in Python it comes later.
    """
    inline = packed(index_dot_py="code", cfnresponse_dot_py="old")
    more = packed(index_dot_py="code", cfnresponse_dot_py="own", more_dot_py="")

    assert unpacked(function(inline), tmp_path / "a") == {"index.py": "code"}
    assert unpacked(function(inline, "other.run"), tmp_path / "b") == {
        "other.py": "code"
    }
    assert unpacked(function(inline, runtime="nodejs20.x"), tmp_path / "c") == {
        "index.js": "code",
        "node_modules/cfn-response/index.js": functions.NODE_RESPONSE_MODULE,
    }
    assert unpacked(function(more), tmp_path / "d")["cfnresponse.py"] == "own"


def test_code_that_is_no_archive_is_not_run(tmp_path: Path) -> None:
    """
    Such as none at all.
    """
    with pytest.raises(NotRunnableError, match="^its code is not there, or no ZIP arc"):
        _unpack(function(b""), tmp_path / "code")


def test_a_function_that_is_not_there_is_not_found() -> None:
    """
    By its ARN.
    """
    with pytest.raises(NotRunnableError) as raised:
        find_function(ARN, "111111111111", "eu-west-1")

    assert str(raised.value) == f"no Lambda function has the ARN {ARN}"


class Found:
    """
    A function as moto has it.
    """

    function_arn, function_name = ARN, "mine"
    environment_vars: dict[str, object] | None = None
    run_time: str | None = None
    handler: str | None = None
    timeout: int | None = None
    memory_size: int | None = None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            {},
            Function(ARN, "mine", "", "", b"", {}, 60.0, 128),
        ),
        (
            {
                "environment_vars": {"A": 1},
                "run_time": "python3.12",
                "handler": "a.b",
                "code_bytes": bytearray(b"z"),
                "timeout": 61,
                "memory_size": 512,
            },
            Function(ARN, "mine", "python3.12", "a.b", b"z", {"A": "1"}, 61.0, 512),
        ),
        ({"timeout": 3}, Function(ARN, "mine", "", "", b"", {}, 60.0, 128)),
    ],
)
def test_a_function_is_found_as_it_was_deployed(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, object], expected: Function
) -> None:
    """
    With a minute at least, and Lambda's memory where nothing is said.
    """
    found = Found()
    vars(found).update(more)

    class Backend:
        @staticmethod
        def get_function(token: str) -> Untyped:
            assert token == ARN
            return found

    backends = {"111111111111": {"eu-west-1": Backend}}
    monkeypatch.setattr(functions, "lambda_backends", backends)

    assert find_function(ARN, "111111111111", "eu-west-1") == expected


def test_an_address_takes_one_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An object in JSON, and after it none.
    """
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://there:1")
    callback, other = Callback(), Callback()
    assert callback.url.startswith(f"http://there:1{RESPONSE_PATH}")
    assert callback.url != other.url
    path = callback.url.removeprefix("http://there:1")

    assert receive_response(path, b"{") == 400
    assert receive_response(path, b"[]") == 403
    assert receive_response(f"{path}x", b"{}") == 403
    assert receive_response(path, b'{"a": 1}') == 200
    assert callback.response(60.0) == {"a": 1}
    assert receive_response(path, b'{"a": 2}') == 403
    assert other.response(0.0) is None
    assert receive_response(other.url.removeprefix("http://there:1"), b"{}") == 403


EVENT = {
    "detail-type": "Change",
    "time": 1_504_282_349.7,
    "detail": {"a": 1},
    "ingestion-time": 5,
}


def test_a_target_has_the_event_or_its_own_input() -> None:
    """
    With the time as EventBridge writes it; parts of an event are not emulated.
    """
    assert _input({"Id": "a"}, EVENT) == {
        "detail-type": "Change",
        "time": "2017-09-01T16:12:29Z",
        "detail": {"a": 1},
    }
    assert _input({"Input": "[1]"}, EVENT) == [1]
    for name in ("InputPath", "InputTransformer"):
        with pytest.raises(NotRunnableError) as raised:
            _input({"Input": "[1]", name: "$.detail"}, EVENT)
        assert str(raised.value) == f"not emulated: {name} of a rule's target"


@pytest.mark.parametrize(
    ("ends", "tries"),
    [
        ([FunctionError("no"), FunctionError("no"), None], 3),
        ([FunctionError("no")] * 3, 3),
        ([FunctionError("no"), None], 2),
        ([NotRunnableError("no")], 1),
        ([None], 1),
    ],
)
def test_what_fails_is_tried_again_twice(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends: list[Exception | None],
    tries: int,
) -> None:
    """
    After one minute, and after two more; what cannot be run is not.
    """
    declared, pauses, events = function(), list[float](), list[Untyped]()

    def run(given: Function, event: Untyped) -> None:
        assert given is declared
        events.append(event)
        if (end := ends[len(events) - 1]) is not None:
            raise end

    monkeypatch.setattr(CLOCK, "sleep", pauses.append)
    monkeypatch.setattr(functions, "find_function", lambda *_: declared)
    monkeypatch.setattr(functions, "run_function", run)

    _deliver("111111111111", "eu-west-1", {"Arn": ARN, "Input": "7"}, EVENT)

    assert events == [7] * tries
    assert pauses == [0.0, 60.0, 120.0][:tries]
    assert capsys.readouterr().out.splitlines() == [
        f"{ARN}, called by a rule, failed: no" for end in ends if end
    ]


def rule_of(state: str | None, pattern: str | None, *arns: str) -> Rule:
    """
    Make a rule with targets.
    """
    kind: Untyped = Rule
    made: Rule = kind(
        "mine",
        "111111111111",
        "eu-west-1",
        None,
        pattern,
        None if pattern else "rate(1 day)",
        None,
        "default",
        state,
        targets=[{"Id": arn, "Arn": arn} for arn in arns],
    )
    return made


CHANGE = {"source": "aws.codebuild", "detail": {"a": 1}}


@pytest.mark.parametrize(
    ("state", "pattern", "is_sent"),
    [
        (None, '{"source": ["aws.codebuild"]}', True),
        ("DISABLED", '{"source": ["aws.codebuild"]}', False),
        ("ENABLED", '{"source": ["aws.s3"]}', False),
        ("ENABLED", None, False),
    ],
)
def test_a_rule_sends_what_its_pattern_matches(
    monkeypatch: pytest.MonkeyPatch,
    state: str | None,
    pattern: str | None,
    *,
    is_sent: bool,
) -> None:
    """
    To each of its functions a copy, and to others as moto does.
    """
    delivered: list[tuple[Untyped, ...]] = []
    others: list[tuple[Untyped, ...]] = []
    arrived = threading.Semaphore(0)

    def deliver(*given: Untyped) -> None:
        delivered.append(given)
        arrived.release()

    def send(rule: Rule, event: Untyped, transform_input: Untyped) -> None:
        arns = [target["Arn"] for target in rule.targets]
        others.append((arns, event, transform_input))

    log = "arn:aws:logs:eu-west-1:111111111111:log-group:mine"
    monkeypatch.setattr(functions, "_deliver", deliver)
    monkeypatch.setattr(Rule, "send_to_targets", send)
    functions.send_to_functions()
    rule = rule_of(state, pattern, ARN, log, f"{ARN}-2")

    rule.send_to_targets(CHANGE)  # type: ignore[arg-type]  # a part of one
    for _ in range(2 * is_sent):
        assert arrived.acquire(timeout=30)

    assert others == [([log], CHANGE, True)] * is_sent
    assert sorted(delivered, key=str) == [
        ("111111111111", "eu-west-1", {"Id": arn, "Arn": arn}, CHANGE)
        for arn in (ARN, f"{ARN}-2")
        if is_sent
    ]
    assert all(one[3] is not CHANGE for one in delivered)
    assert len(rule.targets) == 3


def test_an_event_is_published_to_every_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A rule that fails holds up no other, and nothing is sent elsewhere.
    """
    heard: list[Untyped] = []

    def send(rule: Rule, event: Untyped) -> None:
        heard.append((rule.name, event))
        if rule.name == "first":
            raise ValueError("no such target")

    monkeypatch.setattr(Rule, "send_to_targets", send)
    backends: Untyped = events_backends["111111111111"]
    rules = backends["eu-west-1"].event_buses["default"].rules
    elsewhere = backends["eu-west-2"].event_buses["default"].rules
    rules |= {name: rule_of(None, "{}") for name in ("first", "second")}
    elsewhere["third"] = rule_of(None, "{}")
    for name, rule in (*rules.items(), *elsewhere.items()):
        rule.name = name
    before = time.time()

    functions.publish(
        "111111111111", "eu-west-1", "aws.codebuild", "Change", {"a": (1,)}, "arn"
    )
    rules.clear()
    elsewhere.clear()

    assert [name for name, _ in heard] == ["first", "second"]
    first, second = (event for _, event in heard)
    assert first is not second
    assert first == second
    assert len(first.pop("id")) == 36
    assert before <= first.pop("time") <= time.time()
    assert first == {
        "version": "0",
        "detail-type": "Change",
        "source": "aws.codebuild",
        "account": "111111111111",
        "region": "eu-west-1",
        "resources": ["arn"],
        "detail": {"a": [1]},
    }
    assert "ValueError: no such target" in capsys.readouterr().err


def in_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, handler: str, event: str
) -> int:
    """
    Run a module's handler in this process.
    """
    (folder / "the_function.py").write_text(code)
    variables = {
        "AWS_LAMBDA_FUNCTION_NAME": "mine",
        "EMBEDDED_FUNCTION_ARN": ARN,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/mine",
        "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
        "EMBEDDED_TIMEOUT": "60",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["replaced", *sys.path])
    monkeypatch.setattr(sys, "stdin", io.StringIO(event))
    # What it loads is forgotten afterwards.
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    return python_runner.main(handler, str(folder / "result.json"))


class Sent:
    """
    What was sent, in place of the connection to the embedded AWS.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Untyped]] = []

    def __call__(self, request: Untyped) -> Sent:
        """
        Keep a request.
        """
        kept = (request.full_url, request.get_method(), json.loads(request.data))
        self.requests.append(kept)
        return self

    def close(self) -> None:
        """
        Close nothing.
        """


@pytest.mark.parametrize(
    ("arguments", "differences"),
    [
        ("cfnresponse.SUCCESS, {'a': 1}", {}),
        (
            "cfnresponse.FAILED, None, 'id', True, 'reason'",
            {
                "Status": "FAILED",
                "Data": None,
                "PhysicalResourceId": "id",
                "NoEcho": True,
                "Reason": "reason",
            },
        ),
        (
            "'SUCCESS', {'a': 1}, physicalResourceId='', reason=''",
            {},
        ),
    ],
)
def test_python_has_the_module_for_responses(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    differences: dict[str, object],
) -> None:
    """
    As Lambda gives it to inline code.
    """
    sent = Sent()
    monkeypatch.setattr(urllib.request, "urlopen", sent)
    code = (
        "import cfnresponse\n"
        "def run(event, context):\n"
        f"    cfnresponse.send(event, context, {arguments})\n"
    )
    event = {
        "StackId": "s",
        "RequestId": "r",
        "LogicalResourceId": "l",
        "ResponseURL": "http://there/a",
    }

    status = in_process(
        tmp_path, monkeypatch, code, "the_function.run", json.dumps(event)
    )

    assert status == 0
    assert (tmp_path / "result.json").read_text() == "null"
    expected = {
        "Status": "SUCCESS",
        "Reason": "See the details in CloudWatch Log Stream: stream",
        "PhysicalResourceId": "stream",
        "StackId": "s",
        "RequestId": "r",
        "LogicalResourceId": "l",
        "NoEcho": False,
        "Data": {"a": 1},
        **differences,
    }
    assert sent.requests == [("http://there/a", "PUT", expected)]


def test_python_says_what_it_cannot_load(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    By a status of its own.
    """
    status = in_process(tmp_path, monkeypatch, "", "the_function.run", "{}")

    assert status == python_runner.NOT_RUNNABLE == 86
    assert capsys.readouterr().out == ("module 'the_function' has no attribute 'run'\n")
    assert sys.path[0] == str(tmp_path)
    assert not (tmp_path / "result.json").exists()


def test_no_time_is_left_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Until then it is told in milliseconds.
    """
    for name in ("FUNCTION_NAME", "FUNCTION_MEMORY_SIZE", "LOG_GROUP_NAME"):
        monkeypatch.setenv(f"AWS_LAMBDA_{name}", "x")
    monkeypatch.setenv("AWS_LAMBDA_LOG_STREAM_NAME", "stream")
    monkeypatch.setenv("EMBEDDED_FUNCTION_ARN", ARN)
    monkeypatch.setenv("EMBEDDED_TIMEOUT", "2.5")
    wall = [1000.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    context = python_runner.Context()

    left = []
    for moment in (1000.0, 1001.25, 1002.499, 1002.5, 1003.0):
        wall[0] = moment
        left.append(context.get_remaining_time_in_millis())

    assert left[:2] + left[3:] == [2500, 1250, 0, 0]
    assert left[2] in {0, 1}
