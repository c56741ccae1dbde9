"""
A serving image that is copied into a registry of the account's own at deployment; what
it may be is checked before anything is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import jsii
from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.catalog.image_rows import is_digest
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    Registry,
    find_image,
    image_families,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import (
    Connectable,
    account_of,
    belongs,
    region_of,
)
from cdk_sagemaker_llm.hosting.mirroring.sources import (
    GALLERY,
    ImageSource,
    repository_of,
    source_findings,
    source_region,
)
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    login_statement,
    partition,
)
from cdk_sagemaker_llm.hosting.weights.build import (
    Build,
    BuildWork,
    RunsBuild,
    worker_asset,
)
from cdk_sagemaker_llm.hosting.weights.staging_checks import (
    build_time_findings,
    machine_findings,
)
from cdk_sagemaker_llm.hosting.weights.starter import (
    Starter,
    await_order,
    start_statements,
    waited_seconds_of,
    watch_builds,
)
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_unresolved

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

_FORM = "'sha256:' and 64 hexadecimal digits in small letters"

NO_DIGEST = Rule(
    "LLM741",
    "an image is to be mirrored that is named by no digest",
    "aws/deep-learning-containers, whose releases move tags",
)
FAR_REPOSITORY = Rule(
    "LLM747",
    "an image is to be mirrored into another account or region than its endpoint's",
    "SageMaker API reference, ContainerDefinition",
)
TWO_REPOSITORIES = Rule(
    "LLM749", "a repository is given, and with it what one would be made with"
)
CLOSED_MIRROR = Rule(
    "LLM751", "a build is to reach registries from an isolated network"
)
DOUBTFUL_VERSION = Rule(
    "LLM841",
    "a digest is given for a tag that AWS moves from version to version",
    "aws/deep-learning-containers, whose releases move these tags",
)


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
            If omitted, the image was described by its digest.

        source:
            Where it is copied from.
            If omitted, AWS's private registry in the stack's region, where that lists
            the image, else in us-east-1 or another region of the partition; an image
            of another registry is copied from there.

        repository:
            Where it is copied to, in the stack's own account and region. It should be
            of another stack: what was brought into it stays when this one is rolled
            back.
            If omitted, one is made whose tags cannot be moved, and which is scanned
            when an image comes.

        encryption_key:
            The key that encrypts the repository.
            If omitted, Amazon ECR's own keys do.

        removal_policy:
            What becomes of the repository when it is not defined any more; ``DESTROY``
            removes its images too.
            If omitted, it is kept.

        timeout:
            How long the build may take, from 5 minutes to 11 and a half hours.
            If omitted, it is an hour.

        compute_type:
            The build's machine.
            If omitted, it is ``MEDIUM``.

        build_image:
            An image with Python 3.11 or later and ``boto3`` in it.
            If omitted, AWS's own, which has both.

        network:
            The VPC that the build runs in; it needs a way to both registries, to S3,
            where their layers are kept, and to CloudFormation's, where it tells how it
            went.
            If omitted, it is CodeBuild's own network.

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
        made_with = {"encryption_key": encryption_key, "removal_policy": removal_policy}
        beside = [name for name, one in made_with.items() if one is not None]
        findings = [
            *_digest_findings(image, digest),
            *source_findings(region_of(scope), image, source),
            *_repository_findings(scope, repository, beside),
            *build_time_findings(timeout),
            *machine_findings(compute_type),
        ]
        if network is not None and network.isolated:
            closed = CLOSED_MIRROR.finding(
                "network is isolated, and the build reads from one registry and writes "
                "to another",
                "isolate the endpoint, and give the build a network with a way to both",
            )
            findings.append(closed)
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
        order = {
            **_source(image, source, region_of(self)),
            "source_repository": repository_of(image, source),
            "source_tag": "" if is_digest(image.tag) else image.tag,
            "digest": self.digest,
            "platform": f"linux/{'arm64' if image.processor == 'arm64' else 'amd64'}",
            "repository": self.repository.repository_name,
            "tag": self.tag,
        }
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
        # One of AWS's, of a version that the catalogue has.
        is_catalogued = (
            image.registry is None
            and image.family in image_families()
            and (
                is_digest(image.tag) or image == find_image(image.family, image.version)
            )
        )
        copy = Registry(
            account="",
            region="",
            uri=self.image_uri,
            repository_arn=self.repository.repository_arn,
            mirrors=is_catalogued,
            depends_on=done,
        )
        return replace(image, tag=self.digest, registry=copy)


def _tag(image: ImageRelease, digest: str) -> str:
    """
    Return a tag of its own for each digest: one that cannot be moved is taken once.
    """
    name = image.version if is_digest(image.tag) else image.tag
    short = digest.partition(":")[2][:_SHORT]
    return f"{name[:_LONGEST_NAME]}-{short}".removeprefix("-")


def _source(
    image: ImageRelease, source: ImageSource | None, region: str | None
) -> dict[str, str]:
    if image.registry is not None:
        account, place = image.registry.account, image.registry.region
    elif source is not None and source.region_name is None:
        return {"source_url": GALLERY, "source_account": "", "source_region": ""}
    else:
        named = source.region_name if source else source_region(image, region)
        place = named or ""
        account = image.account(place)
    return {"source_url": "", "source_account": account, "source_region": place}


def _digest_findings(image: ImageRelease, digest: str | None) -> Iterator[Finding]:
    own = image.tag if is_digest(image.tag) else None
    where = f"{image.repository}:{image.tag}"
    if digest is None and own is None:
        yield NO_DIGEST.finding(
            f"digest must name the image, and was left out: {where} may be another one "
            "tomorrow",
            "name the digest that the tag stands for now: aws ecr batch-get-image, or "
            "docker buildx imagetools inspect, tells it",
        )
    elif digest is not None and is_unresolved(digest):
        yield NO_DIGEST.finding(
            "digest is known only at deployment, and names the image",
            "pass it as text",
        )
    elif digest is not None and not is_digest(digest):
        yield NO_DIGEST.finding(f"digest must be {_FORM}, got {digest!r}")
    elif digest is not None and own not in {None, digest}:
        yield NO_DIGEST.finding(
            f"digest is {digest}, and the image was described by {own}",
            "name it once",
        )
    elif image.is_rolling:
        yield DOUBTFUL_VERSION.finding(
            f"{where} is moved by AWS: the digest is taken to be of "
            f"{image.family} {image.version}, and may be of a newer release",
            "describe the image by the version that does not move",
        )


def _repository_findings(
    scope: Construct, repository: ecr.IRepository | None, beside: list[str]
) -> Iterator[Finding]:
    if repository is None:
        return
    if beside:
        yield TWO_REPOSITORIES.finding(
            f"repository is given, and {any_of(beside)} would be of one that is made "
            "here",
            "define the repository with it",
        )
    ours = (account_of(scope), region_of(scope))
    theirs = (repository.env.account, repository.env.region)
    for what, one, other in zip(("account", "region"), ours, theirs, strict=True):
        is_known = (
            one is not None and not is_unresolved(one) and not is_unresolved(other)
        )
        if is_known and one != other and not other.startswith("unknown-"):
            yield FAR_REPOSITORY.finding(
                f"repository is in the {what} {other}, and the endpoint that runs the "
                f"image in {one}",
                f"name a repository of {one}",
            )
