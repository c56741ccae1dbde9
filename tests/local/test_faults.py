"""
What goes wrong on request, as boto3 shows it where nothing takes time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EventStreamError

from cdk_sagemaker_llm.local import EmbeddedAws, Fault, Latency
from cdk_sagemaker_llm.local.aws.settings import Settings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.fleet import ByType, FleetTimes
from tests.local.hosting_requests import (
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
)

COMMAND = Path(sys.executable).parent / "sagemaker-llm"


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws() as aws:
        yield aws


@pytest.fixture(autouse=True)
def _no_faults(aws: EmbeddedAws) -> Iterator[None]:
    yield
    aws.clear_faults()


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(aws: EmbeddedAws) -> str:
    variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
    return make_endpoint(aws, make_config(aws, variant=variant))


def invoke(aws: EmbeddedAws, endpoint: str) -> bytes:
    """
    Send a prompt and read the answer.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, Body=prompt("Who is it?")
    )
    return bytes(answer["Body"].read())


def stream(aws: EmbeddedAws, endpoint: str) -> list[bytes]:
    """
    Send a prompt and read the parts of the answer.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=endpoint, Body=prompt("Who is it?", stream=True)
    )
    return [event["PayloadPart"]["Bytes"] for event in answer["Body"]]


def outcome(aws: EmbeddedAws, endpoint: str) -> str:
    """
    Send a prompt and tell how it ended.
    """
    try:
        invoke(aws, endpoint)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "OK"


class TestAnswers:
    """
    Requests that fail, or take long.
    """

    @pytest.mark.parametrize(("status", "kind"), [("400", "client"), ("503", "server")])
    def test_a_status_of_the_container_is_a_model_error(
        self, aws: EmbeddedAws, endpoint: str, status: str, kind: str
    ) -> None:
        """
        With the status and the log group.
        """
        aws.fault("errors", endpoint, answer=status)

        with pytest.raises(ClientError) as caught:
            invoke(aws, endpoint)
        shown = caught.value.response
        assert shown["Error"]["Code"] == "ModelError"
        assert f"Received {kind} error ({status}) from primary" in str(caught.value)
        assert f"'OriginalStatusCode': {status}" in str(shown)

    def test_too_many_requests(self, aws: EmbeddedAws, endpoint: str) -> None:
        """
        A code that SDKs try again on.
        """
        aws.fault("errors", endpoint, answer="throttled")

        assert outcome(aws, endpoint) == "ThrottlingException"

    def test_a_stream_that_breaks_off(self, aws: EmbeddedAws, endpoint: str) -> None:
        """
        After its first parts, by an event that boto3 raises.
        """
        whole = stream(aws, endpoint)
        aws.fault("errors", endpoint, answer="cut")

        with pytest.raises(EventStreamError, match="ModelStreamError"):
            stream(aws, endpoint)
        assert len(whole) > 2
        assert outcome(aws, endpoint) == "ModelError"

    def test_a_rate_fails_some_and_the_same_ones_again(
        self, aws: EmbeddedAws, endpoint: str
    ) -> None:
        """
        The seed decides which.
        """
        runs = []
        for seed in (1, 1, 2):
            aws.fault("errors", endpoint, rate=0.5, seed=seed)
            runs.append([outcome(aws, endpoint) for _ in range(20)])
            aws.clear_faults()

        assert runs[0] == runs[1] != runs[2]
        assert 4 <= runs[0].count("ModelError") <= 16

    def test_others_are_not_concerned(self, aws: EmbeddedAws, endpoint: str) -> None:
        """
        A fault befalls its target alone.
        """
        aws.fault("errors", "another")

        assert outcome(aws, endpoint) == "OK"

    def test_a_slow_model_takes_seconds_of_the_wall(
        self, aws: EmbeddedAws, endpoint: str
    ) -> None:
        """
        So that a client's own time-out can be tried; others are answered meanwhile.
        """
        aws.fault("slow", endpoint, seconds=0.5)
        before = time.monotonic()
        invoke(aws, endpoint)

        assert 0.5 <= time.monotonic() - before < 5.0


class TestStarts:
    """
    What does not come up, at once.
    """

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("never-healthy", "did not pass the ping health check"),
            ("restarts", "did not pass the ping health check"),
            ("no-image", "Failed to pull the image"),
            ("cannot-start", "CannotStartContainerError"),
        ],
    )
    def test_a_component_fails_and_another_takes_its_place(
        self, aws: EmbeddedAws, kind: str, words: str
    ) -> None:
        """
        The creation is answered, the description says why.
        """
        sagemaker = aws.client("sagemaker")
        endpoint = make_endpoint(aws, make_config(aws))
        aws.fault(kind, endpoint)
        name = make_component(aws, endpoint)
        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert shown["InferenceComponentStatus"] == "Failed"
        assert words in shown["FailureReason"]

        sagemaker.delete_inference_component(InferenceComponentName=name)
        aws.clear_faults()
        again = make_component(aws, endpoint, copies=8)
        shown = sagemaker.describe_inference_component(InferenceComponentName=again)
        assert shown["InferenceComponentStatus"] == "InService"

    def test_what_was_refused_comes_when_there_is_capacity(
        self, aws: EmbeddedAws
    ) -> None:
        """
        Copies that fit go on; the others wait for an instance.
        """
        sagemaker = aws.client("sagemaker")
        scaling = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
        config = make_config(aws, variant={"ManagedInstanceScaling": scaling})
        endpoint = make_endpoint(aws, config)
        name = make_component(aws, endpoint, copies=4)
        aws.fault("no-capacity", "ml.p4d.24xlarge", available=1)
        sagemaker.update_inference_component_runtime_config(
            InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 12}
        )
        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert shown["RuntimeConfig"] == {"DesiredCopyCount": 12, "CurrentCopyCount": 8}
        assert "InsufficientInstanceCapacity" in shown["FailureReason"]

        aws.clear_faults()
        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert shown["RuntimeConfig"]["CurrentCopyCount"] == 12

    def test_more_instances_that_cannot_be_had_leave_what_runs(
        self, aws: EmbeddedAws
    ) -> None:
        """
        The endpoint is in service with as many as before.
        """
        sagemaker = aws.client("sagemaker")
        variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
        endpoint = make_endpoint(aws, make_config(aws, variant=variant))
        aws.fault("no-capacity", "ml.g5.12xlarge", available=2)
        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=endpoint,
            DesiredWeightsAndCapacities=[
                {"VariantName": "AllTraffic", "DesiredInstanceCount": 4}
            ],
        )

        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert shown["EndpointStatus"] == "InService"
        assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 2
        assert "InsufficientInstanceCapacity" in shown["FailureReason"]


def ask(aws: EmbeddedAws, method: str, page: str, body: bytes | None = None) -> Untyped:
    """
    Ask for one of the server's own pages.
    """
    url = f"{aws.url}/_embedded/{page}"
    request = urllib.request.Request(url, method=method, data=body)  # noqa: S310 - ours
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - the same
        return json.load(answer)


class TestPages:
    """
    The pages beside AWS's API.
    """

    def test_faults_are_put_shown_and_deleted(self, aws: EmbeddedAws) -> None:
        """
        As JSON.
        """
        put = ask(aws, "PUT", "faults", b'[{"kind": "slow", "target": "x"}]')
        assert put["faults"][0]["kind"] == "slow"
        assert ask(aws, "GET", "faults") == put
        assert ask(aws, "DELETE", "faults") == {"faults": []}

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[1]",
            b'[{"kind": "bad luck"}]',
            b'[{"kind": "slow", "colour": "red"}]',
            b'[{"target": "x"}]',
            b'[{"kind": "errors", "rate": "often"}]',
            b'{"kind": "slow"}',
            b"{}",
            b"[7]",
            b"none at all",
        ],
    )
    def test_what_is_no_fault_is_refused(self, aws: EmbeddedAws, body: bytes) -> None:
        """
        And changes nothing.
        """
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(aws, "PUT", "faults", body)
        caught.value.close()
        assert caught.value.code == 400
        assert ask(aws, "GET", "faults") == {"faults": []}

    def test_the_clock_is_the_walls_where_nothing_takes_time(
        self, aws: EmbeddedAws
    ) -> None:
        """
        Its speed is none.
        """
        shown = ask(aws, "GET", "clock")

        assert shown["speed"] is None
        assert shown["now"] == pytest.approx(time.time(), abs=5.0)

    def test_the_log_has_the_steps_of_each_fleet(
        self, aws: EmbeddedAws, endpoint: str
    ) -> None:
        """
        As the simulation has them.
        """
        steps = ask(aws, "GET", "log")[endpoint]["AllTraffic"]

        assert [(s["what"], s["before"], s["after"]) for s in steps[:2]] == [
            ("instances", 0, 1),
            ("running instances", 0, 1),
        ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "rain"}, "kind must be one of no-capacity, never-healthy"),
        ({"kind": "errors", "rate": 1.1}, "rate must be 0 to 1, got 1.1"),
        ({"kind": "errors", "rate": -0.1}, "rate must be 0 to 1"),
        ({"kind": "errors", "answer": "399"}, "answer must be a status of 400 to 599"),
        ({"kind": "errors", "answer": "600"}, "answer must be a status of 400 to 599"),
        ({"kind": "slow", "seconds": 0.0}, "seconds must be more than 0, got 0.0"),
        ({"kind": "no-capacity", "available": -1}, "available must be at least 0"),
        (
            {"kind": "no-capacity", "target": "g5.12xlarge"},
            "target of no-capacity must be an instance type such as ml.g5.12xlarge",
        ),
        ({"kind": "no-capacity", "target": "chat"}, "must be an instance type"),
        (
            {"kind": "slow", "target": "ml.g5.12xlarge"},
            "target of slow must be the name of an endpoint, an inference component",
        ),
        ({"kind": "slow", "target": "chat-"}, "got 'chat-': there is none of that"),
    ],
)
def test_a_fault_that_is_none_says_why(given: dict[str, Untyped], words: str) -> None:
    """
    And what it could be.
    """
    with pytest.raises(ValueError, match=re.escape(words)):
        Fault(**given)


def test_a_fault_is_written_on_the_command_line() -> None:
    """
    The kind, then what else there is to say.
    """
    assert Fault.parse("no-capacity") == Fault(kind="no-capacity")
    assert Fault.parse("errors,target=chat,answer=429,rate=0.25,seed=7") == Fault(
        kind="errors", target="chat", answer="429", rate=0.25, seed=7
    )
    with pytest.raises(ValueError, match="got colour"):
        Fault.parse("slow,colour=red")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("slow", "a fault is an object with a kind, got 'slow'"),
        ({"kind": "slow", "target": 5}, "target must be a name, got 5"),
        ({"kind": "slow", "seconds": "x"}, "seconds must be a number, got 'x'"),
        ({"kind": "slow", "seconds": True}, "seconds must be a number, got True"),
        ({"kind": "slow", "seconds": "inf"}, "seconds must be more than 0, got inf"),
        ({"kind": "errors", "rate": [1]}, "rate must be a number, got [1]"),
        ({"kind": "errors", "seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"kind": "no-capacity", "available": "x"}, "available must be a whole number"),
    ],
)
def test_a_fault_of_other_kinds_of_values_says_why(given: Untyped, words: str) -> None:
    """
    Which name it is, and what was written.
    """
    with pytest.raises(ValueError, match=re.escape(words)):
        Fault.of(given)


def test_settings_reach_the_server_as_they_are() -> None:
    """
    Written and read again.
    """
    settings = Settings(
        speed=60.0,
        times=FleetTimes(provision=ByType(100.0, {"ml.p5.48xlarge": 900.0})),
        latency=Latency(first_token=1.0),
        faults=[Fault(kind="slow", target="x", seconds=2.0)],
    )

    assert Settings.from_json(settings.to_json()) == settings
    assert Settings.from_json(Settings().to_json()) == Settings(faults=[])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"speed": 0.0}, "speed must be more than 0 and at most 86400, got 0.0"),
        ({"speed": -1.0}, "speed must be more than 0"),
        ({"speed": 86_401.0}, "at most 86400, got 86401.0"),
        ({"speed": float("inf")}, "speed must be a finite number, got inf"),
        ({"speed": float("nan")}, "speed must be a finite number, got nan"),
        ({"speed": "60"}, "speed must be a finite number, got '60' .str.; write 60"),
        ({"speed": True}, "speed must be a finite number, got True"),
        ({"faults": ["slow"]}, r"faults\[0\] must be a Fault, got 'slow'"),
        ({"faults": "slow"}, "faults must be a list, got 'slow'"),
        ({"faults": None}, "faults must be a list, got None"),
        ({"speed": 1, "times": {}}, "times must be a FleetTimes, got a value of type"),
        ({"speed": 1, "latency": 3}, "latency must be a Latency, got 3"),
        ({"clock": 5}, "clock must be text, got 5"),
        ({"port": "80"}, "port must be a whole number, got '80'"),
        ({"account": 123456789012}, "account must be text, got 123456789012"),
        ({"region": ""}, "region must be such as us-east-1, got ''"),
        ({"region": "moon"}, "region must be such as us-east-1, got 'moon'"),
        ({"region": None}, "region must be text, got None"),
        ({"forward": ["a"]}, "forward must be a mapping from text"),
        ({"custom_resources": {"Custom::A": ""}}, "got 'Custom::A' and ''"),
        ({"custom_resources": {"Custom::A": "f"}}, "must be a name and a function"),
        ({"custom_resources": {"": "m:f"}}, "got '' and 'm:f'"),
        ({"custom_resources": "A"}, "custom_resources must be a mapping from text"),
        ({"times": FleetTimes()}, "times and latency need a speed"),
        ({"latency": Latency()}, "times and latency need a speed"),
    ],
)
def test_settings_without_an_effect_are_refused(
    given: dict[str, Untyped], words: str
) -> None:
    """
    Before a server is started.
    """
    with pytest.raises(ValueError, match=words):
        EmbeddedAws(**given)


def test_an_endpoint_under_maintenance_serves_and_does_not_change(
    aws: EmbeddedAws, endpoint: str
) -> None:
    """
    It is left alone until the maintenance is over; others never noticed.
    """
    client = aws.client("sagemaker")
    config = make_config(
        aws, variant={"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
    )
    other = make_endpoint(aws, config)
    count = {"VariantName": "AllTraffic", "DesiredInstanceCount": 2}

    def state(name: str) -> str:
        return str(client.describe_endpoint(EndpointName=name)["EndpointStatus"])

    aws.fault("maintenance", endpoint)

    assert (state(endpoint), state(other)) == ("SystemUpdating", "InService")
    assert invoke(aws, endpoint)
    changes: list[Callable[[], object]] = [
        lambda: client.update_endpoint(
            EndpointName=endpoint, EndpointConfigName=config
        ),
        lambda: client.delete_endpoint(EndpointName=endpoint),
        lambda: client.update_endpoint_weights_and_capacities(
            EndpointName=endpoint, DesiredWeightsAndCapacities=[count]
        ),
    ]
    for change in changes:
        with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
            change()
    aws.clear_faults()
    assert state(endpoint) == "InService"
    client.update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[count]
    )


def test_a_latency_is_no_less_than_nothing() -> None:
    """
    Of several tokens the first one has its own.
    """
    assert Latency(first_token=1.0, per_token=0.5).seconds(3) == 2.0
    assert Latency(first_token=1.0, per_token=0.5).seconds(0) == 1.0
    with pytest.raises(ValueError, match="per_token must be at least 0, got -1"):
        Latency(per_token=-1.0)
    no_number: Untyped = "soon"
    with pytest.raises(ValueError, match="first_token must be a finite number, got 's"):
        Latency(first_token=no_number)


def test_speed_and_faults_are_the_commands() -> None:
    """
    Around a command, and refused with the option's name.
    """
    code = (
        "import json, os, urllib.request as u;"
        "url = os.environ['AWS_ENDPOINT_URL'] + '/_embedded/';"
        "get = lambda page: json.load(u.urlopen(url + page));"
        "print(get('clock')['speed'], get('faults')['faults'][0]['target'])"
    )
    fault = "no-capacity,target=ml.g5.xlarge"
    done = local("--speed", "60", "--fault", fault, "--", sys.executable, "-c", code)
    assert done.stdout.split() == ["60.0", "ml.g5.xlarge"]

    wrong = local("--fault", "rain", "--", "true")
    assert wrong.returncode == 2
    assert "--fault" in wrong.stderr
    wrong = local("--speed", "0", "--", "true")
    assert wrong.returncode == 2
    assert "--speed" in wrong.stderr


def local(*arguments: str) -> subprocess.CompletedProcess[str]:
    """
    Run ``sagemaker-llm local`` on any free port.
    """
    return subprocess.run(
        [COMMAND, "local", "--port", "0", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_quota_bounds_what_starts(aws: EmbeddedAws) -> None:
    """
    The last instance that it allows does start; the words are the service's.
    """
    client, kind = aws.client("sagemaker"), "ml.g6.xlarge"

    def started(count: int) -> str:
        variant = {
            "ModelName": make_model(aws),
            "InstanceType": kind,
            "InitialInstanceCount": count,
        }
        return make_endpoint(aws, make_config(aws, variant=variant))

    aws.fault("quota", kind, available=3)
    serving = started(2)

    with pytest.raises(ClientError) as refused:
        started(2)

    assert refused.value.response["Error"]["Code"] == "ResourceLimitExceeded"
    assert refused.value.response["Error"]["Message"].startswith(
        "The account-level service limit 'ml.g6.xlarge for endpoint usage' is 3 "
        "Instances, with current utilization of 2 Instances and a request delta of 2 "
        "Instances."
    )
    assert started(1)
    config = client.describe_endpoint(EndpointName=serving)["EndpointConfigName"]
    with pytest.raises(ClientError, match="a request delta of 2 Instances"):
        client.update_endpoint(EndpointName=serving, EndpointConfigName=config)
