"""
The SageMaker Endpoint: what applications call.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from aws_cdk import Arn, ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.hosts import VARIANT_NAMES
from cdk_sagemaker_llm.hosting.reporting import report
from cdk_sagemaker_llm.hosting.scaling import ScalableInstanceCount
from cdk_sagemaker_llm.hosting.taken import own_name_findings, take_name

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.endpoint_config import EndpointConfig


class EndpointBase(Construct):
    """
    What endpoints defined here and imported ones have in common.
    """

    endpoint_name: str
    """The name that applications call."""
    endpoint_arn: str
    """The ARN."""

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal invoke the endpoint, plain and with a response stream.

        One action covers both (API reference, InvokeEndpointWithResponseStream).
        """
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint_arn],
        )


class Endpoint(EndpointBase):
    """
    A SageMaker Endpoint.

    Args:
        endpoint_config: What it runs.

        endpoint_name:
            A name of at most 63 letters, digits and inner hyphens, unique in
            account and region whatever its case.
            If left out, CloudFormation makes one.

    Raises:
        ValueError: If the name is not of that form.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_config: EndpointConfig,
        endpoint_name: str | None = None,
    ) -> None:
        report(scope, id, own_name_findings(scope, "endpoint_name", endpoint_name))
        super().__init__(scope, id)
        take_name(scope, "endpoint_name", endpoint_name)
        self.endpoint_config = endpoint_config
        self.chosen_name = endpoint_name
        """The name that was asked for; ``None`` when CloudFormation makes one."""
        self.cfn_endpoint = sagemaker.CfnEndpoint(
            self,
            "Resource",
            endpoint_config_name=endpoint_config.endpoint_config_name,
            endpoint_name=endpoint_name,
        )
        """The resource itself, for what this class does not offer."""

    @functools.cached_property
    def endpoint_name(self) -> str:  # type: ignore[override] # asked of Node when used
        """
        The name that applications call.
        """
        return self.cfn_endpoint.attr_endpoint_name

    @functools.cached_property
    def endpoint_arn(self) -> str:  # type: ignore[override] # asked of Node when used
        """
        The ARN.
        """
        return self.cfn_endpoint.ref

    @staticmethod
    def from_endpoint_name(
        scope: Construct, id: str, endpoint_name: str
    ) -> EndpointBase:
        """
        Refer to an existing endpoint in the stack's account and region.
        """
        arn = Stack.of(scope).format_arn(
            service="sagemaker",
            resource="endpoint",
            # The service writes the name in lower case into the ARN.
            resource_name=endpoint_name.lower(),
        )
        return _ImportedEndpoint(scope, id, endpoint_name, arn)

    @staticmethod
    def from_endpoint_arn(scope: Construct, id: str, endpoint_arn: str) -> EndpointBase:
        """
        Refer to an existing endpoint anywhere.
        """
        parts = Arn.split(endpoint_arn, ArnFormat.SLASH_RESOURCE_NAME)
        if parts.resource_name is None:
            raise ValueError(f"endpoint_arn must name an endpoint, got {endpoint_arn}")
        return _ImportedEndpoint(scope, id, parts.resource_name, endpoint_arn)

    @checked
    def auto_scale_instance_count(
        self,
        *,
        max_capacity: int,
        min_capacity: int = 1,
        variant_name: str | None = None,
    ) -> ScalableInstanceCount:
        """
        Let the number of instances of a variant follow its load.

        From then on an update keeps the number that scaling has reached.

        Args:
            max_capacity: Instances that run at most.

            min_capacity: Instances that always run.

            variant_name:
                Which variant; it must have a model.
                If left out, it is the only one.

        Raises:
            ValueError: If the bounds or the variant are wrong.
        """
        variant = self._variant_name(variant_name)
        scalable = ScalableInstanceCount(
            self,
            f"{variant}Scaling" if variant_name else "Scaling",
            endpoint_name=self.endpoint_name,
            variant_name=variant,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        self.cfn_endpoint.retain_all_variant_properties = True
        return scalable

    def _variant_name(self, wanted: str | None) -> str:
        if self.endpoint_config.hosts_components:
            raise TypeError(
                "inference components scale by copies: call auto_scale_copy_count on "
                "the component, and bound instances with max_instance_count"
            )
        names = [variant.variant_name for variant in self.endpoint_config.variants]
        if wanted is None and len(names) == 1:
            return names[0]
        if wanted in names:
            return wanted
        fault = VARIANT_NAMES.finding(
            f"variant_name must be one of {', '.join(names)}, got {wanted!r}",
        )
        raise ValueError(f"{self.node.path}: {fault}")


class _ImportedEndpoint(EndpointBase):
    def __init__(self, scope: Construct, id: str, name: str, arn: str) -> None:
        super().__init__(scope, id)
        self.endpoint_name = name
        self.endpoint_arn = arn
