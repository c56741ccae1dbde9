"""
The app that is written for a script: it synthesises to what the script asks for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from aws_cdk.assertions import Match, Template

from tests import notebooks
from tests.deployments import synthesised
from tests.running import run

ROLE = "arn:aws:iam::111111111111:role/hosting"


@pytest.fixture(name="adopt", scope="session")
def _adopt(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """
    Adopt one of the notebooks, each once.
    """
    apps: dict[str, Path] = {}

    def adopt(name: str) -> Path:
        if name not in apps:
            folder = tmp_path_factory.mktemp(name)
            path = notebooks.notebook(folder, *notebooks.ALL[name])
            answer = run("adopt", path, "-o", folder / "app", "--region", "us-east-1")
            assert answer.returncode == 0, answer.stderr
            apps[name] = folder / "app"
        return apps[name]

    return adopt


def template_of(app: Path) -> Mapping[str, Any]:
    """
    Run an app with a role, and return its template.
    """
    with (
        mock.patch.object(sys, "path", [str(app), *sys.path]),
        mock.patch.dict(sys.modules),
    ):
        out = synthesised(app / "app.py", app / "cdk.out", role_arn=ROLE)
    (written,) = out.glob("*.template.json")
    template: Mapping[str, Any] = json.loads(written.read_text("utf-8"))
    return template


@pytest.mark.parametrize("name", notebooks.ALL)
def test_it_synthesises(name: str, adopt: Callable[[str], Path]) -> None:
    """
    Each notebook's app makes a resource for each request, of the notebook's name.
    """
    app = adopt(name)
    found = notebooks.read_cells(app.parent, *notebooks.ALL[name])

    template = template_of(app)

    kinds = {
        "CreateModel": "AWS::SageMaker::Model",
        "CreateEndpointConfig": "AWS::SageMaker::EndpointConfig",
        "CreateEndpoint": "AWS::SageMaker::Endpoint",
        "CreateInferenceComponent": "AWS::SageMaker::InferenceComponent",
        "RegisterScalableTarget": "AWS::ApplicationAutoScaling::ScalableTarget",
        "PutScalingPolicy": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "PutMetricAlarm": "AWS::CloudWatch::Alarm",
    }
    assert f'region="{found.region}"' in (app / "app.py").read_text()
    for operation, kind in kinds.items():
        count = len(list(found.of(operation)))
        Template.from_json(template).resource_count_is(kind, count)
    for one in found.of("CreateEndpoint"):
        Template.from_json(template).has_resource_properties(
            "AWS::SageMaker::Endpoint", {"EndpointName": one.parameters["EndpointName"]}
        )


def test_variables_and_role(adopt: Callable[[str], Path]) -> None:
    """
    The container has the notebook's variables, and the role that is given.
    """
    template = Template.from_json(template_of(adopt("tgi")))

    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "ExecutionRoleArn": ROLE,
            "PrimaryContainer": {
                "Environment": {
                    "HF_MODEL_ID": "mistralai/Mistral-7B-Instruct-v0.1",
                    "SM_NUM_GPUS": "4",
                    "MAX_INPUT_LENGTH": "2048",
                    "MAX_TOTAL_TOKENS": "4096",
                }
            },
        },
    )
    template.has_resource_properties(
        "AWS::SageMaker::EndpointConfig",
        {
            "ProductionVariants": [
                Match.object_like({
                    "InstanceType": "ml.g5.12xlarge",
                    "ContainerStartupHealthCheckTimeoutInSeconds": 600,
                })
            ]
        },
    )  # fmt: skip


def test_files(adopt: Callable[[str], Path]) -> None:
    """
    A serving.properties that a cell writes lies in the app, and in the model's tarball.
    """
    app = adopt("lmi")

    (written,) = app.glob("assets/*/serving.properties")
    template = Template.from_json(template_of(app))

    assert written.read_text().splitlines()[:2] == [
        "engine=MPI",
        "option.model_id=TheBloke/Llama-2-7B-fp16",
    ]
    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {"PrimaryContainer": {"ModelDataUrl": Match.any_value()}},
    )


def test_an_alarm_sets_its_policy_off(adopt: Callable[[str], Path]) -> None:
    """
    What the notebook took from an answer is a reference in the template.
    """
    template = template_of(adopt("components"))["Resources"]

    (policy,) = (
        name
        for name, one in template.items()
        if one["Type"] == "AWS::ApplicationAutoScaling::ScalingPolicy"
    )
    (alarm,) = (one for one in template.values() if "Alarm" in one["Type"])
    assert alarm["Properties"]["AlarmActions"] == [{"Ref": policy}]


def test_an_alarm_of_a_component_elsewhere(tmp_path: Path) -> None:
    """
    It refers to its policy too where no construct makes both.
    """
    path = notebooks.notebook(tmp_path, "component = 'a'", notebooks.COMPONENTS[-1])

    done = run("adopt", path, "-o", tmp_path / "app")
    template = template_of(tmp_path / "app")["Resources"]

    assert done.returncode == 0
    assert {one["Type"]: name for name, one in template.items()} == {
        "AWS::ApplicationAutoScaling::ScalableTarget": "Scaling",
        "AWS::ApplicationAutoScaling::ScalingPolicy": "Scaling2",
        "AWS::CloudWatch::Alarm": "Scaling3",
    }
    assert template["Scaling3"]["Properties"]["AlarmActions"] == [{"Ref": "Scaling2"}]


def test_what_is_told(tmp_path: Path) -> None:
    """
    Lines that are not converted are told, with the app or without one.
    """
    path = notebooks.notebook(tmp_path, *notebooks.JUMPSTART)

    answer = run("adopt", path, "-o", tmp_path / "app")

    assert answer.returncode == 2
    assert "cell 2, line 1: image, weights and variables of meta-" in answer.stderr
    assert f"{path} deploys nothing that is known" in answer.stderr
    assert not (tmp_path / "app").exists()


def test_one_file_at_a_time(tmp_path: Path) -> None:
    """
    A file beside something else is misuse.
    """
    answer = run("adopt", "a.py", "chat", "-o", tmp_path / "app")

    assert answer.returncode == 2
    assert "one file at a time, got a.py or chat" in answer.stderr
