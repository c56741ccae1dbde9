"""
Where a stack finds a serving image: one region's registry, or a table of them.
"""

from __future__ import annotations

from aws_cdk import Aws, CfnMapping
from constructs import Construct

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    address_names,
    login_statement,
    partition,
)

REGION_WITHOUT_IMAGE = Rule(
    "LLM103", "the stack's region does not list the image", "SageMaker Python SDK"
)
HIDDEN_REPOSITORY = Rule(
    "LLM238", "an image's repository is not known, so that the role may not pull it"
)


class ServingImage:
    """
    An image as a stack refers to it.

    In a stack without a region the registry's account comes from a mapping of the
    regions that list the image, so that any other region is refused when the
    deployment begins. The CDK's own table lacks 13 of the 45 regions, and the accounts
    that TEI is in
    (``FactName.DLC_REPOSITORY_ACCOUNT`` of aws-cdk-lib 2.275.0).
    """

    def __init__(
        self, scope: Construct, release: ImageRelease, region: str | None
    ) -> None:
        self.release = release
        self._arn = release.registry.repository_arn if release.registry else None
        if release.registry is not None:
            self._region = _with_placeholders(release.registry.region)
            self._account = _with_placeholders(release.registry.account)
            self.uri = _with_placeholders(release.uri(self._region))
        elif region is None:
            self._region = Aws.REGION
            accounts = CfnMapping(
                scope,
                "Registry",
                mapping={
                    each: {"account": release.account(each)}
                    for each in sorted(release.regions)
                },
            )
            self._account = accounts.find_in_map(Aws.REGION, "account")
            domain = Aws.URL_SUFFIX
            registry = f"{self._account}.dkr.ecr.{Aws.REGION}.{domain}"
            self.uri = f"{registry}/{release.reference}"
        else:
            self._region = region
            self._account = release.account(region)
            self.uri = release.uri(region)

    def sources(self) -> list[Construct]:
        """
        Return the constructs that put the image in place, where the app does so itself.
        """
        registry = self.release.registry
        if registry is None or registry.depends_on is None:
            return []
        return [registry.depends_on]

    def pull_statements(self) -> list[Statement]:
        """
        Return the permissions that a role needs to pull the image.
        """
        login = login_statement()
        if not is_repository_known(self.release):
            return [login]
        name = _with_placeholders(self.release.repository)
        place = f"arn:{partition()}:ecr:{self._region}:{self._account}"
        pull = Statement(
            sid="PullImage",
            actions=[
                "ecr:BatchCheckLayerAvailability",
                "ecr:BatchGetImage",
                "ecr:GetDownloadUrlForLayer",
            ],
            resources=[self._arn or f"{place}:repository/{name}"],
        )
        return [login, pull]


def region_findings(region: str | None, release: ImageRelease) -> list[Finding]:
    """
    Check that the region, where it is known, lists the image, and that the role can be
    allowed to pull it.
    """
    if not is_repository_known(release):
        return [
            HIDDEN_REPOSITORY.finding(
                "the image's address does not show its repository at synth, so that "
                "the role is not let pull from it",
                "use CustomContainer.from_ecr_repository or from_docker_image_asset",
            )
        ]
    if region is None:
        return []
    try:
        release.uri(region)
    except ValueError as fault:
        return [REGION_WITHOUT_IMAGE.finding(str(fault))]
    return []


def is_repository_known(release: ImageRelease) -> bool:
    """
    Return whether there is a repository to let a role pull from.
    """
    registry = release.registry
    return registry is None or bool(release.repository or registry.repository_arn)


def _with_placeholders(text: str) -> str:
    """
    Put the CDK's placeholders in the place of CloudFormation's own, which a template
    does not fill in by itself.
    """
    for placeholder, name in address_names().items():
        text = text.replace(f"${{{name}}}", placeholder)
    return text
