"""
Operations on stacks that moto lacks, or answers in another form than the service.
"""

from __future__ import annotations

import json
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

from cdk_sagemaker_llm.local.background import begin
from cdk_sagemaker_llm.local.cloudformation import addresses, requests, template
from cdk_sagemaker_llm.local.cloudformation.imports import importers
from cdk_sagemaker_llm.local.cloudformation.paging import page
from cdk_sagemaker_llm.local.cloudformation.stack import EmbeddedStack


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
        wanted = self._get_param("StackStatusFilter", [])
        backend = self.cloudformation_backend
        stacks = [*backend.stacks.values(), *backend.deleted_stacks.values()]
        found = [
            _summary(stack)
            for stack in sorted(stacks, key=lambda s: s.creation_time, reverse=True)
            if isinstance(stack, EmbeddedStack)
            and (not wanted or stack.status in wanted)
        ]
        shown, following = page(found, self._get_param("NextToken"))
        return ActionResult({"StackSummaries": shown, "NextToken": following})

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
        return ActionResult(template.validated(template.parse(self._body())))

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
        shown, following = page(found, self._get_param("NextToken"))
        return ActionResult({"Summaries": shown, "NextToken": following})

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
        shown, following = page(names, self._get_param("NextToken"))
        return ActionResult({"Imports": shown, "NextToken": following})

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
        return addresses.read(template_url, self.current_account, self.partition)

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
