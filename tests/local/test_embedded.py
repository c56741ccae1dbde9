"""
The handle: starting, pointing tools here, stopping, failing.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError, embedded

_LIMIT = 120.0


@pytest.fixture(autouse=True)
def _started_as_users_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    As programs of their own, where other tests have them forked.
    """
    monkeypatch.setattr(embedded, "subprocess", subprocess)


def test_import_loads_neither_moto_nor_the_cdk() -> None:
    """
    Nor boto3: all of that is the server's, or comes when a client is asked for.
    """
    heavy = "{'moto', 'aws_cdk', 'boto3', 'flask', 'werkzeug'}"
    code = f"import sys, cdk_sagemaker_llm.local; print({heavy} & set(sys.modules))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "set()"


def test_the_environment_points_here_and_drops_what_is_of_the_caller(
    embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A profile or a session token would win over the dummy credentials.
    """
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-caller")

    environment = embedded_aws.process_environment
    assert environment["AWS_ENDPOINT_URL"] == embedded_aws.url
    assert embedded_aws.url.startswith("http://localhost:")
    assert "AWS_PROFILE" not in environment
    assert "AWS_SESSION_TOKEN" not in environment


def test_the_environment_is_all_that_the_tools_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Credentials that are none, a region, and no proxy before it.
    """
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    assert EmbeddedAws(region="eu-west-1", port=4566).environment == {
        "AWS_ENDPOINT_URL": "http://localhost:4566",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "NO_PROXY": "localhost",
        "no_proxy": "localhost",
    }


def test_one_that_was_not_started_says_what_it_would_be() -> None:
    """
    It runs nowhere, and has printed nothing.
    """
    plain = EmbeddedAws()
    aws = EmbeddedAws(speed=60, forward={"chat": "http://127.0.0.1:8000"})

    assert (plain.region, plain.account, plain.port) == (
        *("us-east-1", "123456789012"),
        0,
    )
    assert (plain.speed, plain.is_by_hand, plain.forward) == (None, False, {})
    assert (aws.speed, aws.forward) == (60, {"chat": "http://127.0.0.1:8000"})
    assert EmbeddedAws(clock="by hand").is_by_hand
    assert not aws.is_running
    assert str(aws.failure("did not start")) == (
        "the embedded AWS did not start (exit status None); it printed last:\n"
        "  (nothing)"
    )
    aws.wait()
    aws.stop()


@pytest.mark.parametrize("seconds", [float("inf"), float("nan")])
def test_time_goes_on_by_a_number_of_seconds(seconds: float) -> None:
    """
    That ends.
    """
    with pytest.raises(ValueError, match="seconds must be a finite number, got"):
        EmbeddedAws(clock="by hand").advance(seconds)


@pytest.mark.parametrize("seconds", [2_678_400.1, -0.1])
def test_time_goes_on_by_seconds_that_there_are(seconds: float) -> None:
    """
    No fewer than none, and not for ever.
    """
    with pytest.raises(ValueError, match="seconds must be 0 to 2,678,400") as refused:
        EmbeddedAws(clock="by hand").advance(seconds)
    assert f"(31 days), got {seconds}; let more of them" in str(refused.value)


def test_a_port_that_there_is_not_is_named() -> None:
    """
    By its number.
    """
    with pytest.raises(EmbeddedAwsError, match="port 65536 cannot be used: "):
        EmbeddedAws(port=65_536).start()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, "localhost"),
        ({"NO_PROXY": ".corp"}, "localhost,.corp"),
        ({"no_proxy": ".corp", "NO_PROXY": ".other"}, "localhost,.corp"),
        ({"no_proxy": "*"}, "*"),
    ],
    ids=["nothing", "upper", "both", "all"],
)
def test_no_proxy_stands_between(
    embedded_aws: EmbeddedAws,
    monkeypatch: pytest.MonkeyPatch,
    said: dict[str, str],
    told: str,
) -> None:
    """
    Tools read either name, and the one in small letters first.
    """
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"http_proxy": "http://127.0.0.1:1", **said}.items():
        monkeypatch.setenv(name, value)
    code = "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"

    environment = embedded_aws.process_environment
    asked = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert (environment["no_proxy"], environment["NO_PROXY"]) == (told, told)
    assert asked.stdout.strip() == "123456789012"


def test_it_listens_on_the_loopback_interface_alone(
    embedded_aws: EmbeddedAws,
) -> None:
    """
    Nobody else can reach it.
    """
    with socket.create_connection(("127.0.0.1", embedded_aws.port), _LIMIT):
        pass
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", embedded_aws.port), _LIMIT)


def test_a_port_in_use_is_named() -> None:
    """
    With the way out.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(EmbeddedAwsError, match=f"port {port} is in use; choose"):
            EmbeddedAws(port=port).start()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With the command that installs it.
    """
    monkeypatch.setattr(
        "cdk_sagemaker_llm.local.embedded._NEEDED", ("moto", "no_such_package")
    )

    with pytest.raises(EmbeddedAwsError, match=r"needs no_such_package; install it wi"):
        EmbeddedAws().start()


def test_a_server_that_cannot_start_says_what_it_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Its last lines are in the error.
    """
    monkeypatch.setattr("cdk_sagemaker_llm.local.embedded._SERVER", "no.such.module")

    with pytest.raises(EmbeddedAwsError, match="did not start") as caught:
        EmbeddedAws().start()
    assert "No module named" in str(caught.value)


def test_what_does_not_run_is_not_asked() -> None:
    """
    Rather than that a client asks port 0, or Python tells of a refused connection.
    """
    aws = EmbeddedAws()

    with pytest.raises(EmbeddedAwsError, match=r"does not run; use it inside of"):
        aws.client("sagemaker")
    with pytest.raises(EmbeddedAwsError, match=r"does not run; use it inside of"):
        aws.fault("errors", "chat")


def test_what_runs_is_not_started_again(embedded_aws: EmbeddedAws) -> None:
    """
    Its own port is not another's.
    """
    with pytest.raises(EmbeddedAwsError, match=r"runs already, at http://localhost:"):
        embedded_aws.start()


def test_it_stops_with_the_block() -> None:
    """
    And with it the port is free again.
    """
    with EmbeddedAws() as aws:
        port = aws.port

    assert not aws.is_running
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), _LIMIT)


def test_it_does_not_outlive_its_parent() -> None:
    """
    Even one that is killed and cleans nothing up.
    """
    code = (
        "import time; from cdk_sagemaker_llm.local import EmbeddedAws\n"
        "aws = EmbeddedAws(); aws.start(); print(aws.port, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as own:
        assert own.stdout is not None
        port = int(own.stdout.readline())
        os.kill(own.pid, signal.SIGKILL)

    assert _ends(port)


def _ends(port: int) -> bool:
    deadline = time.monotonic() + _LIMIT
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return True
    return False


def test_everything_is_in_the_account_that_is_asked_for() -> None:
    """
    STS, the ARNs of moto's services, hosting's, and the messages of the runtime.
    """
    with EmbeddedAws(account="111122223333") as aws:
        identity = aws.client("sts").get_caller_identity()
        role = aws.client("iam").create_role(
            RoleName="R", AssumeRolePolicyDocument="{}"
        )
        aws.client("sagemaker").create_model(ModelName="m", Containers=[{"Image": "i"}])
        model = aws.client("sagemaker").describe_model(ModelName="m")
        queue = aws.client("sns").create_topic(Name="t")
        with pytest.raises(ClientError, match="Endpoint x of account 111122223333 not"):
            aws.client("sagemaker-runtime").invoke_endpoint(EndpointName="x", Body=b"")

    assert identity["Account"] == "111122223333"
    assert role["Role"]["Arn"] == "arn:aws:iam::111122223333:role/R"
    assert model["ModelArn"].endswith(":111122223333:model/m")
    assert queue["TopicArn"].endswith(":111122223333:t")


@pytest.mark.parametrize(
    "account", ["", "12345678901", "1234567890123", "12345678901x"]
)
def test_an_account_has_twelve_digits(account: str) -> None:
    """
    Anything else is refused before the server starts.
    """
    with pytest.raises(ValueError, match=f"account must be 12 digits, got '{account}'"):
        EmbeddedAws(account=account)
