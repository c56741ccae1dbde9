"""
Creating, updating, rolling back and deleting the resources of a stack.

The order of things is CloudFormation's: dependencies first; on an update, new physical
resources before old ones go; on a failure, everything done is undone in reverse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

from cdk_sagemaker_llm.local.aws.clock import current
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.registry import (
    is_custom,
    must_replace,
    resource_type,
)
from cdk_sagemaker_llm.local.cloudformation.resolver import reveal
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Importable,
    Observable,
    Properties,
    Resource,
    ResourceError,
    ResourceType,
    Scope,
    UnstableError,
    deletion_order,
)

_GONE = re.compile(r"not found|could not find|does not exist|no such", re.IGNORECASE)

# As users report it: smoketurner/serverless-vpc-plugin#1221, aws/aws-sam-cli#4164.
_NO_REPLACEMENT = (
    "Replacement type updates not supported on stack with disable-rollback."
)


class Ground(Protocol):
    """
    What a lifecycle works on: a stack's resources, its resolver and its events.

    The stack itself cannot be named here, since it is made of lifecycles.
    """

    # Whether what was made stays when something fails.
    disable_rollback: bool
    # Whether a rollback deletes what was made, though it is to be retained.
    deletes_new: bool
    # What was made then, failed, and goes with the next operation.
    failed: list[Resource]
    # What was replaced, and goes when an operation comes to its end.
    leftovers: list[Resource]

    @property
    def resources(self) -> dict[str, Resource]: ...

    @property
    def scope(self) -> Scope: ...

    @property
    def is_unwanted(self) -> bool: ...

    def resolve(self, value: Untyped) -> Untyped: ...

    def note(
        self, what: Declaration, physical_id: str, status: str, reason: str | None
    ) -> None: ...

    def enter(self, status: str, reason: str | None = None) -> None: ...

    def verify(self) -> None: ...


class Lifecycle:
    """
    One operation on a stack.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._undo: list[Callable[[], object]] = []
        self._unstable: list[Resource] = []

    def create(self, plan: Iterable[Declaration]) -> None:
        """
        Make every resource, or roll back and leave nothing.

        Where the stack is to be deleted meanwhile, what is under way comes to its end.
        """
        try:
            for declaration in plan:
                self._make(declaration)
                if self._ground.is_unwanted:
                    return
            self._verify_outputs()
        except ResourceError as failed:
            if self._ground.is_unwanted:
                for resource in self._unstable:
                    self._remove(resource)
                return
            reason = f"The following resource(s) failed to create: [{failed}]. "
            if self._ground.disable_rollback:
                self._ground.failed += self._unstable
                self._ground.enter("CREATE_FAILED", reason)
                return
            self._ground.enter(
                "ROLLBACK_IN_PROGRESS", f"{reason}Rollback requested by user."
            )
            self._roll_back("ROLLBACK")
        else:
            self._ground.enter("CREATE_COMPLETE")

    def update(self, plan: Iterable[Declaration]) -> bool:
        """
        Bring every resource to what the plan declares, or back to what it was.

        Returns:
            Whether the stack is as the update left it.
        """
        plan = list(plan)
        self._clear_failed()
        try:
            for declaration in plan:
                self._bring(declaration)
            self._verify_outputs()
        except ResourceError as failed:
            new = {each.logical_id for each in plan} - self._ground.resources.keys()
            verb = "create" if str(failed) in new else "update"
            reason = f"The following resource(s) failed to {verb}: [{failed}]. "
            if self._ground.disable_rollback:
                self._ground.failed += self._unstable
                self._ground.enter("UPDATE_FAILED", reason)
                return True
            self._ground.enter("UPDATE_ROLLBACK_IN_PROGRESS", reason)
            self._roll_back("UPDATE_ROLLBACK")
            return False
        self._complete(plan, "UPDATE_COMPLETE")
        return True

    def take_in(
        self, plan: Iterable[Declaration], identifiers: Mapping[str, Mapping[str, str]]
    ) -> bool:
        """
        Take over what exists, or leave the stack as it was.

        Args:
            identifiers: The properties that each resource is found by.
        """
        ground, taken = self._ground, list[str]()
        try:
            for declaration in plan:
                name = declaration.logical_id
                if name in identifiers:
                    ground.resources[name] = self._existing(
                        declaration, identifiers[name]
                    )
                    taken.append(name)
        except ResourceError as failed:
            reason = f"The following resource(s) failed to import: [{failed}]. "
            ground.enter("IMPORT_ROLLBACK_IN_PROGRESS", reason)
            for name in taken:
                del ground.resources[name]
            ground.enter("IMPORT_ROLLBACK_COMPLETE")
            return False
        ground.enter("IMPORT_COMPLETE")
        return True

    def _existing(
        self, declaration: Declaration, identifier: Mapping[str, str]
    ) -> Resource:
        ground = self._ground
        ground.note(declaration, "", "IMPORT_IN_PROGRESS", "Resource import started.")
        with _naming_failures(ground, declaration, "", "IMPORT_FAILED"):
            kind = resource_type(declaration.type)
            properties = ground.resolve(declaration.properties)
            found = None
            if isinstance(kind, Importable):
                found = kind.existing(declaration, properties, identifier, ground.scope)
            if found is None:
                text = ", ".join(f"{key}: {one}" for key, one in identifier.items())
                raise ResourceError(
                    f"there is no {declaration.type} of {{{text}}} as the template has "
                    "it"
                )
        self._note(found, "IMPORT_COMPLETE", "Resource import completed.")
        return found

    def restore(self, plan: Iterable[Declaration], skipped: Container[str]) -> None:
        """
        Go on with a rollback: bring every resource to the plan that is not skipped.
        """
        plan = list(plan)
        self._clear_failed()
        try:
            for declaration in plan:
                there = self._ground.resources.get(declaration.logical_id)
                if declaration.logical_id not in skipped:
                    if there is not None and self._is_missing(there):
                        self._miss(there, ResourceError(there.reason))
                    self._bring(declaration)
                elif there is not None:
                    # The guide: "sets the status of the specified resources to
                    # UPDATE_COMPLETE and continues to roll back".
                    there.reason = None
                    self._note(there, "UPDATE_COMPLETE")
        except ResourceError as failed:
            reason = f"The following resource(s) failed to roll back: [{failed}]. "
            self._ground.enter("UPDATE_ROLLBACK_FAILED", reason)
            return
        self._complete(plan, "UPDATE_ROLLBACK_COMPLETE")

    def uncreate(self) -> None:
        """
        Roll a creation back that was left as it failed.
        """
        failed = self._remove_all()
        status = "ROLLBACK_FAILED" if failed else "ROLLBACK_COMPLETE"
        self._ground.enter(status, _deletion_failure(failed))

    def delete(self) -> bool:
        """
        Remove every resource that is not retained.
        """
        failed = self._remove_all()
        if failed:
            self._ground.enter("DELETE_FAILED", _deletion_failure(failed))
        return not failed

    def _remove_all(self) -> list[Declaration]:
        failed = self._clear_failed()
        leftovers = list(self._ground.leftovers)
        self._ground.leftovers.clear()
        for resource in deletion_order([*self._ground.resources.values(), *leftovers]):
            if self._is_retained(resource):
                self._note(resource, "DELETE_SKIPPED")
                continue
            # What another one still holds on to would fail as well: it stays.
            if any(resource.logical_resource_id in f.depends_on for f in failed):
                failed.append(resource.declaration)
                continue
            if not self._remove(resource):
                failed.append(resource.declaration)
            elif self._ground.resources.get(resource.logical_resource_id) is resource:
                del self._ground.resources[resource.logical_resource_id]
        return failed

    def _clear_failed(self) -> list[Declaration]:
        failed = self._ground.failed
        failed[:] = [resource for resource in failed if not self._remove(resource)]
        return [resource.declaration for resource in failed]

    def _verify_outputs(self) -> None:
        try:
            self._ground.verify()
        except Exception as error:
            raise ResourceError(f"Outputs: {_message(error)}") from error

    def _make(self, declaration: Declaration) -> None:
        ground = self._ground
        ground.note(declaration, "", "CREATE_IN_PROGRESS", None)
        with _naming_failures(ground, declaration, "", "CREATE_FAILED"):
            properties = ground.resolve(declaration.properties)
            resource = self._created(declaration, properties)
        ground.resources[declaration.logical_id] = resource
        self._undo.append(partial(self._unmake, resource))
        self._note(resource, "CREATE_COMPLETE", resource.reason)

    def _bring(self, declaration: Declaration) -> None:
        old = self._ground.resources.get(declaration.logical_id)
        if old is None:
            self._make(declaration)
            return
        with _naming_failures(
            self._ground, declaration, old.physical_resource_id, "UPDATE_FAILED"
        ):
            properties = self._ground.resolve(declaration.properties)
            if old.declaration.type != declaration.type:
                raise ResourceError("Update of resource type is not permitted.")
            if properties == old.properties:
                restore = partial(setattr, old, "declaration", old.declaration)
                self._undo.append(restore)
                old.declaration = declaration
            elif must_replace(declaration.type, old.properties, properties):
                earlier = self._earlier(declaration, properties)
                if earlier is not None:
                    self._take_back(earlier, old, declaration)
                elif self._ground.disable_rollback:
                    raise ResourceError(_NO_REPLACEMENT)
                else:
                    self._swap(old, declaration, properties)
            else:
                self._change(old, declaration, properties)

    def _earlier(
        self, declaration: Declaration, properties: Properties
    ) -> Resource | None:
        # A rollback that failed has left what it was to go back to.
        for resource in self._ground.leftovers:
            is_same = resource.logical_resource_id == declaration.logical_id
            if is_same and resource.properties == properties:
                return resource
        return None

    def _take_back(
        self, earlier: Resource, new: Resource, declaration: Declaration
    ) -> None:
        leftovers = self._ground.leftovers
        leftovers[:] = [each for each in leftovers if each is not earlier] + [new]
        earlier.declaration = declaration
        self._ground.resources[declaration.logical_id] = earlier
        self._note(earlier, "UPDATE_COMPLETE")

    def _swap(
        self, old: Resource, declaration: Declaration, properties: Properties
    ) -> None:
        self._note(
            old,
            "UPDATE_IN_PROGRESS",
            "Requested update requires the creation of a new physical resource; "
            "hence creating one.",
        )
        new = self._created(declaration, properties)
        self._ground.resources[declaration.logical_id] = new
        self._undo.append(partial(self._unswap, old, new))
        self._ground.leftovers.append(old)
        self._note(new, "UPDATE_COMPLETE", new.reason)

    def _change(
        self, old: Resource, declaration: Declaration, properties: Properties
    ) -> None:
        before = replace(old)
        self._note(old, "UPDATE_IN_PROGRESS")
        scope = self._ground.scope
        try:
            _type(old).update(old, reveal(properties, scope), scope)
        except Exception as error:
            if _is_gone(error):
                self._undo.append(partial(self._miss, old, error))
            raise
        old.declaration, old.properties = declaration, properties
        if is_custom(declaration.type) and (
            old.physical_resource_id != before.physical_resource_id
        ):
            # The function has made another one, and is to delete the first.
            self._ground.leftovers.append(before)
        self._undo.append(partial(self._unchange, old, before))
        self._note(old, "UPDATE_COMPLETE")

    def _roll_back(self, prefix: str) -> None:
        try:
            for undo in reversed(self._undo):
                undo()
        except ResourceError as failed:
            self._forget_restored()
            reason = f"The following resource(s) failed to roll back: [{failed}]. "
            self._ground.enter(f"{prefix}_FAILED", reason)
        else:
            self._ground.leftovers.clear()
            self._ground.enter(f"{prefix}_COMPLETE")

    def _forget_restored(self) -> None:
        # What is in use again is none that goes.
        used = {each.physical_resource_id for each in self._ground.resources.values()}
        self._ground.leftovers[:] = [
            each
            for each in self._ground.leftovers
            if each.physical_resource_id not in used
        ]

    def _unmake(self, resource: Resource) -> None:
        # "RetainExceptOnCreate behaves like Retain ..., except for the stack operation
        # that initially creates the resource": the guide, DeletionPolicy.
        if resource.declaration.retain_on_create and not self._ground.deletes_new:
            self._note(resource, "DELETE_SKIPPED")
        elif not self._remove(resource):
            raise ResourceError(resource.logical_resource_id)
        self._ground.resources.pop(resource.logical_resource_id, None)

    def _unswap(self, old: Resource, new: Resource) -> None:
        self._ground.resources[old.logical_resource_id] = old
        if not self._remove(new):
            raise ResourceError(new.logical_resource_id)

    def _unchange(self, resource: Resource, before: Resource) -> None:
        self._note(resource, "UPDATE_IN_PROGRESS")
        with _naming_failures(
            self._ground,
            before.declaration,
            resource.physical_resource_id,
            "UPDATE_FAILED",
        ):
            scope = self._ground.scope
            _type(resource).update(resource, reveal(before.properties, scope), scope)
        resource.declaration = before.declaration
        resource.properties = before.properties
        self._note(resource, "UPDATE_COMPLETE")

    def _miss(self, resource: Resource, error: Exception) -> None:
        # What is gone cannot be brought back to what it was.
        self._note(resource, "UPDATE_IN_PROGRESS")
        resource.reason = _reason(error)
        self._note(resource, "UPDATE_FAILED", resource.reason)
        raise ResourceError(resource.logical_resource_id)

    def _is_missing(self, resource: Resource) -> bool:
        # Somebody may have made again since what was missed then.
        kind = _type(resource)
        return (
            resource.status == "UPDATE_FAILED"
            and isinstance(kind, Observable)
            and kind.actual(resource, self._ground.scope) is None
        )

    def _complete(self, plan: Iterable[Declaration], status: str) -> None:
        remaining = {declaration.logical_id for declaration in plan}
        for logical_id in self._ground.resources.keys() - remaining:
            self._ground.leftovers.append(self._ground.resources.pop(logical_id))
        self._ground.enter(f"{status}_CLEANUP_IN_PROGRESS")
        # The stack is complete even if an old resource stays behind.
        for resource in deletion_order(self._ground.leftovers):
            if self._is_retained(resource):
                self._note(resource, "DELETE_SKIPPED")
            else:
                self._remove(resource)
        self._ground.leftovers.clear()
        self._ground.enter(status)

    def _is_retained(self, resource: Resource) -> bool:
        declaration = resource.declaration
        current = self._ground.resources.get(declaration.logical_id, resource)
        is_current = current is resource
        return (
            declaration.retain_on_delete
            if is_current
            else declaration.retain_on_replace
        )

    def _remove(self, resource: Resource) -> bool:
        self._note(resource, "DELETE_IN_PROGRESS")
        try:
            _type(resource).delete(resource, self._ground.scope)
        except Exception as error:  # noqa: BLE001 - any service's refusal is an event
            # What somebody has deleted already counts as deleted.
            if not _is_gone(error):
                self._note(resource, "DELETE_FAILED", _reason(error))
                return False
        self._note(resource, "DELETE_COMPLETE")
        return True

    def _created(self, declaration: Declaration, properties: Properties) -> Resource:
        kind, scope = resource_type(declaration.type), self._ground.scope
        try:
            resource = kind.create(declaration, reveal(properties, scope), scope)
        except UnstableError as failed:
            # It is there all the same, and goes with the rest.
            failed.resource.status = "CREATE_FAILED"
            failed.resource.reason = str(failed)
            self._undo.append(partial(self._remove, failed.resource))
            self._unstable.append(failed.resource)
            raise
        resource.properties = properties
        return resource

    def _note(self, resource: Resource, status: str, reason: str | None = None) -> None:
        resource.status = status
        resource.updated = current()
        self._ground.note(
            resource.declaration, resource.physical_resource_id, status, reason
        )


@contextmanager
def _naming_failures(
    ground: Ground, declaration: Declaration, physical_id: str, status: str
) -> Iterator[None]:
    # Turns whatever fails inside into an event and the name of the resource.
    try:
        yield
    except Exception as error:
        ground.note(declaration, physical_id, status, _reason(error))
        raise ResourceError(declaration.logical_id) from error


def _deletion_failure(failed: list[Declaration]) -> str | None:
    names = ", ".join(declaration.logical_id for declaration in failed)
    return f"The following resource(s) failed to delete: [{names}]. " if names else None


def _type(resource: Resource) -> ResourceType:
    return resource_type(resource.declaration.type)


def _is_gone(error: Exception) -> bool:
    # In any service's words. What a function or a nested stack says of its failure is
    # something else.
    is_own = isinstance(error, ResourceError)
    return not is_own and _GONE.search(_message(error)) is not None


def _reason(error: Exception) -> str:
    if isinstance(error, ResourceError):
        return str(error)
    return f'Resource handler returned message: "{_message(error)}"'


def _message(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"required key [{error.args[0]}] not found"
    return str(getattr(error, "message", None) or error)
