"""
``sagemaker-llm doctor`` against the embedded AWS: each fault is told with its cause.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
import pytest
import typer
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from typer.testing import CliRunner, Result

from cdk_sagemaker_llm.account.diagnosis import diagnose
from cdk_sagemaker_llm.account.evidence import Evidence
from cdk_sagemaker_llm.account.gathering import CALLS, UnknownNameError, gather
from cdk_sagemaker_llm.account.reader import AccountReader, policy_of
from cdk_sagemaker_llm.cli.commands import _account, add_command
from cdk_sagemaker_llm.cli.commands import doctor as command
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local import by_hand
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    REGISTRY,
    ROLE,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    unique,
)
from tests.pages import ROOT, blocks, shows
from tests.secrecy import TOKEN

_VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
_MODEL = {"SM_VLLM_MODEL": "Qwen/Qwen3-0.6B"}
_CONTAINER = {"Environment": _MODEL}
_PAGE = ROOT / "docs" / "how-to" / "doctor.md"
_ADDRESS = "http://localhost"
_LONG = 4000
# What goes wrong, and the cause that is told first.
_FAULTS = {
    "no-capacity": ({"kind": "no-capacity"}, "no capacity for the instance type"),
    "no-image": ({"kind": "no-image"}, "image not found or not allowed"),
    "cannot-start": ({"kind": "cannot-start"}, "container cannot start"),
    "silent": ({"kind": "never-healthy"}, "health check not passed"),
    **{
        name: ({"kind": "never-healthy", "symptom": name}, name)
        for name in (
            "out of accelerator memory",
            "no room for the KV cache",
            "KV cache smaller than the longest sequence",
            "gated model without a token",
            "no way to the Hub",
            "model class is not known",
            "disk is full",
            "driver older than the CUDA of the image",
            "model brings its own code",
        )
    },
}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


@pytest.fixture(autouse=True)
def _without_faults(aws: HandRunAws) -> Iterator[None]:
    yield
    aws.clear_faults()


def session(*_: object) -> boto3.Session:
    """
    Make a session whose clients talk to the AWS that is run by hand.
    """
    made = boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        region_name=by_hand.REGION,
    )
    events: Untyped = made.events
    events.register("before-send", by_hand._send)  # noqa: SLF001 - as its clients
    return made


def reader_of(aws: HandRunAws, using: boto3.Session | None = None) -> AccountReader:
    """
    Ask that AWS, by its own clock.
    """
    return AccountReader(
        using or session(),
        CALLS,
        endpoint_url=_ADDRESS,
        now=lambda: datetime.fromtimestamp(aws.wall(), UTC),
    )


def gathered(aws: HandRunAws, name: str) -> Evidence:
    """
    Gather the evidence of a name.
    """
    return gather(reader_of(aws), name, lambda _: None)


def doctor(aws: HandRunAws, *arguments: str) -> Result:
    """
    Run the command in this process.
    """
    app = typer.Typer()
    app.callback()(lambda: None)
    add_command(app, "doctor")
    reader = reader_of(aws)
    with (
        mock.patch.object(_account.AccountOptions, "reader", return_value=reader),
        mock.patch.dict(os.environ, {"AWS_ENDPOINT_URL": _ADDRESS}),
    ):
        return CliRunner().invoke(app, ["doctor", *arguments])


def facts_of(aws: HandRunAws, *arguments: str) -> dict[str, Any]:
    """
    Run the command for its JSON.
    """
    found: dict[str, Any] = json.loads(doctor(aws, *arguments, "--json").stdout)
    return found


def endpoint_of(aws: HandRunAws, **environment: str) -> str:
    """
    Host vLLM on an instance of one GPU.
    """
    model = make_model(
        aws, image=_VLLM, container={"Environment": {**_MODEL, **environment}}
    )
    host = {"ModelName": model, "InstanceType": "ml.g5.xlarge"}
    return make_endpoint(aws, make_config(aws, variant=host))


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_fault_is_told_with_its_cause_first(aws: HandRunAws, fault: str) -> None:
    """
    And with the line that shows it, and the way out.
    """
    settings, cause = _FAULTS[fault]
    aws.fault(**settings)
    endpoint = endpoint_of(aws)
    aws.run(_LONG)

    done = doctor(aws, endpoint)

    assert done.exit_code == 1
    assert f"Likeliest cause: {cause}\n  Evidence: " in done.stdout
    assert "  Way out: " in done.stdout


def test_what_an_engine_refuses_is_told_from_its_log(aws: HandRunAws) -> None:
    """
    Its own words come before the service's.
    """
    endpoint = endpoint_of(aws, SM_VLLM_NO_SUCH="1")
    aws.run(_LONG)

    first, second = facts_of(aws, endpoint)["causes"]

    assert first["cause"] == "argument is not known"
    assert "--no-such" in first["evidence"]
    assert first["where"].startswith(f"log /aws/sagemaker/Endpoints/{endpoint}")
    assert "LLM501" in first["rules"]
    assert second["cause"] == "health check not passed"


def test_another_port_is_told(aws: HandRunAws) -> None:
    """
    The engine is ready, and nobody hears it.
    """
    endpoint = endpoint_of(aws, SM_VLLM_PORT="9000")
    aws.run(_LONG)

    causes = facts_of(aws, endpoint)["causes"]

    assert causes[0]["cause"] == "engine listens on another port"


def test_a_component_s_container_is_told_of(aws: HandRunAws) -> None:
    """
    By the component's own name, by the endpoint's, and from its own log group.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    aws.run(600)
    aws.fault("never-healthy", symptom="disk is full")
    model = make_model(aws, image=_VLLM, container={"Environment": _MODEL})
    component = make_component(aws, endpoint, model=model)
    aws.run(_LONG)

    for name in (component, endpoint):
        facts = facts_of(aws, name)
        assert facts["causes"][0]["cause"] == "disk is full"
        assert f"InferenceComponents/{component}" in facts["causes"][0]["where"]


def test_the_page_shows_a_session_as_it_is(aws: HandRunAws) -> None:
    """
    But for the time; its other command begins with such a fault.
    """
    first, text, *_, last = blocks(_PAGE.read_text(encoding="utf-8"))
    aws.fault(**dataclasses.asdict(Fault.parse(shlex.split(last.body)[-1])))
    config = {"ModelName": make_model(aws, image=_VLLM, container=_CONTAINER)}
    host = {**config, "InstanceType": "ml.g5.xlarge"}
    aws.client("sagemaker").create_endpoint(
        EndpointName="chat", EndpointConfigName=make_config(aws, variant=host)
    )
    aws.run(_LONG)

    done = doctor(aws, *shlex.split(first.body)[2:])

    assert shows(text.body, done.stdout)


def test_what_runs_is_said_to_be_fine(aws: HandRunAws) -> None:
    """
    With nothing claimed.
    """
    endpoint = endpoint_of(aws)
    aws.run(_LONG)

    done = doctor(aws, endpoint)

    assert done.exit_code == 0
    assert f"  ok  endpoint {endpoint}: InService, 1 of 1 instance" in done.stdout
    assert "Nothing is wrong in what was looked at." in done.stdout


def test_watching_ends_when_it_runs_or_has_failed(aws: HandRunAws) -> None:
    """
    And says meanwhile what happens now, and how long that usually takes.
    """
    endpoint = endpoint_of(aws)

    with mock.patch.object(command, "pause", aws.run):
        done = doctor(aws, endpoint, "--watch")

    assert done.exit_code == 0
    assert f"endpoint {endpoint} is Creating for 0 min; usually 5 to 20 min (9 " in (
        done.stderr
    )
    assert "InService" in done.stdout


def test_watching_tells_early_what_cannot_come_right(aws: HandRunAws) -> None:
    """
    The health check times out much later.
    """
    aws.fault("never-healthy", symptom="disk is full")
    endpoint = endpoint_of(aws)

    with mock.patch.object(command, "pause", aws.run):
        done = doctor(aws, endpoint, "--watch")

    assert done.exit_code == 1
    assert "it will not run as it is: disk is full" in done.stderr


def test_a_creation_that_takes_too_long_is_a_cause(aws: HandRunAws) -> None:
    """
    Up to its time-outs it is not.
    """
    endpoint = endpoint_of(aws)
    evidence = gathered(aws, endpoint)

    def causes(minutes: int) -> list[str]:
        later = datetime.fromtimestamp(aws.wall() + minutes * 60, UTC).isoformat()
        found = Evidence.of_bundle(
            evidence.bundle().replace(
                f'"time": "{evidence.time}"', f'"time": "{later}"'
            )
        )
        return [one.symptom.name for one in diagnose(found).causes]

    assert causes(45) == []
    assert causes(46) == ["endpoint stays in Creating"]
    aws.run(_LONG)


def test_a_target_without_a_policy_is_told(aws: HandRunAws) -> None:
    """
    The endpoint runs, and never scales.
    """
    endpoint = endpoint_of(aws)
    aws.run(_LONG)
    aws.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=f"endpoint/{endpoint}/variant/AllTraffic",
        ScalableDimension="sagemaker:variant:DesiredInstanceCount",
        MinCapacity=1,
        MaxCapacity=4,
    )

    facts = facts_of(aws, endpoint)

    assert [one["cause"] for one in facts["causes"]] == ["scaling target has no policy"]


def test_a_stack_that_was_rolled_back_is_explained(aws: HandRunAws) -> None:
    """
    By its events, and by the log of the endpoint that is gone with it.
    """
    aws.fault("never-healthy", symptom="disk is full")
    name = deployed(aws)

    facts = facts_of(aws, name)

    assert facts["kind"] == "stack"
    assert facts["states"][0]["status"] == "ROLLBACK_COMPLETE"
    first, second = facts["causes"]
    assert (first["cause"], first["where"].split()[0]) == ("disk is full", "log")
    assert second["where"] == f"events of stack {name}"


def test_the_stack_of_an_endpoint_is_found(aws: HandRunAws) -> None:
    """
    By the tags that CloudFormation puts on it.
    """
    name = deployed(aws)
    stacks = aws.client("cloudformation")
    rows = stacks.describe_stack_resources(StackName=name)["StackResources"]
    arns = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in rows}
    endpoint = arns["Endpoint"].rpartition("/")[2]

    facts = facts_of(aws, endpoint)

    states = {one["what"]: one["status"] for one in facts["states"]}
    assert states[f"stack {name}"] == "CREATE_COMPLETE"
    assert facts["healthy"]


def deployed(aws: HandRunAws) -> str:
    """
    Deploy a stack of an endpoint, and let it come to its end.
    """
    container = {"Image": _VLLM, "Environment": _MODEL}
    host = {
        "VariantName": "AllTraffic",
        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
        "InstanceType": "ml.g5.xlarge",
        "InitialInstanceCount": 1,
        "InitialVariantWeight": 1,
    }
    config = {"Fn::GetAtt": ["Config", "EndpointConfigName"]}
    properties: dict[str, Any] = {
        "Model": {"ExecutionRoleArn": ROLE, "PrimaryContainer": container},
        "Config": {"ProductionVariants": [host]},
        "Endpoint": {"EndpointConfigName": config},
    }
    kinds = {"Model": "Model", "Config": "EndpointConfig", "Endpoint": "Endpoint"}
    resources = {
        key: {"Type": f"AWS::SageMaker::{kinds[key]}", "Properties": value}
        for key, value in properties.items()
    }
    name = unique("stack")
    aws.client("cloudformation").create_stack(
        StackName=name, TemplateBody=json.dumps({"Resources": resources})
    )
    aws.run(_LONG)
    return name


def test_a_bundle_is_explained_without_an_account(
    aws: HandRunAws, tmp_path: Path
) -> None:
    """
    As the account was, and nobody is asked.
    """
    aws.fault("never-healthy", symptom="no room for the KV cache")
    endpoint, bundle = endpoint_of(aws), tmp_path / "bundle.json"
    aws.run(_LONG)
    online = doctor(aws, endpoint, "--save", str(bundle))

    with mock.patch.object(command, "gather", None):
        offline = doctor(aws, str(bundle))

    assert (offline.exit_code, offline.stdout) == (online.exit_code, online.stdout)


def test_nothing_that_is_printed_or_saved_holds_a_secret(
    aws: HandRunAws, tmp_path: Path
) -> None:
    """
    Neither of a model's environment, by its form or its name, nor of a log.
    """
    bundle = tmp_path / "bundle.json"
    hidden = {"HF_TOKEN": TOKEN, "MY_API_KEY": "mine-alone", "OTHER": f"x {TOKEN}"}
    endpoint = endpoint_of(aws, **hidden)
    aws.run(_LONG)
    group, stream = f"/aws/sagemaker/Endpoints/{endpoint}", "AllTraffic/container-0"
    said = f"--api-key mine-alone; api_key='mine-alone' token {TOKEN}, max_tokens=4096"
    world = aws.hosting.world
    world.surroundings.write_log(group, stream, (said,), aws.wall())

    done = doctor(aws, endpoint, "--save", str(bundle), "--json")

    written = done.stdout + done.stderr + bundle.read_text()
    assert TOKEN not in written
    assert "mine-alone" not in written
    assert "max_tokens=4096" in written


def test_all_calls_are_in_the_printed_policy(aws: HandRunAws) -> None:
    """
    What it prints is what it calls, for an endpoint with everything.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    aws.run(600)
    model = make_model(aws, image=_VLLM, container={"Environment": _MODEL})
    component = make_component(aws, endpoint, model=model)
    aws.run(_LONG)
    aws.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=f"inference-component/{component}",
        ScalableDimension="sagemaker:inference-component:DesiredCopyCount",
        MinCapacity=1,
        MaxCapacity=2,
    )
    called: set[str] = set()
    recording = session()
    recording.events.register(
        "before-parameter-build",
        lambda model, **_: called.add(
            f"{model.service_model.signing_name}:{model.name}"
        ),
    )

    gather(reader_of(aws, recording), endpoint, lambda _: None)

    printed = json.loads(doctor(aws, "--policy").stdout)
    assert printed == policy_of(CALLS)
    allowed = set(printed["Statement"][0]["Action"])
    services = {"monitoring": "cloudwatch"}
    actions = {
        f"{services.get(service, service)}:{operation}"
        for service, operation in (one.split(":") for one in called)
    }
    assert actions <= allowed
    # The rest is of stacks, and of what fails for a limit.
    assert len(actions) == 13


def test_throttling_is_survived(aws: HandRunAws) -> None:
    """
    What is refused for the rate is asked again.
    """
    endpoint = endpoint_of(aws)
    aws.run(_LONG)
    refused = {"sagemaker": 1, "logs": 1}
    throttled = session()

    def throttle(request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        auth = str(request.headers.get("Authorization"))
        for service, left in refused.items():
            if left and f"/{service}/" in auth:
                refused[service] -= 1
                body = by_hand._Raw(_THROTTLED)  # noqa: SLF001 - as its clients
                return AWSResponse(request.url, 400, HTTPHeaders(), body)
        return None

    events: Untyped = throttled.events
    events.register_first("before-send", throttle)
    with mock.patch.object(time, "sleep"):
        evidence = gather(reader_of(aws, throttled), endpoint, lambda _: None)

    assert set(refused.values()) == {0}
    assert evidence.endpoints
    assert evidence.logs
    assert evidence.not_asked == ()


_THROTTLED = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'


def test_a_name_that_nothing_has_is_misuse(aws: HandRunAws) -> None:
    """
    As is none at all, a file that is no bundle, and watching one.
    """
    done = doctor(aws, unique("nothing"))

    assert done.exit_code == 2
    assert "there is no endpoint, inference component or stack 'nothing-" in done.stderr
    assert doctor(aws).exit_code == 2
    assert doctor(aws, __file__).exit_code == 2
    assert doctor(aws, __file__, "--watch").exit_code == 2
    with pytest.raises(UnknownNameError):
        gathered(aws, unique("nothing"))


def test_two_hundred_components_take_less_than_five_seconds(aws: HandRunAws) -> None:
    """
    They are asked for several at a time, and the progress is told.
    """
    host = {"InitialInstanceCount": 25}
    endpoint = make_endpoint(aws, make_config(aws, variant=host))
    aws.run(600)
    model = make_model(aws)
    for _ in range(200):
        make_component(aws, endpoint, model=model)
    aws.run(600)
    said: list[str] = []

    began = time.monotonic()
    evidence = gather(reader_of(aws), endpoint, said.append)
    took = time.monotonic() - began

    assert len(evidence.components) == 200
    assert took < 5
    assert "describing 200 components" in said
