"""
Projects and builds by their names and ARNs, and roles that CodeBuild may assume.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.local.building.projects import buildspec
from tests.local.hosting_requests import unique

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.building.projects import Projects

TRUE = buildspec(build=["true"])
PREFIX = "arn:aws:codebuild:us-east-1:123456789012"


def test_a_project_is_known_by_its_name_and_its_arn(projects: Projects) -> None:
    """
    A change of one setting leaves the others.
    """
    client = projects.client
    name = projects.make(TRUE, timeoutInMinutes=7, description="one")
    arn = f"{PREFIX}:project/{name}"

    changed = client.update_project(name=name, description="two")["project"]
    (shown,) = client.batch_get_projects(names=[arn])["projects"]

    assert (changed["arn"], changed["description"]) == (arn, "two")
    assert (changed["timeoutInMinutes"], shown["name"]) == (7, name)
    assert shown["lastModified"] >= shown["created"]
    assert client.delete_project(name=arn)
    assert client.batch_get_projects(names=[name])["projectsNotFound"] == [name]
    assert client.delete_project(name=name)


def test_builds_are_counted_and_known_by_their_arn(projects: Projects) -> None:
    """
    Each with a log of its own.
    """
    client, name = projects.client, projects.make(TRUE)
    first, second = (client.start_build(projectName=name)["build"] for _ in range(2))

    assert (first["buildNumber"], second["buildNumber"]) == (1, 2)
    assert first["arn"] == f"{PREFIX}:build/{first['id']}"
    assert first["id"].startswith(f"{name}:")
    assert first["logs"]["groupName"] == f"/aws/codebuild/{name}"
    assert first["logs"]["streamName"] == first["id"].partition(":")[2]
    assert (first["buildStatus"], first["initiator"]) == (
        "IN_PROGRESS",
        "embedded-aws",
    )
    (shown,) = client.batch_get_builds(ids=[second["arn"]])["builds"]
    assert shown["id"] == second["id"]
    every = client.list_builds()["ids"]
    assert every.index(second["id"]) < every.index(first["id"])
    upward = client.list_builds(sortOrder="ASCENDING")["ids"]
    assert upward == every[::-1]
    for build in (first, second):
        projects.ended(build["id"])
    assert client.stop_build(id=first["arn"])["build"]["buildStatus"] == "SUCCEEDED"


def test_a_start_says_anew_what_variables_are(projects: Projects) -> None:
    """
    Those of the project stay beside them.
    """
    project = projects.make(
        TRUE,
        variables=[{"name": "A", "value": "a"}, {"name": "B", "value": "b"}],
    )
    over = [{"name": "B", "value": "c"}, {"name": "C", "value": "d"}]

    build = projects.ended(projects.start(project, environmentVariablesOverride=over))

    assert build["environment"]["environmentVariables"] == [
        {"name": "A", "value": "a", "type": "PLAINTEXT"},
        {"name": "B", "value": "c", "type": "PLAINTEXT"},
        {"name": "C", "value": "d", "type": "PLAINTEXT"},
    ]
    (shown,) = projects.client.batch_get_projects(names=[project])["projects"]
    assert len(shown["environment"]["environmentVariables"]) == 2


@pytest.mark.parametrize(
    ("statement", "may"),
    [
        (
            {"Effect": "Allow", "Principal": {"Service": "codebuild.amazonaws.com"}},
            True,
        ),
        ({"Effect": "Allow", "Principal": "*"}, True),
        (
            [
                {
                    "Effect": "Allow",
                    "Principal": {"Service": ["codebuild.amazonaws.com"]},
                }
            ],
            True,
        ),
        (
            {"Effect": "Deny", "Principal": {"Service": "codebuild.amazonaws.com"}},
            False,
        ),
        ({"Effect": "Allow", "Principal": {"AWS": "123456789012"}}, False),
        ({"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}}, False),
    ],
)
def test_a_role_lets_codebuild_assume_it(
    embedded_aws: EmbeddedAws,
    projects: Projects,
    statement: object,
    *,
    may: bool,
) -> None:
    """
    However its policy is written; a project may name it or its ARN.
    """
    name = unique("role")
    document = {"Version": "2012-10-17", "Statement": statement}
    embedded_aws.client("iam").create_role(
        RoleName=name, AssumeRolePolicyDocument=json.dumps(document)
    )

    if may:
        assert projects.make(TRUE, serviceRole=name)
        return
    with pytest.raises(projects.client.exceptions.InvalidInputException) as refused:
        projects.make(TRUE, serviceRole=name)
    assert refused.value.response["Error"]["Message"] == (
        f"CodeBuild is not authorized to perform: sts:AssumeRole on {name}"
    )
