"""
The client for asyncio: threads over boto3, which a cancelled task sets free.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from cdk_sagemaker_llm.client.answers import Embeddings, Generation, Ranked, Token
from cdk_sagemaker_llm.client.connections import Call, renew_after_fork
from cdk_sagemaker_llm.client.llm_client import BaseClient
from cdk_sagemaker_llm.client.requests import ChatOptions, Message, Options
from cdk_sagemaker_llm.client.stored import ClientOptions, stored

_Result = TypeVar("_Result")
# How many tokens of a stream are kept for a task that does not take them yet.
_AHEAD = 256


class AsyncLlmClient(BaseClient):
    """
    Asks a language model on a SageMaker endpoint, in asyncio.

    ``async with AsyncLlmClient("endpoint") as client: await client.generate("Who?")``

    Every method is that of ``LlmClient``, with the same arguments and errors. A task
    that is cancelled ends its request and frees its connection at once. ``BaseClient``
    says what it takes.
    """

    @classmethod
    async def from_ssm(
        cls,
        parameter_name: str,
        *,
        region: str | None = None,
        ssm_endpoint_url: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> Self:
        """
        Make the client of a connection that ``store_connection()`` has stored.

        ``async with await AsyncLlmClient.from_ssm("/llm/chat") as client: ...``
        """
        read = await asyncio.to_thread(
            stored,
            parameter_name,
            options,
            region=region,
            ssm_endpoint_url=ssm_endpoint_url,
        )
        return cls.from_connection(read, **options)

    @functools.cached_property
    def _threads(self) -> ThreadPoolExecutor:
        renew_after_fork(self._forget_threads)
        # A thread waits for each answer that is under way.
        return ThreadPoolExecutor(self._asker.max_connections, "llm-client")

    def _forget_threads(self) -> None:
        # A child process has none of its parent's.
        self.__dict__.pop("_threads", None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """
        Close the connections that are open, and let the threads end.

        Who uses it again has new ones.
        """
        self._asker.close()
        threads: ThreadPoolExecutor | None = self.__dict__.pop("_threads", None)
        if threads is not None:
            threads.shutdown(wait=False)

    async def generate(self, prompt: str, **options: Unpack[Options]) -> Generation:
        """
        Continue a prompt.
        """
        return await self._wait(
            lambda call: self._asker.generate(prompt, options, call)
        )

    def stream(self, prompt: str, **options: Unpack[Options]) -> AsyncGenerator[Token]:
        """
        Continue a prompt, token by token; the last token says why it ended.
        """
        return self._walk(lambda call: self._asker.stream(prompt, options, call))

    async def chat(
        self, messages: str | Sequence[Message], **options: Unpack[ChatOptions]
    ) -> Generation:
        """
        Answer a chat.
        """
        return await self._wait(lambda call: self._asker.chat(messages, options, call))

    def stream_chat(
        self, messages: str | Sequence[Message], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Token]:
        """
        Answer a chat, token by token; the last token has the tool calls.
        """
        return self._walk(lambda call: self._asker.stream_chat(messages, options, call))

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        parameters: Mapping[str, Any] | None = None,
    ) -> Embeddings:
        """
        Turn texts into vectors.
        """
        return await self._wait(
            lambda call: self._asker.embed(inputs, parameters, call)
        )

    async def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        top_n: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[Ranked]:
        """
        Rank texts for a query, the best first.
        """
        return await self._wait(
            lambda call: self._asker.rerank(
                query, texts, call, top_n=top_n, parameters=parameters
            )
        )

    async def continue_to_end(
        self,
        prompt: str,
        *,
        max_requests: int = 16,
        max_total_tokens: int | None = None,
        **options: Unpack[Options],
    ) -> Generation:
        """
        Continue a prompt until the model comes to its end, however many requests.
        """
        return await self._wait(
            lambda call: self._asker.continue_to_end(
                prompt,
                options,
                call,
                max_requests=max_requests,
                max_total_tokens=max_total_tokens,
            )
        )

    async def _wait(self, ask: Callable[[Call], _Result]) -> _Result:
        async with self._asker.call() as call:
            try:
                return await self._in_thread(ask, call)
            except BaseException:
                call.give_up()
                raise

    async def _walk(
        self, ask: Callable[[Call], Generator[list[Token]]]
    ) -> AsyncGenerator[Token]:
        async with self._asker.call() as call:
            stream = _Stream(ask(call), self._threads)
            take = stream.tokens.popleft
            try:
                while True:
                    # Looked at first: what has come by then is all there is.
                    has_ended = stream.has_ended
                    while stream.tokens:
                        yield take()
                    if has_ended:
                        stream.raise_error()
                        return
                    await stream.more()
            finally:
                stream.close(call)

    async def _in_thread(
        self, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function, *arguments)


class _Stream:
    """
    The tokens of an answer, between the thread that reads them and the task that takes
    them.

    The thread reads ahead, up to a bound, and wakes the task when there is something
    again: what comes meanwhile costs no switch of its own.

    Args:
        source: The tokens, which are waited for where they are read.

        threads: Who reads them.
    """

    def __init__(
        self, source: Generator[list[Token]], threads: ThreadPoolExecutor
    ) -> None:
        self.tokens: deque[Token] = deque()
        self.has_ended = False
        self._source = source
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._error: BaseException | None = None
        # Under the lock: who leaves last closes the source.
        self._lock = threading.Lock()
        self._is_read = False
        self._is_closed = False

    async def more(self) -> None:
        """
        Wait until there may be more, or it has ended.
        """
        # Before the look at what there is: the thread looks the other way round.
        waiter = self._waiter = self._loop.create_future()
        if self.tokens or self.has_ended:
            return
        if not self._is_read:
            self._is_read = True
            self._threads.submit(self._read)
        await waiter

    def raise_error(self) -> None:
        """
        Raise what it ended with, if that was an error.
        """
        if self._error is not None:
            raise self._error

    def close(self, call: Call) -> None:
        """
        Read no further; a thread that waits for the next token is set free.
        """
        self._waiter = None
        with self._lock:
            self._is_closed = True
            is_read = self._is_read
        if is_read:
            call.give_up()
        else:
            self._source.close()

    def _read(self) -> None:
        tokens = self.tokens
        try:
            for found in self._source:
                tokens.extend(found)
                if self._waiter is not None:
                    self._wake()
                if len(tokens) >= _AHEAD:
                    break
            else:
                self.has_ended = True
        except BaseException as error:  # noqa: BLE001 - it is the task's
            self._error = error
            self.has_ended = True
        with self._lock:
            self._is_read = False
            is_closed = self._is_closed
        if is_closed:
            self._source.close()
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None:
            return
        # Where the loop has ended, nobody waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_let_go, waiter)


def _let_go(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
