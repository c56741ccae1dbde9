"""
What an application needs to know to ask a model: names, addresses, ready settings.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from aws_cdk import Aws

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.images import dns_suffix
from cdk_sagemaker_llm.client.requests import Schema

_COMMERCIAL = "amazonaws.com"
# It shares the domain with the commercial regions, and not their services.
_GOVERNMENT = "us-gov-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """
    How an application reaches a model, as values that may be known at deployment only.

    ``endpoint.connection.litellm_params``, ``component.connection.to_json()``

    Args:
        endpoint_name: The endpoint's name.

        region: The endpoint's region.

        inference_component_name: The component's name.
            If left out, there is none.

        schema: How the container wants a prompt.
            If left out, that is not known, as of an image of your own, or it takes
            none, as one that makes embeddings.

        takes_chats: Whether the container is known to answer chats in OpenAI's form.
    """

    endpoint_name: str
    region: str
    inference_component_name: str | None = None
    schema: Schema | None = None
    takes_chats: bool = False

    def spoken(self, schema: Schema | str | None) -> Connection:
        """
        Return this connection with how the container is asked, where you know it.

        Args:
            schema: How it wants a prompt; ``openai`` and ``chat`` say that it takes
                chats.
                If left out, nothing changes.

        Raises:
            ValueError: If there is no such schema.
        """
        if schema is None:
            return self
        known = _schema(schema)
        chats = self.takes_chats or known in (Schema.OPENAI, Schema.CHAT)
        return replace(self, schema=known, takes_chats=chats)

    @property
    def openai_base_url(self) -> str | None:
        """
        The base address for OpenAI's SDK, with a bearer token that
        ``sagemaker:CallWithBearerToken`` allows.

        ``None`` where nobody would answer there: the container is not known to take
        chats (LMI before 0.27 or with a ``model.py``, TGI before 2.4, other images), a
        component must be named, or the region is outside the commercial partition,
        where AWS has not announced it. SageMaker passes on what the container writes:
        LMI streams JSON lines, which OpenAI's SDK does not read, so ask LMI for whole
        answers.
        """
        suffix = _suffix(self.region)
        if not self.takes_chats or suffix is None:
            return None
        address = f"https://runtime.sagemaker.{self.region}.{suffix}"
        path = f"/endpoints/{self.endpoint_name}"
        if self.inference_component_name is not None:
            path += f"/inference-components/{self.inference_component_name}"
        return f"{address}{path}/openai/v1"

    @property
    def litellm_params(self) -> dict[str, str] | None:
        """
        What ``litellm.completion(**litellm_params, ...)`` takes, and ``litellm_params``
        of LiteLLM's proxy.

        It names ``sagemaker_chat`` for containers that take chats, and ``sagemaker``
        for those that take ``inputs`` alone. ``None`` where neither is known.
        """
        if self.takes_chats:
            provider = "sagemaker_chat"
        elif self.schema in (Schema.LMI, Schema.TGI):
            provider = "sagemaker"
        else:
            return None
        named = {
            "model": f"{provider}/{self.endpoint_name}",
            "aws_region_name": self.region,
        }
        if self.inference_component_name is not None:
            # LiteLLM's word for the component.
            named["model_id"] = self.inference_component_name
        return named

    @property
    def langchain_kwargs(self) -> dict[str, str]:
        """
        What ``ChatSagemakerEndpoint(**langchain_kwargs)`` of langchain-aws takes, for
        containers that take chats; ``SagemakerEndpoint`` takes them, too, beside a
        content handler of your own.
        """
        named = {"endpoint_name": self.endpoint_name, "region_name": self.region}
        if self.inference_component_name is not None:
            named["inference_component_name"] = self.inference_component_name
        return named

    def to_json(self) -> str:
        """
        Return all of it as text, which ``LlmClient.from_connection`` reads.
        """
        told = {
            "endpoint_name": self.endpoint_name,
            "inference_component_name": self.inference_component_name,
            "region": self.region,
            "schema": self.schema,
            "openai_base_url": self.openai_base_url,
            "litellm": self.litellm_params,
            "langchain": self.langchain_kwargs,
        }
        return json.dumps({k: each for k, each in told.items() if each is not None})


def _suffix(region: str) -> str | None:
    """
    Return the domain of OpenAI's path; ``None`` for a partition that has no such path.
    """
    if is_unresolved(region):
        return Aws.URL_SUFFIX
    suffix = dns_suffix(region)
    is_commercial = suffix == _COMMERCIAL and not region.startswith(_GOVERNMENT)
    return suffix if is_commercial else None


def _schema(given: Schema | str) -> Schema:
    try:
        return Schema(given)
    except ValueError:
        names = ", ".join(repr(each.value) for each in Schema)
        raise ValueError(f"schema must be one of {names}, got {given!r}") from None
