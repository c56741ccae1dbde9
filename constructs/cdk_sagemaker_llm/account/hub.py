"""
Whether the Hugging Face Hub hands out a model to whoever has a token.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

HUB = "https://huggingface.co"
_SECONDS = 5.0
_REFUSED = (401, 403, 404)

Access = Literal["open", "gated", "absent"]


class UnreachableError(Exception):
    """
    The Hub gave no answer that says anything.
    """


@dataclass(slots=True)
class Hub:
    """
    The Hub, asked for access alone; a token is sent nowhere else.

    Args:
        address: Where it is. If omitted, it is Hugging Face's own.
    """

    address: str = HUB

    def knows(self, token: str) -> bool:
        """
        Whether a token is one that the Hub takes.

        Raises:
            UnreachableError: If the Hub does not answer.
        """
        status, _ = self._get("/api/whoami-v2", token)
        return self._judged(status) == "open"

    def access(self, model: str, token: str = "") -> Access:
        """
        Whether a model may be downloaded, with a token or without one.

        The Hub does not tell a private model from one that is not there.

        Raises:
            UnreachableError: If the Hub does not answer.
        """
        # As HfApi.auth_check of huggingface_hub asks.
        status, code = self._get(f"/api/models/{quote(model)}/auth-check", token)
        found = self._judged(status)
        return "gated" if found != "open" and code == "GatedRepo" else found

    def _judged(self, status: int) -> Access:
        if status < http.client.BAD_REQUEST:
            return "open"
        if status in _REFUSED:
            return "absent"
        raise UnreachableError(f"the Hub answers with status {status}")

    def _get(self, path: str, token: str) -> tuple[int, str]:
        request = urllib.request.Request(  # noqa: S310 - the Hub's own address
            self.address + path, headers={"User-Agent": "cdk-sagemaker-llm"}
        )
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers.get("X-Error-Code", "")
        except (OSError, http.client.HTTPException) as fault:
            reason = getattr(fault, "reason", "") or type(fault).__name__
            raise UnreachableError(f"{self.address} is not reached: {reason}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """
        Follow no redirect: the token would go along.
        """


_OPENER = urllib.request.build_opener(_NoRedirect())
