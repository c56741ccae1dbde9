"""
The reading of one answer, from its first byte to its last: one reader for every wire
format, bytes in, tokens and tool calls out.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from cdk_sagemaker_llm.client import framing
from cdk_sagemaker_llm.client.answers import (
    Embeddings,
    Generation,
    Ranked,
    Token,
    Usage,
    gather,
)
from cdk_sagemaker_llm.client.arguments import as_bytes, check_whole, choice, refuse
from cdk_sagemaker_llm.client.errors import (
    NOTHING_CAME,
    AnswerTooLargeError,
    ConnectionCutError,
    LlmError,
    UnreadableAnswerError,
    error_of,
)
from cdk_sagemaker_llm.client.framing import STREAM_END, Framing
from cdk_sagemaker_llm.client.wire import embeddings, generated_text, openai
from cdk_sagemaker_llm.client.wire.failures import Failure, failed_midway, failure_in
from cdk_sagemaker_llm.client.wire.step import (
    Record,
    Step,
    WireFormat,
)

MAX_BYTES = 33_554_432
"""How much of an answer is kept if nothing else is said: 32 MiB."""

# What is said of an answer of vectors, and the way out.
NO_TEXT = "the answer is embeddings, no text"
READ_VECTORS = "read them with read_embeddings() or embed()"
# Some engines end a stream so whose prompt is too long.
_UNSAID = "nothing of it came: ask without streaming, or read the log, for the reason"
# What a token takes beside its text, where all of them are kept.
_TOKEN_SIZE = 64

_Read: TypeAlias = Callable[[Record], Step | None]
_READERS: Mapping[WireFormat, _Read] = {
    WireFormat.OPENAI: openai.read,
    WireFormat.LMI: generated_text.read,
    WireFormat.TGI: generated_text.read,
    WireFormat.LLAMA_CPP: generated_text.read_llama_cpp,
    WireFormat.EMBEDDINGS: embeddings.read,
}
# LMI also writes OpenAI's chats, and TGI too: what is given is the container's family.
_ALSO = {
    WireFormat.LMI: (WireFormat.OPENAI, WireFormat.EMBEDDINGS),
    WireFormat.TGI: (WireFormat.OPENAI,),
    WireFormat.LLAMA_CPP: (WireFormat.OPENAI, WireFormat.EMBEDDINGS),
}


class Reader:
    """
    Reads one answer.
    """

    def __init__(
        self, wire_format: WireFormat | str | None, max_bytes: int, answers: int = 1
    ) -> None:
        fixed = None if wire_format is None else WireFormat(wire_format)
        self._readers = _readers(fixed)
        self._quick = _quick_reader(self._readers)
        self._max_bytes = max_bytes
        self._framing = Framing(max_bytes)
        self._text = io.StringIO()
        self._reasoning = io.StringIO()
        self._size = 0
        self._each = 0
        self._held: Token | None = None
        self._usage: Usage | None = None
        self._calls = openai.ToolCalls()
        self._whole: dict[int, str] = {}
        self._pieces = False
        self._embeddings: Embeddings | None = None
        self._ranking: tuple[Ranked, ...] | None = None
        self._counted: Usage | None = None
        self._answers = answers
        # The answers that have begun; a stream asked for several brings them mixed.
        self._begun = {0}
        self._open = {0}
        self._ended = False
        self._done = False

    def read(self, chunks: Iterable[bytes]) -> Generator[list[Token]]:
        """
        Walk through the tokens, all of one chunk together, be it none; errors leave
        with what came by then.
        """
        try:
            yield from self._read(chunks)
            if self._embeddings is not None:
                raise UnreadableAnswerError(NO_TEXT, remedy=READ_VECTORS)
            if self._ranking is not None:
                raise UnreadableAnswerError(
                    "the answer is a ranking, no text", remedy="read it with rerank()"
                )
        except LlmError as error:
            self._keep(error)
            raise

    def collect(
        self, chunks: Iterable[bytes], *, is_document: bool = False
    ) -> Generation:
        """
        Read all tokens and put them together.

        Args:
            is_document: Whether it is no stream. Then a text alone is no token.
        """
        self._each = _TOKEN_SIZE
        try:
            tokens = tuple(chain.from_iterable(self._read(chunks)))
        except LlmError as error:
            self._keep(error)
            raise
        if self._embeddings is not None:
            found = self._embeddings
            return Generation("", usage=found.usage, embeddings=found)
        if self._ranking is not None:
            return Generation("", usage=self._counted, ranking=self._ranking)
        pieces = self._pieces or (is_document and _are_texts(tokens))
        return gather(tokens, texts=self._whole, pieces=pieces)

    def _read(self, chunks: Iterable[bytes]) -> Iterator[list[Token]]:
        feed, take, quick = self._framing.feed, self._take, self._quick
        for chunk in self._arriving(chunks):
            tokens: list[Token] = []
            if self._done:
                # To its end, so that the connection can be used again.
                yield tokens
                continue
            try:
                for record in feed(chunk):
                    token = None if self._ended else quick(record)
                    if token is None:
                        tokens.extend(take(record))
                    else:
                        self._note(token)
                        tokens.append(token)
            except LlmError:
                # Of an error in the middle of a chunk, what came before it comes first.
                if tokens:
                    yield tokens
                raise
            yield tokens
        yield from ([token] for token in self._end())

    def _arriving(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """
        Walk through the chunks; what fails after the answer's end is no failure.
        """
        try:
            yield from chunks
        except LlmError:
            if not self._has_all:
                raise
        except Exception as error:
            if not self._has_all:
                message = f"the connection broke: {type(error).__name__}: {error}"
                raise ConnectionCutError(message) from error

    def _end(self) -> Iterator[Token]:
        if not self._done:
            try:
                for record in self._framing.end():
                    yield from self._take(record)
            except ConnectionCutError:
                # After the finish reason nothing is missing but, say, a count.
                if not self._ended:
                    raise
        yield from self._last()
        if not self._is_whole:
            remedy = "" if self._text.tell() or self._reasoning.tell() else _UNSAID
            raise ConnectionCutError("the answer ended before its end", remedy=remedy)

    def _last(self) -> Iterator[Token]:
        if self._held is not None:
            held, self._held = self._held, None
            yield replace(held, usage=self._usage) if self._usage else held
        elif self._done and not self._ended:
            # Some engines end a stream without saying why.
            yield from self._unfinished()
        elif self._usage and not self._ended:
            yield Token("", usage=self._usage)
        self._usage = None

    def _unfinished(self) -> Iterator[Token]:
        for index in sorted(self._open):
            calls = self._calls.whole(index)
            usage = None if index else self._usage
            if calls or usage:
                yield Token("", index=index, tool_calls=calls, usage=usage)
        self._open.clear()

    @property
    def _has_all(self) -> bool:
        # One of several may not have begun when another had ended.
        return self._done or (self._ended and len(self._begun) >= self._answers)

    @property
    def _is_whole(self) -> bool:
        return self._done or self._ended

    def _take(self, record: Record) -> Iterator[Token]:
        if self._done:
            return
        if record is STREAM_END:
            self._done = True
            yield from self._last()
            return
        self._refuse_failures(record)
        steps = (read(record) for read in self._readers)
        step = next((one for one in steps if one is not None), None)
        if step is None:
            excerpt = repr(record)[:120]
            raise UnreadableAnswerError(f"no known format has such a record: {excerpt}")
        yield from self._tokens(step)

    def _tokens(self, step: Step) -> Iterator[Token]:
        if step.usage is not None:
            self._usage = step.usage
        for index, part in step.calls:
            self._grow(self._calls.add(index, part))
        indices = {token.index for token in step.tokens}
        indices.update(index for index, _ in step.calls)
        self._begun |= indices
        self._open |= indices
        if step.ends:
            self._end_with(step)
        for token in step.tokens:
            self._note(token)
            if self._held is not None:
                held, self._held = self._held, None
                yield held
            if token.finish_reason is None and not step.ends:
                yield token
            elif token is not step.tokens[-1]:
                yield self._finished(token)
            else:
                self._held = self._finished(token)
        if step.is_failure:
            raise error_of(Failure(""))

    def _end_with(self, step: Step) -> None:
        finished = {token.index for token in step.tokens if token.finish_reason}
        # A document ends all of them, and so does a line that gives no reason.
        self._open -= self._open if step.texts or not finished else finished
        self._ended = not self._open
        self._whole.update(step.texts)
        self._pieces = self._pieces or step.pieces
        self._embeddings = step.embeddings or self._embeddings
        if step.ranking is not None:
            self._ranking, self._counted = step.ranking, step.usage

    def _finished(self, token: Token) -> Token:
        calls = self._calls.whole(token.index) if token.finish_reason else ()
        return replace(token, tool_calls=calls) if calls else token

    def _note(self, token: Token) -> None:
        if token.index == 0:
            self._text.write(token.text)
            if token.reasoning:
                self._reasoning.write(token.reasoning)
        self._size += len(token.text) + len(token.reasoning) + self._each
        if self._size > self._max_bytes:
            self._grow(0)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._max_bytes:
            message = f"the answer takes more than {self._max_bytes} bytes"
            raise AnswerTooLargeError(message)

    def _refuse_failures(self, record: Record) -> None:
        if not isinstance(record, dict):
            return
        details = record.get("details")
        failure: Failure | None = None
        if isinstance(details, dict):
            failure = failed_midway(record, details)
        if failure is None and ("token" not in record or record.get("error")):
            failure = failure_in(record)
        if failure is None:
            return
        error = error_of(failure)
        if not self._text.tell():
            # A document that is an error has the text beside it.
            text = record.get("generated_text")
            error.text = text if isinstance(text, str) else ""
        raise error

    def _keep(self, error: LlmError) -> None:
        begun = framing.begun(self._framing.unread.decode(errors="ignore"))
        error.text = self._text.getvalue() + (error.text or begun)
        error.reasoning = self._reasoning.getvalue()
        error.tool_calls = self._calls.whole(0)
        came = error.text or error.reasoning or error.tool_calls
        if not came and error.remedy == ConnectionCutError.remedy:
            error.remedy = NOTHING_CAME


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

        format: The container's family. If omitted, the format is recognised.

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
    return joined(_reader(format, max_bytes).read(chunks))


def joined(batches: Iterable[list[Token]]) -> Generator[Token]:
    """
    Walk through the tokens one by one.
    """
    for tokens in batches:
        yield from tokens


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

        format: The container's family. If omitted, the format is recognised.

        max_bytes: How large it may be.

    Raises:
        LlmError: If the answer is an error, breaks off, or cannot be read.
    """
    body = as_bytes("body", body, "encode a text; of boto3's Body give Body.read()")
    is_document = body.lstrip()[:1] in {b"{", b"["}
    return _reader(format, max_bytes).collect((body,), is_document=is_document)


def _are_texts(tokens: tuple[Token, ...]) -> bool:
    """
    Whether each is a whole answer of a completion, and not a token of one.
    """
    return all(
        token.finish_reason and token.token_id is None and token.log_prob is None
        for token in tokens
    )


def _readers(wire_format: WireFormat | None) -> tuple[_Read, ...]:
    """
    Return what may read a record, the likeliest first; any if no family is named.
    """
    if wire_format is None:
        return tuple(dict.fromkeys(_READERS.values()))
    names = (wire_format, *_ALSO.get(wire_format, ()))
    return tuple(dict.fromkeys(_READERS[name] for name in names))


def _quick_reader(
    candidates: tuple[_Read, ...],
) -> Callable[[Record], Token | None]:
    lines = generated_text.quick if generated_text.read in candidates else _nothing
    chunks = openai.quick if openai.read in candidates else _nothing

    def read(record: Record) -> Token | None:
        if record.__class__ is not dict:
            return None
        return lines(record) if "token" in record else chunks(record)

    return read


def _nothing(_: Record) -> None:
    return None


def _reader(wire_format: WireFormat | str | None, max_bytes: int) -> Reader:
    check_whole("max_bytes", max_bytes, 1)
    if wire_format is not None:
        wire_format = choice("format", WireFormat, wire_format)
    return Reader(wire_format, max_bytes)
