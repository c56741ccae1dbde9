"""
What Application Auto Scaling tells of its activities.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.simulation.scaling.policies import (
    AT_DESIRED,
    AT_MAXIMUM,
    AT_MINIMUM,
    Activity,
)


@dataclass(kw_only=True, slots=True)
class Told:
    """
    One activity of one scalable target.

    Args:
        activity: What the engine of time did.

        resource_id: The target's.

        dimension: The target's.

        noun: What the service calls the capacity.

        refusal: Why SageMaker refused it; empty if it did not.

        reached: What capacity there was when it was over; ``None`` while it is not.
    """

    activity: Activity
    resource_id: str
    dimension: str
    noun: str
    refusal: str = ""
    reached: int | None = None
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))

    def as_answer(self) -> dict[str, Any]:
        """
        Return it in the form of DescribeScalingActivities.
        """
        activity = self.activity
        told: dict[str, Any] = {
            "ActivityId": self.identity,
            "ServiceNamespace": "sagemaker",
            "ResourceId": self.resource_id,
            "ScalableDimension": self.dimension,
            "Cause": activity.cause,
            "StartTime": activity.time,
        }
        if activity.not_scaled:
            return {
                **told,
                "Description": "Attempting to scale due to alarm triggered",
                "StatusCode": "Failed",
                "NotScaledReasons": [_not_scaled(activity)],
            }
        wanted = f"{self.noun} count to {activity.after}"
        done = f"Successfully set desired {wanted}."
        told["Description"] = f"Setting desired {wanted}."
        if self.refusal:
            code, message = "Failed", f"Failed to set desired {wanted}."
            message, told["Details"] = f"{message} Reason: {self.refusal}", self.refusal
            told["EndTime"] = activity.time
        elif activity.completed is None:
            code = "InProgress"
            message = f"{done} Waiting for change to be fulfilled by sagemaker."
        elif self.reached in {None, activity.after}:
            code = "Successful"
            message = f"{done} Change successfully fulfilled by sagemaker."
            told["EndTime"] = activity.completed
        else:
            code = "Unfulfilled"
            message = f"{done} Change was not fulfilled by sagemaker."
            told["EndTime"] = activity.completed
        return {**told, "StatusCode": code, "StatusMessage": message}


def _not_scaled(activity: Activity) -> dict[str, Any]:
    capacity = {
        AT_MAXIMUM: "MaxCapacity",
        AT_MINIMUM: "MinCapacity",
        AT_DESIRED: "CurrentCapacity",
    }.get(activity.not_scaled)
    shown = {capacity: activity.after} if capacity else {}
    return {"Code": activity.not_scaled, **shown}
