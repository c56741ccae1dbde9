"""
Capacity by the clock: copies in office hours alone, and instances for a known rush.

While it is closed, requests are refused; nothing wakes the model before it opens.
Copies begin to start when it opens, so that it opens a quarter of an hour early.
"""

from aws_cdk import App, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
)

BERLIN = "Europe/Berlin"
ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class OfficeStack(Stack):
    """
    Two to four copies from Monday to Friday, and none at night.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type="ml.g5.2xlarge",
            min_instance_count=0,
            max_instance_count=4,
        )
        chat = host.add_model("Chat", model=ZEPHYR)
        copies = chat.auto_scale_copy_count(max_capacity=4)
        copies.scale_on_concurrency("Load", per_copy=8)
        copies.office_hours(
            "Office",
            opens="07:45",
            closes="18:00",
            time_zone=BERLIN,
            min_capacity=2,
            closed_capacity=0,
        )


class RushStack(Stack):
    """
    An instance as a rule, and three on Mondays from eight to ten.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        chat = LlmEndpoint(self, "Chat", model=ZEPHYR, instance_type="ml.g5.2xlarge")
        instances = chat.auto_scale_instance_count(max_capacity=4)
        instances.scale_on_concurrency("Load", per_instance=8)
        instances.scale_on_schedule(
            "Rush", schedule="cron(45 7 ? * MON *)", time_zone=BERLIN, min_capacity=3
        )
        instances.scale_on_schedule(
            "Calm", schedule="cron(0 10 ? * MON *)", time_zone=BERLIN, min_capacity=1
        )


app = App()
OfficeStack(app, "Office")
RushStack(app, "Rush")
app.synth()
