"""
The addresses that functions send their responses to.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from typing import Any

PATH = "/_embedded/custom-resource-response/"

_responses: dict[str, dict[str, Any]] = {}
_expected: dict[str, threading.Event] = {}


class Callback:
    """
    An address for one response.
    """

    def __init__(self) -> None:
        self._token = uuid.uuid4().hex
        _expected[self._token] = threading.Event()

    @property
    def url(self) -> str:
        """
        The address, which CloudFormation calls ``ResponseURL``.
        """
        return f"{os.environ['AWS_ENDPOINT_URL']}{PATH}{self._token}"

    def response(self, wait: float) -> dict[str, Any] | None:
        """
        Return what was sent, within some seconds, and take the address away.
        """
        _expected[self._token].wait(wait)
        del _expected[self._token]
        return _responses.pop(self._token, None)


def receive(path: str, body: bytes) -> int:
    """
    Take a response in.

    Returns:
        The HTTP status to answer with.
    """
    arrived = _expected.get(path.removeprefix(PATH))
    try:
        response = json.loads(body)
    except ValueError:
        return 400
    if arrived is None or not isinstance(response, dict):
        return 403
    _responses[path.removeprefix(PATH)] = response
    arrived.set()
    return 200
