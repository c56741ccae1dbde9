"""
Which endpoints and components are answered by a real model server, and where it is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_EXAMPLE = "chat=http://127.0.0.1:8000"
# Below these the server has OpenAI's routes; any other path is the one to ask.
_ROOTS = ("", "/v1")


@dataclass(frozen=True, slots=True)
class Forward:
    """
    A model server that answers in a container's place.

    Args:
        name: The endpoint or inference component whose requests it gets.

    Raises:
        ValueError: If it is no address of a server.
    """

    name: str
    url: str

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.url, str):
            raise ValueError(f"forward must be a name and a URL, as {_EXAMPLE}")
        try:
            parts = urlsplit(self.url)
            is_server = parts.scheme in {"http", "https"} and bool(parts.hostname)
            is_server = is_server and parts.port != 0
        except ValueError:
            is_server = False
        if not is_server:
            raise ValueError(
                f"forward must lead to http://HOST:PORT, got {self.url!r} for "
                f"{self.name}"
            )
        if parts.query or parts.fragment or parts.username or parts.password:
            raise ValueError(
                f"forward takes a scheme, a host, a port and a path, and nothing "
                f"else, for {self.name}"
            )

    @property
    def parts(self) -> SplitResult:
        """
        The parts of the address.
        """
        return urlsplit(self.url)

    @property
    def is_near(self) -> bool:
        """
        Whether it leads to this machine, and plainly.
        """
        host = self.parts.hostname or ""
        if self.parts.scheme != "http":
            return False
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def path(self) -> str | None:
        """
        The one path to ask; ``None`` where the server has OpenAI's routes.
        """
        path = self.parts.path.rstrip("/")
        return None if path in _ROOTS else self.parts.path


def parse_forwards(texts: Iterable[str]) -> dict[str, str]:
    """
    Read texts such as ``NAME=URL``; raise a ``ValueError`` where one has another form,
    or a name comes twice.
    """
    found: dict[str, str] = {}
    for one in texts:
        name, equals, url = one.partition("=")
        if not name or not equals or not url:
            raise ValueError(f"forward must be NAME=URL, as {_EXAMPLE}, got {one!r}")
        if name in found:
            raise ValueError(f"forward names {name} twice; give it one address")
        found[name] = url
    return found


def check_forwards(forward: Mapping[str, str], *, anywhere: bool) -> None:
    """
    Refuse addresses that are none, or not of this machine unless that is allowed.
    """
    for name, url in forward.items():
        if not Forward(name, url).is_near and not anywhere:
            raise ValueError(
                "forward leads to http:// on this machine (localhost, 127.0.0.1, ::1) "
                f"unless forward_anywhere allows more, got {url} for {name}"
            )


class Forwards:
    """
    The servers that answer in containers' places, by the names of endpoints and
    components.
    """

    def __init__(self, forward: Mapping[str, str] | None = None) -> None:
        self._named = {
            name: Forward(name, url) for name, url in (forward or {}).items()
        }

    def find(self, *names: str | None) -> Forward | None:
        """
        Return the server of the first of the names that has one.
        """
        found = (self._named.get(name) for name in names if name)
        return next(filter(None, found), None)
