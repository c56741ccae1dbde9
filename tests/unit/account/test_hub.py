"""
The Hub is asked for access, and gets the token that is meant for it alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cdk_sagemaker_llm.account.hub import Hub, UnreachableError

_GOOD = "good"
_asked: list[tuple[str, str | None]] = []


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """
        Answer as the Hub does.
        """
        token = self.headers.get("Authorization")
        _asked.append((self.path, token))
        status, code, place = 200, "", ""
        if "whoami" in self.path:
            status = 200 if token == f"Bearer {_GOOD}" else 401
        elif "gated/" in self.path and token is None:
            status, code = 403, "GatedRepo"
        elif "absent/" in self.path:
            status, code = 401, "RepoNotFound"
        elif "renamed/" in self.path:
            status, place = 307, "/api/models/new/name/auth-check"
        elif "broken/" in self.path:
            status = 503
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        if place:
            self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing.
        """


@pytest.fixture(name="hub", scope="module")
def _hub() -> Iterator[Hub]:
    """
    Serve on a free port of this machine.
    """
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "127.0.0.1")
        yield Hub(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("model", "access"),
    [("org/open", "open"), ("gated/one", "gated"), ("absent/one", "absent")],
)
def test_a_model_is_open_gated_or_absent(hub: Hub, model: str, access: str) -> None:
    """
    Without a token.
    """
    assert hub.access(model) == access


def test_a_token_opens_what_is_gated(hub: Hub) -> None:
    """
    Of whoever accepted the terms.
    """
    assert hub.access("gated/one", _GOOD) == "open"


def test_a_token_is_known_or_not(hub: Hub) -> None:
    """
    As whoami says.
    """
    assert hub.knows(_GOOD)
    assert not hub.knows("other")


def test_a_token_goes_nowhere_that_an_answer_leads(hub: Hub) -> None:
    """
    A renamed model is there; its new address is not asked.
    """
    _asked.clear()

    assert hub.access("renamed/one", _GOOD) == "open"
    assert _asked == [("/api/models/renamed/one/auth-check", f"Bearer {_GOOD}")]


def test_fails_if_the_hub_cannot_say(hub: Hub) -> None:
    """
    That is no finding.
    """
    with pytest.raises(UnreachableError, match="status 503"):
        hub.access("broken/one")
    with pytest.raises(UnreachableError, match="is not reached"):
        Hub("http://127.0.0.1:9").access("org/open", _GOOD)
