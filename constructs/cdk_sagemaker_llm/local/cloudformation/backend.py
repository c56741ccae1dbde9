"""
moto's CloudFormation with this package's stacks and change sets in it.

Everything that moto lacks or does otherwise is mended here, each with its reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.models import CloudFormationBackend, Stack
from moto.cloudformation.utils import (
    generate_changeset_id,
    generate_stack_id,
    validate_create_change_set,
)

from cdk_sagemaker_llm.local.aws.clock import begin
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation import stack_types
from cdk_sagemaker_llm.local.cloudformation.change_sets import (
    ChangeSetNotFound,
    EmbeddedChangeSet,
    ImportChangeSet,
    InvalidChangeSetStatus,
)
from cdk_sagemaker_llm.local.cloudformation.changes import changes
from cdk_sagemaker_llm.local.cloudformation.registry import NESTED
from cdk_sagemaker_llm.local.cloudformation.resource import (
    ResourceError,
    Scope,
    physical_id,
)
from cdk_sagemaker_llm.local.cloudformation.stack import (
    EmbeddedStack,
    importers,
    listed,
)
from cdk_sagemaker_llm.local.cloudformation.template import parse

_BEYOND_UPDATES = frozenset(
    {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "UPDATE_ROLLBACK_FAILED"}
)
_PAUSED = frozenset({"CREATE_FAILED", "UPDATE_FAILED"})
_NO_CHANGES = (
    "The submitted information didn't contain changes. Submit different information "
    "to create a change set."
)


class EmbeddedCloudFormation(CloudFormationBackend):
    """
    moto's backend with stacks that roll back, replace and clean up.
    """

    # moto derives it from the name of the module the class is in.
    _url_module: Untyped = None

    def create_stack(  # type: ignore[override]  # keywords of moto's own
        self,
        name: str,
        template: str,
        parameters: dict[str, Any],
        *,
        disable_rollback: bool = False,
        deletes_new: bool = False,
        **settings: Untyped,
    ) -> Stack:
        """
        Create a stack; a failed creation leaves it in ROLLBACK_COMPLETE.
        """
        if any(stack.name == name for stack in self.stacks.values()):
            raise AlreadyExistsException(f"Stack [{name}] already exists")
        stack = self._new_stack(name, template, parameters, **settings)
        stack.disable_rollback, stack.deletes_new = disable_rollback, deletes_new
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
        *,
        disable_rollback: bool = False,
        deletes_new: bool = False,
    ) -> Stack:
        stack = self._idle(name, _BEYOND_UPDATES)
        _refuse_paused(stack, disable_rollback=disable_rollback)
        if _unchanged(stack, template, parameters, tags) and not changes(
            stack, stack.draft(template, parameters)
        ):
            raise ValidationError(name, message="No updates are to be performed.")
        stack.disable_rollback, stack.deletes_new = disable_rollback, deletes_new
        stack.role_arn = role_arn
        stack.tags = stack.tags if tags is None else tags
        begin(lambda: self.update_nested(stack, template, parameters))
        return stack

    def create_change_set(  # type: ignore[override]  # keywords of moto's own
        self,
        stack_name: str,
        *,
        include_nested: bool = False,
        imports: Sequence[Mapping[str, Any]] | None = None,
        **settings: Untyped,
    ) -> tuple[str, str]:
        """
        Prepare a change set, and one for each nested stack that changes, if asked.

        moto makes a second stack of the same name when a stack is still in review.
        """
        name = settings["change_set_name"]
        # What is taken over goes into a stack that is there, or into a new one.
        is_update = settings["change_set_type"] == "UPDATE" or (
            imports is not None and self._is_deployed(stack_name)
        )
        validate_create_change_set(name)
        parse(settings["template"])
        if is_update:
            stack = self._idle(stack_name, _BEYOND_UPDATES)
        else:
            stack = self._stack_to_review(stack_name, settings)
        if stack.parent_id is None:
            # Those of nested stacks go with their parent's.
            self._refuse_second(stack, settings)
        settings["change_set_id"] = generate_changeset_id(
            name, self.region_name, self.account_id
        )
        if imports is None:
            change_set = EmbeddedChangeSet(stack=stack, **settings)
        else:
            change_set = self._importing(stack, imports, settings)
        empty = (
            is_update
            and not change_set.changes
            and _unchanged(
                stack, change_set.template, change_set.parameters, change_set.tags
            )
        )
        change_set.status = "FAILED" if empty else "CREATE_COMPLETE"
        change_set.execution_status = "UNAVAILABLE" if empty else "AVAILABLE"
        change_set.status_reason = _NO_CHANGES if empty else None
        self.change_sets[change_set.change_set_id] = change_set
        if include_nested:
            self._prepare_nested(change_set, stack.scope)
        return change_set.change_set_id, stack.stack_id

    def _refuse_second(self, stack: EmbeddedStack, settings: dict[str, Any]) -> None:
        name = settings["change_set_name"]
        try:
            waiting = self.find_change_set(name, stack.stack_id)
        except ChangeSetNotFound:
            return
        if waiting.execution_status == "EXECUTE_COMPLETE":
            return
        for attribute in ("template", "parameters"):
            if settings[attribute] != getattr(waiting, attribute):
                raise AlreadyExistsException(
                    f"ChangeSet {name} cannot be created due to a mismatch with "
                    f"existing attribute {attribute.capitalize()}"
                )

    def _prepare_nested(self, change_set: EmbeddedChangeSet, scope: Scope) -> None:
        for change in change_set.changes:
            if change["ResourceType"] != NESTED or change["Action"] != "Modify":
                continue
            properties = json.loads(change["AfterContext"])["Properties"]
            try:
                change["ChangeSetId"], _ = self.create_change_set(
                    change["PhysicalResourceId"],
                    change_set_name=change_set.change_set_name,
                    change_set_type="UPDATE",
                    template=stack_types.template(properties, scope),
                    parameters=stack_types.parameters(properties),
                    description=change_set.description,
                    include_nested=True,
                )
            except (ResourceError, ValidationError):
                # As it will be told where the change set is executed.
                continue
            made = self.find_change_set(change["ChangeSetId"], None)
            made.parent_change_set_id = change_set.change_set_id

    def drop_change_set(self, change_set: EmbeddedChangeSet) -> None:
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
        self,
        change_set_name: str,
        stack_name: str | None = None,
        *,
        disable_rollback: bool = False,
        deletes_new: bool = False,
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
        _refuse_paused(stack, disable_rollback=disable_rollback)
        stack.disable_rollback, stack.deletes_new = disable_rollback, deletes_new
        change_set.execution_status = "EXECUTE_COMPLETE"
        stack.tags = change_set.tags or stack.tags
        template, parameters = change_set.template, change_set.parameters
        if isinstance(change_set, ImportChangeSet):
            identifiers = change_set.identifiers
            begin(lambda: self._take_in(stack, template, parameters, identifiers))
        elif change_set.change_set_type == "CREATE":
            stack.template, stack.parameters = template, parameters
            begin(lambda: self._create(stack))
        else:
            begin(lambda: self.update_nested(stack, template, parameters))

    def rollback_stack(self, stack: EmbeddedStack, *, keeps_new: bool) -> None:
        """
        Roll a stack back that stayed as it failed.
        """
        if stack.status not in _PAUSED:
            raise ValidationError(
                message=f"Stack:{stack.stack_id} is in {stack.status} state and can "
                "not be rolled back."
            )

        def roll_back() -> None:
            stack.roll_back(keeps_new=keeps_new)
            self._export(stack)

        begin(roll_back)

    def delete_stack(self, name_or_stack_id: str) -> None:
        """
        Delete a stack; one that is not there is no error, as in the service.
        """
        for stack in list(self.stacks.values()):
            if name_or_stack_id not in (stack.name, stack.stack_id):
                continue
            if stack.status == "DELETE_IN_PROGRESS":
                continue
            # One that is being made is deleted when what is under way has ended.
            if _is_at_work(stack) and stack.status != "CREATE_IN_PROGRESS":
                raise ValidationError(
                    message=f"Stack [{stack.stack_id}] cannot be deleted while in "
                    f"status {stack.status}"
                )
            if stack.enable_termination_protection:
                raise ValidationError(
                    message=f"Stack [{stack.name}] cannot be deleted while "
                    "TerminationProtection is enabled"
                )
            begin(partial(self.discard, self.stack_named(stack.stack_id)))

    def discard(self, stack: EmbeddedStack) -> None:
        """
        Delete a stack's resources, and the stack if nothing is left of them.
        """
        for export in stack.exports:
            users = importers(export.name, self.own_stacks)
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

    @property
    def own_stacks(self) -> list[EmbeddedStack]:
        return [self.stack_named(stack_id) for stack_id in self.stacks]

    def _idle(
        self, name_or_id: str, beyond: frozenset[str] = frozenset()
    ) -> EmbeddedStack:
        # While a function works for a stack, other requests are answered.
        stack = self.stack_named(name_or_id)
        if _is_at_work(stack) or stack.status in beyond:
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

    def _take_in(
        self,
        stack: EmbeddedStack,
        template: str,
        parameters: dict[str, str],
        identifiers: Mapping[str, Mapping[str, str]],
    ) -> None:
        stack.take_in(template, parameters, identifiers)
        self._export(stack)

    def _is_deployed(self, name: str) -> bool:
        return any(
            name in (stack.name, stack.stack_id)
            and stack.status != "REVIEW_IN_PROGRESS"
            for stack in self.own_stacks
        )

    def _importing(
        self,
        stack: EmbeddedStack,
        imports: Sequence[Mapping[str, Any]],
        settings: dict[str, Any],
    ) -> ImportChangeSet:
        try:
            return ImportChangeSet(self._unowned(imports), stack=stack, **settings)
        except ValidationError:
            is_new = stack.status == "REVIEW_IN_PROGRESS"
            if is_new and stack.stack_id not in {
                one.stack_id for one in self.change_sets.values()
            }:
                # It was to be made of what is imported.
                del self.stacks[stack.stack_id]
            raise

    def _unowned(
        self, imports: Sequence[Mapping[str, Any]]
    ) -> Sequence[Mapping[str, Any]]:
        owners = {
            resource.physical_resource_id: stack
            for stack in self.own_stacks
            for resource in stack.resources.values()
        }
        for one in imports:
            name = physical_id(one["ResourceType"], one["ResourceIdentifier"])
            if name in owners:
                raise ValidationError(
                    message=f"Resource {one['LogicalResourceId']} ({name}) already "
                    f"belongs to stack {owners[name].stack_id}"
                )
        return imports

    def update_nested(
        self, stack: EmbeddedStack, template: str, parameters: dict[str, str]
    ) -> None:
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
        assert isinstance(stack, EmbeddedStack)  # noqa: S101 - for mypy
        return stack

    def _stack_to_review(self, name: str, settings: dict[str, Any]) -> EmbeddedStack:
        for stack in self.own_stacks:
            if stack.name == name and stack.status == "REVIEW_IN_PROGRESS":
                return stack
            if stack.name == name:
                raise AlreadyExistsException(f"Stack [{name}] already exists")
        tags, role = settings["tags"], settings["role_arn"]
        stack = self._new_stack(name, {}, {}, tags=tags, role_arn=role)
        self.stacks[stack.stack_id] = stack
        stack.enter("REVIEW_IN_PROGRESS", "User Initiated")
        return stack

    def _export(self, stack: EmbeddedStack) -> None:
        # moto registers exports once, before the resources are there.
        for name, export in list(self.exports.items()):
            if export.exporting_stack_id == stack.stack_id:
                del self.exports[name]
        self.exports.update({export.name: export for export in stack.exports})


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


def _refuse_paused(stack: EmbeddedStack, *, disable_rollback: bool) -> None:
    # As a user reports it: ansible-collections/amazon.aws#1655.
    if stack.status in _PAUSED and not disable_rollback:
        raise ValidationError(
            message=f"This stack is currently in a non-terminal [{stack.status}] "
            "state. To update the stack from this state, please use the "
            "disable-rollback parameter with update-stack API. To rollback to the last "
            "known good state, use the rollback-stack API"
        )


def _is_at_work(stack: Stack) -> bool:
    # One in review waits for its first change set.
    status = str(stack.status)
    return status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS"
