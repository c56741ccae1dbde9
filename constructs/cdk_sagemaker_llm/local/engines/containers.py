"""
The serving container that a model runs in: its settings, a request, and an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.local.engines.engine import StartedEngine

Version = tuple[int, ...]

_LMI_TAG = re.compile(r"/djl-inference:(\d+)\.(\d+)\.(\d+)-(.*)")
_TGI_TAG = re.compile(r"tgi-inference:[^/]*?(?:tgi|optimum)(\d+)\.(\d+)\.(\d+)")
_ASYNC_SINCE = (0, 35)
_ASYNC_POSSIBLE_SINCE = (0, 33)

JSON = "application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingContainer:
    """
    A container that serves a language model.

    Args:
        server: ``lmi``, ``tgi`` or ``engine``.

        version: The server's version.

        flavour: What follows the version in LMI's tag, such as ``tensorrtllm0.7.1``.

        options: LMI's options by name, without ``option.``.

        model: What the container calls its model.

        messages_api: Whether TGI is told to take chats.

        adapter: The adapter that a request asks for; ``None`` for the model as it is.

        engine: The engine in an image of its own; ``None`` for LMI and TGI.
    """

    server: str
    version: Version
    flavour: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    model: str = "/opt/ml/model"
    messages_api: bool = False
    adapter: str | None = None
    engine: StartedEngine | None = None

    @property
    def has_adapter(self) -> bool:
        """
        Whether the adapter that a request asks for could be loaded.
        """
        return self.server == "lmi" and self.options.get("enable_lora") == "true"

    @property
    def is_async(self) -> bool:
        """
        Whether LMI answers through its asynchronous service instead of rolling batch.
        """
        if self.server != "lmi":
            return False
        batch = self.options.get("rolling_batch", "auto")
        if batch == "disable":
            return self.version >= _ASYNC_POSSIBLE_SINCE
        return self.version >= _ASYNC_SINCE and batch == "auto"

    @property
    def default_new_tokens(self) -> int:
        """
        How many tokens come when the request names no number.
        """
        if self.server == "tgi":
            return 100
        trt_llm = self.flavour.startswith("tensorrtllm")
        return 128 if trt_llm and self.version < (0, 27) else 30


def serving_container(
    image: str, environment: Mapping[str, str], options: Mapping[str, str]
) -> ServingContainer | None:
    """
    Recognise a container by its image; ``None`` if its answers are not known here.

    Args:
        image: The address of the image.

        environment: The variables of the container.

        options: What its artifact says, which wins over the variables.
    """
    if match := _LMI_TAG.search(image):
        *version, flavour = match.groups()
        return ServingContainer(
            server="lmi",
            version=tuple(map(int, version)),
            flavour=flavour,
            options={**_from_environment(environment), **options},
        )
    if match := _TGI_TAG.search(image):
        return ServingContainer(
            server="tgi",
            version=tuple(map(int, match.groups())),
            model=environment.get("HF_MODEL_ID", "/opt/ml/model"),
            messages_api=environment.get("MESSAGES_API_ENABLED") == "true",
        )
    return None


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix("OPTION_").lower(): value
        for name, value in environment.items()
        if name.startswith("OPTION_")
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerRequest:
    """
    A request, with what SageMaker passes on of it.

    Args:
        body: The request.

        content_type: Its type.

        attributes: Its CustomAttributes.

        session: Its SessionId; ``None`` without one.

        adapter: The adapter that the service asks for; ``None`` for the model itself.
    """

    body: bytes
    content_type: str = JSON
    attributes: str = ""
    session: str | None = None
    adapter: str | None = None

    @property
    def is_json(self) -> bool:
        """
        Whether it says that it is JSON.
        """
        return self.content_type.lower().split(";", 1)[0] == JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """
    A successful answer, in the pieces that the container writes.

    Args:
        content_type: The type of its body.

        pieces: The body.

        tokens: How many tokens were generated.

        headers: What else the container says, by the names of its headers.
    """

    content_type: str
    pieces: list[bytes]
    tokens: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
