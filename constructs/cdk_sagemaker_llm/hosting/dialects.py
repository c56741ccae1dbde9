"""
How the container of a model wants to be asked, as far as its image tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.engine_releases import engine_of
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
from cdk_sagemaker_llm.models import class_of, kind_of
from cdk_sagemaker_llm.serving.adapters import adapter_host
from cdk_sagemaker_llm.serving.environment import TGI, checked_as
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.serving.tgi.neuron import FAMILY as TGI_NEURON

# vLLM goes by what a body has, and so does Hugging Face's image of llama.cpp, which
# alone of its engine looks at more than chats.
_OPENAI_ENGINES = ("vllm", "vllm-omni", "vllm-neuron")
_OPENAI_FAMILIES = ("huggingface-llamacpp", "huggingface-llamacpp-cpu")
_CHATS_ALONE = ("sglang", "llama.cpp")
# DJL Serving 0.27: chat_completions_utils.py; TGI 2.4.0: compat_generate.
_LMI_CHATS = "0.27"
# A file of one's own in the place of LMI's handlers.
_HANDLER = "model.py"
_TGI_CHATS = (2, 4)
_TGI_SWITCH = "MESSAGES_API_ENABLED"


@dataclass(frozen=True, slots=True)
class Dialect:
    """
    How a container wants to be asked.

    Args:
        schema: How it wants a prompt; ``None`` if that is not known, or it takes none.

        takes_chats: Whether it is known to answer chats in OpenAI's form.
    """

    schema: Schema | None = None
    takes_chats: bool = False


UNKNOWN = Dialect()


def dialect_of(definition: ModelDefinition | None) -> Dialect:
    """
    Return how a model's container wants to be asked; nothing is known of an imported
    model, and of an image that the catalogue does not have.
    """
    if definition is None:
        return UNKNOWN
    image = checked_as(definition.container.image)
    if image.family in LMI:
        return Dialect(Schema.LMI, _lmi_chats(definition))
    if image.family in (TGI, TGI_NEURON):
        return Dialect(Schema.TGI, _tgi_chats(image, definition.variables))
    return _engine_dialect(image.family, definition)


def _engine_dialect(family: str, definition: ModelDefinition) -> Dialect:
    """
    Return how an engine in an image of its own is asked.

    TEI has no form for prompts: its embeddings go by ``inputs``, as where nothing is
    known.
    """
    engine = engine_of(family)
    if engine in _OPENAI_ENGINES or family in _OPENAI_FAMILIES:
        kind = kind_of(definition.model)
        writes = not isinstance(kind, ModelArchitecture) or kind.keeps_cache
        return Dialect(Schema.OPENAI, takes_chats=writes)
    if engine in _CHATS_ALONE:
        return Dialect(Schema.CHAT, takes_chats=True)
    return UNKNOWN


def common_dialect(definitions: Iterable[ModelDefinition | None]) -> Dialect:
    """
    Return how all of several models are asked; unknown where they differ.
    """
    found = {dialect_of(definition) for definition in definitions}
    return found.pop() if len(found) == 1 else UNKNOWN


def _lmi_chats(definition: ModelDefinition) -> bool:
    """
    Return whether LMI takes chats: by its own handlers, and with a rolling batch.
    """
    container = definition.container
    has_handler = any(path.rpartition("/")[2] == _HANDLER for path in container.files)
    host = adapter_host(
        container,
        definition.variables,
        architecture=class_of(kind_of(definition.model)),
    )
    launch = None if host is None else host.launch
    if has_handler or launch is None or launch.version.before(_LMI_CHATS):
        return False
    return launch.asynchronous or launch.rolling_batch != "disable"


def _tgi_chats(image: ImageRelease, variables: Mapping[str, str]) -> bool:
    if variables.get(_TGI_SWITCH) == "true":
        return True
    # The newer images for Neuron have TGI's number in the place of optimum's.
    number = image.tag.partition("optimum")[2] or image.version
    parts = number.partition("-")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit()) >= _TGI_CHATS
