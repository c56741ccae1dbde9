"""
CloudFormation's API: moto's, with the operations that it lacks or answers otherwise.
"""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace
from typing import Any

from moto.cloudformation import models, urls
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import ChangeSet
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket

from cdk_sagemaker_llm.local.aws.clock import begin, current
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation import requests, template
from cdk_sagemaker_llm.local.cloudformation.backend import EmbeddedCloudFormation
from cdk_sagemaker_llm.local.cloudformation.change_sets import (
    ChangeSetNotFound,
    EmbeddedChangeSet,
    identifier_summaries,
)
from cdk_sagemaker_llm.local.cloudformation.changes import without_values
from cdk_sagemaker_llm.local.cloudformation.drift import DRIFTED, Drift, detect
from cdk_sagemaker_llm.local.cloudformation.requests import page
from cdk_sagemaker_llm.local.cloudformation.resource import Resource
from cdk_sagemaker_llm.local.cloudformation.stack import EmbeddedStack, importers
from cdk_sagemaker_llm.local.cloudformation.stack_types import template_at

_DETECTABLE = frozenset(
    {
        "CREATE_COMPLETE",
        "IMPORT_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE",
        "UPDATE_ROLLBACK_FAILED",
    }
)


class EmbeddedResponse(CloudFormationResponse):
    """
    moto's API with the calls that the CDK CLI trips over.
    """

    # Without moto's own form of changes.
    RESPONSE_KEY_PATH_TO_TRANSFORMER = {  # noqa: RUF012 - as in moto's class
        path: transform
        for path, transform in (
            CloudFormationResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER.items()
        )
        if path != "DescribeChangeSetOutput.Changes"
    }

    def create_stack(self) -> ActionResult:
        requests.check_name(self._get_param("StackName"))
        on_failure = self._get_param("OnFailure")
        stack = self._backend.create_stack(
            self._get_param("StackName"),
            disable_rollback=self._keeps_failures or on_failure == "DO_NOTHING",
            deletes_new=self._deletes_new,
            notification_arns=self._get_param("NotificationARNs", []),
            enable_termination_protection=self._get_param(
                "EnableTerminationProtection"
            ),
            timeout_in_mins=self._get_param("TimeoutInMinutes"),
            stack_policy_body=self._get_param("StackPolicyBody"),
            **self._contents(),
        )
        return ActionResult({"StackId": stack.stack_id})

    def update_stack(self) -> ActionResult:
        stack = self._backend.update_stack(
            self._stack_named().stack_id,
            disable_rollback=self._keeps_failures,
            deletes_new=self._deletes_new,
            **self._contents(),
        )
        return ActionResult({"StackId": stack.stack_id})

    def delete_stack(self) -> ActionResult:
        """
        Delete a stack, without what is to be retained of one that would not go.
        """
        retained = self._get_param("RetainResources", [])
        if retained:
            stack = self._stack_named()
            if stack.status != "DELETE_FAILED":
                raise ValidationError(
                    message=f"Invalid operation on stack [{stack.stack_id}]. "
                    "Specify resources to retain only when the stack is in the "
                    "DELETE_FAILED state."
                )
            stack.retain(retained)
        return super().delete_stack()

    def create_change_set(self) -> ActionResult:
        kind = self._get_param("ChangeSetType", "UPDATE")
        if kind in {"CREATE", "IMPORT"}:
            requests.check_name(self._get_param("StackName"))
        change_set_id, stack_id = self._backend.create_change_set(
            stack_name=self._get_param("StackName"),
            change_set_name=self._get_param("ChangeSetName"),
            description=self._get_param("Description"),
            notification_arns=self._get_param("NotificationARNs", []),
            change_set_type=kind,
            include_nested=bool(self._get_bool_param("IncludeNestedStacks")),
            imports=self._get_param("ResourcesToImport", [])
            if kind == "IMPORT"
            else None,
            **self._contents(),
        )
        return ActionResult({"Id": change_set_id, "StackId": stack_id})

    def describe_change_set(self) -> ActionResult:
        change_set = self._change_set()
        with_values = self._get_bool_param("IncludePropertyValues")
        changes, following = page(change_set.changes, self._get_param("NextToken"))
        changes = [c if with_values else without_values(c) for c in changes]
        return ActionResult(
            {
                **_change_set_row(change_set),
                "Parameters": requests.shown_parameter(
                    change_set.stack.parse_template(change_set.template),
                    change_set.parameters,
                ),
                "NotificationARNs": change_set.notification_arns or [],
                "Capabilities": [],
                "Tags": [
                    {"Key": key, "Value": value}
                    for key, value in (change_set.tags or {}).items()
                ],
                "Changes": [
                    {"Type": "Resource", "ResourceChange": change} for change in changes
                ],
                "ParentChangeSetId": change_set.parent_change_set_id,
                "NextToken": following,
            }
        )

    def execute_change_set(self) -> ActionResult:
        self._backend.execute_change_set(
            self._get_param("ChangeSetName"),
            self._get_param("StackName"),
            disable_rollback=self._keeps_failures,
            deletes_new=self._deletes_new,
        )
        return EmptyResult()

    def delete_change_set(self) -> EmptyResult:
        """
        Delete a change set; the service does not mind if there is none.
        """
        try:
            change_set = self._change_set()
        except ChangeSetNotFound:
            return EmptyResult()
        self._backend.drop_change_set(change_set)
        return EmptyResult()

    def list_change_sets(self) -> ActionResult:
        """
        List the change sets of one stack; moto lists those of all.
        """
        stack = self._stack_named()
        rows = [
            _change_set_row(change_set)
            for change_set in self._backend.change_sets.values()
            if change_set.stack_id == stack.stack_id
        ]
        return self._paged("Summaries", rows)

    def continue_update_rollback(self) -> EmptyResult:
        """
        Go on with a rollback that failed, without what is to be skipped.
        """
        stack = self._stack_named()
        if stack.status != "UPDATE_ROLLBACK_FAILED":
            raise ValidationError(
                message=f"Stack:{stack.stack_id} is in {stack.status} state and can "
                "not continue the rollback."
            )
        skipped = set(self._get_param("ResourcesToSkip", []))
        begin(lambda: stack.go_on_rolling_back(skipped))
        return EmptyResult()

    def rollback_stack(self) -> ActionResult:
        """
        Roll a stack back that stayed as it failed; moto has no such call.
        """
        stack = self._stack_named()
        self._backend.rollback_stack(stack, keeps_new=not self._deletes_new)
        return ActionResult({"StackId": stack.stack_id})

    def cancel_update_stack(self) -> EmptyResult:
        """
        Refuse: without a speed an update is over before anybody could cancel it.
        """
        self._stack_named()
        raise ValidationError(
            message="CancelUpdateStack cannot be called from current stack status"
        )

    def update_termination_protection(self) -> ActionResult:
        """
        Set what moto only stores at creation.
        """
        stack = self._stack_named()
        enabled = self._get_bool_param("EnableTerminationProtection")
        stack.enable_termination_protection = bool(enabled)
        return ActionResult({"StackId": stack.stack_id})

    def list_stacks(self) -> ActionResult:
        """
        List stacks, deleted ones included, a page at a time.

        moto's answer lacks their names and statuses.
        """
        statuses = self._get_param("StackStatusFilter", [])
        gone = self._backend.deleted_stacks.values()
        stacks = [*self._backend.stacks.values(), *gone]
        rows = [
            stack.summary()
            for stack in sorted(stacks, key=lambda s: s.creation_time, reverse=True)
            if isinstance(stack, EmbeddedStack)
            and (not statuses or stack.status in statuses)
        ]
        return self._paged("StackSummaries", rows)

    def describe_stack_resources(self) -> ActionResult:
        """
        Describe resources with their own status; moto shows the stack's.
        """
        by_name = self._get_param("StackName")
        stack = self._stack_named() if by_name else self._holder()
        name = self._get_param("LogicalResourceId")
        rows = [
            stack.row(resource)
            for resource in stack.stack_resources
            if name in {None, resource.logical_resource_id}
        ]
        return ActionResult({"StackResources": rows})

    def describe_stack_resource(self) -> ActionResult:
        stack = self._stack_named()
        resource = _resource(stack, self._get_param("LogicalResourceId"))
        return ActionResult({"StackResourceDetail": stack.row(resource)})

    def list_stack_resources(self) -> ActionResult:
        """
        List resources with their own status; moto has CREATE_COMPLETE written down.
        """
        stack = self._stack_named()
        rows = [stack.row(resource) for resource in stack.stack_resources]
        return self._paged("StackResourceSummaries", rows)

    def get_template(self) -> ActionResult:
        of_change_set = self._get_param("ChangeSetName")
        holder = self._change_set() if of_change_set else self._stack_named()
        body = holder.template
        text = body if isinstance(body, str) else json.dumps(body)
        stages = ["Original", "Processed"]
        return ActionResult({"TemplateBody": text, "StagesAvailable": stages})

    def get_template_summary(self) -> ActionResult:
        if self._get_param("StackName"):
            stack = self._stack_named()
            if stack.status == "REVIEW_IN_PROGRESS":
                raise ValidationError(
                    message="GetTemplateSummary cannot be called on "
                    "REVIEW_IN_PROGRESS stacks."
                )
            return ActionResult(_summary(stack.template_dict))
        return ActionResult(_summary(template.parse(self._body())))

    def validate_template(self) -> ActionResult:
        """
        Check a template's form; moto wants a linter that need not be installed.
        """
        return ActionResult(template.validation_answer(template.parse(self._body())))

    def list_imports(self) -> ActionResult:
        export = self._get_param("ExportName")
        names = importers(export, self._backend.own_stacks)
        if not names:
            raise ValidationError(
                message=f"Export '{export}' is not imported by any stack."
            )
        return self._paged("Imports", names)

    def detect_stack_drift(self) -> ActionResult:
        stack = self._detectable()
        for name in self._get_param("LogicalResourceIds", []) or stack.resources:
            _detect(stack, name)
        drifted = sum(d.status in DRIFTED for d in stack.drifts.values())
        status = "DRIFTED" if drifted else "IN_SYNC"
        now = current()
        stack.drift_information = {
            "StackDriftStatus": status,
            "LastCheckTimestamp": now,
        }
        detection = str(uuid.uuid4())
        stack.drift_detections[detection] = {
            "StackId": stack.stack_id,
            "StackDriftDetectionId": detection,
            "StackDriftStatus": status,
            "DetectionStatus": "DETECTION_COMPLETE",
            "DriftedStackResourceCount": drifted,
            "Timestamp": now,
        }
        return ActionResult({"StackDriftDetectionId": detection})

    def describe_stack_drift_detection_status(self) -> ActionResult:
        detection_id = self._get_param("StackDriftDetectionId")
        for stack in self._backend.own_stacks:
            if detection_id in stack.drift_detections:
                return ActionResult(stack.drift_detections[detection_id])
        raise ValidationError(
            message=f"Drift detection [{detection_id}] does not exist for this account"
        )

    def describe_stack_resource_drifts(self) -> ActionResult:
        stack = self._stack_named()
        states = self._get_param("StackResourceDriftStatusFilters", [])
        rows = [
            drift.as_answer(stack.stack_id)
            for drift in stack.drifts.values()
            if not states or drift.status in states
        ]
        return self._paged("StackResourceDrifts", rows)

    def detect_stack_resource_drift(self) -> ActionResult:
        stack = self._detectable()
        name = self._get_param("LogicalResourceId")
        drift = _detect(stack, name)
        if drift is None:
            raise ValidationError(
                message="Drift detection is not supported for resource type "
                f"{stack.resources[name].cf_resource_type}"
            )
        return ActionResult({"StackResourceDrift": drift.as_answer(stack.stack_id)})

    @property
    def _backend(self) -> EmbeddedCloudFormation:
        backend = self.cloudformation_backend
        assert isinstance(backend, EmbeddedCloudFormation)  # noqa: S101 - for mypy
        return backend

    @property
    def _keeps_failures(self) -> bool:
        return bool(self._get_bool_param("DisableRollback"))

    @property
    def _deletes_new(self) -> bool:
        return bool(self._get_bool_param("RetainExceptOnCreate"))

    def _paged(self, name: str, rows: list[Untyped]) -> ActionResult:
        part, following = page(
            rows, self._get_param("NextToken"), self._get_int_param("MaxResults")
        )
        return ActionResult({name: part, "NextToken": following})

    def _stack_named(self) -> EmbeddedStack:
        return self._backend.stack_named(self._get_param("StackName"))

    def _holder(self) -> EmbeddedStack:
        physical_id = self._get_param("PhysicalResourceId")
        for stack in self._backend.own_stacks:
            for resource in stack.resources.values():
                if resource.physical_resource_id == physical_id:
                    return stack
        raise ValidationError(message=f"Stack for {physical_id} does not exist")

    def _change_set(self) -> EmbeddedChangeSet:
        return self._backend.find_change_set(
            self._get_param("ChangeSetName"), self._get_param("StackName")
        )

    def _detectable(self) -> EmbeddedStack:
        stack = self._stack_named()
        if stack.status not in _DETECTABLE:
            raise ValidationError(
                message=f"Stack:{stack.stack_id} is in {stack.status} state and drift "
                "cannot be detected."
            )
        return stack

    def _contents(self) -> dict[str, Any]:
        if self._get_bool_param("UsePreviousTemplate"):
            body = str(self._stack_named().template)
        else:
            body = self._body()
        requests.check_capabilities(body, self._get_param("Capabilities", []))
        tags = {tag["Key"]: tag["Value"] for tag in self._get_param("Tags", [])}
        return {
            "template": body,
            "parameters": self._parameters(),
            "tags": tags or None,
            "role_arn": self._get_param("RoleARN"),
        }

    def _body(self) -> str:
        url = self._get_param("TemplateURL")
        if url:
            return template_at(url, self.current_account, self.partition)
        body = self._get_param("TemplateBody")
        if not body:
            raise ValidationError(
                message="Either Template URL or Template Body must be specified."
            )
        requests.check_body(str(body))
        return str(body)

    def _parameters(self) -> dict[str, str]:
        values: dict[str, str] = {}
        for parameter in self._get_param("Parameters", []):
            name = parameter["ParameterKey"]
            if not parameter.get("UsePreviousValue"):
                values[name] = parameter["ParameterValue"]
            # moto fails on one that has only its default.
            elif name in (previous := self._stack_named().parameters):
                values[name] = previous[name]
        return values


def install() -> None:
    """
    Put our stacks behind moto's API, before any backend is made.
    """
    EmbeddedCloudFormation._url_module = SimpleNamespace(  # noqa: SLF001 - moto's name
        url_bases=urls.url_bases, url_paths={"{0}/$": EmbeddedResponse.dispatch}
    )
    models.cloudformation_backends.backend = EmbeddedCloudFormation
    # moto holds bucket policies against every request and knows no conditions: one that
    # demands TLS would shut its bucket. No other policy is checked here either.
    FakeBucket.get_permission = lambda *_: PermissionResult.NEUTRAL  # type: ignore[method-assign]  # see above


def _summary(document: dict[str, Any]) -> dict[str, Any]:
    return {
        **template.summary(document),
        "ResourceIdentifierSummaries": identifier_summaries(document),
    }


def _change_set_row(change_set: ChangeSet) -> dict[str, Any]:
    return {
        "StackId": change_set.stack_id,
        "StackName": change_set.stack_name,
        "ChangeSetId": change_set.change_set_id,
        "ChangeSetName": change_set.change_set_name,
        "ExecutionStatus": change_set.execution_status,
        "Status": change_set.status,
        "StatusReason": change_set.status_reason,
        "CreationTime": change_set.creation_time,
        "Description": change_set.description,
    }


def _resource(stack: EmbeddedStack, name: str) -> Resource:
    for resource in stack.stack_resources:
        if resource.logical_resource_id == name:
            return resource
    raise ValidationError(
        message=f"Resource {name} does not exist for stack {stack.name}"
    )


def _detect(stack: EmbeddedStack, name: str) -> Drift | None:
    drift = detect(_resource(stack, name), stack.scope)
    if drift is not None:
        stack.drifts[name] = drift
    return drift
