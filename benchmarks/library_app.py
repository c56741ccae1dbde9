"""
The reference deployments with this library, repeated to a number of stacks.
"""

import sys

from aws_cdk import App, Environment

from stacks.llama_13b_x8 import Llama13BX8Stack
from stacks.mistral_trtllm import MistralTrtLlmStack
from stacks.mixtral import MixtralStack
from stacks.settings import Settings

ENVIRONMENT = Environment(account="111111111111", region="us-east-1")

if __name__ == "__main__":
    app = App()
    settings = Settings()
    for index in range(int(sys.argv[1]) // 3):
        MistralTrtLlmStack(
            app,
            f"MistralTrtLlm{index}",
            env=ENVIRONMENT,
            instance_type=settings.mistral_instance_type,
            min_instances=settings.mistral_min_instances,
            max_instances=settings.mistral_max_instances,
        )
        MixtralStack(
            app,
            f"Mixtral{index}",
            env=ENVIRONMENT,
            instance_type=settings.mixtral_instance_type,
        )
        Llama13BX8Stack(
            app,
            f"Llama13BX8{index}",
            env=ENVIRONMENT,
            instance_type=settings.llama_instance_type,
            instances=settings.llama_instances,
            max_instances=settings.llama_max_instances,
            copies=settings.llama_copies,
            token_secret=settings.hugging_face_token_secret,
        )
    app.synth()
