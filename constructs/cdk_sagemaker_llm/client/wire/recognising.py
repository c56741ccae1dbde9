"""
Which format a record is of: told by its shape, or given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cdk_sagemaker_llm.client.tokens import Token
from cdk_sagemaker_llm.client.wire import (
    embeddings,
    generated_text,
    llama_cpp,
    openai,
)
from cdk_sagemaker_llm.client.wire.step import Record, Step, WireFormat

Reader = Callable[[Record], Step | None]
Quick = Callable[[Record], Token | None]

_READERS: Mapping[WireFormat, Reader] = {
    WireFormat.OPENAI: openai.read,
    WireFormat.LMI: generated_text.read,
    WireFormat.TGI: generated_text.read,
    WireFormat.LLAMA_CPP: llama_cpp.read,
    WireFormat.EMBEDDINGS: embeddings.read,
}
# LMI also writes OpenAI's chats, and TGI too: what is given is the container's family.
_ALSO = {
    WireFormat.LMI: (WireFormat.OPENAI, WireFormat.EMBEDDINGS),
    WireFormat.TGI: (WireFormat.OPENAI,),
    WireFormat.LLAMA_CPP: (WireFormat.OPENAI, WireFormat.EMBEDDINGS),
}


def readers(wire_format: WireFormat | None) -> tuple[Reader, ...]:
    """
    Return what may read a record, the likeliest first.

    Args:
        wire_format: The container's family. If omitted, any is tried.
    """
    if wire_format is None:
        return tuple(dict.fromkeys(_READERS.values()))
    names = (wire_format, *_ALSO.get(wire_format, ()))
    return tuple(dict.fromkeys(_READERS[name] for name in names))


def quick_reader(candidates: tuple[Reader, ...]) -> Quick:
    """
    Return what reads the usual record of a stream, and nothing else.
    """
    lines = generated_text.quick if generated_text.read in candidates else _nothing
    chunks = openai.quick if openai.read in candidates else _nothing

    def read(record: Record) -> Token | None:
        if record.__class__ is not dict:
            return None
        return lines(record) if "token" in record else chunks(record)

    return read


def _nothing(_: Record) -> None:
    return None


def recognise(record: Record, candidates: tuple[Reader, ...]) -> Step | None:
    """
    Read a record in whichever format it is; ``None`` if in none of them.
    """
    if not isinstance(record, (dict, list)):
        return None
    for read in candidates:
        step = read(record)
        if step is not None:
            return step
    return None
