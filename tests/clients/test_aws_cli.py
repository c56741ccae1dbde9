"""
The AWS CLI: its own commands, waiters and pages beside the plain calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import LMI_36, ROLE, artifact, unique

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.conftest import Run

Aws = Callable[..., Any]


@pytest.fixture(name="aws_cli")
def _aws_cli(run: Run) -> Aws:
    """
    Run a command that goes through, and read what it prints.
    """

    def aws(*arguments: str) -> Any:  # noqa: ANN401 - JSON or text
        done = run("awscli", "aws", *arguments, "--output", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        try:
            return json.loads(done.stdout or "{}")
        except ValueError:
            return done.stdout

    return aws


def test_an_endpoint_from_creation_to_deletion(aws_cli: Aws, tmp_path: Path) -> None:
    """
    With an upload, the waiters, a filter by name, and an answer in a file.
    """
    name, answer, data = unique("cli"), tmp_path / "answer", tmp_path / "model.tar.gz"
    data.write_bytes(artifact(rolling_batch="auto"))
    url = f"s3://{name}/model.tar.gz"
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": name,
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
    }
    container = json.dumps({"Image": LMI_36, "ModelDataUrl": url})
    model = ("--model-name", name, "--execution-role-arn", ROLE)
    config = ("--endpoint-config-name", name)
    endpoint = ("--endpoint-name", name)

    aws_cli("s3", "mb", f"s3://{name}")
    aws_cli("s3", "cp", str(data), url)
    aws_cli("sagemaker", "create-model", *model, "--primary-container", container)
    variants = ("--production-variants", json.dumps([variant]))
    aws_cli("sagemaker", "create-endpoint-config", *config, *variants)
    tags = ("--tags", "Key=a,Value=b")
    aws_cli("sagemaker", "create-endpoint", *endpoint, *config, *tags)
    aws_cli("sagemaker", "wait", "endpoint-in-service", *endpoint)
    body = ("--body", '{"inputs": "Who is Roger Federer?"}', str(answer))
    said = aws_cli("sagemaker-runtime", "invoke-endpoint", *endpoint, *body)
    listed = aws_cli("sagemaker", "list-endpoints", "--name-contains", name)
    arn = listed["Endpoints"][0]["EndpointArn"]
    tagged = aws_cli("sagemaker", "list-tags", "--resource-arn", arn)
    aws_cli("sagemaker", "delete-endpoint", *endpoint)
    aws_cli("sagemaker", "wait", "endpoint-deleted", *endpoint)
    aws_cli("sagemaker", "delete-endpoint-config", *config)
    aws_cli("sagemaker", "delete-model", *model[:2])
    aws_cli("s3", "rb", f"s3://{name}", "--force")

    assert said["InvokedProductionVariant"] == "AllTraffic"
    assert json.loads(answer.read_text())["generated_text"]
    assert [e["EndpointName"] for e in listed["Endpoints"]] == [name]
    assert tagged["Tags"] == [{"Key": "a", "Value": "b"}]


def test_a_template_is_deployed_and_deployed_again(
    run: Run, aws_cli: Aws, tmp_path: Path
) -> None:
    """
    ``cloudformation deploy`` makes a change set, finds the second one empty, and
    reads a parameter's value from the command line.
    """
    stack, path = unique("Cli"), tmp_path / "template.json"
    path.write_text(
        json.dumps(
            {
                "Parameters": {"Name": {"Type": "String"}},
                "Resources": {
                    "Model": {
                        "Type": "AWS::SageMaker::Model",
                        "Properties": {
                            "ModelName": {"Ref": "Name"},
                            "ExecutionRoleArn": ROLE,
                            "PrimaryContainer": {"Image": LMI_36},
                        },
                    }
                },
            }
        )
    )
    named = ("--stack-name", stack)
    template = ("--template-file", str(path), "--parameter-overrides", f"Name={stack}")
    deploy = ("cloudformation", "deploy", *named, *template)

    assert "Successfully created/updated stack" in aws_cli(*deploy)
    aws_cli("sagemaker", "describe-model", "--model-name", stack)
    again = run("awscli", "aws", *deploy, "--fail-on-empty-changeset")
    assert again.returncode == 255
    assert "No changes to deploy" in again.stderr
    assert "No changes to deploy" in aws_cli(*deploy, "--no-fail-on-empty-changeset")
    aws_cli("cloudformation", "delete-stack", *named)
    aws_cli("cloudformation", "wait", "stack-delete-complete", *named)


def test_lists_come_in_pages(aws_cli: Aws) -> None:
    """
    Of the size that is asked for, with the way to the next one.
    """
    names = [unique("paged") for _ in range(3)]
    for name in names:
        container = ("--primary-container", json.dumps({"Image": LMI_36}))
        model = ("--model-name", name, "--execution-role-arn", ROLE)
        aws_cli("sagemaker", "create-model", *model, *container)
    listing = ("sagemaker", "list-models", "--name-contains", "paged", "--page-size")

    everything = aws_cli(*listing, "1")
    first = aws_cli(*listing, "2", "--max-items", "2")
    rest = aws_cli(*listing, "2", "--starting-token", first["NextToken"])
    found = [model["ModelName"] for model in everything["Models"]]
    assert set(found) == set(names)
    assert [m["ModelName"] for m in first["Models"] + rest["Models"]] == found


def test_a_refusal_is_in_the_services_words(run: Run) -> None:
    """
    What scripts look for, with the exit status of version 1.
    """
    asked = ("sagemaker", "describe-endpoint", "--endpoint-name", "no")
    done = run("awscli", "aws", *asked)

    assert done.returncode == 255
    assert "(ValidationException)" in done.stderr
    assert "Could not find endpoint" in done.stderr
