"""
The client for asyncio: threads send requests by boto3, the event loop reads streams,
and a task that is cancelled sets both free.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from cdk_sagemaker_llm.client.answers import Embeddings, Generation, Ranked, Token
from cdk_sagemaker_llm.client.asynchronous import (
    AsyncRequest,
    Queued,
    pauses,
)
from cdk_sagemaker_llm.client.base_client import NEW_SESSION, BaseClient
from cdk_sagemaker_llm.client.bidirectional import BidirectionalStream, bidirectional
from cdk_sagemaker_llm.client.connections import Call
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.requests import ChatOptions, Message, Options
from cdk_sagemaker_llm.client.stored import ClientOptions, stored

_Result = TypeVar("_Result")


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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Self]:
        """
        Open a session, and close it at the end.

        ``async with client.session() as chat: await chat.generate("Who is it?")``
        """
        other = self.with_routing(session_id=NEW_SESSION)
        await self._wait(other._asker.open_session)  # noqa: SLF001 - its own kind
        try:
            yield other
        except BaseException:
            # It ends by itself; the error that is there says more.
            with suppress(LlmError):
                await self._wait(other._asker.close_session)  # noqa: SLF001 - as above
            raise
        await self._wait(other._asker.close_session)  # noqa: SLF001 - as above

    async def invoke_async(
        self,
        messages: str | Sequence[Message] | None = None,
        *,
        input_location: str | None = None,
        request_ttl: int | None = None,
        invocation_timeout: int | None = None,
        s3_endpoint_url: str | None = None,
        **options: Unpack[ChatOptions],
    ) -> AsyncPendingAnswer:
        """
        Put a request into the queue of an asynchronous endpoint; do not wait for it.

        ``await (await client.invoke_async("Who is it?")).result(timeout=600)``
        """
        request = AsyncRequest(
            messages, input_location, request_ttl, invocation_timeout, s3_endpoint_url
        )
        send = self._asker.pending(request, options)
        return AsyncPendingAnswer(*await self._wait(send))

    def bidirectional(
        self,
        path: str | None = None,
        query: str | None = None,
        *,
        endpoint_url: str | None = None,
    ) -> AbstractAsyncContextManager[BidirectionalStream]:
        """
        Open a stream to the container that is written and read at the same time.

        ``async with client.bidirectional("v1/realtime") as stream: ...``

        It takes AWS's SDK for HTTP/2, ``aws-sdk-sagemaker-runtime-http2[awscrt]``, on
        Python 3.12 or newer: boto3 has no such operation.

        Args:
            path: The path of the container. If omitted, it is SageMaker's own.

            query: What follows it after a question mark. If omitted, nothing.

            endpoint_url: The address. If omitted, AWS's, at port 8443.

        Raises:
            ImportError: If that SDK is not installed.

            LlmError: If there is no such stream, or it breaks off.
        """
        return bidirectional(self._asker.transport, path, query, endpoint_url)

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
            call.loop = asyncio.get_running_loop()
            batches, is_elsewhere = ask(call), False
            try:
                # To where the request is sent: what waits begins there.
                next(batches)
                while True:
                    if call.arrivals is None:
                        is_elsewhere = True
                        tokens = await self._in_thread(next, batches, None)
                        is_elsewhere = False
                    else:
                        if not call.arrivals.has_some:
                            await call.arrivals.more()
                        tokens = next(batches, None)
                    if tokens is None:
                        return
                    for token in tokens:
                        yield token
            finally:
                # A thread that waits for an answer closes the stream as it ends.
                if is_elsewhere:
                    call.give_up()
                else:
                    batches.close()

    async def _in_thread(
        self, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        loop, threads = asyncio.get_running_loop(), self._asker.transport.opened.threads
        return await loop.run_in_executor(threads, function, *arguments)


@dataclass(frozen=True, slots=True)
class AsyncPendingAnswer(Queued):
    """
    The answer to a request that waits in the queue of an asynchronous endpoint, for a
    task: ``result()`` is awaited.

    Args:
        inference_id: What the service calls the request.

        look: Looks for the answer.
    """

    async def result(self, timeout: float = 900.0) -> Generation:  # noqa: ASYNC109 - it bounds the looks, and is in the message
        """
        Wait for the answer, as ``PendingAnswer.result()`` does.

        Args:
            timeout: After how many seconds to wait no longer.

        Raises:
            LlmError: If the model failed, or there is no answer yet.
        """
        for pause in pauses(timeout):
            answer: Generation | None = await asyncio.to_thread(self.look.once)
            if answer is not None:
                return answer
            await asyncio.sleep(pause)
        raise self.look.too_late(timeout)
