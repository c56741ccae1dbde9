"""
A client of one endpoint.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self, Unpack

from cdk_sagemaker_llm.client.answers import Embeddings, Generation, Ranked, Token
from cdk_sagemaker_llm.client.asynchronous import AsyncRequest, PendingAnswer
from cdk_sagemaker_llm.client.base_client import NEW_SESSION, BaseClient
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.reader import joined
from cdk_sagemaker_llm.client.requests import ChatOptions, Message, Options
from cdk_sagemaker_llm.client.stored import ClientOptions, stored


class LlmClient(BaseClient):
    """
    Asks a language model on a SageMaker endpoint.

    ``LlmClient("endpoint", "component").generate("Who is it?").text``

    It is safe to use from several threads, and after a fork: a child process opens
    connections of its own. ``BaseClient`` says what it takes.
    """

    @classmethod
    def from_ssm(
        cls,
        parameter_name: str,
        *,
        region: str | None = None,
        ssm_endpoint_url: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> Self:
        """
        Make the client of a connection that ``store_connection()`` has stored.

        ``LlmClient.from_ssm("/llm/chat").generate("Who is it?").text``

        Args:
            parameter_name: The parameter's name.

            region: The parameter's region; the endpoint's is in the connection.
                If omitted, the session's.

            ssm_endpoint_url: The address of Systems Manager. If omitted, AWS's.

            options: What else ``BaseClient`` takes.

        Raises:
            LlmError: If the parameter cannot be read.

            ValueError: If it holds no connection.
        """
        read = stored(
            parameter_name, options, region=region, ssm_endpoint_url=ssm_endpoint_url
        )
        return cls.from_connection(read, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def session(self) -> Iterator[Self]:
        """
        Open a session, and close it at the end: one instance answers all its requests.

        ``with client.session() as chat: chat.generate("Who is it?")``

        The container has to keep sessions: LMI does with
        ``option.enable_stateful_sessions``, the images of vLLM and SGLang with
        ``SAGEMAKER_ENABLE_STATEFUL_SESSIONS``. It names the session, which is sent with
        each request of the client that is given out.

        Raises:
            LlmError: If none is opened, or closed.
        """
        other = self.with_routing(session_id=NEW_SESSION)
        with self._asker.call() as call:
            other._asker.open_session(call)  # noqa: SLF001 - its own kind
        try:
            yield other
        except BaseException:
            # It ends by itself; the error that is there says more.
            with suppress(LlmError), self._asker.call() as call:
                other._asker.close_session(call)  # noqa: SLF001 - as above
            raise
        with self._asker.call() as call:
            other._asker.close_session(call)  # noqa: SLF001 - as above

    def invoke_async(
        self,
        messages: str | Sequence[Message] | None = None,
        *,
        input_location: str | None = None,
        request_ttl: int | None = None,
        invocation_timeout: int | None = None,
        s3_endpoint_url: str | None = None,
        **options: Unpack[ChatOptions],
    ) -> PendingAnswer:
        """
        Put a request into the queue of an asynchronous endpoint; do not wait for it.

        ``client.invoke_async("Who is it?").result(timeout=600).text``

        Args:
            messages: The prompt, or the messages of a chat. If omitted, the request
                lies at ``input_location`` already.

            input_location: Where on S3 the request lies, or, where there are messages,
                is written to: an object, or a prefix that ends in a slash. If omitted,
                it is sent inline, which the service takes up to 128,000 bytes.

            request_ttl: How many seconds it may wait in the queue. If omitted, 6 hours.

            invocation_timeout: How many seconds the model may take. If omitted, 900.

            s3_endpoint_url: The address of S3. If omitted, AWS's.

            options: What ``ChatOptions`` lists.

        Raises:
            LlmError: If it is refused.
        """
        request = AsyncRequest(
            messages, input_location, request_ttl, invocation_timeout, s3_endpoint_url
        )
        send = self._asker.pending(request, options)
        with self._asker.call() as call:
            return PendingAnswer(*send(call))

    def generate(self, prompt: str, **options: Unpack[Options]) -> Generation:
        """
        Continue a prompt.

        Args:
            prompt: The text to continue.

            options: What ``Options`` lists.

        Raises:
            LlmError: If there is no answer, or not the whole of it.
        """
        with self._asker.call() as call:
            return self._asker.generate(prompt, options, call)

    def stream(self, prompt: str, **options: Unpack[Options]) -> Generator[Token]:
        """
        Continue a prompt, token by token; the last token says why it ended.

        The request is sent when the first token is asked for. Closing the generator
        frees the connection.

        Args:
            prompt: The text to continue.

            options: What ``Options`` lists.

        Raises:
            LlmError: If the answer breaks off; what came is in its ``text``.
        """
        with self._asker.call() as call:
            yield from joined(self._asker.stream(prompt, options, call))

    def chat(
        self, messages: str | Sequence[Message], **options: Unpack[ChatOptions]
    ) -> Generation:
        """
        Answer a chat.

        Args:
            messages: The messages so far, or the user's only one.

            options: What ``ChatOptions`` lists.

        Raises:
            LlmError: If there is no answer, or not the whole of it.
        """
        with self._asker.call() as call:
            return self._asker.chat(messages, options, call)

    def stream_chat(
        self, messages: str | Sequence[Message], **options: Unpack[ChatOptions]
    ) -> Generator[Token]:
        """
        Answer a chat, token by token; the last token has the tool calls.

        Args:
            messages: The messages so far, or the user's only one.

            options: What ``ChatOptions`` lists.

        Raises:
            LlmError: If the answer breaks off; what came is in its ``text``.
        """
        with self._asker.call() as call:
            yield from joined(self._asker.stream_chat(messages, options, call))

    def embed(
        self,
        inputs: str | Sequence[str],
        *,
        parameters: Mapping[str, Any] | None = None,
    ) -> Embeddings:
        """
        Turn texts into vectors.

        Args:
            inputs: One text, or several.

            parameters: Anything else, in the container's own words, such as
                ``dimensions``. If omitted, nothing.

        Raises:
            LlmError: If there is no answer, or one of another kind.
        """
        with self._asker.call() as call:
            return self._asker.embed(inputs, parameters, call)

    def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        top_n: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[Ranked]:
        """
        Rank texts for a query, the best first.

        Args:
            query: What the texts are to answer.

            texts: The texts.

            top_n: How many of them to tell of. If omitted, all.

            parameters: Anything else, in the container's own words, such as
                ``raw_scores``. If omitted, nothing.

        Raises:
            LlmError: If there is no answer, or one of another kind.
        """
        with self._asker.call() as call:
            return self._asker.rerank(
                query, texts, call, top_n=top_n, parameters=parameters
            )

    def continue_to_end(
        self,
        prompt: str,
        *,
        max_requests: int = 16,
        max_total_tokens: int | None = None,
        **options: Unpack[Options],
    ) -> Generation:
        """
        Continue a prompt until the model comes to its end, however many requests.

        While an answer ends for its length, it is sent back to be continued. The
        result's ``requests`` and ``usage`` count them and all tokens; its finish
        reason is still ``length`` where a bound was met first.

        Args:
            prompt: The text to continue.

            max_requests: How many requests to send at most.

            max_total_tokens: After how many tokens to send no more.
                If omitted, any number.

            options: What ``Options`` lists; the tokens are of each request.

        Raises:
            LlmError: If one of the requests fails; ``text`` has what all of them
                brought.
        """
        with self._asker.call() as call:
            return self._asker.continue_to_end(
                prompt,
                options,
                call,
                max_requests=max_requests,
                max_total_tokens=max_total_tokens,
            )
