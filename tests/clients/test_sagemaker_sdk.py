"""
The SageMaker Python SDK, version 2.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import LMI_36, ROLE

if TYPE_CHECKING:
    from tests.clients.conftest import Program


@pytest.fixture(name="report", scope="module")
def _report(program: Program) -> dict[str, Any]:
    return program("sagemaker", "sagemaker_sdk", LMI_36, ROLE)


def test_a_model_is_deployed_asked_updated_and_deleted(report: dict[str, Any]) -> None:
    """
    From an artifact that it uploads to its own order of deletion, which takes the
    endpoint configuration before the endpoint.
    """
    said = report["model"]

    assert said["answer"] == said["again"]
    assert streamed(said["lines"]) == said["answer"]["generated_text"]
    assert said["counts"] == {"current": 2, "desired": 2}


def test_the_packages_for_djl_and_hugging_face_choose_images(
    report: dict[str, Any],
) -> None:
    """
    Both of which are answered for.
    """
    assert "djl-inference" in report["djl"]["image"]
    assert "tgi-inference" in report["hugging_face"]["image"]
    assert report["djl"]["answer"]["generated_text"]
    (told,) = report["hugging_face"]["answer"]
    assert streamed(report["hugging_face"]["lines"]) == told["generated_text"]


def test_inference_components_share_an_endpoint(report: dict[str, Any]) -> None:
    """
    The second joins the first; an update of resources keeps the model.
    """
    said = report["component"]

    assert said["answer"] == said["other"] == said["again"]
    assert streamed(said["lines"]) == said["answer"]["generated_text"]
    assert said["related"] == 2
    assert said["copies"] == 2


def test_nothing_is_left_but_what_an_update_replaced(report: dict[str, Any]) -> None:
    """
    The SDK makes a new configuration for an update and forgets the old one.
    """
    (arn,) = report["left"]

    assert ":endpoint-config/" in arn


def streamed(lines: list[str]) -> str:
    """
    Join the tokens of a stream of jsonlines or of events.
    """
    bodies = [line.removeprefix("data:") for line in lines]
    return "".join(json.loads(body)["token"]["text"] for body in bodies if body.strip())
