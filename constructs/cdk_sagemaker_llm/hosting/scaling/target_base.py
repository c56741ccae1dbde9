"""
What a policy needs to know of the target that it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs import Construct

if TYPE_CHECKING:
    from aws_cdk import aws_applicationautoscaling as appscaling


class ScalableTargetBase(Construct):
    """
    A number that Application Auto Scaling may change.
    """

    cfn_scalable_target: appscaling.CfnScalableTarget
    """The resource itself, for what this class does not offer."""
