"""
CodeBuild as a service: operations by name.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable
from typing import Any

from moto.core.exceptions import ServiceException
from moto.ecr.responses import ECRResponse
from moto.iam.models import iam_backends

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.clock import now
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.surroundings import InRegions, Surroundings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import build_records
from cdk_sagemaker_llm.local.builds.build_records import Build, Project
from cdk_sagemaker_llm.local.builds.build_runs import Run

SERVICE = "codebuild"
_PRINCIPAL = "codebuild.amazonaws.com"
_SAME_TOKEN = 300.0  # Seconds that a token of StartBuild is remembered for.
_DEFAULTS = {"timeoutInMinutes": 60, "queuedTimeoutInMinutes": 480}
# What StartBuild may say beside the project's name.
_OF_START = {"projectName", "idempotencyToken", "environmentVariablesOverride"}

_NO_REGISTRY = (
    "not emulated: the registry behind Amazon ECR's repositories, so that no image is "
    "pushed, pulled or mirrored; serve the image from where it is, or deploy to AWS"
)

Answer = dict[str, Any]


class CodeBuild:
    """
    CodeBuild in one region.
    """

    def __init__(
        self,
        account: str,
        region: str,
        partition: str,
        around: Surroundings,
    ) -> None:
        self._account, self._partition = account, partition
        self._prefix = f"arn:{partition}:codebuild:{region}:{account}"
        self._around = around
        self._projects: dict[str, Project] = {}
        self._builds: dict[str, Build] = {}
        self._runs: dict[str, Run] = {}
        self._tokens: dict[tuple[str, str], tuple[float, str]] = {}
        self._operations: dict[str, Callable[[Answer], Answer]] = {
            "BatchGetBuilds": self._batch_get_builds,
            "BatchGetProjects": self._batch_get_projects,
            "CreateProject": self._create_project,
            "DeleteProject": self._delete_project,
            "ListBuilds": self._list_builds,
            "ListBuildsForProject": self._list_builds_for_project,
            "ListProjects": self._list_projects,
            "StartBuild": self._start_build,
            "StopBuild": self._stop_build,
            "UpdateProject": self._update_project,
        }

    def call(self, operation: str, request: Answer) -> Answer:
        """
        Check a request against the API's model and carry it out.
        """
        if not shapes.has_operation(SERVICE, operation):
            raise AwsError(
                "UnknownOperationException", f"unknown operation {operation}"
            )
        if operation not in self._operations:
            raise AwsError("NotImplemented", f"not emulated: codebuild {operation}")
        shapes.refuse_wrong_types(SERVICE, operation, request)
        try:
            shapes.check(SERVICE, operation, request)
        except AwsError as error:
            raise _invalid(error.message) from error
        return self._operations[operation](request)

    def _create_project(self, request: Answer) -> Answer:
        name = request["name"]
        if name in self._projects:
            raise AwsError(
                "ResourceAlreadyExistsException",
                f"Project already exists: {self._project_arn(name)}",
            )
        self._check_project(request)
        project = Project(self._project_arn(name), copy.deepcopy(request), now(), now())
        self._projects[name] = project
        return {"project": project.as_answer()}

    def _update_project(self, request: Answer) -> Answer:
        project = self._project(request["name"])
        settings = {**project.settings, **copy.deepcopy(request)}
        self._check_project(settings)
        project.settings, project.last_modified = settings, now()
        return {"project": project.as_answer()}

    def _delete_project(self, request: Answer) -> Answer:
        # One that is not there is no error, as in the service.
        self._projects.pop(self._name(request["name"]), None)
        return {}

    def _list_projects(self, request: Answer) -> Answer:  # noqa: ARG002 - as the others
        return {"projects": sorted(self._projects)}

    def _batch_get_projects(self, request: Answer) -> Answer:
        found = {n: self._projects.get(self._name(n)) for n in request["names"]}
        return {
            "projects": [one.as_answer() for one in found.values() if one],
            "projectsNotFound": [name for name, one in found.items() if not one],
        }

    def _batch_get_builds(self, request: Answer) -> Answer:
        found = {n: self._builds.get(self._build_id(n)) for n in request["ids"]}
        return {
            "builds": [one.as_answer() for one in found.values() if one],
            "buildsNotFound": [name for name, one in found.items() if not one],
        }

    def _list_builds(self, request: Answer) -> Answer:
        return _sorted(list(self._builds), request)

    def _list_builds_for_project(self, request: Answer) -> Answer:
        return _sorted(self._project(request["projectName"]).builds, request)

    def _start_build(self, request: Answer) -> Answer:
        project = self._project(request["projectName"])
        token = request.get("idempotencyToken")
        earlier = self._tokens.get((project.name, token or ""))
        if token and earlier and now() < earlier[0] + _SAME_TOKEN:
            return {"build": self._builds[earlier[1]].as_answer()}
        beyond = sorted(request.keys() - _OF_START)
        if beyond:
            raise _invalid(f"not emulated: {', '.join(beyond)} of StartBuild")
        settings = _build_settings(project, request)
        self._check_role(settings["serviceRole"])
        own = str(uuid.uuid4())
        build_id = f"{project.name}:{own}"
        logs = settings.get("logsConfig", {}).get("cloudWatchLogs", {})
        stream = logs.get("streamName")
        build = Build(
            id=build_id,
            arn=f"{self._prefix}:build/{build_id}",
            number=len(project.builds) + 1,
            request=settings,
            started=now(),
            initiator="embedded-aws",
            log_group=logs.get("groupName") or f"/aws/codebuild/{project.name}",
            log_stream=f"{stream}/{own}" if stream else own,
        )
        project.builds.append(build_id)
        self._builds[build_id] = build
        if token:
            self._tokens[project.name, token] = now(), build.id
        run = Run(build, self._around, self._tell)
        self._runs[build.id] = run
        run.start()
        return {"build": build.as_answer()}

    def _stop_build(self, request: Answer) -> Answer:
        build_id = request["id"]
        build = self._builds.get(self._build_id(build_id))
        if build is None:
            raise AwsError(
                "ResourceNotFoundException", f"Build cannot be found: {build_id}"
            )
        self._runs[build.id].stop()
        return {"build": build.as_answer()}

    def _tell(self, build: Build) -> None:
        self._around.notify(
            build_records.SOURCE,
            build_records.STATE_CHANGE,
            build_records.state_change(build),
            build.arn,
        )

    def _check_project(self, request: Answer) -> None:
        source = request["source"]
        logs = request.get("logsConfig", {}).get("cloudWatchLogs", {})
        if logs.get("status") == "DISABLED":
            raise _invalid("not emulated: builds without a log in CloudWatch")
        if source["type"] == "NO_SOURCE" and not source.get("buildspec"):
            raise _invalid(
                "Project source type NO_SOURCE requires a buildspec: no buildspec "
                "provided"
            )
        if source["type"] == "S3" and "/" not in source.get("location", ""):
            raise _invalid("Project source location is required")
        self._check_role(request["serviceRole"])

    def _check_role(self, role: str) -> None:
        roles = iam_backends[self._account][self._partition].get_roles()
        for found in roles:
            if role in {found.arn, found.name} and _trusts(
                found.assume_role_policy_document
            ):
                return
        raise _invalid(
            f"CodeBuild is not authorized to perform: sts:AssumeRole on {role}"
        )

    def _project(self, name: str) -> Project:
        project = self._projects.get(self._name(name))
        if project is None:
            raise AwsError(
                "ResourceNotFoundException",
                f"Project cannot be found: {self._project_arn(self._name(name))}",
            )
        return project

    def _project_arn(self, name: str) -> str:
        return f"{self._prefix}:project/{name}"

    def _name(self, name: str) -> str:
        return name.removeprefix(f"{self._prefix}:project/")

    def _build_id(self, name: str) -> str:
        return name.removeprefix(f"{self._prefix}:build/")


CODEBUILD = InRegions[CodeBuild]()
"""The CodeBuild of every account and region."""


def _sorted(ids: list[str], request: Answer) -> Answer:
    ascending = request.get("sortOrder") == "ASCENDING"
    return {"ids": list(ids) if ascending else ids[::-1]}


def _build_settings(project: Project, request: Answer) -> Answer:
    settings: Answer = {**_DEFAULTS, **copy.deepcopy(project.settings)}
    environment = settings["environment"]
    variables = {v["name"]: v for v in environment.get("environmentVariables", [])}
    variables |= {v["name"]: v for v in request.get("environmentVariablesOverride", [])}
    environment["environmentVariables"] = [
        {"type": "PLAINTEXT", **variable} for variable in variables.values()
    ]
    return settings


def _trusts(document: str) -> bool:
    statements: Untyped = json.loads(document).get("Statement", [])
    for statement in [statements] if isinstance(statements, dict) else statements:
        principal = statement.get("Principal", {})
        services = principal.get("Service", []) if isinstance(principal, dict) else []
        names = [services] if isinstance(services, str) else services
        if statement.get("Effect") == "Allow" and (
            _PRINCIPAL in names or principal == "*"
        ):
            return True
    return False


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidInputException", message)


class _NoRegistryError(ServiceException):
    # A class of its own: of one of moto's the module would be taken for a service.
    code = "NotImplemented"
    message = _NO_REGISTRY


def refuse_logins() -> None:
    """
    Have Amazon ECR say that it has no registry, before anybody looks for one.
    """

    def refuse(_: ECRResponse) -> Untyped:
        raise _NoRegistryError

    ECRResponse.get_authorization_token = refuse  # type: ignore[method-assign, assignment]  # see above
