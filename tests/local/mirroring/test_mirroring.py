"""
The function that starts mirroring, with the embedded AWS's repositories and a socket
for what CloudFormation would be told.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import boto3
import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.staging import mirroring
from tests.local.building.projects import Projects, buildspec
from tests.local.conftest import REGION
from tests.local.staging.listener import Listener, Told

TAG = "0.20.2-mirrored"
MANIFEST = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
    "config": {"digest": "sha256:" + "1" * 64, "size": 1},
    "layers": [],
}


@pytest.fixture(name="told")
def _told() -> Iterator[Told]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Told(server)
        server.shutdown()
        thread.join()


@pytest.fixture(name="ecr")
def _ecr(embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> Untyped:
    """
    A client; the function finds the embedded AWS by its variables.
    """
    for name, value in embedded_aws.process_environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    return boto3.client("ecr", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def mirrored(ecr: Untyped, repository: str) -> str:
    """
    Put an image there as a worker leaves it, and return its digest.
    """
    ecr.create_repository(repositoryName=repository)
    put = ecr.put_image(
        repositoryName=repository, imageManifest=json.dumps(MANIFEST), imageTag=TAG
    )
    digest: str = put["image"]["imageId"]["imageDigest"]
    return digest


def event(
    told: Told,
    repository: str,
    digest: str,
    kind: str,
    *,
    before: str | None = None,
    handle: str = "/handle",
) -> dict[str, Any]:
    """
    Write what CloudFormation sends.
    """
    properties = {
        "Repository": repository,
        "Digest": digest,
        "Tag": TAG,
        "Project": "no-such-project",
        "Handle": told.url + handle,
        "Order": "{}",
    }
    made = {"PhysicalResourceId": f"{repository}@{digest}"}
    old = {**properties, "Handle": told.url + before} if before else None
    return {
        "RequestType": kind,
        "RequestId": kind,
        "ResponseURL": f"{told.url}/answer",
        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/one/1",
        "LogicalResourceId": "Start",
        "ResourceProperties": properties,
        **({} if kind == "Create" else made),
        **({"OldResourceProperties": old} if old else {}),
    }


def test_what_is_mirrored_is_signalled_at_once(told: Told, ecr: Untyped) -> None:
    """
    No build is started: there is no such project.
    """
    digest = mirrored(ecr, "mirroring-there")
    mirroring.handler(event(told, "mirroring-there", digest, "Create"), None)

    (signalled,), (answer,) = told.at("/handle"), told.at("/answer")
    assert signalled["Status"] == "SUCCESS"
    assert signalled["UniqueId"] == digest
    assert answer["Status"] == "SUCCESS"
    assert answer["PhysicalResourceId"] == f"mirroring-there@{digest}"


@pytest.mark.parametrize("has_another", [True, False])
def test_what_is_not_there_is_built(
    told: Told, ecr: Untyped, *, has_another: bool
) -> None:
    """
    Another digest under the tag, or none: a build is asked for, which here is of no
    project.
    """
    name = f"mirroring-{has_another}".lower()
    if has_another:
        mirrored(ecr, name)
    else:
        ecr.create_repository(repositoryName=name)
    wanted = "sha256:" + "0" * 64
    mirroring.handler(event(told, name, wanted, "Create"), None)

    (answer,) = told.at("/answer")
    assert told.at("/handle") == []
    assert answer["Status"] == "FAILED"
    assert answer["PhysicalResourceId"] == "nothing-mirrored"
    assert "no-such-project" in answer["Reason"]


def test_how_a_build_that_mirrors_ended_is_told(
    embedded_aws: EmbeddedAws,
    told: Told,
    ecr: Untyped,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    It has the order and the handle; what it could not say itself is said for it.
    """
    projects = Projects(embedded_aws)
    project = projects.make(buildspec(build=["exit 3"]))
    ecr.create_repository(repositoryName="mirroring-built")
    wanted = "sha256:" + "0" * 64
    asked = event(told, "mirroring-built", wanted, "Create")
    asked["ResourceProperties"]["Project"] = project
    mirroring.handler(asked, None)
    (build_id,) = projects.client.list_builds_for_project(projectName=project)["ids"]
    build = projects.ended(build_id)

    mirroring.handler({"detail": {"build-id": build["arn"]}}, None)

    (answer,), (heard,) = told.at("/answer"), told.at("/handle")
    assert answer["PhysicalResourceId"] == f"mirroring-built@{wanted}"
    assert f"{wanted} is mirrored by {build_id}" in capsys.readouterr().out
    given = {
        one["name"]: one["value"]
        for one in build["environment"]["environmentVariables"]
    }
    assert given == {"STAGING_ORDER": "{}", "STAGING_HANDLE": f"{told.url}/handle"}
    assert (heard["Status"], heard["UniqueId"]) == ("FAILURE", build_id)


@pytest.mark.usefixtures("ecr")
def test_a_repository_that_is_gone_is_told(told: Told) -> None:
    """
    The stack's event names it.
    """
    mirroring.handler(event(told, "nowhere", "sha256:" + "0" * 64, "Create"), None)

    (answer,) = told.at("/answer")
    assert answer["Status"] == "FAILED"
    assert "RepositoryNotFoundException" in answer["Reason"]
    assert "nowhere" in answer["Reason"]


def test_nothing_is_begun_for_a_handle_that_was_awaited(
    told: Told, ecr: Untyped
) -> None:
    """
    An update of something else neither signals nor builds; one with a new handle does.
    """
    digest = mirrored(ecr, "mirroring-same")
    asked = event(told, "mirroring-same", digest, "Update", before="/handle")
    mirroring.handler(asked, None)
    assert told.at("/handle") == []
    mirroring.handler({**asked, "OldResourceProperties": {"Handle": "other"}}, None)

    assert [one["Status"] for one in told.at("/handle")] == ["SUCCESS"]
    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS", "SUCCESS"]


def test_an_expired_handle_does_not_break_a_roll_back(told: Told, ecr: Untyped) -> None:
    """
    The condition behind it was met long ago.
    """
    digest = mirrored(ecr, "mirroring-expired")
    asked = event(
        told, "mirroring-expired", digest, "Update", before="/old", handle="/expired"
    )
    mirroring.handler(asked, None)

    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]


def test_a_deletion_keeps_the_image(told: Told, ecr: Untyped) -> None:
    """
    Roll-backs and other stacks may run it.
    """
    digest = mirrored(ecr, "mirroring-kept")
    mirroring.handler(event(told, "mirroring-kept", digest, "Delete"), None)

    (answer,) = told.at("/answer")
    assert answer["PhysicalResourceId"] == f"mirroring-kept@{digest}"
    assert ecr.list_images(repositoryName="mirroring-kept")["imageIds"] == [
        {"imageDigest": digest, "imageTag": TAG}
    ]
