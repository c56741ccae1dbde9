"""
An app whose endpoint and component store how they are reached.
"""

from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    Tgi,
)

app = App()
stack = Stack(
    app,
    "Connections",
    env=Environment(account="123456789012", region="us-east-1"),
)
ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
endpoint = LlmEndpoint(
    stack, "Chat", model=ZEPHYR, serving=Tgi("3.3.6"), instance_type="ml.g5.2xlarge"
)
endpoint.store_connection(parameter_name="/llm/chat")
endpoint.output_connection(export_prefix="chat")
host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
component = host.add_model("Zephyr", model=ZEPHYR, serving=LmiVllm())
component.store_connection(parameter_name="/llm/zephyr")
component.output_connection()
app.synth()
