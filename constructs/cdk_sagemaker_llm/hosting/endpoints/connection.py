"""
What an application needs to call a model: names, addresses, ready settings.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from aws_cdk import Aws, CfnOutput, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.catalog.images import dns_suffix
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.hosting.common.reporting import checked
from cdk_sagemaker_llm.tokens import is_unresolved

_COMMERCIAL = "amazonaws.com"
# It shares the domain with the commercial regions, and not their services.
_GOVERNMENT = "us-gov-"

# An export's name: CloudFormation takes nothing else, and no more than 255 characters,
# of which the longest of ours takes ":InferenceComponentName".
_LONGEST_PREFIX = 255 - len(":InferenceComponentName")
_EXPORT_PREFIX = re.compile(rf"[A-Za-z0-9:-]{{1,{_LONGEST_PREFIX}}}\Z")

# Systems Manager API reference, PutParameter: all of these but the first characters.
_PARAMETER_NAME = re.compile(r"(/[\w.-]+){1,15}\Z|[\w.-]+\Z", re.ASCII)
_LONGEST = 1011


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """
    How an application reaches a model, as values that may be known at deployment only.

    ``endpoint.connection.litellm_params``, ``component.connection.to_json()``

    Args:
        endpoint_name: The endpoint's name.

        region: The endpoint's region.

        inference_component_name:
            The component's name.
            If omitted, there is none.

        schema:
            How the container wants a prompt.
            If omitted, that is not known, as of an image of your own, or it takes
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
        Return this connection with a schema of your choice, where you know it.

        Args:
            schema:
                How it wants a prompt; with ``openai`` and ``chat`` it takes chats.
                If omitted, nothing changes.

        Raises:
            ValueError: If there is no such schema.
        """
        if schema is None:
            return self
        try:
            own = Schema(schema)
        except ValueError:
            names = ", ".join(repr(each.value) for each in Schema)
            fault = f"schema must be one of {names}, got {schema!r}"
            raise ValueError(fault) from None
        chats = self.takes_chats or own in (Schema.OPENAI, Schema.CHAT)
        return replace(self, schema=own, takes_chats=chats)

    @property
    def openai_base_url(self) -> str | None:
        """
        The base address for OpenAI's SDK, whose key is a bearer token: ``bearer_token``
        of the client makes one, and ``grant_invoke(bearer_token=True)`` allows it.

        AWS documents chats alone below it, at once and streamed; the embedded AWS
        answers them at its own address and the same path. SageMaker passes on what the
        container writes: LMI streams JSON lines, which OpenAI's SDK does not read, so
        ask LMI for whole answers.

        ``None`` where nobody would answer there: the container is not known to take
        chats (LMI before 0.27 or with a ``model.py``, TGI before 2.4, other images), a
        component must be named, or the region is outside the commercial partition,
        where AWS has not announced it.
        """
        is_open = is_unresolved(self.region)
        suffix = Aws.URL_SUFFIX if is_open else dns_suffix(self.region)
        in_government = self.region.startswith(_GOVERNMENT)
        has_path = is_open or (suffix == _COMMERCIAL and not in_government)
        if not (self.takes_chats and has_path):
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
        parameters = {
            "model": f"{provider}/{self.endpoint_name}",
            "aws_region_name": self.region,
        }
        if self.inference_component_name is not None:
            # LiteLLM's word for the component.
            parameters["model_id"] = self.inference_component_name
        return parameters

    @property
    def langchain_kwargs(self) -> dict[str, str]:
        """
        What ``ChatSagemakerEndpoint(**langchain_kwargs, content_handler=...)`` of
        langchain-aws takes for containers that take chats, and ``SagemakerEndpoint``
        likewise for others: ``langchain_chat_handler`` and ``langchain_prompt_handler``
        make such handlers.
        """
        arguments = {"endpoint_name": self.endpoint_name, "region_name": self.region}
        if self.inference_component_name is not None:
            arguments["inference_component_name"] = self.inference_component_name
        return arguments

    def to_json(self) -> str:
        """
        Return all of it as text, which ``LlmClient.from_connection`` reads.
        """
        values = {
            "endpoint_name": self.endpoint_name,
            "inference_component_name": self.inference_component_name,
            "region": self.region,
            "schema": self.schema,
            "openai_base_url": self.openai_base_url,
            "litellm": self.litellm_params,
            "langchain": self.langchain_kwargs,
        }
        return json.dumps({k: each for k, each in values.items() if each is not None})


class Connected:
    """
    What applications can call, and the connection that says how.
    """

    @property
    def connection(self) -> Connection:
        """
        How an application reaches it.
        """
        raise NotImplementedError

    @checked
    def output_connection(
        self,
        id: str = "ConnectionOutputs",
        *,
        export_prefix: str | None = None,
        schema: Schema | str | None = None,
    ) -> dict[str, CfnOutput]:
        """
        Write how to reach it into the stack's outputs.

        They are ``EndpointName``, ``InferenceComponentName`` and ``OpenAiBaseUrl``
        where there are such, and ``Connection``: all of it, as
        ``LlmClient.from_connection`` reads it.

        Args:
            id: The id of the outputs together.

            export_prefix:
                What the names of exports begin with, as in ``chat:EndpointName``.
                If omitted, nothing is exported.

            schema:
                How the container wants a prompt: ``lmi``, ``tgi``, ``openai`` or
                ``chat``.
                If omitted, it follows the image; for an image of your own it is not
                known.

        Raises:
            ValueError: If CloudFormation would refuse the names of the exports.
        """
        if not (
            export_prefix is None
            or is_unresolved(export_prefix)
            or _EXPORT_PREFIX.match(export_prefix)
        ):
            excerpt = export_prefix
            if len(export_prefix) > _LONGEST_PREFIX:
                excerpt = f"{export_prefix[:60]}..."
            raise ValueError(
                f"export_prefix must be 1 to {_LONGEST_PREFIX} letters, digits, ':' "
                f"and '-', got {excerpt!r}; leave it out to export nothing"
            )
        connection = self.connection.spoken(schema)
        values = {
            "EndpointName": connection.endpoint_name,
            "InferenceComponentName": connection.inference_component_name,
            "OpenAiBaseUrl": connection.openai_base_url,
            "Connection": connection.to_json(),
        }
        outputs = Construct(_construct(self), id)
        return {
            name: CfnOutput(
                outputs,
                name,
                value=value,
                export_name=None
                if export_prefix is None
                else f"{export_prefix}:{name}",
            )
            for name, value in values.items()
            if value is not None
        }

    @checked
    def store_connection(
        self,
        id: str = "ConnectionParameter",
        *,
        parameter_name: str | None = None,
        schema: Schema | str | None = None,
    ) -> ConnectionParameter:
        """
        Store how to reach it in an SSM parameter, which ``LlmClient.from_ssm`` reads.

        Args:
            id: The parameter's id.

            parameter_name:
                A name such as ``/llm/chat``.
                If omitted, CloudFormation makes one.

            schema:
                How the container wants a prompt: ``lmi``, ``tgi``, ``openai`` or
                ``chat``.
                If omitted, it follows the image; for an image of your own it is not
                known.

        Raises:
            ValueError: If Systems Manager would refuse the name.
        """
        return ConnectionParameter(
            _construct(self),
            id,
            connection=self.connection.spoken(schema),
            parameter_name=parameter_name,
        )


def _construct(one: object) -> Construct:
    if not isinstance(one, Construct):
        raise TypeError(f"{type(one).__name__} must be a construct")
    return one


class ConnectionParameterBase(Construct):
    """
    What connections stored here and by other apps have in common.
    """

    parameter_name: str
    """The name that ``LlmClient.from_ssm`` takes."""
    parameter_arn: str
    """The parameter's ARN."""

    @checked
    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal read how to reach the model; ``grant_invoke`` of the endpoint or
        component lets it ask.
        """
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:GetParameter"],
            resource_arns=[self.parameter_arn],
        )

    @staticmethod
    @checked
    def from_parameter_name(
        scope: Construct, id: str, parameter_name: str
    ) -> ConnectionParameterBase:
        """
        Refer to a connection that another app has stored, in the stack's account and
        region.

        Args:
            scope: Where it is referred to.

            id: Its id there.

            parameter_name: The name that it was stored by, such as ``/llm/chat``.

        Raises:
            ValueError: If Systems Manager would refuse the name.
        """
        _check_name(parameter_name)
        return _StoredElsewhere(scope, id, parameter_name)


class _StoredElsewhere(ConnectionParameterBase):
    def __init__(self, scope: Construct, id: str, name: str) -> None:
        super().__init__(scope, id)
        self.parameter_name = name
        self.parameter_arn = Stack.of(scope).format_arn(
            service="ssm", resource="parameter", resource_name=name.removeprefix("/")
        )


class ConnectionParameter(ConnectionParameterBase):
    """
    A connection in an SSM parameter, which ``LlmClient.from_ssm`` reads.

    Args:
        connection: The connection, such as ``endpoint.connection``.

        parameter_name:
            A name such as ``/llm/chat``.
            If omitted, CloudFormation makes one.

    Raises:
        ValueError: If Systems Manager would refuse the name.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        connection: Connection,
        parameter_name: str | None = None,
    ) -> None:
        if parameter_name is not None:
            _check_name(parameter_name)
        super().__init__(scope, id)
        from aws_cdk import aws_ssm as ssm  # noqa: PLC0415 - who stores none does not load it

        self.connection = connection
        """What is stored."""
        self.parameter = ssm.StringParameter(
            self,
            "Resource",
            parameter_name=parameter_name,
            string_value=connection.to_json(),
            description="How to reach a language model: cdk_sagemaker_llm.client",
        )
        """The parameter."""

    @property
    def parameter_name(self) -> str:  # type: ignore[override]  # a call into Node, made when used
        """
        The name that ``LlmClient.from_ssm`` takes.
        """
        return self.parameter.parameter_name

    @property
    def parameter_arn(self) -> str:  # type: ignore[override]  # a call into Node, made when used
        """
        The parameter's ARN.
        """
        return self.parameter.parameter_arn


def _check_name(name: str) -> None:
    if is_unresolved(name):
        raise ValueError(
            "parameter_name must be known at synth, got a value that is known only at "
            "deployment; leave it out, and hand parameter_name of the result on"
        )
    if len(name) > _LONGEST:
        raise ValueError(
            f"parameter_name must have at most {_LONGEST} characters, got {len(name)}"
        )
    if not _PARAMETER_NAME.match(name):
        raise ValueError(
            "parameter_name must be letters, digits, '_', '.' and '-', or begin with "
            f"'/' and have up to 15 parts of these between slashes, got {name!r}"
        )
    if re.match(r"/?(aws|ssm)", name, re.IGNORECASE):
        raise ValueError(
            f"parameter_name must not begin with aws or ssm, got {name!r}; name it "
            f"such as '/llm/chat'"
        )
