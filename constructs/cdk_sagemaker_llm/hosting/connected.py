"""
What can be asked: how an application reaches it, and handing that on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from aws_cdk import CfnOutput
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.connecting import ConnectionParameter

if TYPE_CHECKING:
    from cdk_sagemaker_llm.client.requests import Schema
    from cdk_sagemaker_llm.hosting.connection import Connection

# An export's name: CloudFormation takes nothing else, and no more than 255 characters,
# of which the longest of ours takes ":InferenceComponentName".
_LONGEST_PREFIX = 255 - len(":InferenceComponentName")
_EXPORT_PREFIX = re.compile(rf"[A-Za-z0-9:-]{{1,{_LONGEST_PREFIX}}}\Z")


class Connected:
    """
    What can be asked, and says how.
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
                If left out, nothing is exported.

            schema:
                How the container wants a prompt: ``lmi``, ``tgi``, ``openai`` or
                ``chat``.
                If left out, its image tells; of an image of your own it is not known.

        Raises:
            ValueError: If CloudFormation would refuse the names of the exports.
        """
        if export_prefix is not None and not is_unresolved(export_prefix):
            _check_prefix(export_prefix)
        connection = self.connection.spoken(schema)
        told = {
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
            for name, value in told.items()
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
        Keep how to reach it in an SSM parameter, which ``LlmClient.from_ssm`` reads.

        Args:
            id: The parameter's id.

            parameter_name:
                A name such as ``/llm/chat``.
                If left out, CloudFormation makes one.

            schema:
                How the container wants a prompt: ``lmi``, ``tgi``, ``openai`` or
                ``chat``.
                If left out, its image tells; of an image of your own it is not known.

        Raises:
            ValueError: If Systems Manager would refuse the name.
        """
        return ConnectionParameter(
            _construct(self),
            id,
            connection=self.connection.spoken(schema),
            parameter_name=parameter_name,
        )


def _check_prefix(prefix: str) -> None:
    if not _EXPORT_PREFIX.match(prefix):
        shown = prefix if len(prefix) <= _LONGEST_PREFIX else f"{prefix[:60]}..."
        raise ValueError(
            f"export_prefix must be 1 to {_LONGEST_PREFIX} letters, digits, ':' and "
            f"'-', got {shown!r}; leave it out to export nothing"
        )


def _construct(one: object) -> Construct:
    if not isinstance(one, Construct):
        raise TypeError(f"{type(one).__name__} must be a construct")
    return one
