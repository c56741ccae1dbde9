"""
The operations on drift, which moto lacks.
"""

from __future__ import annotations

import uuid
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.core.responses import ActionResult

from cdk_sagemaker_llm.local.clock import current
from cdk_sagemaker_llm.local.cloudformation.drift import DRIFTED, detect
from cdk_sagemaker_llm.local.cloudformation.paging import page
from cdk_sagemaker_llm.local.cloudformation.resource import Resource
from cdk_sagemaker_llm.local.cloudformation.stack import EmbeddedStack
from cdk_sagemaker_llm.local.cloudformation.stack_answers import StackAnswers

_DETECTABLE = frozenset(
    {
        "CREATE_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE",
        "UPDATE_ROLLBACK_FAILED",
    }
)


class DriftAnswers(StackAnswers):
    """
    Drift of a stack and of its resources; a detection is over at once.
    """

    def detect_stack_drift(self) -> ActionResult:
        """
        Look at every resource, or at those that are named.
        """
        stack = self._detectable()
        wanted = self._get_param("LogicalResourceIds", []) or [*stack.resources]
        for name in wanted:
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
        wanted = self._get_param("StackDriftDetectionId")
        for stack in self.cloudformation_backend.stacks.values():
            if isinstance(stack, EmbeddedStack) and wanted in stack.drift_detections:
                return ActionResult(stack.drift_detections[wanted])
        raise ValidationError(
            message=f"Drift detection [{wanted}] does not exist for this account"
        )

    def describe_stack_resource_drifts(self) -> ActionResult:
        """
        Describe the resources that were looked at.
        """
        stack = self._stack_named()
        states = self._get_param("StackResourceDriftStatusFilters", [])
        found = [
            drift.shown(stack.stack_id)
            for drift in stack.drifts.values()
            if not states or drift.status in states
        ]
        shown, following = page(
            found, self._get_param("NextToken"), self._get_int_param("MaxResults")
        )
        return ActionResult({"StackResourceDrifts": shown, "NextToken": following})

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
        return ActionResult({"StackResourceDrift": drift.shown(stack.stack_id)})

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
