"""
Putting this package's stacks behind moto's CloudFormation API.

Everything that moto lacks or does otherwise is mended here, each with its reason.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from moto.cloudformation import models, urls
from moto.cloudformation.exceptions import (
    AlreadyExistsException,
    CloudFormationError,
    ValidationError,
)
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import (
    generate_changeset_id,
    generate_stack_id,
    validate_create_change_set,
)
from moto.core.responses import ActionResult, EmptyResult
from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket

from cdk_sagemaker_llm.local.aws.clock import begin
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation import nested, requests
from cdk_sagemaker_llm.local.cloudformation.changes import (
    Change,
    changes,
    without_values,
)
from cdk_sagemaker_llm.local.cloudformation.registry import NESTED
from cdk_sagemaker_llm.local.cloudformation.requests import page
from cdk_sagemaker_llm.local.cloudformation.resource import ResourceError, Scope
from cdk_sagemaker_llm.local.cloudformation.stack import EmbeddedStack
from cdk_sagemaker_llm.local.cloudformation.stack_answers import (
    DriftAnswers,
    drift_information,
)
from cdk_sagemaker_llm.local.cloudformation.template import importers, listed, parse

_AT_WORK = frozenset(
    {
        "CREATE_IN_PROGRESS",
        "DELETE_IN_PROGRESS",
        "ROLLBACK_IN_PROGRESS",
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        "UPDATE_ROLLBACK_IN_PROGRESS",
        "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    }
)
_BEYOND_UPDATES = frozenset(
    {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "UPDATE_ROLLBACK_FAILED"}
)
_NO_CHANGES = (
    "The submitted information didn't contain changes. Submit different information "
    "to create a change set."
)


class ChangeSetNotFound(CloudFormationError):  # noqa: N818 - the service's name
    """
    The CDK CLI waits for this code after it has deleted a change set.
    """

    code = "ChangeSetNotFound"


class InvalidChangeSetStatus(CloudFormationError):  # noqa: N818 - the service's name
    """
    A change set that has failed, or was executed already.
    """

    code = "InvalidChangeSetStatus"


class EmbeddedChangeSet(ChangeSet):
    """
    A change set that announces what its execution will do.
    """

    changes: list[Change]  # type: ignore[assignment]  # in the words of the API
    parent_change_set_id: str | None = None

    def diff(self) -> list[Change]:  # type: ignore[override]  # the same
        """
        List the changes; moto knows only actions and names.
        """
        stack = self.stack
        assert isinstance(stack, EmbeddedStack)  # noqa: S101 - for mypy
        return changes(stack, stack.draft(self.template, self.parameters))


class EmbeddedCloudFormation(CloudFormationBackend):
    """
    moto's backend with stacks that roll back, replace and clean up.
    """

    def __init__(self, *args: Untyped, **kwargs: Untyped) -> None:
        super().__init__(*args, **kwargs)
        # Names of stacks yet to come that are to stay as they fail.
        self.unrolled: set[str] = set()

    @property
    def _url_module(self) -> Untyped:
        # moto derives it from the name of the module the class is in.
        return SimpleNamespace(
            url_bases=urls.url_bases,
            url_paths={"{0}/$": EmbeddedResponse.dispatch},
        )

    def create_stack(  # type: ignore[override]  # keywords of moto's own
        self, name: str, template: str, parameters: dict[str, Any], **settings: Untyped
    ) -> Stack:
        """
        Create a stack; a failed creation leaves it in ROLLBACK_COMPLETE.
        """
        if any(stack.name == name for stack in self.stacks.values()):
            raise AlreadyExistsException(f"Stack [{name}] already exists")
        stack = self._new_stack(name, template, parameters, **settings)
        stack.disable_rollback = name in self.unrolled
        self.unrolled.discard(name)
        self.stacks[stack.stack_id] = stack
        begin(lambda: self._create(stack))
        return stack

    def update_stack(  # type: ignore[override]  # returns our stack
        self,
        name: str,
        template: str,
        role_arn: str | None,
        parameters: dict[str, Any],
        tags: dict[str, str] | None,
    ) -> Stack:
        """
        Update a stack, or refuse if nothing would change.
        """
        stack = self._updatable(name)
        if _unchanged(stack, template, parameters, tags) and not changes(
            stack, stack.draft(template, parameters)
        ):
            raise ValidationError(name, message="No updates are to be performed.")
        stack.role_arn = role_arn
        stack.tags = stack.tags if tags is None else tags
        begin(lambda: self.update_nested(stack, template, parameters))
        return stack

    def create_change_set(  # noqa: PLR0917 - moto's signature
        self,
        stack_name: str,
        change_set_name: str,
        template: str,
        parameters: dict[str, str],
        description: str,
        change_set_type: str,
        notification_arns: list[str] | None = None,
        tags: dict[str, str] | None = None,
        role_arn: str | None = None,
        *,
        include_nested: bool = False,
    ) -> tuple[str, str]:
        """
        Prepare a change set, and one for each nested stack that changes, if asked.

        moto makes a second stack of the same name when a stack is still in review.
        """
        validate_create_change_set(change_set_name)
        parse(template)
        if change_set_type == "UPDATE":
            stack = self._updatable(stack_name)
        else:
            stack = self._stack_to_review(stack_name, tags, role_arn)
        if stack.parent_id is None:
            # Those of nested stacks go with their parent's.
            self._refuse_second(stack, change_set_name, template, parameters)
        change_set = EmbeddedChangeSet(
            change_set_type=change_set_type,
            change_set_id=generate_changeset_id(
                change_set_name, self.region_name, self.account_id
            ),
            change_set_name=change_set_name,
            stack=stack,
            template=template,
            parameters=parameters,
            description=description,
            notification_arns=notification_arns,
            tags=tags,
            role_arn=role_arn,
        )
        empty = (
            change_set_type == "UPDATE"
            and not change_set.changes
            and _unchanged(stack, template, parameters, tags)
        )
        change_set.status = "FAILED" if empty else "CREATE_COMPLETE"
        change_set.execution_status = "UNAVAILABLE" if empty else "AVAILABLE"
        change_set.status_reason = _NO_CHANGES if empty else None
        self.change_sets[change_set.change_set_id] = change_set
        if include_nested:
            self._prepare_nested(change_set, stack.scope)
        return change_set.change_set_id, stack.stack_id

    def _refuse_second(
        self,
        stack: EmbeddedStack,
        name: str,
        template: str,
        parameters: dict[str, str],
    ) -> None:
        try:
            waiting = self.find_change_set(name, stack.stack_id)
        except ChangeSetNotFound:
            return
        if waiting.execution_status == "EXECUTE_COMPLETE":
            return
        request = {"Template": template, "Parameters": parameters}
        there = {"Template": waiting.template, "Parameters": waiting.parameters}
        for attribute, value in request.items():
            if value != there[attribute]:
                raise AlreadyExistsException(
                    f"ChangeSet {name} cannot be created due to a mismatch with "
                    f"existing attribute {attribute}"
                )

    def _prepare_nested(self, change_set: EmbeddedChangeSet, scope: Scope) -> None:
        for change in change_set.changes:
            if change["ResourceType"] != NESTED or change["Action"] != "Modify":
                continue
            properties = json.loads(change["AfterContext"])["Properties"]
            try:
                change["ChangeSetId"], _ = self.create_change_set(
                    change["PhysicalResourceId"],
                    change_set.change_set_name,
                    nested.template(properties, scope),
                    nested.parameters(properties),
                    change_set.description,
                    "UPDATE",
                    include_nested=True,
                )
            except (ResourceError, ValidationError):
                # As it will be told where the change set is executed.
                continue
            made = self.find_change_set(change["ChangeSetId"], None)
            made.parent_change_set_id = change_set.change_set_id

    def drop_change_set(self, change_set: EmbeddedChangeSet) -> None:
        """
        Forget a change set with those of its nested stacks.
        """
        del self.change_sets[change_set.change_set_id]
        for change in change_set.changes:
            nested = self.change_sets.get(change.get("ChangeSetId", ""))
            if isinstance(nested, EmbeddedChangeSet):
                self.drop_change_set(nested)

    def find_change_set(self, name: str, stack_name: str | None) -> EmbeddedChangeSet:
        """
        Find a change set by ARN, or by its name and its stack's.

        moto ignores the stack; every stack of the CDK CLI has a change set of the same
        name.
        """
        # The newest first: one that was executed leaves its name to the next.
        for change_set in reversed(self.change_sets.values()):
            if change_set.change_set_id == name or (
                change_set.change_set_name == name
                and stack_name in (None, change_set.stack_name, change_set.stack_id)
            ):
                assert isinstance(change_set, EmbeddedChangeSet)  # noqa: S101 - mypy
                return change_set
        raise ChangeSetNotFound(f"ChangeSet [{name}] does not exist")

    def execute_change_set(
        self, change_set_name: str, stack_name: str | None = None
    ) -> None:
        """
        Carry a change set out; moto ends as complete whatever happens.
        """
        change_set = self.find_change_set(change_set_name, stack_name)
        if change_set.execution_status != "AVAILABLE":
            raise InvalidChangeSetStatus(
                f"ChangeSet [{change_set.change_set_id}] cannot be executed in its "
                f"current status of [{change_set.status}]"
            )
        stack = self._idle(change_set.stack_id)
        change_set.execution_status = "EXECUTE_COMPLETE"
        stack.tags = change_set.tags or stack.tags
        if change_set.change_set_type == "CREATE":
            stack.template = change_set.template
            stack.parameters = change_set.parameters
            begin(lambda: self._create(stack))
        else:
            begin(
                lambda: self.update_nested(
                    stack, change_set.template, change_set.parameters
                )
            )

    def delete_stack(self, name_or_stack_id: str) -> None:
        """
        Delete a stack; one that is not there is no error, as in the service.
        """
        for stack in list(self.stacks.values()):
            if name_or_stack_id in (stack.name, stack.stack_id):
                self._delete(self.stack_named(stack.stack_id))

    def _delete(self, stack: EmbeddedStack) -> None:
        if stack.status == "DELETE_IN_PROGRESS":
            return
        # One that is being made is deleted when what is under way has come to its end.
        is_coming = stack.status == "CREATE_IN_PROGRESS"
        if stack.status in _AT_WORK and not is_coming:
            raise ValidationError(
                message=f"Stack [{stack.stack_id}] cannot be deleted while in status "
                f"{stack.status}"
            )
        if stack.enable_termination_protection:
            raise ValidationError(
                message=f"Stack [{stack.name}] cannot be deleted while "
                "TerminationProtection is enabled"
            )
        begin(lambda: self.discard(stack))

    def discard(self, stack: EmbeddedStack) -> None:
        """
        Delete a stack's resources, and the stack if nothing is left of them.
        """
        for export in stack.exports:
            users = importers(export.name, map(self.stack_named, self.stacks))
            if users:
                # The service answers the call, and keeps the stack's status.
                stack.enter(
                    stack.status,
                    f"Delete canceled. Cannot delete export {export.name} as it is in "
                    f"use by {listed(users)}.",
                )
                return
        if stack.remove():
            self.deleted_stacks[stack.stack_id] = self.stacks.pop(stack.stack_id)
            # moto keeps them, and a new stack of the name would find them.
            for change_set_id, change_set in list(self.change_sets.items()):
                if change_set.stack_id == stack.stack_id:
                    del self.change_sets[change_set_id]
            self._export(stack)

    def _updatable(self, name_or_id: str) -> EmbeddedStack:
        return self._idle(name_or_id, _AT_WORK | _BEYOND_UPDATES)

    def _idle(
        self, name_or_id: str, refused: frozenset[str] = _AT_WORK
    ) -> EmbeddedStack:
        # While a function works for a stack, other requests are answered.
        stack = self.stack_named(name_or_id)
        if stack.status in refused:
            raise ValidationError(
                message=f"Stack:{stack.stack_id} is in {stack.status} state and can "
                "not be updated."
            )
        return stack

    def create_nested(
        self,
        name: str,
        template: str,
        parameters: dict[str, str],
        parent: EmbeddedStack,
        tags: dict[str, str],
    ) -> EmbeddedStack:
        """
        Create a stack on behalf of another one, whose tags it has as well.
        """
        stack = self._new_stack(
            name, template, parameters, tags={**parent.tags, **tags}
        )
        stack.parent_id = parent.stack_id
        stack.root_id = parent.root_id or parent.stack_id
        self.stacks[stack.stack_id] = stack
        self._create(stack)
        return stack

    def _create(self, stack: EmbeddedStack) -> None:
        stack.create_resources()
        self._export(stack)

    def update_nested(
        self, stack: EmbeddedStack, template: str, parameters: dict[str, str]
    ) -> None:
        """
        Update a stack on behalf of another one.
        """
        stack.change(template, parameters)
        self._export(stack)

    def _new_stack(
        self,
        name: str,
        template: Untyped,
        parameters: dict[str, Any],
        **settings: Untyped,
    ) -> EmbeddedStack:
        stack = EmbeddedStack(
            stack_id=generate_stack_id(name, self.region_name, self.account_id),
            name=name,
            template=template,
            parameters=parameters,
            account_id=self.account_id,
            region_name=self.region_name,
            **settings,
        )
        # Not as an argument: moto puts another one in the place of an empty one.
        stack.cross_stack_resources = self.exports
        return stack

    def stack_named(self, name_or_id: str) -> EmbeddedStack:
        """
        Find a stack by name or id; one that is gone by its id alone.
        """
        stack = self.get_stack(name_or_id)
        if not isinstance(stack, EmbeddedStack):
            raise ValidationError(name_or_id)
        return stack

    def _stack_to_review(
        self, name: str, tags: dict[str, str] | None, role_arn: str | None
    ) -> EmbeddedStack:
        for stack in self.stacks.values():
            if stack.name == name and stack.status != "REVIEW_IN_PROGRESS":
                raise AlreadyExistsException(f"Stack [{name}] already exists")
            if stack.name == name:
                return self.stack_named(stack.stack_id)
        stack = self._new_stack(name, {}, {}, tags=tags, role_arn=role_arn)
        self.stacks[stack.stack_id] = stack
        stack.enter("REVIEW_IN_PROGRESS", "User Initiated")
        return stack

    def _export(self, stack: EmbeddedStack) -> None:
        # moto registers exports once, before the resources are there.
        for name, export in list(self.exports.items()):
            if export.exporting_stack_id == stack.stack_id:
                del self.exports[name]
        self.exports.update({export.name: export for export in stack.exports})


class EmbeddedResponse(DriftAnswers):
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
        """
        Create a stack, which stays as it fails if that is asked for.
        """
        name = self._get_param("StackName")
        self._backend.unrolled.discard(name)
        if self._keeps_failures or self._get_param("OnFailure") == "DO_NOTHING":
            self._backend.unrolled.add(name)
        return super().create_stack()

    def execute_change_set(self) -> ActionResult:
        """
        Carry a change set out; the same of a stack that fails.
        """
        self._change_set().stack.disable_rollback = self._keeps_failures
        return super().execute_change_set()

    @property
    def _keeps_failures(self) -> bool:
        return bool(self._get_bool_param("DisableRollback"))

    def create_change_set(self) -> ActionResult:
        """
        Prepare a change set.

        moto fails on UsePreviousValue of a parameter that has only its default.
        """
        kind = self._get_param("ChangeSetType", "UPDATE")
        if kind == "IMPORT":
            raise ValidationError(
                message="not emulated: change sets of type IMPORT; nothing was imported"
            )
        if kind == "CREATE":
            requests.check_name(self._get_param("StackName"))
        change_set_id, stack_id = self._backend.create_change_set(
            stack_name=self._get_param("StackName"),
            change_set_name=self._get_param("ChangeSetName"),
            template=self._template(),
            parameters=self._parameters(),
            description=self._get_param("Description"),
            notification_arns=self._get_param("NotificationARNs", []),
            tags=self._tags(),
            role_arn=self._get_param("RoleARN"),
            change_set_type=kind,
            include_nested=bool(self._get_bool_param("IncludeNestedStacks")),
        )
        return ActionResult({"Id": change_set_id, "StackId": stack_id})

    def update_stack(self) -> ActionResult:
        """
        Update a stack; the same trouble with parameters as above.
        """
        stack = self._backend.get_stack(self._get_param("StackName"))
        self._validate_status(stack)
        stack.disable_rollback = self._keeps_failures
        self._backend.update_stack(
            name=stack.stack_id,
            template=self._template(),
            role_arn=self._get_param("RoleARN"),
            parameters=self._parameters(),
            tags=self._tags(),
        )
        return ActionResult({"StackId": stack.stack_id})

    def describe_change_set(self) -> ActionResult:
        """
        Describe the change set of the stack that is asked for, a page at a time.
        """
        change_set = self._change_set()
        with_values = self._get_bool_param("IncludePropertyValues")
        changes, following = page(change_set.changes, self._get_param("NextToken"))
        changes = [c if with_values else without_values(c) for c in changes]
        return ActionResult(
            {
                "ChangeSetName": change_set.change_set_name,
                "ChangeSetId": change_set.change_set_id,
                "StackId": change_set.stack_id,
                "StackName": change_set.stack_name,
                "Description": change_set.description,
                "Parameters": requests.shown_parameter(
                    change_set.stack.parse_template(change_set.template),
                    change_set.parameters,
                ),
                "CreationTime": change_set.creation_time,
                "ExecutionStatus": change_set.execution_status,
                "Status": change_set.status,
                "StatusReason": change_set.status_reason,
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

    def update_termination_protection(self) -> ActionResult:
        """
        Set what moto only stores at creation.
        """
        stack = self._backend.get_stack(self._get_param("StackName"))
        enabled = self._get_bool_param("EnableTerminationProtection")
        stack.enable_termination_protection = bool(enabled)
        return ActionResult({"StackId": stack.stack_id})

    def describe_stack_resources(self) -> ActionResult:
        """
        Describe resources with their own status; moto shows the stack's.
        """
        stack = self._holder()
        name = self._get_param("LogicalResourceId")
        rows = [
            _row(stack, resource)
            for resource in stack.resources.values()
            if name in {None, resource.logical_resource_id}
        ]
        return ActionResult({"StackResources": rows})

    def describe_stack_resource(self) -> ActionResult:
        """
        Describe one resource with its own status.
        """
        stack, resource = self._backend.describe_stack_resource(
            self._get_param("StackName"), self._get_param("LogicalResourceId")
        )
        assert isinstance(stack, EmbeddedStack)  # noqa: S101 - for mypy
        return ActionResult({"StackResourceDetail": _row(stack, resource)})

    def list_stack_resources(self) -> ActionResult:
        """
        List resources with their own status; moto has CREATE_COMPLETE written down.
        """
        stack = self._stack_named()
        resources, following = page(
            list(stack.resources.values()), self._get_param("NextToken")
        )
        rows = [_row(stack, resource) for resource in resources]
        return ActionResult({"StackResourceSummaries": rows, "NextToken": following})

    @property
    def _backend(self) -> EmbeddedCloudFormation:
        backend = self.cloudformation_backend
        assert isinstance(backend, EmbeddedCloudFormation)  # noqa: S101 - for mypy
        return backend

    def _holder(self) -> EmbeddedStack:
        if self._get_param("StackName"):
            return self._stack_named()
        physical_id = self._get_param("PhysicalResourceId")
        for stack in self._backend.stacks.values():
            for resource in self._backend.stack_named(
                stack.stack_id
            ).resources.values():
                if resource.physical_resource_id == physical_id:
                    return self._backend.stack_named(stack.stack_id)
        raise ValidationError(message=f"Stack for {physical_id} does not exist")

    def _change_set(self) -> EmbeddedChangeSet:
        return self._backend.find_change_set(
            self._get_param("ChangeSetName"), self._get_param("StackName")
        )

    def _template(self) -> str:
        if self._get_bool_param("UsePreviousTemplate"):
            stack = self._backend.get_stack(self._get_param("StackName"))
            body = str(stack.template)
        else:
            body = self._body()
        requests.check_capabilities(body, self._get_param("Capabilities", []))
        return body

    def _parameters(self) -> dict[str, str]:
        values = self._get_param("Parameters", [])
        previous: dict[str, str] = {}
        if any(parameter.get("UsePreviousValue") for parameter in values):
            stack = self._backend.get_stack(self._get_param("StackName"))
            previous = stack.parameters
        return {
            parameter["ParameterKey"]: previous[parameter["ParameterKey"]]
            if parameter.get("UsePreviousValue")
            else parameter["ParameterValue"]
            for parameter in values
            if not parameter.get("UsePreviousValue")
            or parameter["ParameterKey"] in previous
        }

    def _tags(self) -> dict[str, str] | None:
        tags = {tag["Key"]: tag["Value"] for tag in self._get_param("Tags", [])}
        return tags or None


def install() -> None:
    """
    Put our stacks behind moto's API, before any backend is made.
    """
    models.cloudformation_backends.backend = EmbeddedCloudFormation
    # moto holds bucket policies against every request and knows no conditions: one that
    # demands TLS would shut its bucket. No other policy is checked here either.
    FakeBucket.get_permission = _neutral  # type: ignore[method-assign, assignment]  # see above


def _neutral(*_: object) -> PermissionResult:
    return PermissionResult.NEUTRAL


def _unchanged(
    stack: EmbeddedStack,
    template: str,
    parameters: dict[str, str],
    tags: dict[str, str] | None,
) -> bool:
    return (
        stack.parse_template(template) == stack.template_dict
        and parameters == stack.parameters
        and (tags is None or tags == stack.tags)
    )


def _row(stack: EmbeddedStack, resource: Untyped) -> dict[str, Any]:
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "LogicalResourceId": resource.logical_resource_id,
        "PhysicalResourceId": resource.physical_resource_id,
        "ResourceType": resource.cf_resource_type,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason,
        "Timestamp": resource.updated,
        "LastUpdatedTimestamp": resource.updated,
        "DriftInformation": drift_information(stack, resource.logical_resource_id),
    }
