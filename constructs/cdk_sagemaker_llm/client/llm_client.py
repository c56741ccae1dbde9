"""
A client of one endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from cdk_sagemaker_llm.client.answers import (
    Embeddings,
    Generation,
    Ranked,
    Token,
    confidence,
)
from cdk_sagemaker_llm.client.arguments import check_name, check_text, refuse
from cdk_sagemaker_llm.client.asking import Asker
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


class BaseClient:
    """
    What a client is made with, whichever way it is used.

    Args:
        endpoint: The endpoint's name.

        component: The inference component's name. If omitted, the endpoint has none.

        variant: The variant to ask. If omitted, SageMaker chooses one.

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
        for name, value in (("component", component), ("variant", variant)):
            if value is not None:
                check_name(name, value, "leave it out where there is none")
        if custom_attributes is not None:
            check_text("custom_attributes", custom_attributes)
        named = {
            "EndpointName": endpoint,
            "InferenceComponentName": component,
            "TargetVariant": variant,
            "CustomAttributes": custom_attributes,
        }
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
        self._asker = Asker(arguments, settings, session, schema, format)

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

    def close(self) -> None:
        """
        Close the connections that are open. Using the client again opens new ones.
        """
        self._asker.close()

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
