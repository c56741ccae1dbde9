"""
What a staged model may be, checked before anything is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from aws_cdk import Duration
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import seconds
from cdk_sagemaker_llm.hosting.common.scope import region_of
from cdk_sagemaker_llm.hosting.roles.network import (
    Network,
    kind_without_a_way,
    network_findings,
)
from cdk_sagemaker_llm.hosting.weights.build import COMPUTE_TYPES
from cdk_sagemaker_llm.hosting.weights.starter import (
    LONGEST_WAIT_SECONDS,
    MARGIN_SECONDS,
    minutes_of,
)
from cdk_sagemaker_llm.models import HuggingFaceModel, weight_bytes_of
from cdk_sagemaker_llm.text import any_of, counted
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_codebuild as codebuild
    from aws_cdk import aws_s3 as s3

    from cdk_sagemaker_llm.catalog.instances import InstanceType

# CodeBuild user guide, "Build timeout": 5 to 2160 minutes.
_SHORTEST_SECONDS = 300
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FOLDER = re.compile(r"[A-Za-z0-9!_.'()/-]*")
_PAGE = "write it as its page on the Hub has it"
_BLANK = re.compile(r"[\s\0]")
_BUILD_TYPES = ("LINUX_CONTAINER", "LINUX_GPU_CONTAINER", "ARM_CONTAINER")
# What of an S3 key (1024 bytes) is left to the repository's own paths is 512 bytes.
_LONGEST_FOLDER = 200

MOVING_REVISION = Rule(
    "LLM761",
    "what is staged is no commit of a model that is known at synth",
)
FAR_BUCKET = Rule(
    "LLM763",
    "a model is staged in another region than its endpoint's",
    "SageMaker API reference, S3DataSource",
)
NO_STAGED_FOLDER = Rule("LLM765", "a folder's name is no beginning of a key on S3")
NO_TIMEOUT = Rule(
    "LLM769",
    "a build may take longer than CloudFormation waits, or no time at all",
    "CloudFormation user guide, AWS::CloudFormation::WaitCondition",
)
NO_PATTERN = Rule("LLM771", "a pattern of files is empty, or known at deployment only")
CLOSED_BUILD = Rule("LLM773", "a build is to reach the Hub from an isolated network")
SMALL_MACHINE = Rule(
    "LLM783",
    "a build's machine is none that holds a model's files",
    "CodeBuild user guide, build-env-ref-compute-types",
)
NO_MIRROR = Rule(
    "LLM785", "a mirror of the Hub has no address, or one with a password in it"
)
NOTHING_COMPILED = Rule(
    "LLM787", "an instance type is named to compile on, and nothing is compiled"
)
OTHER_IMAGE = Rule(
    "LLM789",
    "a build's image is none of Linux containers",
    "CodeBuild API reference, ProjectEnvironment",
)
LOST_BUILD = Rule(
    "LLM867",
    "a build is to bring a model from the Hub, and its subnets have no way there",
    "CodeBuild user guide, vpc-support",
)
SHORT_TIMEOUT = Rule("LLM861", "a download may take longer than its build may")


def staging_findings(
    scope: Construct,
    *,
    model: HuggingFaceModel,
    bucket: s3.IBucket,
    folder: str,
    patterns: Sequence[str],
    timeout: Duration | None,
    network: Network | None,
    compute_type: codebuild.ComputeType,
    hub_url: str | None,
    build_image: codebuild.IBuildImage | None,
) -> list[Finding]:
    """
    Check what a staged model was asked to be.
    """
    return [
        *_revision_findings(model),
        *_bucket_findings(scope, bucket),
        *_folder_findings(folder),
        *_pattern_findings(patterns),
        *_timeout_findings(model, timeout),
        *_network_findings(network, hub_url),
        *machine_findings(compute_type),
        *_mirror_findings(hub_url),
        *image_findings(build_image),
    ]


def _mirror_findings(hub_url: str | None) -> Iterator[Finding]:
    if hub_url is None or is_unresolved(hub_url):
        return
    found = _split(hub_url)
    if found is None or found.scheme not in {"http", "https"} or not found.hostname:
        yield NO_MIRROR.finding(
            "hub_url must be an address such as 'https://hub.example.com', got "
            # What stands before an @ may be a password.
            f"{repr(hub_url[:200]) if '@' not in hub_url else 'one with an @'}"
        )
    elif found.username is not None or found.query or found.fragment:
        yield NO_MIRROR.finding(
            "hub_url must be an address alone, and has a user, a password or a query, "
            "which templates and builds show to whoever reads them",
            "pass a token with the model, or let the build's role in",
        )


def _split(address: str) -> SplitResult | None:
    try:
        found = urlsplit(address)
        # A port that is none is refused when it is asked for.
        port = found.port
    except ValueError:
        return None
    return None if port == 0 or _BLANK.search(address) else found


def image_findings(build_image: codebuild.IBuildImage | None) -> Iterator[Finding]:
    """
    Check that a build's image runs on machines with a disk.
    """
    if build_image is not None and build_image.type not in _BUILD_TYPES:
        yield OTHER_IMAGE.finding(
            f"build_image must be of {any_of(_BUILD_TYPES)}, got {build_image.type}",
            "choose one of codebuild.LinuxBuildImage, or LinuxArmBuildImage",
        )


def type_findings(
    compile: object, instance_type: str | InstanceType | None
) -> list[Finding]:
    """
    Check that an instance type is given where something is compiled on it.
    """
    if compile is None and instance_type is not None:
        return [
            NOTHING_COMPILED.finding(
                "instance_type is what engines are compiled on, and compile was left "
                "out",
                "leave instance_type out, or pass compile=TensorRtLlm(...)",
            )
        ]
    return []


def machine_findings(compute_type: codebuild.ComputeType) -> Iterator[Finding]:
    """
    Check that a build's machine is one with a disk, and without Lambda's limits.
    """
    if compute_type not in COMPUTE_TYPES:
        names = [one.name for one in COMPUTE_TYPES]
        yield SMALL_MACHINE.finding(
            f"compute_type must be {any_of(names)}, got {compute_type.name}",
        )


def _network_findings(
    network: Network | None, hub_url: str | None
) -> Iterator[Finding]:
    if network is None:
        return
    refused = network_findings(network)
    yield from refused
    kind = None if refused or hub_url else kind_without_a_way(network)
    if kind is not None:
        yield LOST_BUILD.finding(
            f"the build brings the model from the Hub, and its subnets are {kind}, "
            "where a build gets no way out",
            "choose private subnets with a NAT gateway, leave network out, or name a "
            "mirror with hub_url",
        )
    if network.isolated:
        yield CLOSED_BUILD.finding(
            "network is isolated, and the build brings the model from the Hub",
            "isolate the endpoint, and give the build a network with a way out, or a "
            "mirror with hub_url",
        )


def _revision_findings(model: HuggingFaceModel) -> Iterator[Finding]:
    for name, value in (("model_id", model.model_id), ("revision", model.revision)):
        if value is not None and is_unresolved(value):
            yield MOVING_REVISION.finding(
                f"{name} is known only at deployment, and names the prefix",
                f"pass {name} as text",
            )
            return
    if model.revision is None:
        yield MOVING_REVISION.finding(
            f"revision must be a commit of {model.model_id}, and was left out",
            "name the commit that its page on the Hub shows, of 40 characters",
        )
    elif _COMMIT.fullmatch(model.revision) is None:
        yield MOVING_REVISION.finding(
            f"revision must be a commit of 40 characters from 0-9 and a-f, got "
            f"{model.revision!r}, which may stand for other files tomorrow",
            "name the commit that it stands for now",
        )


def _bucket_findings(scope: Construct, bucket: s3.IBucket) -> Iterator[Finding]:
    ours, theirs = region_of(scope), bucket.env.region
    if ours is None or is_unresolved(theirs) or theirs in {ours, "unknown-region"}:
        return
    yield FAR_BUCKET.finding(
        f"bucket is in {theirs}, and SageMaker reads weights in the endpoint's own "
        f"region {ours} only",
        f"name a bucket in {ours}",
    )


def _folder_findings(folder: str) -> Iterator[Finding]:
    if is_unresolved(folder):
        yield NO_STAGED_FOLDER.finding(
            "folder is known only at deployment", "pass it as text"
        )
    elif not _FOLDER.fullmatch(folder) or "//" in folder or folder.startswith("/"):
        yield NO_STAGED_FOLDER.finding(
            "folder must be of letters, digits and !_.'()-, with single slashes "
            f"between them, got {folder!r}",
            "write such as 'models'",
        )
    elif {".", ".."} & set(folder.split("/")):
        # Clients take such parts out of an address, and ask for another key (Amazon S3
        # user guide, object-keys).
        yield NO_STAGED_FOLDER.finding(
            f"folder must have no part that is '.' or '..', got {folder!r}",
            "write such as 'models'",
        )
    elif len(folder) > _LONGEST_FOLDER:
        yield NO_STAGED_FOLDER.finding(
            f"folder must have at most {_LONGEST_FOLDER} characters, got {len(folder)}"
        )


def _pattern_findings(patterns: Sequence[str]) -> Iterator[Finding]:
    for pattern in patterns:
        if is_unresolved(pattern) or not pattern.strip():
            yield NO_PATTERN.finding(
                f"include and exclude must have patterns such as '*.json', got "
                f"{'a token' if is_unresolved(pattern) else repr(pattern)}"
            )
        elif pattern.startswith(("/", "./")):
            yield NO_PATTERN.finding(
                "include and exclude are held against paths such as 'sub/config.json', "
                f"none of which is like {pattern!r}",
                f"write {pattern.removeprefix('.').lstrip('/')!r}",
            )


def _timeout_findings(
    model: HuggingFaceModel, timeout: Duration | None
) -> Iterator[Finding]:
    refused = build_time_findings(timeout)
    if refused:
        yield from refused
        return
    limit = seconds(timeout) or LONGEST_WAIT_SECONDS - MARGIN_SECONDS
    minutes = minutes_of(weight_bytes_of(model))
    if minutes is not None and minutes * 60 > limit:
        yield SHORT_TIMEOUT.finding(
            f"{model.model_id} may take {counted(minutes, 'minute')} to download, and "
            f"its build is given {limit / 60:g}",
            "raise timeout, or choose fewer files with include; what was brought "
            "stays, and a second deployment goes on from there",
        )


def build_time_findings(timeout: Duration | None) -> list[Finding]:
    """
    Check that a build may take so long, and that CloudFormation waits as long.
    """
    most = LONGEST_WAIT_SECONDS - MARGIN_SECONDS
    requested = None if timeout is None else seconds(timeout)
    if timeout is not None and requested is None:
        return [
            NO_TIMEOUT.finding(
                "timeout is known only at deployment", "write Duration.minutes(90)"
            )
        ]
    if requested is None or _SHORTEST_SECONDS <= requested <= most:
        return []
    return [
        NO_TIMEOUT.finding(
            f"timeout must be from {_SHORTEST_SECONDS // 60} to {most // 60} minutes, "
            f"got {requested / 60:g}"
        )
    ]


def timeout_of(model: HuggingFaceModel, timeout: Duration | None) -> int:
    """
    Return how many seconds a build may take: as many as the user says, or four times
    what the download may take, and an hour at least.
    """
    if timeout is not None:
        return int(timeout.to_seconds(integral=False))
    minutes = minutes_of(weight_bytes_of(model))
    most = LONGEST_WAIT_SECONDS - MARGIN_SECONDS
    return most if minutes is None else min(max(minutes * 4 * 60, 3600), most)
