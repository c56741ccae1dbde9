"""
Connections that were written down where an endpoint was defined.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from cdk_sagemaker_llm.client.arguments import check_name, check_text
from cdk_sagemaker_llm.client.errors import RefusedError, from_boto
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.client.runtime import Timeouts, make_client
from cdk_sagemaker_llm.client.wire.step import WireFormat

if TYPE_CHECKING:
    import boto3
    from botocore.config import Config


class ClientOptions(TypedDict, total=False):
    """
    What else a client takes, beside what a connection says, as ``BaseClient`` has it.

    A ``component`` or ``schema`` given here counts in place of the connection's.
    """

    component: str | None
    variant: str | None
    container: str | None
    prefix_aware_id: str | None
    schema: Schema | str | None
    format: WireFormat | str | None
    timeouts: Timeouts | None
    retries: int
    wait_for_capacity: float
    on_wait: Callable[[str], None] | None
    max_bytes: int
    max_connections: int
    custom_attributes: str | None
    endpoint_url: str | None
    session: boto3.Session | None
    config: Config | None


class Reached(ClientOptions, total=False):
    """
    All that a client is made with.
    """

    endpoint: str
    region: str | None


_WRITTEN = (
    "give the JSON that store_connection() and Connection.to_json() write; a variable "
    "of the environment may be missing"
)
_NAMES = {
    "endpoint_name": "endpoint",
    "inference_component_name": "component",
    "region": "region",
    "schema": "schema",
}


def reached(connection: str, options: ClientOptions) -> Reached:
    """
    Read a connection, and add what its user says beside it.
    """
    check_text("connection", connection, _WRITTEN)
    try:
        entry = json.loads(connection)
    except (ValueError, RecursionError):
        entry = None
    names_one = isinstance(entry, dict) and isinstance(entry.get("endpoint_name"), str)
    if not names_one:
        raise ValueError(
            "the connection must be JSON with an endpoint_name, as store_connection() "
            f"and Connection.to_json() write it, got {connection[:60]!r}"
        )
    found: Reached = {}
    for name, argument in _NAMES.items():
        if entry.get(name) is not None:
            found[argument] = entry[name]  # type: ignore[literal-required] # one of four
    return {**found, **options}


def stored(
    parameter_name: str,
    options: ClientOptions,
    *,
    region: str | None,
    ssm_endpoint_url: str | None,
) -> str:
    """
    Return the value of an SSM parameter.
    """
    check_name("parameter_name", parameter_name, "name what store_connection() made")
    ssm = make_client(
        "ssm",
        options.get("session"),
        region=region,
        endpoint_url=ssm_endpoint_url,
        config=options.get("config"),
    )
    try:
        found: str = ssm.get_parameter(Name=parameter_name)["Parameter"]["Value"]
    except Exception as error:
        raise _refusal(error, parameter_name) from error
    finally:
        ssm.close()
    return found


def _refusal(error: Exception, parameter_name: str) -> Exception:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - only now needed

    if not isinstance(error, ClientError):
        return from_boto(error)
    details = error.response.get("Error", {})
    code, message = details.get("Code", ""), details.get("Message", "")
    return RefusedError(
        f"Systems Manager refuses to read {parameter_name!r} ({code}): "
        f"{message.rstrip('.')}",
        code=code,
        remedy="check the parameter's name and region, and let the caller read it with "
        "grant_read()",
    )
