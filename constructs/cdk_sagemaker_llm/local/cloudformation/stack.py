"""
moto's stack with this package's lifecycle behind it.

moto keeps what the API shows: names, parameters, events, outputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Event, Stack, cloudformation_backends
from moto.cloudformation.parsing import Export, ResourceMap

from cdk_sagemaker_llm.local.aws.clock import current, wait_for_others
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation import requests as stack_parameters
from cdk_sagemaker_llm.local.cloudformation.drift import Drift
from cdk_sagemaker_llm.local.cloudformation.lifecycle import Lifecycle
from cdk_sagemaker_llm.local.cloudformation.resolver import (
    EmbeddedResourceMap,
    with_whole_attributes,
)
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Resource,
    ResourceError,
    Scope,
    declarations,
    scalar_text,
)
from cdk_sagemaker_llm.local.cloudformation.template import functions, parse

_EVENT_DISTANCE = timedelta(milliseconds=1)
_ROLLING_BACK = frozenset({"ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS"})
_IN_REVIEW = "REVIEW_IN_PROGRESS"
_DEPLOYED = frozenset(
    {
        "CREATE_COMPLETE",
        "IMPORT_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE",
    }
)


@dataclass(frozen=True, slots=True)
class Draft:
    """
    A template as it would be deployed.
    """

    template: dict[str, Any]
    resolver: EmbeddedResourceMap
    plan: list[Declaration]


class EmbeddedStack(Stack):
    """
    A stack whose resources go through ``Lifecycle``.
    """

    def __init__(self, *args: Untyped, **kwargs: Untyped) -> None:
        super().__init__(*args, **kwargs)
        self.parent_id: str | None = None
        self.root_id: str | None = None
        self._is_coming = False
        self.failed: list[Resource] = []
        self.leftovers: list[Resource] = []
        self.deletes_new = False
        # The template and parameters to which RollbackStack goes back.
        self._stable: tuple[str, dict[str, Any]] | None = None
        self.drifts: dict[str, Drift] = {}
        self.drift_detections: dict[str, dict[str, Any]] = {}
        self.drift_information: dict[str, Any] = {"StackDriftStatus": "NOT_CHECKED"}

    # moto leaves this and is_created() abstract in its own stack.
    @staticmethod
    def cloudformation_name_type() -> str:
        return ""

    @staticmethod
    def parse_template(template: str) -> dict[str, Any]:
        """
        Parse a template; moto resolves no attribute of a nested stack.
        """
        body: dict[str, Any] = with_whole_attributes(parse(template))
        return body

    def is_created(self) -> bool:
        return self.is_deployed

    @property
    def scope(self) -> Scope:
        return Scope(self.account_id, self.region_name, self.stack_id, self.name)

    @property
    def resources(self) -> dict[str, Resource]:
        made: dict[str, Resource] = self.resource_map.made  # type: ignore[attr-defined]  # our map
        return made

    @property
    def stack_resources(self) -> list[Resource]:  # type: ignore[override]  # not moto's
        """
        The resources that are shown, those too that have failed and are still there.
        """
        return [*self.resources.values(), *self.failed]

    @property
    def parameter_list(self) -> list[dict[str, Any]]:
        """
        The parameters as they are shown; moto shows those that are not to be echoed.
        """
        values = self.resource_map.resolved_parameters
        rows = stack_parameters.shown_parameter(self.template_dict, values)
        return [
            {
                "ParameterKey": key,
                "ParameterValue": ",".join(map(scalar_text, value))
                if isinstance(value, list)
                else scalar_text(value),
            }
            for key, value in rows.items()
        ]

    @property
    def outputs(self) -> list[dict[str, Any]] | None:
        """
        The outputs of a stack that is deployed; moto fails on any other.
        """
        if not self.is_deployed:
            return None
        return [
            {
                "OutputKey": key,
                "OutputValue": scalar_text(body["Value"]),
                "Description": body.get("Description"),
                "ExportName": body.get("Export", {}).get("Name"),
            }
            for key, body in self._resolved_outputs()
        ] or None

    @property
    def exports(self) -> list[Export]:
        return self._own_exports() if self.is_deployed else []

    def _own_exports(self) -> list[Export]:
        return [
            Export(
                self.stack_id,
                str(body["Export"]["Name"]),
                scalar_text(body["Value"]),
            )
            for _, body in self._resolved_outputs()
            if "Export" in body
        ]

    def _resolved_outputs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        # moto resolves them by its own functions, and finds the name of an export by
        # the value, which two outputs may share.
        for key, body in (self.template_dict.get("Outputs") or {}).items():
            condition = body.get("Condition")
            if condition is None or self.resource_map.lazy_condition_map[condition]:
                yield key, self.resolve(body)

    @property
    def is_deployed(self) -> bool:
        """
        Whether the stack has the resources that its template declares.
        """
        return self.status in _DEPLOYED

    @property
    def is_unwanted(self) -> bool:
        """
        Whether it is to be deleted, even while it is still being made.
        """
        return bool(self.status == "DELETE_IN_PROGRESS")

    @property
    def failure(self) -> str:
        """
        Why the last operation was rolled back.
        """
        for event in reversed(self.events):
            is_of_stack = event.physical_resource_id == self.stack_id
            if is_of_stack and event.resource_status in _ROLLING_BACK:
                return str(event.resource_status_reason)
        return ""

    def summary(self) -> dict[str, Any]:
        """
        Return what ``ListStacks`` shows.
        """
        gone = self.status == "DELETE_COMPLETE"
        return {
            "StackId": self.stack_id,
            "StackName": self.name,
            "TemplateDescription": self.description,
            "CreationTime": self.creation_time,
            "DeletionTime": self.events[-1].timestamp if gone else None,
            "StackStatus": self.status,
            "StackStatusReason": getattr(self, "status_reason", None),
            "ParentId": self.parent_id,
            "RootId": self.root_id,
            "DriftInformation": self.drift_information,
        }

    def row(self, resource: Resource) -> dict[str, Any]:
        """
        Return what descriptions and lists show of a resource.
        """
        drift = self.drifts.get(resource.logical_resource_id)
        return {
            "StackId": self.stack_id,
            "StackName": self.name,
            "LogicalResourceId": resource.logical_resource_id,
            "PhysicalResourceId": resource.physical_resource_id,
            "ResourceType": resource.cf_resource_type,
            "ResourceStatus": resource.status,
            "ResourceStatusReason": resource.reason,
            "Timestamp": resource.updated,
            "LastUpdatedTimestamp": resource.updated,
            "DriftInformation": {
                "StackResourceDriftStatus": drift.status if drift else "NOT_CHECKED",
                "LastCheckTimestamp": drift.time if drift else None,
            },
        }

    def verify(self) -> None:
        """
        Resolve the outputs, so that a wrong one fails the stack and no later call.
        """
        for _, body in self._resolved_outputs():
            if isinstance(body.get("Value"), list | dict):
                raise ResourceError(
                    "Template format error: The Value field of every Outputs member "
                    "must evaluate to a String."
                )
        backend = cloudformation_backends[self.account_id][self.region_name]
        remaining = {export.name: export.value for export in self._own_exports()}
        for name in remaining:
            taken = self.cross_stack_resources.get(name)
            if taken is not None and taken.exporting_stack_id != self.stack_id:
                stack = backend.get_stack(taken.exporting_stack_id)
                raise ResourceError(
                    f"Export with name {name} is already exported by stack {stack.name}"
                )
        others = [s for s in backend.stacks.values() if isinstance(s, EmbeddedStack)]
        for export in self.cross_stack_resources.values():
            is_own = export.exporting_stack_id == self.stack_id
            users = importers(export.name, others) if is_own else []
            if users and remaining.get(export.name) != export.value:
                what = "updated" if export.name in remaining else "deleted"
                raise ResourceError(
                    f"Export {export.name} cannot be {what} as it is in use by "
                    f"{listed(users)}"
                )

    def resolve(self, value: Untyped) -> Untyped:
        return self.resource_map.resolve(value)  # type: ignore[attr-defined]  # our map

    def note(
        self, what: Declaration, physical_id: str, status: str, reason: str | None
    ) -> None:
        self.events.append(
            Event(
                stack_id=self.stack_id,
                stack_name=self.name,
                logical_resource_id=what.logical_id,
                physical_resource_id=physical_id,
                resource_type=what.type,
                resource_status=status,
                resource_status_reason=reason,
                resource_properties=None,
            )
        )
        self._keep_events_apart()

    def enter(self, status: str, reason: str | None = None) -> None:
        self.status = status
        self.status_reason = reason
        self._add_stack_event(status, resource_status_reason=reason)
        self._keep_events_apart()

    def _keep_events_apart(self) -> None:
        latest = self.events[-1]
        # moto's have no time zone.
        latest.timestamp = current().replace(tzinfo=latest.timestamp.tzinfo)
        # The CDK CLI sorts by milliseconds; here many events fall into one.
        if len(self.events) > 1:
            earliest = self.events[-2].timestamp + _EVENT_DISTANCE
            self.events[-1].timestamp = max(self.events[-1].timestamp, earliest)

    def _create_resource_map(self) -> ResourceMap:
        return self._resolver(self.template_dict, self.parameters)

    def _resolver(
        self, template: dict[str, Any], parameters: dict[str, Any]
    ) -> EmbeddedResourceMap:
        stack_parameters.check_parameters(template, parameters)
        resource_map = EmbeddedResourceMap(
            self.stack_id,
            self.name,
            stack_parameters.parameters_as_given(template, parameters),
            self.tags,
            account_id=self.account_id,
            region_name=self.region_name,
            template=template,
            cross_stack_resources=self.cross_stack_resources,
        )
        resource_map.load()
        return resource_map

    def draft(self, template: str, parameters: dict[str, Any]) -> Draft:
        """
        Read a template that the stack could be brought to; nothing changes.
        """
        body = self.parse_template(template)
        try:
            resolver = self._resolver(body, parameters)
            plan = declarations(body, resolver.lazy_condition_map)
        except ResourceError as error:
            raise ValidationError(message=str(error)) from error
        resolver.made = self.resources
        return Draft(template=body, resolver=resolver, plan=plan)

    def load(self, template: str, parameters: dict[str, Any]) -> list[Declaration]:
        """
        Take on a template, keep the resources there are, and return what it declares.
        """
        draft = self.draft(template, parameters)
        self.template, self.parameters = template, parameters
        self.template_dict, self.resource_map = draft.template, draft.resolver
        self.description = self.template_dict.get("Description")
        self.output_map = self._create_output_map()
        return draft.plan

    def create_resources(self) -> None:
        plan = self.load(str(self.template), self.parameters)
        self.enter("CREATE_IN_PROGRESS", "User Initiated")
        self._is_coming = True
        try:
            Lifecycle(self).create(plan)
        finally:
            self._is_coming = False

    def change(self, template: str, parameters: dict[str, Any]) -> None:
        """
        Bring the stack to another template, or back to the one it has.
        """
        before, resolver = (str(self.template), self.parameters), self.resource_map
        if self.is_deployed:
            self._stable = before
        plan = self.load(template, parameters)
        self.enter("UPDATE_IN_PROGRESS", "User Initiated")
        # As in the service: what was found is of the stack as it was.
        self.drifts.clear()
        self.drift_information = {"StackDriftStatus": "NOT_CHECKED"}
        if not Lifecycle(self).update(plan):
            self.load(*before)
            # What it had read of other stacks still counts.
            self.resource_map = resolver

    def take_in(
        self,
        template: str,
        parameters: dict[str, Any],
        identifiers: Mapping[str, Mapping[str, str]],
    ) -> None:
        """
        Take over what exists as resources of a template.
        """
        before, status = (str(self.template), self.parameters), self.status
        plan = self.load(template, parameters)
        self.enter("IMPORT_IN_PROGRESS", "User Initiated")
        if not Lifecycle(self).take_in(plan, identifiers) and status != _IN_REVIEW:
            self.load(*before)

    def roll_back(self, *, keeps_new: bool) -> None:
        """
        Bring a stack that was left as it failed to what it was when it last was stable.

        The API reference has a stack deleted that never was; the CDK CLI, whose
        rollback fails where the stack is gone, and so this package, has it empty.
        """
        self.disable_rollback = False
        self.deletes_new = not keeps_new
        if self._stable is None:
            self._release(self.resources)
            self.enter("ROLLBACK_IN_PROGRESS", "User Initiated")
            Lifecycle(self).uncreate()
            return
        plan = self.load(*self._stable)
        self._release(self.resources.keys() - {each.logical_id for each in plan})
        self.enter("UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
        Lifecycle(self).restore(plan, ())

    def go_on_rolling_back(self, skipped: set[str]) -> None:
        """
        Bring what a failed rollback has left to the template there was before.
        """
        plan = self.load(str(self.template), self.parameters)
        self._release(self.resources.keys() - {each.logical_id for each in plan})
        self.enter("UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
        Lifecycle(self).restore(plan, skipped)

    def retain(self, logical_ids: Collection[str]) -> None:
        """
        Keep resources when they are deleted from the stack.
        """
        for resource in self.resources.values():
            if resource.logical_resource_id in logical_ids:
                resource.declaration = replace(
                    resource.declaration, retain_on_delete=True
                )

    def _release(self, logical_ids: Collection[str]) -> None:
        # What a rollback finds new stays as far as it does where one was not paused.
        for logical_id in logical_ids:
            declared = self.resources[logical_id].declaration
            stays = declared.retain_on_create and not self.deletes_new
            released = replace(declared, retain_on_delete=stays)
            self.resources[logical_id].declaration = released

    def remove(self) -> bool:
        """
        Delete what can be deleted.
        """
        self.enter("DELETE_IN_PROGRESS", "User Initiated")
        wait_for_others(lambda: not self._is_coming)
        gone = Lifecycle(self).delete()
        if gone:
            self.enter("DELETE_COMPLETE")
        return gone


def importers(export: str, stacks: Iterable[EmbeddedStack]) -> list[str]:
    """
    Name the stacks that import an export.
    """
    return sorted(
        stack.name for stack in stacks if stack.resources and export in _imports(stack)
    )


def _imports(stack: EmbeddedStack) -> Iterator[Untyped]:
    for section in ("Resources", "Outputs"):
        for function, argument in functions(stack.template_dict.get(section)):
            if function == "Fn::ImportValue":
                yield stack.resolve(argument)


def listed(names: list[str]) -> str:
    """
    Write names as CloudFormation does: ``a, b and c``.
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
