"""
The reference deployments, as an app for ``cdk deploy``.
"""

import sys

from aws_cdk import App, Environment

from stacks.llama_13b_x8 import Llama13BX8Stack
from stacks.mistral_trtllm import MistralTrtLlmStack
from stacks.mixtral import MixtralStack
from stacks.settings import Settings


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
def define(app: App) -> None:
    """
    Define every deployment with the settings of the app's context.
    """
    settings = Settings.from_context(app.node.try_get_context)
    env = Environment(account=settings.account, region=settings.region)

    MistralTrtLlmStack(
        app,
        "MistralTrtLlm",
        env=env,
        instance_type=settings.mistral_instance_type,
        min_instances=settings.mistral_min_instances,
        max_instances=settings.mistral_max_instances,
    )
    MixtralStack(app, "Mixtral", env=env, instance_type=settings.mixtral_instance_type)
    Llama13BX8Stack(
        app,
        "Llama13BX8",
        env=env,
        instance_type=settings.llama_instance_type,
        instances=settings.llama_instances,
        max_instances=settings.llama_max_instances,
        copies=settings.llama_copies,
        token_secret=settings.hugging_face_token_secret,
    )


def main() -> None:
    """
    Synthesise into ``$CDK_OUTDIR``; a wrong setting ends it with one message.
    """
    app = App()
    try:
        define(app)
    except ValueError as fault:
        sys.exit(f"error: {fault}")
    app.synth()


if __name__ == "__main__":
    main()
