"""
Bearer tokens for the route of SageMaker that OpenAI's clients call; they need no
package of their own.

A token is a request for ``CallWithBearerToken`` that is signed here and never sent, in
base64; the form is that of the SageMaker SDK's ``generate_token`` (sagemaker-core
2.27), whose packages take more room than a Lambda has.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.client.arguments import check_name, check_whole, refuse
from cdk_sagemaker_llm.client.errors import RefusedError

if TYPE_CHECKING:
    import boto3

_HOST = "sagemaker.amazonaws.com"
_PREFIX = "sagemaker-api-key-"
# The developer guide, realtime-endpoints-openai-compatible: 12 hours at most.
_LONGEST = 43_200


def bearer_token(
    region: str | None = None,
    *,
    seconds: int = _LONGEST,
    session: boto3.Session | None = None,
) -> str:
    """
    Make a bearer token, which OpenAI's SDK takes as its key.

    ``OpenAI(base_url=connection["openai_base_url"], api_key=bearer_token)``

    Nothing is sent. Whoever has the token may do what the credentials may that signed
    it; ``grant_invoke(bearer_token=True)`` lets them ask with one. The SDK calls a
    function that is its ``api_key`` before each request, so that no token gets old.

    Args:
        region: The endpoint's region. If omitted, it is the session's.

        seconds: How long the token holds, 43,200 (12 hours) at most, and no longer
            than the credentials.

        session: The boto3 session. If omitted, boto3's default one.

    Raises:
        ValueError: If it is to hold for no time, or for more than 12 hours, the region
            is no name, or the session none of boto3's.

        RefusedError: If there are no credentials, or no region.
    """
    if region is not None:
        check_name("region", region, "leave it out for the session's")
    check_whole("seconds", seconds)
    if not 1 <= seconds <= _LONGEST:
        refuse("seconds", f"1 to {_LONGEST} (12 hours)", seconds)
    if session is not None and not hasattr(session, "get_credentials"):
        refuse("session", "a boto3.Session", session)
    import boto3  # noqa: PLC0415 - an extra, and a quarter of a second to import
    from botocore.auth import SigV4QueryAuth  # noqa: PLC0415 - as above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - as above

    session = session or boto3.DEFAULT_SESSION or boto3.Session()
    region = region or session.region_name
    credentials = session.get_credentials()
    if not region:
        remedy = "name the endpoint's region, or set AWS_DEFAULT_REGION"
        raise RefusedError("a bearer token is for one region", remedy=remedy)
    if credentials is None:
        remedy = "set up credentials as for boto3: a role, a profile or variables"
        raise RefusedError("there are no credentials to sign with", remedy=remedy)
    request = AWSRequest(
        method="POST",
        url=f"https://{_HOST}/",
        headers={"host": _HOST},
        params={"Action": "CallWithBearerToken"},
    )
    # All of one moment: they may be renewed while they are read.
    frozen = credentials.get_frozen_credentials()
    SigV4QueryAuth(frozen, "sagemaker", region, expires=seconds).add_auth(request)
    signed = f"{request.url}&Version=1".removeprefix("https://")
    return _PREFIX + base64.b64encode(signed.encode()).decode()
