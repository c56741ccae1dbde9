"""
Handing a connection on as a parameter that clients read.
"""

from __future__ import annotations

import re

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.connection import Connection

# Systems Manager API reference, PutParameter: all of these but the first characters.
_PARAMETER_NAME = re.compile(r"(/[\w.-]+){1,15}\Z|[\w.-]+\Z", re.ASCII)
_LONGEST = 1011


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
            If left out, CloudFormation makes one.

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
    def parameter_name(self) -> str:  # type: ignore[override]  # asked of Node when used
        """
        The name that ``LlmClient.from_ssm`` takes.
        """
        return self.parameter.parameter_name

    @property
    def parameter_arn(self) -> str:  # type: ignore[override]  # asked of Node when used
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
