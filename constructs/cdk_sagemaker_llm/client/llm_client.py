"""
A client of one endpoint.
"""

from __future__ import annotations

import copy
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from cdk_sagemaker_llm.client.answers import (
    Embeddings,
    Generation,
    Ranked,
    Token,
    confidence,
)
from cdk_sagemaker_llm.client.arguments import (
    check_header,
    check_name,
    check_text,
    refuse,
)
from cdk_sagemaker_llm.client.asking import Asker
from cdk_sagemaker_llm.client.asynchronous import AsyncRequest, PendingAnswer
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.reader import MAX_BYTES, joined
from cdk_sagemaker_llm.client.requests import (
    ChatOptions,
    Message,
    Options,
    Schema,
)
from cdk_sagemaker_llm.client.stored import ClientOptions, reached, stored
from cdk_sagemaker_llm.client.transport import MAX_CONNECTIONS, Settings, Timeouts
from cdk_sagemaker_llm.client.wire.step import WireFormat

if TYPE_CHECKING:
    import boto3
    from botocore.config import Config


# What opens a session, in place of one's name.
NEW_SESSION = "NEW_SESSION"
_ROUTING = {
    "variant": "TargetVariant",
    "container": "TargetContainerHostname",
    "prefix_aware_id": "PrefixAwareId",
    "session_id": "SessionId",
    "inference_id": "InferenceId",
}


class BaseClient:
    """
    What a client is made with, whichever way it is used.

    Args:
        endpoint: The endpoint's name.

        component: The inference component's name. If omitted, the endpoint has none.

        variant: The variant to ask. If omitted, SageMaker chooses one.

        container: The host name of the container to ask, where a model has several
            that are invoked directly. If omitted, it has one.

        prefix_aware_id: What keeps this application's prompts apart from others' that
            begin alike, at an endpoint of ``PrefixAwareRouting``. If omitted, SageMaker
            goes by the prompts alone.

        schema: How the container wants a prompt: ``lmi``, ``tgi``, ``openai``, or
            ``chat`` where it takes chats alone; a chat is the same for all of them.
            If omitted, a connection says it, or else the first prompt is sent as
            ``inputs``: a container that refuses those says what it wants, and is
            asked so from then on.

        format: The container's family, as in ``read_stream``.
            If omitted, its answers are recognised.

        timeouts: How long to wait. If omitted, the defaults of ``Timeouts``.

        retries: How often a request is sent again that can have had no effect: one
            that was throttled, or that found no connection. Nothing else ever is.

        wait_for_capacity: How many seconds to wait while no copy of the model is
            there, as when it wakes from zero. The log says so, and 0 does not wait.

        on_wait: What is called with a sentence when such a wait begins, and each
            minute of it. If omitted, the log alone says so.

        max_bytes: How much of an answer is kept.

        max_connections: How many requests may be under way at a time, each on a
            connection of its own. Others wait in the order they came until one ends, a
            stream when it is read to its end or closed; the log says so after 5 s, and
            ``Timeouts(total=...)`` bounds that too.

        custom_attributes: What SageMaker passes on to the container, such as a route.
            If omitted, nothing.

        region: The region. If omitted, the session's.

        endpoint_url: The address of the runtime. If omitted, AWS's.

        session: The boto3 session. If omitted, boto3's default one.

        config: Further settings of botocore's, such as proxies.
            If omitted, there are none.

    Raises:
        RefusedError: If boto3 refuses what it was given, or knows no region.
    """

    def __init__(
        self,
        endpoint: str,
        component: str | None = None,
        *,
        variant: str | None = None,
        container: str | None = None,
        prefix_aware_id: str | None = None,
        schema: Schema | str | None = None,
        format: WireFormat | str | None = None,
        timeouts: Timeouts | None = None,
        retries: int = 3,
        wait_for_capacity: float = 600.0,
        on_wait: Callable[[str], None] | None = None,
        max_bytes: int = MAX_BYTES,
        max_connections: int = MAX_CONNECTIONS,
        custom_attributes: str | None = None,
        region: str | None = None,
        endpoint_url: str | None = None,
        session: boto3.Session | None = None,
        config: Config | None = None,
    ) -> None:
        check_name("endpoint", endpoint, "name the endpoint: LlmClient('my-endpoint')")
        if ":" in endpoint or "/" in endpoint:
            name = endpoint.removesuffix("/invocations").rpartition("/")[2]
            refuse(
                "endpoint", "a name, no ARN and no address", endpoint, f"write {name!r}"
            )
        if component is not None:
            check_name("component", component, "leave it out where there is none")
            check_header("component", component)
        if custom_attributes is not None:
            check_text("custom_attributes", custom_attributes)
            check_header("custom_attributes", custom_attributes)
        named = {
            "EndpointName": endpoint,
            "InferenceComponentName": component,
            "CustomAttributes": custom_attributes,
        }
        routing = _routing(
            variant=variant, container=container, prefix_aware_id=prefix_aware_id
        )
        settings = Settings(
            timeouts=Timeouts() if timeouts is None else timeouts,
            retries=retries,
            wait_for_capacity=wait_for_capacity,
            on_wait=on_wait,
            max_bytes=max_bytes,
            max_connections=max_connections,
            region=region,
            endpoint_url=endpoint_url,
            config=config,
        )
        arguments = {name: value for name, value in named.items() if value is not None}
        self._asker = Asker({**arguments, **routing}, settings, session, schema, format)

    @classmethod
    def from_connection(cls, connection: str, **options: Unpack[ClientOptions]) -> Self:
        """
        Make the client of a connection that ``Connection.to_json()`` has written.

        ``LlmClient.from_connection(os.environ["LLM"])``

        Args:
            connection: The text, which names endpoint, component, region and schema.

            options: What else ``BaseClient`` takes.

        Raises:
            ValueError: If it is no connection.
        """
        return cls(**reached(connection, options))

    def with_routing(
        self,
        *,
        variant: str | None = None,
        container: str | None = None,
        prefix_aware_id: str | None = None,
        session_id: str | None = None,
        inference_id: str | None = None,
    ) -> Self:
        """
        Return a client whose requests go another way, over the same connections.

        ``client.with_routing(inference_id="order-17").generate("Who is it?")``

        It is cheap, so that each request may have its own. Closing one of both closes
        the connections of both, which open anew when they are used.

        Args:
            variant: The variant to ask. If omitted, as before.

            container: The host name of the container. If omitted, as before.

            prefix_aware_id: What keeps an application's prompts apart. If omitted, as
                before.

            session_id: The session that the requests are of, as ``session()`` opens
                one. If omitted, as before.

            inference_id: What a request is called in the data that the endpoint
                captures, and in the answers of asynchronous inference.
                If omitted, as before.
        """
        routing = _routing(
            variant=variant,
            container=container,
            prefix_aware_id=prefix_aware_id,
            session_id=session_id,
            inference_id=inference_id,
        )
        other = copy.copy(self)
        other._asker = self._asker.with_arguments(routing)  # noqa: SLF001 - its own kind
        return other

    @property
    def session_id(self) -> str | None:
        """
        The session that the requests are of; ``None`` without one.
        """
        return self._asker.transport.arguments.get("SessionId")

    @property
    def session_expires(self) -> str | None:
        """
        When the session ends by itself, as its container said; ``None`` if it did not.
        """
        session = self._asker.transport.session
        return (session.expires or None) if session else None

    def close(self) -> None:
        """
        Close the connections that are open. Using the client again opens new ones.
        """
        self._asker.close()

    @staticmethod
    def confidence(answer: Generation | Iterable[Token]) -> float | None:
        """
        Return how sure the model was: exp of the mean log probability.

        ``None`` if the answer has no log probabilities.

        Args:
            answer: The answer, or its tokens.
        """
        tokens = answer.tokens if isinstance(answer, Generation) else answer
        return confidence(tokens)


def _routing(**routing: str | None) -> dict[str, str]:
    """
    Name what is said of a request's way as the API does.
    """
    arguments: dict[str, str] = {}
    for name, value in routing.items():
        if value is not None:
            check_name(name, value, "leave it out where there is none")
            check_header(name, value)
            arguments[_ROUTING[name]] = value
    return arguments


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
