"""
An endpoint that takes OpenAI's messages, and a parameter that says how it is reached.

``ask.py`` beside this asks it with the library's client, and ``ask_with_litellm.py``
with LiteLLM; both know the parameter's name and nothing else. Without an account:

    sagemaker-llm local --port 0 -- sh -c '
      cdk bootstrap aws://123456789012/us-east-1 &&
      cd examples/openai_compatible &&
      cdk deploy --app "python app.py" --require-approval never &&
      python ask.py "What is the weather in Basel?"'
"""

from aws_cdk import App, Stack
from constructs import Construct

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, Vllm

PARAMETER = "/llm/assistant"


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class OpenAiCompatibleStack(Stack):
    """
    Qwen3-4B, which may call the tools that a request brings along.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        assistant = LlmEndpoint(
            self,
            "Assistant",
            model=HuggingFaceModel("Qwen/Qwen3-4B"),
            serving=Vllm(max_model_len=8192, tool_call_parser="hermes"),
            instance_type="ml.g6.2xlarge",
        )
        assistant.store_connection(parameter_name=PARAMETER)


app = App()
OpenAiCompatibleStack(app, "OpenAiCompatible")
app.synth()
