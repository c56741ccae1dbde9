"""
What an app reads: images, objects in S3, secrets, parameters, models of the Hub.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.account.capacity import Found
from cdk_sagemaker_llm.account.hub import Hub, UnreachableError
from cdk_sagemaker_llm.account.reader import (
    AccountReader,
    NotAsked,
    RefusedError,
)
from cdk_sagemaker_llm.findings import Rule
from cdk_sagemaker_llm.text import any_of

if TYPE_CHECKING:
    from cdk_sagemaker_llm.account.needs import (
        Data,
        HubModel,
        Image,
        Needs,
        Secret,
    )

_API = "API reference, "
_TOKEN = "hf_"  # noqa: S105 - what a token begins with
_MISSING = ("NotFound", "NoSuch", "404", "ResourceNotFound", "DoesNotExist")
_PULLED = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
]

NO_IMAGE = Rule("LLM562", "an image is not there", _API + "BatchGetImage")
NO_DATA = Rule(
    "LLM563",
    "an object, what is under a prefix, or a bucket is not there",
    _API + "HeadObject",
)
NO_SECRET = Rule("LLM564", "a secret has no value", _API + "GetSecretValue")
NO_SECRET_KEY = Rule(
    "LLM565",
    "a secret is not of the form that the app reads",
    "CloudFormation user guide, dynamic-references-secretsmanager",
)
DOUBTFUL_SECRET = Rule("LLM663", "a secret does not look like a Hugging Face token")
NO_MODEL = Rule(
    "LLM573",
    "the Hugging Face Hub does not hand out a model",
    "HfApi.auth_check of huggingface_hub",
)
NO_TOKEN = Rule("LLM574", "the Hugging Face Hub does not take a token")
NO_PARAMETER = Rule(
    "LLM575",
    "a parameter is not there, or the CDK's bootstrap is too old",
    "CDK developer guide, bootstrapping",
)


def is_missing(refusal: RefusedError) -> bool:
    """
    Whether a service says that something is not there.
    """
    return any(word in refusal.code for word in _MISSING)


def parameter_findings(needs: Needs, reader: AccountReader) -> Iterator[Found]:
    for one in {(n.place.region, n.name): n for n in needs.parameters}.values():
        region = one.place.region
        way_out = f"run cdk bootstrap for {region}" if one.least else "make it first"
        try:
            answer = reader.ask("ssm", "get_parameter", region=region, Name=one.name)
        except RefusedError as refusal:
            if not is_missing(refusal):
                raise
            what = f"the parameter {one.name} is not there in {region}"
            yield str(one.place), NO_PARAMETER.finding(what, way_out)
            continue
        version = str(answer["Parameter"]["Value"]) if answer else ""
        if version.isdecimal() and int(version) < one.least:
            what = f"the CDK's bootstrap of {region} is of version {version}"
            rule = f"the stack needs {one.least}"
            yield str(one.place), NO_PARAMETER.finding(f"{what}, and {rule}", way_out)


def image_findings(reader: AccountReader, image: Image) -> Iterator[Found]:
    parts = image.parts
    if not parts:
        why = f"{image.address} is in no registry of ECR"
        reader.not_asked.append(NotAsked(f"whether {image.place} has its image", why))
        return
    image_id = (
        {"imageDigest": parts["digest"]}
        if parts["digest"]
        else {"imageTag": parts["tag"] or "latest"}
    )
    way_out = "push it, or name one that is there"
    try:
        answer = reader.ask(
            "ecr",
            "batch_get_image",
            region=parts["region"],
            registryId=parts["account"],
            repositoryName=parts["repository"],
            imageIds=[image_id],
            acceptedMediaTypes=_PULLED,
        )
    except RefusedError as refusal:
        if not is_missing(refusal):
            raise
        what = f"the repository of {image.address} is not there"
        yield str(image.place), NO_IMAGE.finding(what, way_out)
        return
    if answer is not None and not answer.get("images"):
        reason = next((one["failureCode"] for one in answer.get("failures", ())), "")
        what = f"the image {image.address} is not there ({reason or 'no answer'})"
        yield str(image.place), NO_IMAGE.finding(what, way_out)


def data_findings(reader: AccountReader, data: Data) -> Iterator[Found]:
    region, bucket = data.place.region, {"Bucket": data.bucket}
    try:
        if data.kind == "object":
            reader.ask("s3", "head_object", region=region, Key=data.key, **bucket)
        elif data.kind == "bucket":
            reader.ask("s3", "head_bucket", region=region, **bucket)
        else:
            listing = reader.ask(
                "s3",
                "list_objects_v2",
                region=region,
                Prefix=data.key,
                MaxKeys=1,
                **bucket,
            )
            if listing is not None and not listing.get("KeyCount"):
                what = f"no key begins like {data}"
                yield str(data.place), NO_DATA.finding(what, "upload what is served")
    except RefusedError as refusal:
        if not is_missing(refusal):
            raise
        is_bucket = data.kind != "object" or refusal.code == "NoSuchBucket"
        what = f"the bucket {data.bucket}" if is_bucket else str(data)
        yield (
            str(data.place),
            NO_DATA.finding(f"{what} is not there", "make it, or name another"),
        )


def secret_findings(
    reader: AccountReader, secret: Secret, tokens: dict[str, str]
) -> Iterator[Found]:
    place, name = str(secret.place), str(secret)
    way_out = f"aws secretsmanager put-secret-value --secret-id {name}"
    try:
        answer = reader.ask(
            "secretsmanager",
            "get_secret_value",
            region=secret.place.region,
            SecretId=secret.name,
        )
    except RefusedError as refusal:
        if not is_missing(refusal):
            raise
        what = f"the secret {name} is not there, or has no value yet"
        yield place, NO_SECRET.finding(what, way_out)
        return
    if answer is None:
        return
    value = answer.get("SecretString")
    if value is None:
        what = f"the secret {name} is binary, and the app reads text"
        yield place, NO_SECRET_KEY.finding(what, way_out)
        return
    if secret.key:
        inner = _json_object(value)
        if inner is None or secret.key not in inner:
            has = "is no JSON" if inner is None else "has no such key"
            what = f"the app reads {secret.key!r} of the secret {name}, which {has}"
            yield place, NO_SECRET_KEY.finding(what, "put it there, or name another")
            return
        value = str(inner[secret.key])
    if not value.strip():
        yield place, NO_SECRET.finding(f"the secret {name} is blank", way_out)
    elif secret.is_token:
        tokens[f"{secret.name}:{secret.key}"] = value.strip()
        if fault := _token_fault(value, has_key=bool(secret.key)):
            yield place, DOUBTFUL_SECRET.finding(f"the secret {name} {fault}", way_out)


def _token_fault(value: str, *, has_key: bool) -> str:
    """
    Say what is wrong with a token without any part of it.
    """
    if not has_key and _json_object(value) is not None:
        return (
            f"is JSON, of which the container gets all, and not one beginning {_TOKEN}"
        )
    if value != value.strip():
        return "has blanks or an end of line around the token"
    return "" if value.startswith(_TOKEN) else f"does not begin with {_TOKEN}"


def _json_object(value: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def model_findings(
    needs: Needs, reader: AccountReader, hub: Hub | str, tokens: Mapping[str, str]
) -> Iterator[Found]:
    if isinstance(hub, str):
        reader.not_asked.append(NotAsked(_who(needs.models), hub))
        return
    try:
        refused = set()
        for key, one in {_key(each): each for each in needs.models}.items():
            if key in tokens and not hub.knows(tokens[key]):
                refused.add(key)
                what = f"the Hub does not know the token of the secret {one.token}"
                way_out = "put a new token into it"
                yield str(one.place), NO_TOKEN.finding(what, way_out)
        for one in {(n.model, _key(n)): n for n in needs.models}.values():
            if _key(one) not in refused:
                yield from _model(hub, one, tokens.get(_key(one), ""))
    except UnreachableError as fault:
        reader.not_asked.append(NotAsked(_who(needs.models), str(fault)))


def _model(hub: Hub, one: HubModel, token: str) -> Iterator[Found]:
    if one.token is not None and not token:
        # Why there is none is a finding of its own.
        return
    access = hub.access(one.model, token)
    if access == "open":
        return
    whose = "with the token of the app" if token else "without a token"
    if access == "gated":
        what = f"{one.model} is gated, and not handed out {whose}"
        way_out = f"accept its terms on https://huggingface.co/{one.model}" + (
            "" if token else ", and give the model a token"
        )
    else:
        what = f"{one.model} is not on the Hub, or is private and not shown {whose}"
        way_out = "see its spelling, or give a token that may read it"
    yield str(one.place), NO_MODEL.finding(what, way_out)


def _key(one: HubModel) -> str:
    return f"{one.token.name}:{one.token.key}" if one.token else ""


def _who(models: Sequence[HubModel]) -> str:
    names = any_of(sorted({one.model for one in models}))
    return f"whether the Hub hands out {names}"
