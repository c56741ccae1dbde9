"""
Projects of CodeBuild and their builds, in few words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unique
from tests.local.waiting import until

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


def trusting(*services: str) -> str:
    """
    Write the trust policy of a role.
    """
    principal = {"Service": [f"{service}.amazonaws.com" for service in services]}
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def buildspec(**phases: Untyped) -> str:
    """
    Write a buildspec of phases with commands.
    """
    commands = {name: {"commands": phase} for name, phase in phases.items()}
    return json.dumps({"version": "0.2", "phases": commands})


class Projects:
    """
    Projects of one server.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self.client = aws.client("codebuild")
        self._logs = aws.client("logs")
        iam = aws.client("iam")
        made = iam.create_role(
            RoleName=unique("builder"), AssumeRolePolicyDocument=trusting("codebuild")
        )
        self.role: str = made["Role"]["Arn"]

    def declared(self, spec: str, **settings: Untyped) -> dict[str, Any]:
        """
        Write the request that makes a project.
        """
        variables = settings.pop("variables", [])
        return {
            "name": unique("project"),
            "source": {"type": "NO_SOURCE", "buildspec": spec},
            "artifacts": {"type": "NO_ARTIFACTS"},
            "environment": {
                "type": "LINUX_CONTAINER",
                "image": "aws/codebuild/amazonlinux2-x86_64-standard:5.0",
                "computeType": "BUILD_GENERAL1_SMALL",
                "environmentVariables": variables,
            },
            "serviceRole": self.role,
            **settings,
        }

    def make(self, spec: str, **settings: Untyped) -> str:
        """
        Make a project and return its name.
        """
        request = self.declared(spec, **settings)
        self.client.create_project(**request)
        return str(request["name"])

    def start(self, project: str, **settings: Untyped) -> str:
        """
        Start a build and return its id.
        """
        started = self.client.start_build(projectName=project, **settings)
        return str(started["build"]["id"])

    def show(self, build: str) -> Untyped:
        """
        Describe a build.
        """
        return self.client.batch_get_builds(ids=[build])["builds"][0]

    def ended(self, build: str) -> Untyped:
        """
        Wait for a build's end and describe it.
        """
        until(lambda: self.show(build)["buildComplete"])
        return self.show(build)

    def run(self, spec: str, **settings: Untyped) -> Untyped:
        """
        Make a project, build it, and describe the build.
        """
        return self.ended(self.start(self.make(spec, **settings)))

    def log(self, build: Untyped) -> list[str]:
        """
        Return the lines of a build's log, none if it has written none yet.
        """
        try:
            events = self._logs.get_log_events(
                logGroupName=build["logs"]["groupName"],
                logStreamName=build["logs"]["streamName"],
                startFromHead=True,
            )
        except self._logs.exceptions.ResourceNotFoundException:
            return []
        return [event["message"] for event in events["events"]]

    def said(self, build: Untyped) -> list[str]:
        """
        Return what a build's commands printed.
        """
        lines = self.log(build)
        return [line for line in lines if not line.startswith("[Container] ")]


def phases(build: Untyped) -> dict[str, str]:
    """
    Return how each phase of a build ended.
    """
    return {p["phaseType"]: p.get("phaseStatus", "") for p in build["phases"]}


def why(build: Untyped, phase: str) -> tuple[str, str]:
    """
    Return the code and words of a phase's end.
    """
    (found,) = (p for p in build["phases"] if p["phaseType"] == phase)
    (context,) = found["contexts"]
    return context["statusCode"], context["message"]
