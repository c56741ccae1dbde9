"""
What a client of one endpoint is made with, whichever way it waits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self, Unpack

from cdk_sagemaker_llm.client.answers import Generation, Token, confidence
from cdk_sagemaker_llm.client.arguments import (
    check_header,
    check_name,
    check_text,
    refuse,
)
from cdk_sagemaker_llm.client.asking import Asker
from cdk_sagemaker_llm.client.reader import MAX_BYTES
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.client.runtime import MAX_CONNECTIONS, Settings, Timeouts
from cdk_sagemaker_llm.client.stored import ClientOptions, reached
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
    Return the arguments that route a request, as the API names them.
    """
    arguments: dict[str, str] = {}
    for name, value in routing.items():
        if value is not None:
            check_name(name, value, "leave it out where there is none")
            check_header(name, value)
            arguments[_ROUTING[name]] = value
    return arguments
