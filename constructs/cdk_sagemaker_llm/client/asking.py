"""
What a client asks and reads, on behalf of a call that may be given up.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from cdk_sagemaker_llm.client.answers import (
    Embeddings,
    FinishReason,
    Generation,
    Ranked,
    Token,
    Usage,
)
from cdk_sagemaker_llm.client.arguments import (
    as_list,
    check_text,
    check_whole,
    choice,
    refuse,
)
from cdk_sagemaker_llm.client.connections import Call
from cdk_sagemaker_llm.client.errors import (
    LlmError,
    ModelError,
    UnreadableAnswerError,
)
from cdk_sagemaker_llm.client.reader import NO_TEXT, READ_VECTORS, Reader
from cdk_sagemaker_llm.client.requests import (
    FIRST,
    ChatOptions,
    Message,
    Options,
    Schema,
    chat_body,
    embedding_body,
    held,
    prompt_body,
    rerank_body,
    schema_wanted,
)
from cdk_sagemaker_llm.client.runtime import Opened, Settings
from cdk_sagemaker_llm.client.transport import Transport
from cdk_sagemaker_llm.client.wire.step import WireFormat, as_count

if TYPE_CHECKING:
    import boto3

    from cdk_sagemaker_llm.client.asynchronous import AsyncRequest, Look

_Answer = TypeVar("_Answer")
_WRITES = "use generate() or chat() for a model that writes"
# As LMI's handlers and vLLM's and SGLang's images read them, to the letter.
_NEW_SESSION, _CLOSE = b'{"requestType": "NEW_SESSION"}', b'{"requestType": "CLOSE"}'
_NO_SESSIONS = (
    "have the container keep sessions: SAGEMAKER_ENABLE_STATEFUL_SESSIONS=true for the "
    "images of vLLM and SGLang, option.enable_stateful_sessions=true for LMI"
)
_SERVER_ERRORS = 500
_RANKS_NOT = "deploy a reranker, or use embed() or generate()"


class Asker:
    """
    Asks one endpoint what ``LlmClient`` is asked, and learns how it wants a prompt.
    """

    def __init__(
        self,
        arguments: Mapping[str, str],
        settings: Settings,
        session: boto3.Session | None,
        schema: Schema | str | None,
        wire_format: WireFormat | str | None,
    ) -> None:
        self._schema = None if schema is None else choice("schema", Schema, schema)
        self._settings = settings
        self._format = (
            None if wire_format is None else choice("format", WireFormat, wire_format)
        )
        self.transport = Transport(arguments, Opened(settings, session))

    def with_arguments(self, arguments: Mapping[str, str]) -> Asker:
        """
        Return an asker that adds arguments to its requests, over the same connections.
        """
        other = copy.copy(self)
        other.transport = self.transport.with_arguments(arguments)
        return other

    def call(self) -> Call:
        return self.transport.call()

    def close(self) -> None:
        self.transport.opened.close()

    def open_session(self, call: Call) -> None:
        """
        Have the container open a session; all further requests belong to it.
        """
        try:
            self._whole_bytes(_NEW_SESSION, call)
        except ModelError as error:
            # Without sessions it is a prompt that lacks its text.
            if error.status is not None and error.status < _SERVER_ERRORS:
                error.remedy = _NO_SESSIONS
            raise
        if self.transport.session is None:
            raise UnreadableAnswerError(
                "the container opened no session", remedy=_NO_SESSIONS
            )

    def close_session(self, call: Call) -> None:
        self._whole_bytes(_CLOSE, call)
        # LMI does not say that it has closed it.
        self.transport.end_session()

    def pending(
        self, request: AsyncRequest, options: ChatOptions
    ) -> Callable[[Call], tuple[str, Look]]:
        """
        Check a request of asynchronous inference, and return what sends it.
        """
        body = b""
        if request.messages is None:
            held(options, ChatOptions)
        elif isinstance(request.messages, str):
            form = self._schema or FIRST
            body = prompt_body(form, request.messages, options, stream=False)
        else:
            body = chat_body(request.messages, options, stream=False)

        def read(answer: bytes) -> Generation:
            reader = Reader(self._format, self._settings.max_bytes)
            return _ended(reader.collect([answer], is_document=True), options)

        return request.prepared(self.transport, body, read)

    def generate(self, prompt: str, options: Options, call: Call) -> Generation:
        def ask(schema: Schema) -> Generation:
            return self._whole(prompt_body(schema, prompt, options, stream=False), call)

        found = self._learning(ask)
        if found.embeddings is not None:
            raise UnreadableAnswerError(NO_TEXT, remedy=READ_VECTORS)
        return _ended(found, options)

    def stream(
        self, prompt: str, options: Options, call: Call
    ) -> Generator[list[Token]]:
        def ask(schema: Schema) -> Generator[list[Token]]:
            body = prompt_body(schema, prompt, options, stream=True)
            # LMI and TGI stream a single answer, whatever they are asked for.
            is_single = schema in {Schema.LMI, Schema.TGI}
            return self._tokens(body, call, 1 if is_single else _answers(options))

        form = self._schema
        while True:
            try:
                yield from ask(form or FIRST)
            except ModelError as refusal:
                # A refusal comes before any token.
                form = self._learn(form, refusal)
            else:
                return

    def chat(
        self, messages: str | Sequence[Message], options: ChatOptions, call: Call
    ) -> Generation:
        return self._whole(chat_body(messages, options, stream=False), call)

    def stream_chat(
        self, messages: str | Sequence[Message], options: ChatOptions, call: Call
    ) -> Generator[list[Token]]:
        body = chat_body(messages, options, stream=True)
        return self._tokens(body, call, _answers(options))

    def embed(
        self,
        inputs: str | Sequence[str],
        parameters: Mapping[str, Any] | None,
        call: Call,
    ) -> Embeddings:
        texts = _texts([inputs] if isinstance(inputs, str) else inputs, "inputs")
        extra = {} if parameters is None else parameters

        def ask(schema: Schema) -> Generation:
            return self._whole(embedding_body(schema, texts, extra), call)

        found = self._of_no_text(ask, _WRITES).embeddings
        if found is None:
            raise UnreadableAnswerError(
                "the model answered a text, no embeddings", remedy=_WRITES
            )
        if len(found.vectors) != len(texts):
            raise UnreadableAnswerError(
                f"{len(found.vectors)} vectors came for {len(texts)} texts"
            )
        return found

    def rerank(
        self,
        query: str,
        texts: Sequence[str],
        call: Call,
        *,
        top_n: int | None,
        parameters: Mapping[str, Any] | None,
    ) -> list[Ranked]:
        if top_n is not None:
            check_whole("top_n", top_n, 1)
        listed_texts = _texts(texts, "texts")
        extra = {} if parameters is None else parameters

        def ask(schema: Schema) -> Generation:
            body = rerank_body(schema, query, listed_texts, top_n, extra)
            return self._whole(body, call)

        found = self._of_no_text(ask, _RANKS_NOT).ranking
        if found is None:
            raise UnreadableAnswerError(
                "the model answered no ranking", remedy=_RANKS_NOT
            )
        count = len(listed_texts) if top_n is None else min(top_n, len(listed_texts))
        best = list(found[:count])
        indices = {one.index for one in best}
        if len(indices) < count or max(indices) >= len(listed_texts):
            raise UnreadableAnswerError(
                f"the scores of {len(indices)} texts came for {len(listed_texts)}"
            )
        return best

    def _of_no_text(
        self, ask: Callable[[Schema], Generation], remedy: str
    ) -> Generation:
        """
        Ask for vectors or a ranking; a model that wants prompts or chats makes neither.
        """
        try:
            return self._learning(ask)
        except ModelError as error:
            # Asked with ``inputs``, an engine of embeddings may want another form.
            is_asked_well = self._schema is not FIRST
            if is_asked_well and schema_wanted(error.model_message) is not None:
                error.remedy = remedy
            raise

    def continue_to_end(
        self,
        prompt: str,
        options: Options,
        call: Call,
        *,
        max_requests: int,
        max_total_tokens: int | None,
    ) -> Generation:
        """
        Continue a prompt, and then the text so far, until the model comes to its end.
        """
        check_text("prompt", prompt)
        check_whole("max_requests", max_requests, 1)
        if max_total_tokens is not None:
            check_whole("max_total_tokens", max_total_tokens, 1)
        # Once for all requests: what is walked through once is empty after the first.
        options = held(options, Options)

        def ask(so_far: str) -> Generation:
            # A stream tells why it ended where LMI's document does not.
            # A model may write halves of characters, which no request can carry.
            whole = so_far.encode("utf-8", "replace").decode()

            def ask_in(schema: Schema) -> Generation:
                body = prompt_body(schema, prompt, options, stream=True, begun=whole)
                return self._gathered(body, call, stream=True)

            return self._learning(ask_in)

        return chain(ask, max_requests, max_total_tokens)

    def _learning(self, ask: Callable[[Schema], _Answer]) -> _Answer:
        """
        Ask, and ask again if the container wants a prompt in another form.
        """
        form = self._schema
        while True:
            try:
                return ask(form or FIRST)
            except ModelError as refusal:
                form = self._learn(form, refusal)

    def _learn(self, schema: Schema | None, refusal: ModelError) -> Schema:
        """
        Keep the form that a container asks for, if the refusal is of that.
        """
        form = schema_wanted(refusal.model_message)
        if form is schema is Schema.OPENAI and "non-empty" in refusal.model_message:
            # vLLM misses what is empty as what is not there.
            refusal.remedy = "write a prompt that is not empty"
        if schema is not None or form is None or refusal.text:
            raise refusal
        self._schema = form
        return form

    def _tokens(self, body: bytes, call: Call, answers: int) -> Generator[list[Token]]:
        reader = Reader(self._format, self._settings.max_bytes, answers)
        with closing(self.transport.chunks(body, call, stream=True)) as chunks:
            yield from reader.read(chunks)

    def _whole_bytes(self, body: bytes, call: Call) -> bytes:
        with closing(self.transport.chunks(body, call, stream=False)) as chunks:
            return b"".join(chunks)

    def _whole(self, body: bytes, call: Call) -> Generation:
        return self._gathered(body, call, stream=False)

    def _gathered(self, body: bytes, call: Call, *, stream: bool) -> Generation:
        reader = Reader(self._format, self._settings.max_bytes)
        with closing(self.transport.chunks(body, call, stream=stream)) as chunks:
            return reader.collect(chunks, is_document=not stream)


def chain(
    ask: Callable[[str], Generation],
    max_requests: int,
    max_total_tokens: int | None = None,
) -> Generation:
    """
    Ask again with the text so far, while an answer ends for its length.
    """
    parts: list[Generation] = []
    text = ""
    while len(parts) < max_requests:
        try:
            part = ask(text)
        except LlmError as error:
            error.text = text + error.text
            error.reasoning = _reasoning(parts) + error.reasoning
            raise
        parts.append(part)
        text += part.text
        count = sum(one.completion_tokens for one in parts)
        is_enough = max_total_tokens is not None and count >= max_total_tokens
        # An answer without a text would come again and again.
        if part.finish_reason is not FinishReason.LENGTH or is_enough or not part.text:
            break
    return _joined(parts, text)


def _answers(options: Options) -> int:
    parameters = options.get("parameters") or {}
    return as_count(parameters.get("n")) or 1


def _texts(values: Sequence[str], name: str) -> Sequence[object]:
    way_out = "write ['one text', 'another']"
    texts = as_list(name, values, check_text, way_out)
    if not texts:
        refuse(name, "at least one text", values, way_out)
    return texts


def _joined(parts: Sequence[Generation], text: str) -> Generation:
    *before, last = parts
    # Only the last of them ends the answer.
    inner = [
        replace(token, finish_reason=None, usage=None)
        for part in before
        for token in part.tokens
    ]
    return Generation(
        text=text,
        tokens=(*inner, *last.tokens),
        finish_reason=last.finish_reason,
        reasoning=_reasoning(parts),
        tool_calls=last.tool_calls,
        usage=Usage(
            parts[0].usage.prompt_tokens if parts[0].usage else None,
            sum(part.completion_tokens for part in parts),
        ),
        requests=len(parts),
    )


def _reasoning(parts: Iterable[Generation]) -> str:
    return "".join(part.reasoning for part in parts)


def _ended(answer: Generation, options: Options) -> Generation:
    """
    Say why an answer ended where the container only counts its tokens.

    LMI's asynchronous service names a reason only if a stop sequence was hit.
    """
    most = options.get("max_new_tokens")
    if answer.finish_reason or most is None or answer.usage is None:
        return answer
    count = answer.usage.completion_tokens
    if count is None:
        return answer
    reason = FinishReason.STOP if count < most else FinishReason.LENGTH
    return replace(answer, finish_reason=reason)
