"""
Where a stack finds a serving image: one region's registry, or a table of them.
"""

from __future__ import annotations

from aws_cdk import Aws, CfnMapping
from constructs import Construct

from cdk_sagemaker_llm.catalog.images import ImageRelease, registry_account
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.statements import Statement

REGION_WITHOUT_IMAGE = Rule(
    "LLM103", "the stack's region does not list the image", "SageMaker Python SDK"
)


class ServingImage:
    """
    An image as a stack refers to it.

    In a stack without a region the registry's account comes from a mapping of the
    regions that list the image, so that any other region is refused when the
    deployment begins. The CDK's own table lacks 12 of the 44 regions
    (``FactName.DLC_REPOSITORY_ACCOUNT`` of aws-cdk-lib 2.275.0).
    """

    def __init__(
        self, scope: Construct, release: ImageRelease, region: str | None
    ) -> None:
        self.release = release
        if release.registry is not None:
            self._region = release.registry.region
            self._account = release.registry.account
            self.uri = release.uri(self._region)
        elif region is None:
            self._region = Aws.REGION
            self._account = _mapping(scope, release).find_in_map(Aws.REGION, "account")
            domain = Aws.URL_SUFFIX
            registry = f"{self._account}.dkr.ecr.{Aws.REGION}.{domain}"
            self.uri = f"{registry}/{release.repository}:{release.tag}"
        else:
            self._region = region
            self._account = registry_account(region)
            self.uri = release.uri(region)

    def pull_statements(self) -> list[Statement]:
        """
        Return what a role needs to pull the image.
        """
        repository = (
            f"arn:{partition()}:ecr:{self._region}:{self._account}"
            f":repository/{self.release.repository}"
        )
        return [
            Statement(
                sid="LogInToRegistries",
                actions=["ecr:GetAuthorizationToken"],
                resources=["*"],
                wildcard_reason="one login serves all registries: none can be named",
            ),
            Statement(
                sid="PullImage",
                actions=[
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetDownloadUrlForLayer",
                ],
                resources=[repository],
            ),
        ]


def region_findings(region: str | None, release: ImageRelease) -> list[Finding]:
    """
    Check that the region, where it is known, lists the image.
    """
    if region is None:
        return []
    try:
        release.uri(region)
    except ValueError as fault:
        return [REGION_WITHOUT_IMAGE.finding(str(fault))]
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
