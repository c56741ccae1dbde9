"""
A serving image that is copied into a registry of the account's own, at deployment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jsii
from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.catalog.image_tags import is_digest
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    Registry,
    find_image,
    image_families,
)
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.interfaces import Connectable
from cdk_sagemaker_llm.hosting.mirroring.checks import mirroring_findings
from cdk_sagemaker_llm.hosting.mirroring.sources import (
    GALLERY,
    ImageSource,
    repository_of,
    source_region,
)
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scope import belongs, region_of
from cdk_sagemaker_llm.hosting.staging.awaiting import await_order
from cdk_sagemaker_llm.hosting.staging.build import Build, BuildWork, RunsBuild
from cdk_sagemaker_llm.hosting.staging.starter import (
    Starter,
    start_statements,
    watch_builds,
)
from cdk_sagemaker_llm.hosting.staging.waits import waited_seconds_of
from cdk_sagemaker_llm.hosting.staging.worker import worker_asset
from cdk_sagemaker_llm.hosting.statements import Statement, login_statement

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

_HANDLER = "cdk_sagemaker_llm.staging.mirroring.handler"
_MODULE = "cdk_sagemaker_llm.staging.images"
_PULL = [
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
]
# Amazon ECR user guide, image-push-iam.
_PUSH = [
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:CompleteLayerUpload",
    "ecr:InitiateLayerUpload",
    "ecr:PutImage",
    "ecr:UploadLayerPart",
]
_HOUR = 3600
# A tag has 128 characters; of a digest's 64, as many as an abbreviated commit has.
_LONGEST_NAME, _SHORT = 115, 12


@jsii.implements(iam.IGrantable, Connectable)
class MirroredImage(RunsBuild, Construct):
    """
    One serving image, by its digest, in a repository of this account and region.

    For regions, partitions and companies where a foreign registry cannot be, or must
    not be, pulled from. A build of CodeBuild copies what is not there yet, several
    layers at once, without a disk or Docker between the two registries, holds each
    against its digest, and puts the tag last; the stack waits for it, and models that
    run the image are made after it. What a failed deployment brought into a repository
    stays, and the next one goes on from there.

    The copy is checked as the image that it is of: pass ``image`` on.

    ``vllm = MirroredImage(self, "Image", image=find_image("vllm", "0.20.2"),``
    ``    digest="sha256:...")``
    ``LlmEndpoint(self, "Endpoint", serving=Vllm("0.20.2", image=vllm.image), ...)``

    Args:
        image: The image that is copied.

        digest:
            The digest of its manifest, as ``sha256:...``: a tag may stand for another
            image tomorrow. An index of several platforms is copied as a whole.
            If left out, the image was described by its digest.

        source:
            Where it is copied from.
            If left out, AWS's private registry in the stack's region, where that lists
            the image, else in us-east-1 or another region of the partition; an image
            of another registry is copied from there.

        repository:
            Where it is copied to, in the stack's own account and region. It should be
            of another stack: what was brought into it stays when this one is rolled
            back.
            If left out, one is made whose tags cannot be moved, and which is scanned
            when an image comes.

        encryption_key:
            The key that encrypts the repository.
            If left out, Amazon ECR's own keys do.

        removal_policy:
            What becomes of the repository when it is not defined any more; ``DESTROY``
            removes its images too.
            If left out, it is kept.

        timeout:
            How long the build may take, from 5 minutes to 11 and a half hours.
            If left out, it is an hour.

        compute_type:
            The build's machine.
            If left out, it is ``MEDIUM``.

        build_image:
            An image with Python 3.11 or later and ``boto3`` in it.
            If left out, AWS's own, which has both.

        network:
            The VPC that the build runs in; it needs a way to both registries, to S3,
            where their layers are kept, and to CloudFormation's, where it tells how it
            went.
            If left out, it is CodeBuild's own network.

    Raises:
        ValueError: If there is no digest, or what else could not be copied; all reasons
            at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        image: ImageRelease,
        digest: str | None = None,
        source: ImageSource | None = None,
        repository: ecr.IRepository | None = None,
        encryption_key: kms.IKey | None = None,
        removal_policy: RemovalPolicy | None = None,
        timeout: Duration | None = None,
        compute_type: codebuild.ComputeType = codebuild.ComputeType.MEDIUM,
        build_image: codebuild.IBuildImage | None = None,
        network: Network | None = None,
    ) -> None:
        beside = {"encryption_key": encryption_key, "removal_policy": removal_policy}
        findings = mirroring_findings(
            scope,
            image=image,
            digest=digest,
            source=source,
            repository=repository,
            beside_repository=[name for name, one in beside.items() if one is not None],
            timeout=timeout,
            compute_type=compute_type,
            network=network,
        )
        report(scope, id, findings)
        super().__init__(scope, id)
        belongs(self, scope)
        self.digest: str = digest or image.tag
        """The image's digest."""
        self.tag: str = _tag(image, self.digest)
        """The tag that the copy has: the image's own, and some of its digest."""
        self.repository: ecr.IRepository = repository or self._make_repository(
            encryption_key, removal_policy or RemovalPolicy.RETAIN
        )
        """Where the copy is."""
        order = self._order(image, source)
        work = BuildWork(
            title="Copies a serving image by its digest",
            module=_MODULE,
            # AWS's image has boto3 in each of its Pythons (aws-codebuild-docker-images,
            # al/x86_64/standard/5.0): no package registry is asked.
            install="",
            statements=self._build_statements(order, network or Network()),
            variables=(),
            minutes=int(timeout.to_seconds() if timeout else _HOUR) // 60,
            compute_type=compute_type,
            build_image=build_image,
            network=network or Network(),
        )
        self.image: ImageRelease = self._write(image, order, work)
        """The copy, as serving configurations take it."""
        annotate(self, findings)

    @property
    def image_uri(self) -> str:
        """
        The copy's full URI, by its digest.

        What is given this text does not wait for the copy: ``image`` does.
        """
        return self.repository.repository_uri_for_digest(self.digest)

    def _make_repository(
        self, key: kms.IKey | None, policy: RemovalPolicy
    ) -> ecr.Repository:
        return ecr.Repository(
            self,
            "Repository",
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            image_scan_on_push=True,
            encryption=(
                ecr.RepositoryEncryption.KMS
                if key is not None
                else ecr.RepositoryEncryption.AES_256
            ),
            encryption_key=key,
            removal_policy=policy,
            empty_on_delete=policy is RemovalPolicy.DESTROY or None,
        )

    def _order(self, image: ImageRelease, source: ImageSource | None) -> dict[str, str]:
        return {
            **_source(image, source, region_of(self)),
            "source_repository": repository_of(image, source),
            "source_tag": "" if is_digest(image.tag) else image.tag,
            "digest": self.digest,
            "platform": f"linux/{'arm64' if image.processor == 'arm64' else 'amd64'}",
            "repository": self.repository.repository_name,
            "tag": self.tag,
        }

    def _build_statements(
        self, order: dict[str, str], network: Network
    ) -> list[Statement]:
        push = Statement(
            sid="PushImage",
            actions=_PUSH,
            resources=[self.repository.repository_arn],
        )
        found = [login_statement(), push, *network.access_statements()]
        if order["source_account"]:
            place = f"{order['source_region']}:{order['source_account']}"
            arn = f"arn:{partition()}:ecr:{place}:repository"
            pull = Statement(
                sid="PullImage",
                actions=_PULL,
                resources=[f"{arn}/{order['source_repository']}"],
            )
            found.append(pull)
        return found

    def _write(
        self, image: ImageRelease, order: dict[str, str], work: BuildWork
    ) -> ImageRelease:
        worker = worker_asset(self, "Worker")
        self._build = Build(self, work, worker)
        starter = Starter(
            self, worker, handler=_HANDLER, what="the mirroring of an image"
        )
        project, function = self._build.project, starter.function
        look = Statement(
            sid="FindImage",
            actions=["ecr:DescribeImages"],
            resources=[self.repository.repository_arn],
        )
        done = await_order(
            self,
            "Mirror",
            resource_type="Custom::MirroredImage",
            order=order,
            seconds=waited_seconds_of(work.minutes * 60),
            properties={
                "Repository": order["repository"],
                "Digest": self.digest,
                "Tag": self.tag,
                "Project": project.ref,
            },
            starter=function,
            # The project and the function are referred to.
            ready=[
                self._build.access,
                watch_builds(self, project, function),
                starter.allow([*start_statements(project), look]),
            ],
        )
        copy = Registry(
            account="",
            region="",
            uri=self.image_uri,
            repository_arn=self.repository.repository_arn,
            mirrors=_is_catalogued(image),
            depends_on=done,
        )
        return replace(image, tag=self.digest, registry=copy)


def _source(
    image: ImageRelease, source: ImageSource | None, region: str | None
) -> dict[str, str]:
    """
    Return the registry that has the image, as the worker is told of it.
    """
    if image.registry is not None:
        account, place = image.registry.account, image.registry.region
    elif source is not None and source.region_name is None:
        return {"source_url": GALLERY, "source_account": "", "source_region": ""}
    else:
        named = source.region_name if source else source_region(image, region)
        place = named or ""
        account = image.account(place)
    return {"source_url": "", "source_account": account, "source_region": place}


def _is_catalogued(image: ImageRelease) -> bool:
    """
    Return whether an image is one of AWS's of a version that the catalogue has.
    """
    if image.registry is not None or image.family not in image_families():
        return False
    return is_digest(image.tag) or image == find_image(image.family, image.version)


def _tag(image: ImageRelease, digest: str) -> str:
    """
    Return a tag of its own for each digest: one that cannot be moved is taken once.
    """
    name = image.version if is_digest(image.tag) else image.tag
    short = digest.partition(":")[2][:_SHORT]
    return f"{name[:_LONGEST_NAME]}-{short}".removeprefix("-")
