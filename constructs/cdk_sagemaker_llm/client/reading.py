"""
One reader for every wire format: bytes in, tokens out.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from cdk_sagemaker_llm.client.errors import UnreadableAnswerError
from cdk_sagemaker_llm.client.given import as_bytes, choice, hold_whole, refuse
from cdk_sagemaker_llm.client.reader import MAX_BYTES, Reader
from cdk_sagemaker_llm.client.tokens import Embeddings, Generation, Token
from cdk_sagemaker_llm.client.wire.step import WireFormat


def read_stream(
    chunks: Iterable[bytes],
    *,
    format: WireFormat | str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Generator[Token]:
    """
    Read the tokens of an answer as they arrive, in whichever format they come.

    The last token carries the finish reason, the tool calls and what the engine
    counted; it has no text of its own where the engine sends the reason apart. It is
    given out when the stream has ended. A document that is no stream is read at its
    end.

    Args:
        chunks: The answer, cut anywhere.

        format: The container's family. If left out, the format is recognised.

        max_bytes: How much may be kept: of one record, and of the text.

    Raises:
        LlmError: If the answer is an error, breaks off, or cannot be read; what came
            by then is in ``text``.

        ValueError: If something else than bytes is given.
    """
    single = isinstance(chunks, (str, bytes, bytearray, memoryview))
    if single or not isinstance(chunks, Iterable):
        way_out = "wrap bytes, [body], or read them with read_body(body)"
        refuse("chunks", "an iterable of bytes", chunks, way_out)
    return _reader(format, max_bytes).read(chunks)


def read_body(
    body: bytes,
    *,
    format: WireFormat | str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Generation:
    """
    Read a whole answer: a document, or a stream that was collected.

    Args:
        body: The answer.

        format: The container's family. If left out, the format is recognised.

        max_bytes: How large it may be.

    Raises:
        LlmError: If the answer is an error, breaks off, or cannot be read.
    """
    body = as_bytes("body", body, "encode a text; of boto3's Body give Body.read()")
    is_document = body.lstrip()[:1] in {b"{", b"["}
    return _reader(format, max_bytes).collect((body,), is_document=is_document)


def read_embeddings(body: bytes, *, max_bytes: int = MAX_BYTES) -> Embeddings:
    """
    Read the vectors of an embedding model.

    Args:
        body: The answer.

        max_bytes: How large it may be.

    Raises:
        LlmError: If the answer is an error, or no vectors.
    """
    found = read_body(body, max_bytes=max_bytes).embeddings
    if found is None:
        raise UnreadableAnswerError(
            "the answer is a text, no embeddings",
            remedy="use generate() or chat() for a model that writes",
        )
    return found


def _reader(wire_format: WireFormat | str | None, max_bytes: int) -> Reader:
    hold_whole("max_bytes", max_bytes, 1)
    if wire_format is not None:
        wire_format = choice("format", WireFormat, wire_format)
    return Reader(wire_format, max_bytes)
