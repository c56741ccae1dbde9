"""
JumpStart's deployments, as awslabs/generative-ai-cdk-constructs lists them: each model
on each instance type, by the newest of its versions that differ.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.images import image_at
from tools.published.configuration import Configuration
from tools.published.repository import Repository

LIST = "src/patterns/gen-ai/aws-model-deployment-sagemaker/jumpstart-models.json"
_REGION = "us-east-1"
_LOCAL = "/opt/ml/model"


def configurations_of(
    repository: Repository, commits: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[Configuration]:
    """
    Yield what is deployed with an engine's image, each once.
    """
    seen = set()
    for spec in specs_of(repository.text(commits["HEAD"], LIST)):
        name = str(spec["modelId"])
        for instance_type, address, environment in deployments_of(spec):
            image = image_at(address)
            key = (name, address, instance_type, tuple(sorted(environment.items())))
            if image is None or key in seen:
                continue
            seen.add(key)
            named = environment.get("HF_MODEL_ID", _LOCAL)
            listed = None if named.startswith((_LOCAL, "s3:")) else named
            yield Configuration(
                place=f"{name} {spec['version']} {instance_type}",
                name=name,
                model=names.get(name, listed),
                container=image.family,
                version=image.version,
                instance_type=instance_type,
                environment=environment,
            )


def specs_of(text: str) -> Iterator[Mapping[str, Any]]:
    """
    Yield the models of the list, which is kept packed.
    """
    packed = json.loads(text)
    plain = zlib.decompress(bytes(packed["data"]), wbits=-zlib.MAX_WBITS)
    yield from json.loads(plain).values()


def deployments_of(
    spec: Mapping[str, Any],
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """
    Yield each instance type of a model, with the image and the variables there: what
    is said of a type goes before what is said of its family.
    """
    rows = {one["instanceType"]: one for one in spec.get("instanceVariants") or ()}
    aliases: Mapping[str, str] = next(
        (
            one["aliases"]
            for one in spec.get("instanceAliases") or ()
            if one["region"] == _REGION
        ),
        {},
    )
    for instance_type in spec["instanceTypes"]:
        variants = [
            rows.get(key, {}) for key in (_family(instance_type), instance_type)
        ]
        address, environment = "", dict(spec.get("environment") or {})
        for variant in variants:
            address = variant.get("imageUri") or address
            environment |= variant.get("environment") or {}
        address = aliases.get(address.removeprefix("$"), address)
        yield instance_type, address, {k: str(v) for k, v in environment.items()}


def _family(instance_type: str) -> str:
    match = re.match(r"ml\.([^.]+)\.", instance_type)
    return match[1] if match else ""
