"""
An app that does not say how its models are served, and one wrong argument.
"""

from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Vllm,
)

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
HERE = Environment(account="123456789012", region="us-east-1")

app = App()
stack = Stack(app, "Unsaid", env=HERE)
alone = LlmEndpoint(stack, "Alone", model=ZEPHYR, instance_type="ml.g5.2xlarge")
alone.output_connection()
host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
host.add_model("Zephyr", model=ZEPHYR).store_connection(parameter_name="/llm/unsaid")

wrong = Stack(app, "Wrong", env=HERE)
LlmEndpoint(
    wrong,
    "Alone",
    model=ZEPHYR,
    serving=Vllm(unchecked_options={"max-model-length": "4096"}),
    instance_type="ml.g5.2xlarge",
    endpoint_name="wrong-engine",
)
app.synth()
