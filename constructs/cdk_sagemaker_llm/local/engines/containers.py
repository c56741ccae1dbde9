"""
The containers that serve a model: LMI, TGI, or an engine in an image of its own; and
what they are asked and answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.architecture import find_architecture
from cdk_sagemaker_llm.catalog.architectures import known_config
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.local.aws.untyped import Untyped

Version = tuple[int, ...]
Kind = Literal["generate", "embed", "classify", "rank"]

JSON = "application/json"
_LMI_TAG = re.compile(r"/djl-inference:(\d+)\.(\d+)\.(\d+)-(.*)")
_TGI_TAG = re.compile(r"tgi-inference:[^/]*?(?:tgi|optimum)(\d+)\.(\d+)\.(\d+)")
_ASYNC_SINCE = (0, 35)
_ASYNC_POSSIBLE_SINCE = (0, 33)
_LENGTHS = ("max_model_len", "context_length", "ctx_size")
_NAMES = ("served_model_name", "alias")
_CLASSIFIES = "ForSequenceClassification"
# vLLM's `task`, up to 0.12, and `convert` in its place.
_TASKS: Mapping[str, Kind] = {
    "generate": "generate",
    "embed": "embed",
    "embedding": "embed",
    "classify": "classify",
    "reward": "classify",
    "score": "rank",
}


class EngineError(Exception):
    """
    An engine that does not come to answer; what its container says, line by line.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """
    The model that an engine loads, as far as it is known here.

    Args:
        name: What the engine is told to load.

        architecture: Its sizes; ``None`` where they are not known.

        labels: How many classes it tells apart; ``None`` for what does not classify.
    """

    name: str
    architecture: ModelArchitecture | None = None
    labels: int | None = None

    @property
    def kind(self) -> Kind | None:
        """
        What it is for if nothing else is said; ``None`` where it is not known.

        Files of sentence-transformers decide in the engines; the catalogue does not
        have them, so that a decoder's name has to say that it embeds.
        """
        if self.labels is not None:
            return "rank" if self.labels == 1 else "classify"
        if "embed" in self.name.rpartition("/")[2].lower():
            return "embed"
        if self.architecture is None:
            return None
        return "generate" if self.architecture.keeps_cache else "embed"


def read_model(name: str, config: str | None = None) -> Model:
    """
    Read what a model is from the config.json in its folder, or else by its name.
    """
    if config is None:
        keys = known_config(name)
        return Model(
            name=name, architecture=find_architecture(name), labels=_labels(keys or {})
        )
    try:
        document = json.loads(config)
        found = ModelArchitecture.from_config(config)
    except (ValueError, RecursionError):
        return Model(name=name)
    return Model(name=name, architecture=found, labels=_labels(document))


def _labels(config: Mapping[str, Any]) -> int | None:
    names = config.get("architectures") or [""]
    if not str(names[0]).endswith(_CLASSIFIES):
        return None
    # Two is what transformers takes where nothing is said.
    return len(config.get("id2label") or ()) or config.get("num_labels") or 2


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedEngine:
    """
    An engine that runs.

    Args:
        release: What is in its image.

        settings: What its parser made of its arguments, or they themselves where its
            parser is not known.

        log: What it says while it starts, line by line.
    """

    release: EngineRelease
    settings: Mapping[str, Any]
    model: Model
    environment: Mapping[str, str] = field(default_factory=dict)
    log: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind | None:
        """
        What it uses its model for; ``None`` where that is not known.
        """
        task = str(self.settings.get("task") or self.settings.get("convert"))
        if task in _TASKS:
            return _TASKS[task]
        runner = self.settings.get("runner")
        if runner == "generate":
            return "generate"
        if runner == "pooling" and self.model.kind in {None, "generate"}:
            return "embed"
        return self.model.kind

    @property
    def context_length(self) -> int | None:
        """
        Tokens of prompt and answer together: its own setting, or else the model's.

        ``None`` where neither is known. llama.cpp's is in the GGUF.
        """
        for name in _LENGTHS:
            found = self.settings.get(name)
            if isinstance(found, int) and found > 0:
                return found
        own = self.model.architecture
        is_in_file = self.release.engine == "llama.cpp"
        return None if own is None or is_in_file else own.context_length

    @property
    def served_names(self) -> tuple[str, ...]:
        """
        What requests may call the model.
        """
        for name in _NAMES:
            found = self.settings.get(name)
            if isinstance(found, str):
                return (found,)
            if found:
                return tuple(map(str, found))
        return (self.model.name,)

    @property
    def adapters(self) -> tuple[str, ...]:
        """
        The names of the LoRA adapters that it starts with.
        """
        modules = self.settings.get("lora_modules") or self.settings.get("lora_paths")
        every = [modules] if isinstance(modules, str | dict) else modules or ()
        return tuple(name for one in every for name in _adapter_names(one))

    @property
    def takes_adapters(self) -> bool:
        """
        Whether SageMaker can load adapters into it while it runs.

        vLLM has the path for it with VLLM_ALLOW_RUNTIME_LORA_UPDATING alone
        (entrypoints/serve/lora/api_router.py), and the slots with --enable-lora.
        """
        allowed = self.environment.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "0")
        is_vllm = self.release.engine in {"vllm", "vllm-omni"}
        is_on = bool(self.settings.get("enable_lora"))
        return is_vllm and is_on and allowed.strip().lower() in {"1", "true"}

    @property
    def vector_size(self) -> int | None:
        """
        How many numbers its model makes of a text; ``None`` where that is not known.
        """
        own = self.model.architecture
        return None if own is None else own.hidden_size

    def number(self, variable: str, default: int) -> int:
        """
        Return a variable that is a whole number.
        """
        found = self.environment.get(variable, "")
        return int(found) if found.isdecimal() else default


def _adapter_names(modules: Untyped) -> Iterator[str]:
    """
    Walk through the names in ``name=path``, in a path, or in JSON of both engines.
    """
    if isinstance(modules, str) and modules.startswith("{"):
        try:
            modules = json.loads(modules)
        except ValueError:
            return
    if isinstance(modules, dict):
        name = modules.get("name") or modules.get("lora_name")
        yield from [str(name)] if name else map(str, modules)
    elif isinstance(modules, str):
        yield modules.partition("=")[0]
    elif getattr(modules, "name", None):
        yield str(modules.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingContainer:
    """
    A container that serves a language model.

    Args:
        server: ``lmi``, ``tgi`` or ``engine``.

        flavour: What follows the version in LMI's tag, such as ``tensorrtllm0.7.1``.

        options: LMI's options by name, without ``option.``.

        model: What the container calls its model.

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
    Recognise a container of LMI or TGI by its image; ``None`` if it is neither.

    What its artifact says wins over the variables.
    """
    if match := _LMI_TAG.search(image):
        *version, flavour = match.groups()
        own = {
            name.removeprefix("OPTION_").lower(): value
            for name, value in environment.items()
            if name.startswith("OPTION_")
        }
        return ServingContainer(
            server="lmi",
            version=tuple(map(int, version)),
            flavour=flavour,
            options={**own, **options},
        )
    if match := _TGI_TAG.search(image):
        return ServingContainer(
            server="tgi",
            version=tuple(map(int, match.groups())),
            model=environment.get("HF_MODEL_ID", "/opt/ml/model"),
            messages_api=environment.get("MESSAGES_API_ENABLED") == "true",
        )
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerRequest:
    """
    A request, with what SageMaker passes on of it.

    Args:
        path: What it asks; ``None`` for ``/invocations``.

        attributes: Its CustomAttributes.

        session: Its SessionId; ``None`` without one.

        adapter: The adapter that the service asks for; ``None`` for the model itself.
    """

    body: bytes
    content_type: str = JSON
    path: str | None = None
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
    """

    content_type: str
    pieces: list[bytes]
    tokens: int = 0
