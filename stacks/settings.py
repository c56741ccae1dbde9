"""
What the outside world says of a deployment, read once from the CDK context.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cdk_sagemaker_llm import InstanceType
from cdk_sagemaker_llm.catalog import find_instance_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """
    One value for each context key of the same name; the defaults are the reference.

    ``cdk deploy --all -c region=eu-west-1 -c mistral_max_instances=2``

    Args:
        account: The AWS account. If left out, it is that of the credentials.

        region: The AWS region. If left out, it is that of the credentials.

        hugging_face_token_secret: The name or ARN of the Secrets Manager secret
            whose string is a Hugging Face token that may read Llama 2.

        mistral_instance_type: Where Mistral-7B runs.

        mistral_min_instances: Instances that always run for Mistral-7B.

        mistral_max_instances: Instances that run at most for Mistral-7B.

        mixtral_instance_type: Where Mixtral-8x7B runs.

        llama_instance_type: Where Llama-2-13B runs.

        llama_instances: Instances that host the copies of Llama-2-13B.

        llama_max_instances: Instances that may host them while an update rolls: full
            ones have no room for the new copies.

        llama_copies: Copies of Llama-2-13B.

    Raises:
        ValueError: If a value is wrong; the message begins with the setting's name.
    """

    account: str | None = None
    region: str | None = None
    hugging_face_token_secret: str = "hugging-face-token"  # noqa: S105 - its name
    mistral_instance_type: InstanceType = find_instance_type("ml.g5.12xlarge")
    mistral_min_instances: int = 1
    mistral_max_instances: int = 4
    mixtral_instance_type: InstanceType = find_instance_type("ml.p4d.24xlarge")
    llama_instance_type: InstanceType = find_instance_type("ml.p4d.24xlarge")
    llama_instances: int = 1
    llama_max_instances: int = 2
    llama_copies: int = 8

    @classmethod
    def from_context(cls, context: Callable[[str], object]) -> Settings:
        """
        Read every setting that the context has; all faults are raised as one.
        """
        given = {field.name: context(field.name) for field in fields(cls)}
        faults: list[str] = []
        values: dict[str, object] = {}
        for name, raw in given.items():
            if raw is None:
                continue
            try:
                values[name] = _READERS.get(name, _text)(raw)
            except ValueError as fault:
                faults.append(f"{name}: {fault}")
        if faults:
            raise ValueError("context settings: " + "; ".join(faults))
        return cls(**values)  # type: ignore[arg-type]  # each reader gives its field's type


def _text(raw: object) -> str:
    text = str(raw).strip()
    if not text:
        raise ValueError("must not be empty; leave the setting out for its default")
    return text


def _count(raw: object) -> int:
    try:
        number = int(str(raw))
    except ValueError:
        raise ValueError(f"must be a whole number, got {raw!r}") from None
    if number < 1:
        raise ValueError(f"must be at least 1, got {number}")
    return number


def _instance_type(raw: object) -> InstanceType:
    return find_instance_type(_text(raw))


_READERS: Mapping[str, Callable[[object], object]] = {
    "mistral_instance_type": _instance_type,
    "mixtral_instance_type": _instance_type,
    "llama_instance_type": _instance_type,
    "mistral_min_instances": _count,
    "mistral_max_instances": _count,
    "llama_instances": _count,
    "llama_max_instances": _count,
    "llama_copies": _count,
}
