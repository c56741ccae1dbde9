"""
Operations on stacks and their drift that moto lacks, or answers in another form.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

from cdk_sagemaker_llm.local.aws.clock import begin, current
from cdk_sagemaker_llm.local.cloudformation import nested, requests, template
from cdk_sagemaker_llm.local.cloudformation.drift import DRIFTED, detect
from cdk_sagemaker_llm.local.cloudformation.requests import page
from cdk_sagemaker_llm.local.cloudformation.resource import Resource
from cdk_sagemaker_llm.local.cloudformation.stack import EmbeddedStack
from cdk_sagemaker_llm.local.cloudformation.template import importers

_DETECTABLE = frozenset(
    {
        "CREATE_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE",
        "UPDATE_ROLLBACK_FAILED",
    }
)


class StackAnswers(CloudFormationResponse):
    """
    Templates, imports, lists of change sets, and rollbacks that go on.
    """

    def create_stack(self) -> ActionResult:
        """
        Create a stack, if its name and its template may be.
        """
        requests.check_name(self._get_param("StackName"))
        requests.check_capabilities(self._body(), self._get_param("Capabilities", []))
        return super().create_stack()

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

    def list_stacks(self) -> ActionResult:
        """
        List stacks, deleted ones included, a page at a time.

        moto's answer lacks their names and statuses.
        """
        statuses = self._get_param("StackStatusFilter", [])
        backend = self.cloudformation_backend
        stacks = [*backend.stacks.values(), *backend.deleted_stacks.values()]
        found = [
            _summary(stack)
            for stack in sorted(stacks, key=lambda s: s.creation_time, reverse=True)
            if isinstance(stack, EmbeddedStack)
            and (not statuses or stack.status in statuses)
        ]
        rows, following = page(found, self._get_param("NextToken"))
        return ActionResult({"StackSummaries": rows, "NextToken": following})

    def get_template(self) -> ActionResult:
        """
        Return the template of a stack or of one of its change sets.
        """
        of_stack = not self._get_param("ChangeSetName")
        body = self._stack_named().template if of_stack else self._change_set_template()
        text = body if isinstance(body, str) else json.dumps(body)
        stages = ["Original", "Processed"]
        return ActionResult({"TemplateBody": text, "StagesAvailable": stages})

    def get_template_summary(self) -> ActionResult:
        """
        Summarise a template, or that of a stack.
        """
        if self._get_param("StackName"):
            stack = self._stack_named()
            if stack.status == "REVIEW_IN_PROGRESS":
                raise ValidationError(
                    message="GetTemplateSummary cannot be called on "
                    "REVIEW_IN_PROGRESS stacks."
                )
            return ActionResult(template.summary(stack.template_dict))
        return ActionResult(template.summary(template.parse(self._body())))

    def validate_template(self) -> ActionResult:
        """
        Check a template's form; moto wants a linter that need not be installed.
        """
        return ActionResult(template.validation_answer(template.parse(self._body())))

    def list_change_sets(self) -> ActionResult:
        """
        List the change sets of one stack; moto lists those of all.
        """
        stack = self._stack_named()
        found = [
            {
                "StackId": stack.stack_id,
                "StackName": stack.name,
                "ChangeSetId": change_set.change_set_id,
                "ChangeSetName": change_set.change_set_name,
                "ExecutionStatus": change_set.execution_status,
                "Status": change_set.status,
                "StatusReason": change_set.status_reason,
                "CreationTime": change_set.creation_time,
                "Description": change_set.description,
            }
            for change_set in self.cloudformation_backend.change_sets.values()
            if change_set.stack_id == stack.stack_id
        ]
        rows, following = page(found, self._get_param("NextToken"))
        return ActionResult({"Summaries": rows, "NextToken": following})

    def list_imports(self) -> ActionResult:
        """
        Name the stacks that import an export.
        """
        export = self._get_param("ExportName")
        names = importers(export, self._stacks())
        if not names:
            raise ValidationError(
                message=f"Export '{export}' is not imported by any stack."
            )
        rows, following = page(names, self._get_param("NextToken"))
        return ActionResult({"Imports": rows, "NextToken": following})

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

    def cancel_update_stack(self) -> EmptyResult:
        """
        Refuse: without a speed an update is over before anybody could cancel it.
        """
        self._stack_named()
        raise ValidationError(
            message="CancelUpdateStack cannot be called from current stack status"
        )

    def _body(self) -> str:
        url = self._get_param("TemplateURL")
        if url:
            return self._get_stack_from_s3_url(url)
        body = self._get_param("TemplateBody")
        if not body:
            raise ValidationError(
                message="Either Template URL or Template Body must be specified."
            )
        requests.check_body(str(body))
        return str(body)

    def _get_stack_from_s3_url(self, template_url: str) -> str:
        return nested.template_at(template_url, self.current_account, self.partition)

    def _change_set_template(self) -> str:
        name, stack_name = (
            self._get_param("ChangeSetName"),
            self._get_param("StackName"),
        )
        for change_set in self.cloudformation_backend.change_sets.values():
            if name == change_set.change_set_id or (
                name == change_set.change_set_name
                and stack_name in {change_set.stack_name, change_set.stack_id}
            ):
                return change_set.template
        raise ValidationError(message=f"ChangeSet [{name}] does not exist")

    def _stacks(self) -> list[EmbeddedStack]:
        stacks = self.cloudformation_backend.stacks.values()
        return [stack for stack in stacks if isinstance(stack, EmbeddedStack)]

    def _stack_named(self) -> EmbeddedStack:
        stack = self.cloudformation_backend.get_stack(self._get_param("StackName"))
        assert isinstance(stack, EmbeddedStack)  # noqa: S101 - for mypy
        return stack


def _summary(stack: EmbeddedStack) -> dict[str, Any]:
    gone = stack.status == "DELETE_COMPLETE"
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "TemplateDescription": stack.description,
        "CreationTime": stack.creation_time,
        "DeletionTime": stack.events[-1].timestamp if gone else None,
        "StackStatus": stack.status,
        "StackStatusReason": getattr(stack, "status_reason", None),
        "ParentId": stack.parent_id,
        "RootId": stack.root_id,
        "DriftInformation": stack.drift_information,
    }


class DriftAnswers(StackAnswers):
    """
    Drift of a stack and of its resources; a detection is over at once.
    """

    def detect_stack_drift(self) -> ActionResult:
        """
        Look at every resource, or at those that are named.
        """
        stack = self._detectable()
        logical_ids = self._get_param("LogicalResourceIds", []) or [*stack.resources]
        for name in logical_ids:
            _detect(stack, _resource(stack, name))
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
        """
        Tell how a detection has ended.
        """
        detection_id = self._get_param("StackDriftDetectionId")
        for stack in self.cloudformation_backend.stacks.values():
            if (
                isinstance(stack, EmbeddedStack)
                and detection_id in stack.drift_detections
            ):
                return ActionResult(stack.drift_detections[detection_id])
        raise ValidationError(
            message=f"Drift detection [{detection_id}] does not exist for this account"
        )

    def describe_stack_resource_drifts(self) -> ActionResult:
        """
        Describe the resources that were looked at.
        """
        stack = self._stack_named()
        states = self._get_param("StackResourceDriftStatusFilters", [])
        found = [
            drift.as_answer(stack.stack_id)
            for drift in stack.drifts.values()
            if not states or drift.status in states
        ]
        rows, following = page(
            found, self._get_param("NextToken"), self._get_int_param("MaxResults")
        )
        return ActionResult({"StackResourceDrifts": rows, "NextToken": following})

    def detect_stack_resource_drift(self) -> ActionResult:
        """
        Look at one resource and describe it.
        """
        stack = self._detectable()
        resource = _resource(stack, self._get_param("LogicalResourceId"))
        _detect(stack, resource)
        drift = stack.drifts.get(resource.logical_resource_id)
        if drift is None:
            raise ValidationError(
                message="Drift detection is not supported for resource type "
                f"{resource.cf_resource_type}"
            )
        return ActionResult({"StackResourceDrift": drift.as_answer(stack.stack_id)})

    def _detectable(self) -> EmbeddedStack:
        stack = self._stack_named()
        if stack.status not in _DETECTABLE:
            raise ValidationError(
                message=f"Stack:{stack.stack_id} is in {stack.status} state and drift "
                "cannot be detected."
            )
        return stack


def drift_information(stack: EmbeddedStack, name: str) -> dict[str, Any]:
    """
    Return what the descriptions of a resource say of its drift.
    """
    drift = stack.drifts.get(name)
    if drift is None:
        return {"StackResourceDriftStatus": "NOT_CHECKED"}
    return {
        "StackResourceDriftStatus": drift.status,
        "LastCheckTimestamp": drift.time,
    }


def _resource(stack: EmbeddedStack, name: str) -> Resource:
    if name not in stack.resources:
        raise ValidationError(
            message=f"Resource {name} does not exist for stack {stack.name}"
        )
    return stack.resources[name]


def _detect(stack: EmbeddedStack, resource: Resource) -> None:
    drift = detect(resource, stack.scope)
    if drift is not None:
        stack.drifts[resource.logical_resource_id] = drift
