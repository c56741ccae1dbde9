"""
Where a model's weights come from, and what the model is.

What belongs here is what a user says of a model, whatever serves it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.architectures.families import class_fault
from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.text import bucket_fault, redacted
from cdk_sagemaker_llm.tokens import is_unresolved, stand_in_remedy

if TYPE_CHECKING:
    from aws_cdk import SecretValue
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3
    from aws_cdk import aws_secretsmanager as secretsmanager
    from constructs import Construct


class WeightSource:
    """
    What is asked of weights wherever they come from; ``None`` for what one of the
    sources does not have.
    """

    __slots__ = ()

    @property
    def revision(self) -> str | None:
        """
        The commit, branch or tag that is taken.
        """
        return None

    @property
    def token(self) -> secretsmanager.ISecret | SecretValue | None:
        """
        The secret that holds an access token.
        """
        return None

    @property
    def compiled(self) -> Compilation | None:
        """
        What engines were compiled for.
        """
        return None


@dataclass(frozen=True, slots=True)
class HuggingFaceModel(WeightSource):
    """
    A model on the Hugging Face Hub, downloaded by the container when it starts.

    ``HuggingFaceModel("mistralai/Mistral-7B-v0.1")``
    ``HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf", token=secret)``

    Args:
        model_id: The repository on the Hub, as ``organisation/name``.

        revision:
            A commit, branch or tag.
            If omitted, the newest commit of the main branch is taken at every start.

        token:
            The secret that holds a Hub access token, for gated models: a Secrets
            Manager secret, or ``SecretValue.secrets_manager(...)``.
            It reaches the container as a dynamic reference: the value is in no
            template, but whoever may call DescribeModel can read it.
            If omitted, only public models load.

        architecture:
            What the model is: a ``ModelArchitecture``, the name of a catalogued model
            that it is like, or at least its class, such as ``MistralForCausalLM``.
            If omitted, the catalogue is asked for the model id.

    Raises:
        ValueError: If the Hub can have no such model id or revision, or the catalogue
            does not have the model that it is like.
    """

    model_id: str
    revision: str | None = field(default=None, kw_only=True)
    token: secretsmanager.ISecret | SecretValue | None = field(
        default=None, kw_only=True, repr=False
    )
    architecture: ModelArchitecture | str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the form of a Hub repository name; look the
        architecture up.
        """
        object.__setattr__(self, "architecture", looked_up(self.architecture))
        hold_kinds(self)
        fault = _id_fault(self.model_id) or _revision_fault(self.revision)
        if fault is not None:
            raise ValueError(fault)

    @property
    def known_architecture(self) -> ModelArchitecture | None:
        """
        The model's sizes: those given, or else the catalogue's; ``None`` for neither.
        """
        if self.architecture is None:
            return find_architecture(self.model_id)
        return sized(self.architecture)


@dataclass(frozen=True, kw_only=True, slots=True)
class Compilation:
    """
    What engines were compiled for: they load nowhere else.

    Args:
        image: The container's version, or the tag, digest or address that was given.

        accelerator_model: The device's name, such as ``A10G``.

        tensor_parallel_degree: Over how many devices they are split.

        options: Properties that engines are bound to, as serving.properties has them.
    """

    image: str
    accelerator_model: str
    tensor_parallel_degree: int
    options: Mapping[str, str]

    def __post_init__(self) -> None:
        hold_kinds(self)


@dataclass(frozen=True, slots=True)
class S3Model(WeightSource):
    """
    A model's uncompressed files under a prefix on S3, in the endpoint's region.

    ``S3Model("s3://my-bucket/mistral-7b/")``
    ``S3Model.from_bucket(bucket, "mistral-7b/")``

    Args:
        uri: The prefix, as ``s3://bucket/prefix/``; it must end with a slash.

        kms_key:
            The key that encrypts the objects.
            If omitted, the role may not decrypt with any.

        architecture:
            What the model is: a ``ModelArchitecture``, the name of a catalogued model
            that it is like, or at least its class, such as ``MistralForCausalLM``.
            If omitted, its size is not known, and what depends on that not checked.

        depends_on:
            The construct that puts the files there, such as a ``BucketDeployment``:
            models that read them are made after it.
            If omitted, they are there already.

        compiled:
            What the files were compiled for, where they are engines: what a
            ``StagedModel`` that compiles says of them.
            If omitted, nothing is held against it.

        accept_eula:
            Whether you accept the licence that gated weights of JumpStart ask for.
            If omitted, nothing is accepted, and SageMaker refuses such weights.

        bucket:
            The bucket of ``uri`` as a construct, which ``from_bucket`` passes: it must
            be in the endpoint's region.
            If omitted, its region is not known, and not checked.

    Raises:
        ValueError: If the URI is no such prefix, or the catalogue does not have the
            model that it is like.
    """

    uri: str
    kms_key: kms.IKey | None = field(default=None, kw_only=True)
    architecture: ModelArchitecture | str | None = field(default=None, kw_only=True)
    depends_on: Construct | None = field(default=None, kw_only=True, repr=False)
    compiled: Compilation | None = field(default=None, kw_only=True)
    accept_eula: bool = field(default=False, kw_only=True)
    bucket: s3.IBucket | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, the service's rule that a prefix ends with a slash,
        and S3's own on names; look the architecture up.
        """
        object.__setattr__(self, "architecture", looked_up(self.architecture))
        hold_kinds(self)
        fault = _uri_fault(self.uri)
        if fault is not None and _hides_its_bucket(self.uri):
            raise ValueError(
                f"uri is known only at deployment, and must be {fault} at synth; write "
                "S3Model.from_bucket(Bucket.from_bucket_name(...), prefix)"
            )
        if fault is not None:
            is_cut = self.uri.count("/") > len("//") and not _uri_fault(f"{self.uri}/")
            remedy = f"; write {redacted(repr(f'{self.uri}/'))}" if is_cut else ""
            if "{{resolve:" in self.uri:
                remedy = (
                    "; write StringParameter.value_for_string_parameter(...) in place "
                    "of the reference"
                )
            got = redacted(repr(self.uri))
            raise ValueError(f"uri must be {fault}, got {got}{remedy}")

    @classmethod
    @held
    def from_bucket(
        cls,
        bucket: s3.IBucket,
        prefix: str,
        *,
        architecture: ModelArchitecture | str | None = None,
        depends_on: Construct | None = None,
        compiled: Compilation | None = None,
        accept_eula: bool = False,
    ) -> S3Model:
        """
        Name the prefix of a bucket, whose own encryption key is used.

        Args:
            prefix: Where the model's files are in the bucket.

        Raises:
            ValueError: If it is no bucket, or the prefix is empty.
        """
        if not prefix.strip("/"):
            raise ValueError(
                "prefix must name the folder of the weights, such as 'mistral-7b/', "
                f"got {prefix!r}"
            )
        uri = f"s3://{bucket.bucket_name}/{prefix.strip('/')}/"
        return cls(
            uri,
            kms_key=bucket.encryption_key,
            architecture=architecture,
            depends_on=depends_on,
            compiled=compiled,
            accept_eula=accept_eula,
            bucket=bucket,
        )

    @property
    def known_architecture(self) -> ModelArchitecture | None:
        """
        The model's sizes, as given; ``None`` if they are not.
        """
        return sized(self.architecture)

    @property
    def bucket_name(self) -> str:
        """
        The bucket's part of the URI.
        """
        return self.uri.removeprefix("s3://").split("/", 1)[0]

    @property
    def prefix(self) -> str:
        """
        The key prefix, with its slash at the end.
        """
        return self.uri.removeprefix("s3://").split("/", 1)[1]


NO_REPOSITORY = Rule(
    "LLM791",
    "a model's id or revision is none that a repository of the Hub can have",
    "huggingface_hub, validate_repo_id; git check-ref-format",
)
_PAGE = "write it as its page on the Hub has it"
# A part begins and ends with a letter, a digit or an underscore. Behind the name
# llama.cpp takes the type of the file: of the others a check of their own warns.
_MODEL_ID = re.compile(
    r"(?:\b[\w.-]{1,96}\b/)?\b[\w.-]{1,96}\b"
    r"(?::(?:UD-)?(?:I?Q\d|TQ\d|B?F16|F32|MXFP4)\w*)?",
    re.ASCII | re.IGNORECASE,
)
_REVISION = re.compile(r"[^\s\0-\x1f\x7f~^:?*\[\\@/-][^\s\0-\x1f\x7f~^:?*\[\\]*")
_NO_REVISION = re.compile(r"\.\.|@\{|//|/\Z|\.\Z|\.lock\Z|(?:^|/)\.")
_PREFIX = "a prefix such as 's3://bucket/prefix/'"
ModelSource = HuggingFaceModel | S3Model
"""
Where weights come from: the Hugging Face Hub, or a bucket.
"""
_ARCHITECTURES = (
    "a ModelArchitecture (from_config reads a config.json), the name of a catalogued "
    "model such as 'mistralai/Mistral-7B-v0.1', or a class such as 'MistralForCausalLM'"
)


def architecture_of(model: ModelSource | None) -> ModelArchitecture | None:
    """
    Return the sizes of a model; ``None`` if there is none, or they are not known.
    """
    return None if model is None else model.known_architecture


def weight_bytes_of(model: ModelSource | None) -> int | None:
    """
    Return the bytes of a model's weights as published; ``None`` if not known.
    """
    architecture = architecture_of(model)
    return None if architecture is None else architecture.weight_bytes()


def kind_of(model: ModelSource | None) -> ModelArchitecture | str | None:
    """
    Return the architecture of a model: the one passed, or else the catalogue's.
    """
    if model is None:
        return None
    architecture = model.architecture
    return model.known_architecture if architecture is None else architecture


def looked_up(
    architecture: ModelArchitecture | str | None,
) -> ModelArchitecture | str | None:
    """
    Replace the name of a catalogued model, as ``organisation/name``, by what it is.
    """
    if architecture is None or isinstance(architecture, ModelArchitecture):
        return architecture
    text = redacted(repr(architecture))
    if not isinstance(architecture, str):
        raise TypeError(f"architecture must be {_ARCHITECTURES}, got {text}")
    if "/" in architecture:
        return ModelArchitecture.of(architecture)
    if not architecture.isidentifier():
        raise ValueError(f"architecture must be {_ARCHITECTURES}, got {text}")
    meant = class_fault(architecture)
    if meant is not None:
        raise ValueError(
            f"architecture must be {_ARCHITECTURES}, got {text}; write {meant!r}"
        )
    return architecture


def _id_fault(model_id: str) -> str | None:
    if is_unresolved(model_id):
        return None
    if model_id.count("/") > 1 or not model_id.strip("/"):
        got = redacted(repr(model_id))
        remedy = stand_in_remedy(model_id) or "weights on S3 are an S3Model"
        return (
            "model_id must be a Hugging Face repository such as "
            f"'mistralai/Mistral-7B-v0.1', got {got}; {remedy}"
        )
    return next(map(str, id_findings("model_id", model_id)), None)


def hub_name(named: str | None) -> str | None:
    """
    Return what names a model on the Hub; ``None`` for a path, an address, and what
    deployment or a variable decides.
    """
    if not named or is_unresolved(named) or named.count("/") > 1:
        return None
    return None if named.startswith(("/", ".", "s3:", "$", "{")) else named


def id_findings(word: str, model_id: str) -> list[Finding]:
    """
    Find an id that no repository of the Hub can have.
    """
    if is_unresolved(model_id):
        return []
    if not _MODEL_ID.fullmatch(model_id):
        remedy = (
            "name a commit, branch or tag as revision"
            if set(model_id) & set("@:")
            else _PAGE
        )
        return [
            NO_REPOSITORY.finding(
                f"{word} must be of letters, digits and _.-, as organisation/name, "
                "with at most 96 characters each, and neither dot nor dash at an end, "
                f"got {model_id[:200]!r}",
                remedy,
            )
        ]
    if "--" in model_id or ".." in model_id or model_id.endswith(".git"):
        rule = f"{word} must have neither '--' nor '..' nor end in '.git'"
        return [NO_REPOSITORY.finding(f"{rule}, got {model_id!r}", _PAGE)]
    return []


def revision_findings(word: str, revision: str) -> list[Finding]:
    """
    Find a revision that no repository of the Hub can have.
    """
    if is_unresolved(revision):
        return []
    if _REVISION.fullmatch(revision) and not _NO_REVISION.search(revision):
        return []
    return [
        NO_REPOSITORY.finding(
            f"{word} must be a commit, branch or tag such as 'main', without blanks "
            f"and any of ~^:?*[\\, got {revision[:200]!r}",
            _PAGE
            if revision
            else "leave it out for the newest commit of the main branch",
        )
    ]


def _revision_fault(revision: str | None) -> str | None:
    if revision is None:
        return None
    return next(map(str, revision_findings("revision", revision)), None)


def _uri_fault(uri: str) -> str | None:
    bucket, slash, prefix = uri.removeprefix("s3://").partition("/")
    if not uri.startswith("s3://") or not bucket or not slash:
        return _PREFIX
    if not uri.endswith("/"):
        return _PREFIX
    # An object whose key begins with a slash is nearly always a prefix left empty.
    if prefix.startswith("/"):
        return f"{_PREFIX}, whose prefix is not empty"
    fault = bucket_fault(bucket)
    return fault and f"{_PREFIX}, whose bucket has {fault}"


def _hides_its_bucket(uri: str) -> bool:
    """
    Whether a placeholder stands where an address has its bucket and slash.
    """
    is_open = not uri.startswith("s3://") or "/" not in uri.removeprefix("s3://")
    return is_unresolved(uri) and is_open


def class_of(architecture: ModelArchitecture | str | None) -> str | None:
    """
    Return a model's class in config.json; ``None`` if it is not known.
    """
    if isinstance(architecture, ModelArchitecture):
        return architecture.class_name
    return architecture


def sized(architecture: ModelArchitecture | str | None) -> ModelArchitecture | None:
    """
    Return an architecture whose sizes are known, not a class alone.
    """
    return architecture if isinstance(architecture, ModelArchitecture) else None
