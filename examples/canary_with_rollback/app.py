"""
A new version gets a fifth of the requests first, and goes again where an alarm says so.
"""

from aws_cdk import App, Duration, Stack
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_sagemaker_llm import Canary, HuggingFaceModel, LlmEndpoint, RollbackAlarms


# checkov:skip=CKV_AWS_26: AWS's own key lets no rule publish; bring yours if you must
# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class CanaryStack(Stack):
    """
    Zephyr-7B on five instances; an update starts five more, so that quotas must allow
    ten.

    The alarms are made for it: one request in a hundred that ends with an error of
    SageMaker's or of the container's, or streams that begin too late. The role may look
    at them, and at no others.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        chat = LlmEndpoint(
            self,
            "Chat",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            instance_type="ml.g5.2xlarge",
            instance_count=5,
            # The alarms need a name that is known before the endpoint is made.
            endpoint_name="chat",
            rollout=Canary(
                percent=20,
                wait_interval=Duration.minutes(10),
                termination_wait=Duration.minutes(10),
                rollback_on=RollbackAlarms(
                    invocation_5xx_error_rate=0.01,
                    invocation_model_error_rate=0.01,
                    first_chunk_latency=Duration.seconds(3),
                ),
            ),
        )
        # Subscribe whoever deploys: the endpoint is in service as if nothing was wrong.
        topic = sns.Topic(self, "Deployments", enforce_ssl=True)
        chat.on_rollback("RolledBack", target=targets.SnsTopic(topic))


app = App()
CanaryStack(app, "Canary")
app.synth()
