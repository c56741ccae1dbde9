"""
For a company whose platform team makes the roles, and bounds those that apps make.

The model of ``Given`` runs by a role that the platform team made, which this app may
not change. Synthesis warns (LLM237) with the policy that the role must have, and

    sagemaker-llm permissions cdk.out --role llm-runtime

prints it ready to paste, and with ``--trust`` whom the role must trust. The model
of ``Bounded`` runs by a role that the library makes, within the company's boundary: so
does every role of the app, whichever construct makes it.
"""

from aws_cdk import Acknowledgment, Annotations, App, CfnOutput, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    S3Model,
    Tgi,
)

BOUNDARY = "platform-boundary"
RUNTIME = "llm-runtime"


class GivenStack(Stack):
    """
    The platform team's role: nothing of IAM is in the template.
    """

    def __init__(self, scope: Construct, id: str, *, weights: str) -> None:
        super().__init__(scope, id)
        arn = f"arn:{self.partition}:iam::{self.account}:role/{RUNTIME}"
        role = iam.Role.from_role_arn(self, "Runtime", arn, mutable=False)
        chat = LlmEndpoint(
            self,
            "Chat",
            model=S3Model(f"s3://{weights}/mistral-7b/"),
            serving=Tgi("3.3.6", max_total_tokens=8192),
            instance_type="ml.g5.2xlarge",
            role=role,
        )
        Annotations.of(self).acknowledge_warning(
            "cdk-sagemaker-llm:LLM237", "the platform team attached the policy, PLAT-7"
        )
        CfnOutput(self, "EndpointName", value=chat.endpoint_name)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class BoundedStack(Stack):
    """
    Roles that are made here, each within the boundary.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        boundary = iam.ManagedPolicy.from_managed_policy_name(
            self, "Boundary", BOUNDARY
        )
        iam.PermissionsBoundary.of(self).apply(boundary)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.g5.2xlarge", max_instance_count=4
        )
        chat = host.add_model(
            "Chat", model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        )
        copies = chat.auto_scale_copy_count(max_capacity=4)
        copies.scale_on_concurrency("Load", per_copy=8)
        # Who is on call sees and scales the model, and asks it nothing.
        operator = iam.Role(
            self, "Operator", assumed_by=iam.AccountPrincipal(self.account)
        )
        host.grant_describe(operator)
        host.grant_scale(operator, scalable_target=True)
        Validations.of(operator).acknowledge(
            Acknowledgment(
                id="AwsSolutions-IAM5[Resource::*]",
                reason="bounds of scaling have no resource to name before they exist",
            )
        )


app = App()
GivenStack(
    app, "Given", weights=app.node.try_get_context("weights_bucket") or "model-weights"
)
BoundedStack(app, "Bounded")
app.synth()
