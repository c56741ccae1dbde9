"""
A request that a real model server answers, in the container's place.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from werkzeug.datastructures import Headers

from cdk_sagemaker_llm.local.aws.forwards import Forward
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import JSON

# As long as a container has to answer, and as long as a stream may be silent.
PATIENCE = 60.0
_QUICK = 5.0
_PIECE = 65_536
_NO_SUCCESS = 300
_UNKNOWN = (400, 404)
_NOT_FOUND, _UNAVAILABLE, _BAD_GATEWAY = 404, 503, 502
# What FastAPI says of a path that it does not have.
_NO_ROUTE = {"detail": "Not Found"}
_ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
# What a body has, and which of OpenAI's routes takes it.
_ROUTES = {
    "messages": "/v1/chat/completions",
    "prompt": "/v1/completions",
    "input": "/v1/embeddings",
}
_OTHERWISE = "/invocations"


class LateError(Exception):
    """
    The server took longer than a container may.
    """


class BrokenOffError(Exception):
    """
    The server's answer ended before its end.
    """


class Reply:
    """
    A server's answer: its head is there, its body comes.
    """

    def __init__(
        self, connection: http.client.HTTPConnection, head: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._head = head
        self.kind = head.headers.get("Content-Type", JSON)

    def whole(self) -> bytes:
        """
        Read the body, unless it takes too long or breaks off.
        """
        pieces, deadline = [], time.monotonic() + PATIENCE
        try:
            for piece in self.pieces():
                pieces.append(piece)
                if time.monotonic() > deadline:
                    raise LateError
        finally:
            self.close()
        return b"".join(pieces)

    def pieces(self) -> Iterator[bytes]:
        """
        Walk through the body as it comes, and close the connection; raise a
        ``LateError`` if nothing comes for too long, a ``BrokenOffError`` if it breaks
        off.
        """
        try:
            while piece := self._head.read1(_PIECE):
                yield piece
            # Python says nothing of a body that is shorter than announced.
            if self._head.length:
                raise BrokenOffError
        except TimeoutError as error:
            raise LateError from error
        except (OSError, http.client.HTTPException) as error:
            raise BrokenOffError from error
        finally:
            self.close()

    def close(self) -> None:
        """
        Have the server notice that nobody reads on.
        """
        self._head.close()
        self._connection.close()


def ask(
    forward: Forward,
    body: bytes,
    headers: Headers,
    adapter: str | None,
    path: str | None = None,
) -> Reply:
    """
    Send a request on and wait for the head of its answer; without a path, its body says
    which of OpenAI's routes it is for.

    Raises:
        RefusedError: If the server refuses it, or is not there.

        LateError: If nothing comes for too long.
    """
    path, model = _addressed(forward, body, adapter, path)
    if model is None:
        return _send(forward, path, body, headers)
    try:
        return _send(forward, path, _naming(model, body), headers)
    except RefusedError as refused:
        # `transformers serve` lists what its cache has, and may know one model alone.
        is_wrong = refused.status in _UNKNOWN and model in refused.body
        if adapter or not is_wrong:
            raise
    return _send(forward, path, body, headers)


def _send(forward: Forward, path: str, body: bytes, headers: Headers) -> Reply:
    fields_to_send = {"Content-Type": headers.get("Content-Type", JSON)}
    fields_to_send |= {
        name: headers[name] for name in ("Accept", _ATTRIBUTES) if name in headers
    }
    connection = _connection(forward, PATIENCE)
    try:
        connection.request("POST", path, body, fields_to_send)
        head = connection.getresponse()
        if head.status < _NO_SUCCESS:
            return Reply(connection, head)
        with suppress(BrokenOffError):
            text = Reply(connection, head).whole().decode(errors="replace")
            text = _explained(forward, path, head.status, text)
            raise RefusedError(head.status, text or head.reason)
        raise RefusedError(head.status, head.reason)
    except TimeoutError as error:
        connection.close()
        raise LateError from error
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise _unreachable(forward, error) from error


def _addressed(
    forward: Forward, body: bytes, adapter: str | None, path: str | None
) -> tuple[str, str | None]:
    if forward.path is not None:
        return forward.path, None
    document = _object(body)
    if path is None:
        keys = (name for name in _ROUTES if document.get(name) is not None)
        path = next((_ROUTES[name] for name in keys), None)
    if path is None:
        return _OTHERWISE, None
    # A name that is empty is none, as AWS's own examples send it.
    if document.get("model") not in (None, ""):
        return path, None
    return path, adapter or _first_model(forward)


def _naming(model: str, body: bytes) -> bytes:
    document = {**_object(body), "model": model}
    return json.dumps(document, ensure_ascii=False).encode()


def _first_model(forward: Forward) -> str | None:
    connection = _connection(forward, _QUICK)
    try:
        connection.request("GET", "/v1/models")
        listed = _object(connection.getresponse().read()).get("data")
        first = listed[0] if isinstance(listed, list) and listed else {}
        return str(first["id"])
    except (OSError, http.client.HTTPException, KeyError, TypeError):
        return None
    finally:
        connection.close()


def _connection(forward: Forward, timeout: float) -> http.client.HTTPConnection:
    parts = forward.parts
    is_plain = parts.scheme == "http"
    kind = http.client.HTTPConnection if is_plain else http.client.HTTPSConnection
    return kind(parts.hostname or "", parts.port, timeout=timeout)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _explained(forward: Forward, path: str, status: int, text: str) -> str:
    """
    Say of a server that knows no such path what it would take.
    """
    is_nameless = path == _OTHERWISE or _object(text.encode()) == _NO_ROUTE
    if status != _NOT_FOUND or not is_nameless:
        return text
    explanation = (
        f"the model server at {forward.url}, to which {forward.name} is forwarded, has "
        f"no {path}"
    )
    if path != _OTHERWISE:
        return explanation
    return (
        f"{explanation}, where a body goes that has none of {', '.join(_ROUTES)}; ask "
        'with schema="openai" (--schema openai), or for a chat (--chat)'
    )


def _unreachable(forward: Forward, error: Exception) -> RefusedError:
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, http.client.HTTPException | ConnectionResetError):
        return RefusedError(
            _BAD_GATEWAY,
            f"the model server at {forward.url}, to which {forward.name} is forwarded, "
            f"ended the connection without an answer: {why}",
        )
    return RefusedError(
        _UNAVAILABLE,
        f"no model server answers at {forward.url}, to which {forward.name} is "
        f"forwarded: {why}; start it, or correct --forward",
    )
