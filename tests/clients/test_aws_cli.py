"""
The AWS CLI: create, wait, invoke, list, delete.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.local.hosting_requests import LMI_36, ROLE, unique

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.conftest import Run


def test_an_endpoint_from_creation_to_deletion(run: Run, tmp_path: Path) -> None:
    """
    With the waiters, a filter by name, and an answer in a file.
    """
    name, answer = unique("cli"), tmp_path / "answer.json"
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": name,
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
    }
    container = json.dumps({"Image": LMI_36, "Environment": {"HF_MODEL_ID": "a/b"}})
    model = ("--model-name", name)
    config = ("--endpoint-config-name", name)
    endpoint = ("--endpoint-name", name)

    def aws(*arguments: str) -> dict[str, Any]:
        done = run("awscli", "aws", *arguments, "--output", "json")
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout or "{}")
        return printed

    role = ("--execution-role-arn", ROLE)
    aws("sagemaker", "create-model", *model, *role, "--primary-container", container)
    variants = ("--production-variants", json.dumps([variant]))
    aws("sagemaker", "create-endpoint-config", *config, *variants)
    aws("sagemaker", "create-endpoint", *endpoint, *config, "--tags", "Key=a,Value=b")
    aws("sagemaker", "wait", "endpoint-in-service", *endpoint)
    body = ("--body", '{"inputs": "Who is Roger Federer?"}')
    content = ("--content-type", "application/json")
    said = aws(
        "sagemaker-runtime", "invoke-endpoint", *endpoint, *content, *body, str(answer)
    )
    listed = aws("sagemaker", "list-endpoints", "--name-contains", name)
    arn = listed["Endpoints"][0]["EndpointArn"]
    tags = aws("sagemaker", "list-tags", "--resource-arn", arn)
    aws("sagemaker", "delete-endpoint", *endpoint)
    aws("sagemaker", "wait", "endpoint-deleted", *endpoint)
    aws("sagemaker", "delete-endpoint-config", *config)
    aws("sagemaker", "delete-model", *model)

    assert said["InvokedProductionVariant"] == "AllTraffic"
    assert json.loads(answer.read_text())["generated_text"]
    assert [e["EndpointName"] for e in listed["Endpoints"]] == [name]
    assert tags["Tags"] == [{"Key": "a", "Value": "b"}]


def test_a_refusal_is_in_the_services_words(run: Run) -> None:
    """
    What scripts look for, with the exit status of version 1.
    """
    done = run("awscli", "aws", "sagemaker", "describe-endpoint", "--endpoint-name", "no")

    assert done.returncode == 255
    assert "(ValidationException)" in done.stderr
    assert "Could not find endpoint" in done.stderr
