"""
A dashboard and alarms for a model whose copies follow its traffic.
"""

from aws_cdk import App, ArnFormat, CfnOutput, Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_sagemaker_llm import (
    AlarmOptions,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmDashboard,
)


# checkov:skip=CKV_AWS_26: AWS's own key lets no alarm publish; bring yours if you must
# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class WatchedStack(Stack):
    """
    One to four copies of Zephyr-7B, watched.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.g5.12xlarge", max_instance_count=2
        )
        chat = host.add_model(
            "Chat", model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        )
        copies = chat.auto_scale_copy_count(min_capacity=1, max_capacity=4)
        copies.scale_on_concurrency("Load", per_copy=4)
        pager = sns.Topic(self, "Pager", enforce_ssl=True)
        # A policy of its own takes the place of the one that lets the account publish.
        pager.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[pager.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": self.account},
                    "ArnLike": {
                        "aws:SourceArn": self.format_arn(
                            service="cloudwatch",
                            resource="alarm",
                            resource_name="*",
                            arn_format=ArnFormat.COLON_RESOURCE_NAME,
                        )
                    },
                },
            )
        )
        page = actions.SnsAction(pager)
        chat.add_alarms(
            copies=4, concurrency=16, options=AlarmOptions(alarm_actions=[page])
        )
        dashboard = LlmDashboard(self, "Dashboard", endpoints=[host])
        CfnOutput(self, "DashboardName", value=dashboard.dashboard_name)


app = App()
WatchedStack(app, "Watched")
app.synth()
