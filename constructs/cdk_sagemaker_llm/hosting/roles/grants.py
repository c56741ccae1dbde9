"""
What others may do with endpoints and components: ask them, look at them, scale them.

What belongs here names actions and the least that each can be limited to; where a
grant is asked for, the construct knows the ARNs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm.hosting.common.reporting import checked

_Dimension = Literal[
    "variant:DesiredInstanceCount", "inference-component:DesiredCopyCount"
]

# Managed policies of AWS name both actions (AmazonBedrockFullAccess:
# BedrockEndpointInvokingOperations), and IAM lists both; the API reference asks for the
# first alone (InvokeEndpointWithResponseStream).
_INVOKE = "sagemaker:InvokeEndpoint"
_STREAM = "sagemaker:InvokeEndpointWithResponseStream"
# The operation of HTTP/2 (API reference, InvokeEndpointWithBidirectionalStream).
_BIDIRECTIONAL = "sagemaker:InvokeEndpointWithBidirectionalStream"
_TOKEN = "sagemaker:CallWithBearerToken"  # noqa: S105 - the name of an action
_REGISTER = "application-autoscaling:RegisterScalableTarget"


C = TypeVar("C", bound="ComponentGrants")


@dataclass(frozen=True, kw_only=True, slots=True)
class Invoking:
    """
    In which ways a principal may invoke, as ``grant_invoke`` takes them.
    """

    streaming: bool
    bearer_token: bool
    bidirectional: bool


class InvokeGrants:
    """
    Who may invoke an endpoint, a component, or an endpoint with all its components.
    """

    def _let_invoke(self, grantee: iam.IGrantable, how: Invoking) -> iam.Grant:
        raise NotImplementedError

    @checked
    def grant_invoke(
        self,
        grantee: iam.IGrantable,
        *,
        streaming: bool = True,
        bearer_token: bool = False,
        bidirectional: bool = False,
    ) -> iam.Grant:
        """
        Let a principal invoke the endpoint, or the component.

        A call names endpoint and component, and IAM checks the endpoint always, the
        component where it is named (service authorization reference): for a component
        both are granted. For an ``InferenceComponentEndpoint`` all models are granted,
        those that are defined later too.

        Args:
            grantee: The principal.

            streaming:
                Whether it is granted the action of response streams.
                If omitted, it is.
                Without it no stream is promised, and none is ruled out: the API
                reference asks for ``sagemaker:InvokeEndpoint`` alone.

            bearer_token:
                Whether it may ask with a bearer token, as OpenAI's SDK does.
                If omitted, it signs its requests.

            bidirectional:
                Whether it may open streams in both directions, as
                ``AsyncLlmClient.bidirectional()`` does.
                If omitted, it may not.
        """
        how = Invoking(
            streaming=streaming, bearer_token=bearer_token, bidirectional=bidirectional
        )
        return self._let_invoke(grantee, how)


class EndpointGrants(InvokeGrants):
    """
    What a principal may do with an endpoint, defined here or imported.
    """

    endpoint_arn: str

    def _let_invoke(self, grantee: iam.IGrantable, how: Invoking) -> iam.Grant:
        return let_invoke(grantee, [self.endpoint_arn], how)

    @checked
    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal see the endpoint's state and instances, and the configuration of
        one that is defined here.

        No model is shown: its variables may hold what only some should see.
        """
        return let_describe(grantee, "Endpoint", self.endpoint_arn)

    @checked
    def grant_scale(
        self, grantee: iam.IGrantable, *, scalable_target: bool = False
    ) -> iam.Grant:
        """
        Let a principal change how many instances run, and how requests are shared.

        Args:
            grantee: The principal.

            scalable_target:
                Whether it may also change the bounds of automatic scaling.
                IAM cannot limit that to one endpoint: it is granted for the instances
                of all endpoints in the account.
                If omitted, it is not granted.
        """
        return let_scale(
            grantee,
            "UpdateEndpointWeightsAndCapacities",
            self.endpoint_arn,
            dimension="variant:DesiredInstanceCount" if scalable_target else None,
        )


class ComponentGrants(InvokeGrants):
    """
    What a principal may do with an inference component, defined here or imported.
    """

    inference_component_arn: str

    def _endpoint_arn(self) -> str:
        raise NotImplementedError

    def _let_invoke(self, grantee: iam.IGrantable, how: Invoking) -> iam.Grant:
        arns = [self._endpoint_arn(), self.inference_component_arn]
        return let_invoke(grantee, arns, how)

    @checked
    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal see the component's state and copies.
        """
        return let_describe(grantee, "InferenceComponent", self.inference_component_arn)

    @checked
    def grant_scale(
        self, grantee: iam.IGrantable, *, scalable_target: bool = False
    ) -> iam.Grant:
        """
        Let a principal change how many copies run.

        Args:
            grantee: The principal.

            scalable_target:
                Whether it may also change the bounds of automatic scaling.
                IAM cannot limit that to one component: it is granted for the copies of
                all components in the account.
                If omitted, it is not granted.
        """
        return let_scale(
            grantee,
            "UpdateInferenceComponentRuntimeConfig",
            self.inference_component_arn,
            dimension="inference-component:DesiredCopyCount"
            if scalable_target
            else None,
        )


class HostGrants(EndpointGrants, Generic[C]):
    """
    What a principal may do with an endpoint and all components on it, those that are
    defined later too.
    """

    endpoint: EndpointGrants
    _components: list[C]
    _grants: list[Callable[[C], iam.Grant]]

    def _let_invoke(self, grantee: iam.IGrantable, how: Invoking) -> iam.Grant:
        # A token has no resource, and is granted once.
        of_one = replace(how, bearer_token=False)
        return self._grant_of_each(
            self.endpoint._let_invoke(grantee, how),  # noqa: SLF001 - of the same room
            lambda component: let_invoke(
                grantee, [component.inference_component_arn], of_one
            ),
        )

    @checked
    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal see the state of endpoint and configuration, and of all
        components, those that are defined later too.
        """
        return self._grant_of_each(
            self.endpoint.grant_describe(grantee),
            lambda component: component.grant_describe(grantee),
        )

    @checked
    def grant_scale(
        self, grantee: iam.IGrantable, *, scalable_target: bool = False
    ) -> iam.Grant:
        """
        Let a principal change how many instances run, and how many copies of each
        model, those that are defined later too.

        Args:
            grantee: The principal.

            scalable_target:
                Whether it may also change the bounds of the copies' automatic scaling.
                IAM cannot limit that to one host: it is granted for the copies of all
                components in the account.
                If omitted, it is not granted.
        """
        return self._grant_of_each(
            self.endpoint.grant_scale(grantee),
            lambda component: component.grant_scale(
                grantee, scalable_target=scalable_target
            ),
        )

    def _grant_of_each(
        self, grant: iam.Grant, of_one: Callable[[C], iam.Grant]
    ) -> iam.Grant:
        self._grants.append(of_one)
        for component in self._components:
            grant = grant.combine(of_one(component))
        return grant

    def _add_component(self, component: C) -> None:
        self._components.append(component)
        for grant in self._grants:
            grant(component)


def let_invoke(
    grantee: iam.IGrantable, arns: Sequence[str], how: Invoking
) -> iam.Grant:
    """
    Let a principal ask what these ARNs name.
    """
    further = {_STREAM: how.streaming, _BIDIRECTIONAL: how.bidirectional}
    actions = [_INVOKE, *(action for action, is_asked in further.items() if is_asked)]
    grant = _let(grantee, actions, arns)
    if not how.bearer_token:
        return grant
    # AmazonSageMakerJobRuntimeAccess, of 2026-06-03, has this action on everything too.
    return grant.combine(_let(grantee, [_TOKEN], ["*"]))


def let_describe(grantee: iam.IGrantable, action: str, arn: str) -> iam.Grant:
    """
    Let a principal look at one resource.

    Models stay out: DescribeModel shows the container's variables, and whoever put a
    token there shows that too.
    """
    return _let(grantee, [f"sagemaker:Describe{action}"], [arn])


def let_scale(
    grantee: iam.IGrantable,
    action: str,
    arn: str,
    *,
    dimension: _Dimension | None = None,
) -> iam.Grant:
    """
    Let a principal change a number of instances or copies; with its dimension in
    Application Auto Scaling, its bounds too.
    """
    grant = _let(grantee, [f"sagemaker:{action}"], [arn])
    if dimension is None:
        return grant
    # Service authorization reference, Application Auto Scaling: a target can be named
    # to all other actions, and not to the one that registers it.
    bounds = iam.Grant.add_to_principal(
        grantee=grantee,
        actions=[_REGISTER],
        resource_arns=["*"],
        conditions={
            "StringEquals": {
                "application-autoscaling:scalable-dimension": f"sagemaker:{dimension}",
                "application-autoscaling:service-namespace": "sagemaker",
            }
        },
    )
    return grant.combine(bounds)


def _let(
    grantee: iam.IGrantable, actions: Sequence[str], arns: Sequence[str]
) -> iam.Grant:
    return iam.Grant.add_to_principal(
        grantee=grantee, actions=list(actions), resource_arns=list(arns)
    )
