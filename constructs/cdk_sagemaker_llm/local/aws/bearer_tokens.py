"""
SageMaker's bearer tokens: whose they are, how long they hold, what they may do.

A token is a request for ``CallWithBearerToken`` that its owner has signed ahead, in
base64 (developer guide, realtime-endpoints-openai-compatible; its form is that of the
token generator in sagemaker-core 2.27). The service checks the signature, the region,
the expiry and what the owner may do, and answers 403. **Its words are not documented**:
those here are what Bedrock says of its own tokens, which have the same form, and IAM's.

Who signs with credentials that nobody made in here is the account itself, as for every
other request; of those that were made in here, and those that ``EmbeddedAws`` hands
out, the signature is held to the secret.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.iam.access_control import (
    AssumedRoleAccessKey,
    CreateAccessKeyFailure,
    IAMUserAccessKey,
)
from moto.iam.models import Policy
from moto.sts.models import sts_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws.clock import Clock
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.settings import CREDENTIAL
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.permissions import Verdict, judge

_SCHEME = "bearer "
_PREFIX = "sagemaker-api-key-"
_HOST = "sagemaker.amazonaws.com"
_ACTION = "CallWithBearerToken"
_SERVICE = "sagemaker"
_DATE = "%Y%m%dT%H%M%SZ"
# The guide: "anywhere between 1 second and 12 hours".
_LONGEST = 12 * 3600
# How far a signature's date may lie ahead, as of all of SigV4.
_SKEW = 300.0
# As many tokens as are remembered before those that have expired are forgotten.
_MANY = 10_000
_FORBIDDEN = 403


def _denied(message: str) -> AwsError:
    return AwsError("AccessDeniedException", message, _FORBIDDEN)


def wrong_token(why: str) -> AwsError:
    return _denied(
        f"Authentication failed: Please make sure your API Key is valid: {why}."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class BearerToken:
    """
    A token as it can be read, before anything of it is believed.

    Args:
        parameters: What its request says, by name.

        signed: When it was signed by its owner's clock, in seconds since the epoch.
    """

    parameters: dict[str, str]
    access_key: str
    region: str
    signed: float
    lifetime: int

    @classmethod
    def read(cls, authorization: str) -> BearerToken:
        """
        Read the header of a request.

        Raises:
            AwsError: If it has no token of this kind.
        """
        if not authorization:
            raise _denied("Missing Authentication Token")
        if not is_token(authorization):
            raise wrong_token("this route takes a bearer token and no signature")
        try:
            return cls._of(authorization[len(_SCHEME) :].strip())
        except (KeyError, ValueError, binascii.Error) as error:
            why = "it is no token of SageMaker's generator"
            raise wrong_token(why) from error

    @classmethod
    def _of(cls, text: str) -> BearerToken:
        if not text.startswith(_PREFIX):
            raise ValueError(_PREFIX)
        url = base64.b64decode(text.removeprefix(_PREFIX), validate=True).decode()
        place, _, query = url.partition("/?")
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
        parameters = dict(pairs)
        scope = parameters["X-Amz-Credential"].split("/")
        access_key, day, region, service, ending = scope
        date = datetime.strptime(parameters["X-Amz-Date"], _DATE).replace(tzinfo=UTC)
        if (place, service, ending) != (_HOST, _SERVICE, "aws4_request"):
            raise ValueError(place)
        if parameters["Action"] != _ACTION or f"{date:%Y%m%d}" != day:
            raise ValueError(parameters["Action"])
        if len(parameters) != len(pairs):
            raise ValueError(query)
        return cls(
            parameters=parameters,
            access_key=access_key,
            region=region,
            signed=date.timestamp(),
            lifetime=int(parameters["X-Amz-Expires"]),
        )

    @property
    def session_token(self) -> str | None:
        """
        What comes with the credentials of a session; ``None`` with those of a user.
        """
        return self.parameters.get("X-Amz-Security-Token")

    @property
    def signature(self) -> str:
        """
        The signature of the token.
        """
        return self.parameters["X-Amz-Signature"]

    def is_signed_with(self, secret: str) -> bool:
        """
        Tell whether the signature is what a secret makes of the rest.
        """
        # The version is written behind what is signed.
        unsigned = {"X-Amz-Signature", "Version"}
        query = "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
            for name, value in self.parameters.items()
            if name not in unsigned
        )
        url, headers = f"https://{_HOST}/?{query}", {"host": _HOST}
        request = AWSRequest(method="POST", url=url, headers=headers)
        request.context["timestamp"] = self.parameters["X-Amz-Date"]
        credentials = Credentials(self.access_key, secret, self.session_token)
        signer = SigV4QueryAuth(credentials, _SERVICE, self.region)
        text = signer.string_to_sign(request, signer.canonical_request(request))
        return hmac.compare_digest(
            signer.signature(text, request).encode(), self.signature.encode()
        )


def is_token(authorization: str) -> bool:
    """
    Tell whether a request shows any token in the place of a signature.
    """
    return authorization[: len(_SCHEME)].lower() == _SCHEME


def region_of(authorization: str) -> str | None:
    """
    Return the region that a request's token is for; ``None`` without such a token.
    """
    try:
        return BearerToken.read(authorization).region
    except AwsError:
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Bearer:
    """
    Who has signed a token.

    Args:
        arn: The user, or the session of a role.

        policies: What it may do; ``None`` for the account itself, which may do all.
    """

    arn: str
    account: str
    policies: tuple[dict[str, Any], ...] | None

    def check(self, action: str, resource: str) -> None:
        """
        Check that it may do something.

        Raises:
            AwsError: If it may not.
        """
        if self.policies is None:
            return
        context = dict.fromkeys(
            ("aws:principalaccount", "aws:resourceaccount"), self.account
        )
        context["aws:principalarn"] = self.arn
        verdict = judge(self.policies, action, resource, context)
        if verdict is Verdict.ALLOWED:
            return
        why = f"because no identity-based policy allows the {action} action"
        if verdict is Verdict.DENIED:
            why = "with an explicit deny in an identity-based policy"
        raise _denied(
            f"User: {self.arn} is not authorized to perform: {action} on resource: "
            f"{resource} {why}"
        )


class Tokens:
    """
    The tokens that were shown so far, and since when each counts.

    A token is dated by the clock of its owner's machine, and lasts by the clock in
    here, which may be ahead. Both agree on when it was shown first; what was signed in
    the second in which time was moved by hand counts as signed after that.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def __len__(self) -> int:
        """
        Return how many are remembered.
        """
        return len(self._since)

    def check(self, authorization: str, account: str, region: str) -> Bearer:
        """
        Return who has signed the token of a request to an account and region.

        Raises:
            AwsError: If there is none, or it is wrong or has expired.
        """
        token = BearerToken.read(authorization)
        if token.region != region:
            raise wrong_token(f"it is signed for {token.region}, which is no region")
        bearer, left = _bearer(token, account)
        if not 1 <= token.lifetime <= _LONGEST:
            raise wrong_token(
                f"it is for 1 to {_LONGEST} seconds, not {token.lifetime}"
            )
        wall = self._clock.wall
        if token.signed > wall + _SKEW:
            raise wrong_token("its signature is not yet current")
        if len(self._since) > _MANY:
            old = self._clock.now - _LONGEST
            self._since = {key: at for key, at in self._since.items() if at > old}
        moment = self._clock.at(min(token.signed + 1, wall))
        since = self._since.setdefault(token.signature, moment)
        if self._clock.now >= since + min(token.lifetime, left):
            raise _denied("Bearer Token has expired")
        return bearer


def _bearer(token: BearerToken, account: str) -> tuple[Bearer, float]:
    """
    Return who has signed a token, and for how long the credentials held from then on.
    """
    partition = get_partition(token.region)
    where = {"account_id": account, "partition": partition}
    headers = {"X-Amz-Security-Token": token.session_token or ""}
    key: AssumedRoleAccessKey | IAMUserAccessKey
    left = float(_LONGEST)
    try:
        key = AssumedRoleAccessKey(
            access_key_id=token.access_key, headers=headers, **where
        )
        (session,) = (
            one
            for one in sts_backends[account][partition].assumed_roles
            if one.access_key_id == token.access_key
        )
        left = session.expiration.replace(tzinfo=UTC).timestamp() - token.signed
    except CreateAccessKeyFailure as failure:
        if failure.reason == "InvalidToken":
            raise wrong_token("its session token is not that of its key") from failure
        try:
            key = IAMUserAccessKey(access_key_id=token.access_key, headers={}, **where)
        except CreateAccessKeyFailure:
            return _root(token, account, partition), left
    _check_signature(token, key.create_credentials().secret_key)
    policies = tuple(map(_document, key.collect_policies()))
    return Bearer(arn=key.arn, account=account, policies=policies), left


def _root(token: BearerToken, account: str, partition: str) -> Bearer:
    if token.access_key == CREDENTIAL:
        _check_signature(token, CREDENTIAL)
    arn = f"arn:{partition}:iam::{account}:root"
    return Bearer(arn=arn, account=account, policies=None)


def _check_signature(token: BearerToken, secret: str) -> None:
    if not token.is_signed_with(secret):
        raise wrong_token(
            "The request signature we calculated does not match the signature you "
            "provided"
        )


def _document(policy: Untyped) -> dict[str, Any]:
    # moto keeps each kind in a form of its own.
    if isinstance(policy, Policy):
        return _read(next(one.document for one in policy.versions if one.is_default))
    return _read(policy if isinstance(policy, str) else policy["policy_document"])


def _read(document: Untyped) -> dict[str, Any]:
    found: Untyped = json.loads(document) if isinstance(document, str) else document
    return found if isinstance(found, dict) else {}
