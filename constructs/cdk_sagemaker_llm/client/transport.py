"""
Bytes to an endpoint and back, and how patiently: waiting, trying again, giving up.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.client.connections import Call, under_way
from cdk_sagemaker_llm.client.errors import (
    AnswerTimeoutError,
    AnswerTooLargeError,
    LlmError,
    NoCapacityError,
    ThrottledError,
    from_boto,
    is_unsent,
)
from cdk_sagemaker_llm.client.events import payloads
from cdk_sagemaker_llm.client.runtime import Opened, Settings

_LOGGER = logging.getLogger("cdk_sagemaker_llm.client")
_PIECE = 65_536
# Seconds between two looks for capacity, and between two tries.
_FIRST_LOOK, _LONGEST_LOOK = 1.0, 15.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0
_SAY_AGAIN = 60.0


@dataclass(frozen=True, slots=True)
class Session:
    """
    A session as its container has opened it.

    Args:
        id: Its id.

        expires: When it ends by itself, as the container says it. If omitted, it does
            not say.
    """

    id: str
    expires: str = ""


class Transport:
    """
    Sends requests to one endpoint.

    Args:
        arguments: What each of them says beside its body, as the API calls it.
    """

    def __init__(self, arguments: Mapping[str, str], opened: Opened) -> None:
        self.session: Session | None = None
        self.opened = opened
        self._arguments = {"ContentType": "application/json", **arguments}
        self._settings = opened.settings

    @property
    def arguments(self) -> Mapping[str, str]:
        return self._arguments

    def with_arguments(self, arguments: Mapping[str, str]) -> Transport:
        """
        Return a transport that adds arguments to its requests, over the same
        connections.
        """
        other = Transport({**self._arguments, **arguments}, self.opened)
        if "SessionId" not in arguments:
            other.session = self.session
        return other

    def call(self) -> Call:
        return Call(self._settings.timeouts.total, self.opened.places)

    def chunks(self, body: bytes, call: Call, *, stream: bool) -> Generator[bytes]:
        """
        Send a request and walk through the bytes of its answer, as whoever calls waits.

        An event loop has a thread wait for what comes after an empty chunk, until the
        call has arrivals.
        """
        if call.loop is not None:
            yield b""
        response = self.patiently(lambda: self._send(body, call, stream=stream), call)
        try:
            with closing(response["Body"]):
                yield from (
                    self._streamed(response["Body"], call)
                    if stream
                    else self._whole(response["Body"])
                )
        except Exception as error:
            raise self._failure(error, call) from error
        finally:
            call.arrivals = None

    def _streamed(self, body: Any, call: Call) -> Iterator[bytes]:  # noqa: ANN401 - botocore's stream, or a stub's
        patience = self._settings.timeouts.read
        arrivals = None
        if call.loop is not None:
            from cdk_sagemaker_llm.client.arrivals import (  # noqa: PLC0415 - asyncio is slow to import
                Arrivals,
            )

            arrivals = call.arrivals = Arrivals.of(body, call.loop, patience)
        pieces = None if arrivals is None else arrivals.pieces()
        silence, began = 0.0, time.monotonic()
        try:
            for parts in payloads(body, pieces):
                if any(map(_says_something, parts)):
                    silence = 0.0
                else:
                    silence += time.monotonic() - began
                    if silence > patience:
                        message = (
                            "nothing but blank lines and keep-alives for "
                            f"{patience:g} s"
                        )
                        raise AnswerTimeoutError(message)
                yield b"".join(parts)
                # What the reader of the tokens does with them is no silence.
                began = time.monotonic() - (arrivals.waited if arrivals else 0.0)
        finally:
            if arrivals is not None:
                arrivals.close()

    def _whole(self, body: Any) -> Iterator[bytes]:  # noqa: ANN401 - botocore's body
        limit, size = self._settings.max_bytes, 0
        while piece := body.read(_PIECE):
            size += len(piece)
            if size > limit:
                raise AnswerTooLargeError(f"the answer is larger than {limit} bytes")
            yield piece

    def patiently(
        self, send: Callable[[], Mapping[str, Any]], call: Call
    ) -> Mapping[str, Any]:
        """
        Send a request, and send it again where the first cannot have had an effect.
        """
        tries, wait = 0, _Wait(self._settings)
        while True:
            try:
                return send()
            except NoCapacityError as error:
                wait.once(error, call)
            except LlmError as error:
                tries += 1
                is_harmless = isinstance(error, ThrottledError) or is_unsent(
                    error.__cause__
                )
                if not is_harmless or tries > self._settings.retries:
                    raise
                longest = min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE)
                call.wait(random.uniform(longest / 2, longest))  # noqa: S311 - no secret

    def _send(self, body: bytes, call: Call, *, stream: bool) -> Mapping[str, Any]:
        runtime = self.opened.runtime
        invoke: Callable[..., Mapping[str, Any]] = (
            runtime.invoke_endpoint_with_response_stream
            if stream
            else runtime.invoke_endpoint
        )
        if call.is_given_up:
            raise call.reason()
        try:
            with under_way(call):
                response = invoke(Body=body, **self._arguments)
        except Exception as error:
            raise self._failure(error, call) from error
        self._keep_session(response)
        return response

    def _keep_session(self, response: Mapping[str, Any]) -> None:
        """
        Send further requests in the session that the container has opened.
        """
        if opened := response.get("NewSessionId"):
            name, _, expires = opened.partition(";")
            self.session = Session(name, expires.strip().removeprefix("Expires="))
            self._arguments = {**self._arguments, "SessionId": name}
        elif response.get("ClosedSessionId"):
            self.end_session()

    def end_session(self) -> None:
        """
        Send further requests outside of any session.
        """
        self.session = None
        kept = self._arguments.items()
        self._arguments = {name: said for name, said in kept if name != "SessionId"}

    def _failure(self, error: Exception, call: Call) -> LlmError:
        if call.is_given_up:
            return call.reason()
        return from_boto(error)


class _Wait:
    """
    Waiting for a copy that wakes up.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # From the first refusal on: how long a request takes is no waiting.
        self._began: float | None = None
        self._look = _FIRST_LOOK
        self._said = -_SAY_AGAIN

    def once(self, error: NoCapacityError, call: Call) -> None:
        """
        Wait a little longer, or raise the error if that was long enough.
        """
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        waited = now - self._began
        left = self._settings.wait_for_capacity - waited
        error.waited = waited if self._settings.wait_for_capacity else 0.0
        if left <= 0:
            if error.waited:
                error.message += f"; waited {waited:.0f} s"
            raise error
        if waited - self._said >= _SAY_AGAIN:
            self._said = waited
            message = (
                f"no copy of the model is there yet: waiting for one since "
                f"{waited:.0f} s, for {left:.0f} s at most"
            )
            _LOGGER.warning("%s", message)
            if self._settings.on_wait is not None:
                self._settings.on_wait(message)
        call.wait(min(self._look * random.uniform(0.8, 1.0), left))  # noqa: S311 - no secret
        if call.is_late:
            error.waited = time.monotonic() - self._began
            error.message += f"; the total of {call.seconds:g} s is over"
            raise error
        self._look = min(self._look * 1.5, _LONGEST_LOOK)


def _says_something(part: bytes) -> bool:
    content = part.strip()
    return bool(content) and content[:1] != b":"
