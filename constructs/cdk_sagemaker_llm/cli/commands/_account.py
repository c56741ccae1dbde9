"""
What the commands that ask an account share: with which credentials, and where.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from cdk_sagemaker_llm.account.reader import AccountReader, ReadCall, policy_of
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._options import Profile, Region

if TYPE_CHECKING:
    import boto3

_ADDRESSES = ("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", "AWS_ENDPOINT_URL")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_INSTALL = (
    "an account is asked with boto3; install it with: pip install "
    "'cdk-sagemaker-llm[cli,client]'"
)

AsPolicy = Annotated[
    bool,
    typer.Option(
        "--policy", help="Print the IAM policy that it needs, and ask nothing."
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountOptions:
    """
    The options of whoever asks an account.
    """

    region: Region = None
    profile: Profile = None
    endpoint_url: Annotated[
        str | None,
        typer.Option(
            help="Where every service is, such as the embedded AWS; if omitted, "
            "AWS_ENDPOINT_URL, else AWS itself."
        ),
    ] = None

    def reader(self, calls: Sequence[ReadCall]) -> AccountReader:
        """
        Return who asks the account by the calls.
        """
        try:
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise MisuseError(_INSTALL) from error
        url = self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL")
        try:
            session = session_of(self.region, self.profile, url)
        except BotoCoreError as error:
            raise MisuseError(str(error)) from error
        return AccountReader(session, calls, endpoint_url=url)


def print_policy(calls: Sequence[ReadCall]) -> None:
    """
    Print the policy that a command's calls need.
    """
    typer.echo(json.dumps(policy_of(calls), indent=2))


def is_near(endpoint_url: str | None) -> bool:
    """
    Tell whether requests go to this machine.
    """
    addresses = (endpoint_url, *map(os.environ.get, _ADDRESSES))
    address = next(filter(None, addresses), "")
    return urlsplit(address).hostname in _THIS_MACHINE


def session_of(
    region: str | None, profile: str | None, endpoint_url: str | None
) -> boto3.Session:
    """
    Make the session; on this machine an emulation takes any credentials.
    """
    import boto3  # noqa: PLC0415 - an extra, and slow to load

    session = boto3.Session(profile_name=profile, region_name=region)
    if not is_near(endpoint_url):
        return session
    # Nobody waits for the metadata of an instance that this is not.
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    region = session.region_name or "us-east-1"
    if session.get_credentials() is not None:
        return boto3.Session(profile_name=profile, region_name=region)
    return boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        region_name=region,
    )
