"""
Who may into registries: those of Amazon ECR, and others that ask for no one.
"""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from http.client import HTTPException

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.image_order import ImageOrder
from cdk_sagemaker_llm.staging.registry import BusyError, Registry

_SECONDS = 60
_PART = re.compile(r'(\w+)="([^"]*)"')


class EcrLogin:
    """
    A login to a registry of Amazon ECR, as good as its role for twelve hours.

    Args:
        account: Whose registry it is; empty for the role's own.

        region: Where it is; empty for the build's own.
    """

    def __init__(self, account: str = "", region: str = "") -> None:
        self._account = account
        self._region = region
        self.url, self._header = self._ask()

    def __call__(self, challenge: str) -> str:
        """
        Return the header, a new one where the old one is refused.
        """
        if challenge:
            self.url, self._header = self._ask()
        return self._header

    def _ask(self) -> tuple[str, str]:
        # The account changes nothing of the login; the address comes with it.
        registries = {"registryIds": [self._account]} if self._account else {}
        try:
            client = boto3.client("ecr", region_name=self._region or None)
            (found,) = client.get_authorization_token(**registries)["authorizationData"]
        except (BotoCoreError, ClientError) as fault:
            where = f"of {self._region}" if self._region else "of this region"
            raise StagingError(
                f"Amazon ECR {where} does not let the role log in: {fault}; a region "
                "of another partition never does"
            ) from fault
        return found["proxyEndpoint"], f"Basic {found['authorizationToken']}"


class OpenLogin:
    """
    A login to a registry that lets everybody read, after it has handed out a token.
    """

    def __call__(self, challenge: str) -> str:
        """
        Return the header, as the registry's challenge says where to get it.
        """
        said = dict(_PART.findall(challenge))
        if not challenge.lower().startswith("bearer ") or "realm" not in said:
            return ""
        realm = said.pop("realm")
        if not realm.startswith(("https://", "http://")):
            raise StagingError(f"a registry hands out tokens at no address: {realm!r}")
        asked = f"{realm}?{urllib.parse.urlencode(said)}"
        try:
            with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310 - held just above
                found = json.loads(answer.read())
        except (OSError, HTTPException, ValueError) as fault:
            raise BusyError(f"no token from {realm}: {fault}") from fault
        return f"Bearer {found.get('token') or found.get('access_token', '')}"


def source_of(order: ImageOrder) -> Registry:
    """
    Return where an image is mirrored from.
    """
    if order.source_url:
        return Registry(order.source_url, order.source_repository, OpenLogin())
    login = EcrLogin(order.source_account, order.source_region)
    return Registry(login.url, order.source_repository, login)


def target_of(order: ImageOrder) -> Registry:
    """
    Return where an image is mirrored to.
    """
    login = EcrLogin()
    return Registry(login.url, order.repository, login)
