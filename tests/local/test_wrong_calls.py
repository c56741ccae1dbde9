"""
The commonest wrong calls of the commands that ask an endpoint: each says what to do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from tests.local.client.commands import COMMAND, clean, foreground, run
from tests.local.hosting_requests import LMI_28, serve
from tests.local.waiting import until

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

_BRIEF = ("--users", "2", "--spawn-rate", "10", "--duration", "1s")
# Where nobody listens; the request names it in vain.
_NOWHERE = "http://127.0.0.1:9"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(embedded_aws: EmbeddedAws) -> str:
    """
    An endpoint.
    """
    return serve(embedded_aws, LMI_28, None)


@pytest.fixture(name="bare")
def _bare() -> dict[str, str]:
    """
    An environment in which nothing is said of AWS.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    nothing = ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")
    hidden = dict.fromkeys(nothing, os.devnull)
    return {**kept, **hidden, "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["invoke", "chat", "Hi"], "must specify a region; name it with --region, or"),
        (
            ["chat", "chat"],
            "must specify a region; name it with --region, or set AWS_D",
        ),
        (
            ["load-test", "chat"],
            "must specify a region. The settings of AWS are at fault: name a region",
        ),
        (
            ["benchmark", "chat"],
            "must specify a region. The settings of AWS are at fault: name a region",
        ),
        (
            ["stream", "chat", "Hi", "--region", "us-east-1"],
            "Unable to locate credentials; choose a profile with AWS_PROFILE, or set",
        ),
        (
            ["load-test", "chat", "--region", "us-east-1", *_BRIEF],
            "Unable to locate credentials; choose a profile with AWS_PROFILE, or set",
        ),
        (
            ["invoke", "chat", "Hi", "--profile", "nobody"],
            "(nobody) could not be found; choose one that `aws configure list-",
        ),
        (
            ["invoke", "chat", "Hi", "--region", "the moon"],
            "doesn't match a supported format; name a region such as us-east-1 with --",
        ),
        (
            ["invoke", "chat", "Hi", "--endpoint-url", _NOWHERE],
            "Could not connect to the endpoint URL",
        ),
        (
            ["load-test", "chat", "--endpoint-url", "nowhere", "--region", "us-east-1"],
            "endpoint_url must be such as https://HOST, got 'nowhere'; correct the",
        ),
    ],
)
def test_settings_that_are_missing_or_wrong(
    bare: Mapping[str, str], arguments: list[str], told: str
) -> None:
    """
    The way to give them is told, in the command's own words.
    """
    done = run(bare, *arguments)

    assert done.returncode == 1
    assert done.stderr.startswith(f"sagemaker-llm {arguments[0]}: ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["invoke", "", "Hi"], "ENDPOINT is empty; name the endpoint"),
        (
            ["invoke", "chat", "Hi", "--endpoint-url", "nowhere", "--region", "a-b-1"],
            "--endpoint-url must be such as https://HOST, got 'nowhere'",
        ),
        (["stream", "chat", "--file", "."], "--file . cannot be read: Is a directory"),
        (["load-test", ""], "endpoint must be a name, got ''"),
    ],
)
def test_misuse(bare: Mapping[str, str], arguments: list[str], told: str) -> None:
    """
    Nothing is sent.
    """
    done = run(bare, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"sagemaker-llm {arguments[0]}: {told}\n"


@pytest.mark.parametrize("command", ["invoke", "stream", "load-test"])
def test_a_component_that_is_not_wanted(
    embedded_aws: EmbeddedAws, endpoint: str, command: str
) -> None:
    """
    The remedy is an option, not an argument of the client's.
    """
    prompt = () if command == "load-test" else ("Hi",)
    environment = embedded_aws.process_environment
    done = run(environment, command, endpoint, *prompt, "--component", "x")

    assert done.returncode == 1
    assert done.stderr == (
        f"sagemaker-llm {command}: the endpoint has no inference components; leave "
        "the component's name out: without --component\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [("invoke", "Hi"), ("stream", "Hi", "--json"), ("load-test", *_BRIEF)],
    ids=["invoke", "stream", "load-test"],
)
def test_a_pipe_that_is_closed_early(
    embedded_aws: EmbeddedAws, endpoint: str, arguments: tuple[str, ...]
) -> None:
    """
    As by ``head``: it ends without a traceback.
    """
    command, *rest = arguments
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [COMMAND, command, endpoint, *rest],
            env=clean(embedded_aws.process_environment),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)

    assert done.returncode != 0
    assert "Traceback" not in done.stderr


@pytest.fixture(name="interrupted")
def _interrupted(embedded_aws: EmbeddedAws, endpoint: str) -> Iterator[str]:
    """
    An endpoint that takes its time.
    """
    embedded_aws.fault("slow", endpoint, seconds=2)
    yield endpoint
    embedded_aws.clear_faults()


def _invocations(aws: EmbeddedAws, endpoint: str) -> float:
    now = time.time()
    found = aws.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName="Invocations",
        Dimensions=[
            {"Name": "EndpointName", "Value": endpoint},
            {"Name": "VariantName", "Value": "AllTraffic"},
        ],
        StartTime=now - 3600,
        EndTime=now + 3600,
        Period=60,
        Statistics=["Sum"],
    )
    return float(sum(one["Sum"] for one in found["Datapoints"]))


@pytest.mark.whole
def test_ctrl_c_ends_a_benchmark_with_the_row_that_is_measured(
    embedded_aws: EmbeddedAws, interrupted: str
) -> None:
    """
    Which is the last one.
    """
    before = _invocations(embedded_aws, interrupted)
    with foreground():
        process = subprocess.Popen(
            [COMMAND, "benchmark", interrupted, "--users", "1", "--duration", "600s"],
            env=clean(embedded_aws.process_environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    # The only user has begun, and some answers are there.
    until(lambda: _invocations(embedded_aws, interrupted) >= before + 4)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 0, said
    assert "| 1 |" in said
    assert "Traceback" not in said
