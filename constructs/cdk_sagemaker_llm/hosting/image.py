"""
Where a stack finds a serving image: one region's registry, or a table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Aws, CfnMapping, Stack
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.images import ImageRelease, registry_account
from cdk_sagemaker_llm.findings import Finding, error

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam


class ServingImage:
    """
    An image as a stack refers to it.

    In a stack without a region the registry's account comes from a mapping of the
    regions that list the image, so that any other region is refused when the
    deployment begins. The CDK's own table lacks 12 of the 44 regions
    (``FactName.DLC_REPOSITORY_ACCOUNT`` of aws-cdk-lib 2.275.0).
    """

    def __init__(self, scope: Construct, release: ImageRelease) -> None:
        self.release = release
        region = Stack.of(scope).region
        if is_unresolved(region):
            self._region = Aws.REGION
            self._account = _mapping(scope, release).find_in_map(Aws.REGION, "account")
            domain = Aws.URL_SUFFIX
            registry = f"{self._account}.dkr.ecr.{Aws.REGION}.{domain}"
            self.uri = f"{registry}/{release.repository}:{release.tag}"
        else:
            self._region = region
            self._account = registry_account(region)
            self.uri = release.uri(region)

    def pull_statements(self) -> list[iam.PolicyStatement]:
        """
        Return what a role needs to pull the image.
        """
        from aws_cdk import aws_iam as iam  # noqa: PLC0415 - loaded by the caller

        repository = (
            f"arn:{Aws.PARTITION}:ecr:{self._region}:{self._account}"
            f":repository/{self.release.repository}"
        )
        return [
            iam.PolicyStatement(
                sid="LogInToRegistries",
                actions=["ecr:GetAuthorizationToken"],
                # The action has no resource to name: one login serves every registry.
                resources=["*"],
            ),
            iam.PolicyStatement(
                sid="PullImage",
                actions=[
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetDownloadUrlForLayer",
                ],
                resources=[repository],
            ),
        ]


def region_findings(scope: Construct, release: ImageRelease) -> list[Finding]:
    """
    Check that the stack's region, where it is known, lists the image.
    """
    region = Stack.of(scope).region
    if is_unresolved(region):
        return []
    try:
        release.uri(region)
    except ValueError as fault:
        return [error("LLM103", str(fault))]
    return []


def _mapping(scope: Construct, release: ImageRelease) -> CfnMapping:
    return CfnMapping(
        scope,
        "Registry",
        mapping={
            region: {"account": registry_account(region)}
            for region in sorted(release.regions)
        },
    )
