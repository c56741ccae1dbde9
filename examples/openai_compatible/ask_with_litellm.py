"""
Ask the endpoint of ``app.py`` with LiteLLM, which has OpenAI's interface.

    pip install litellm boto3
    python ask_with_litellm.py "Who are you?"

The parameter that the stack stored has LiteLLM's own settings in it.
"""

from __future__ import annotations

import json
import os
import sys

import boto3
import litellm

PARAMETER = "/llm/assistant"


def main(question: str) -> None:
    """
    Print an answer.
    """
    stored = boto3.client("ssm").get_parameter(Name=PARAMETER)["Parameter"]["Value"]
    settings = json.loads(stored)["litellm"]
    # LiteLLM makes AWS's address itself; an embedded AWS has another one.
    if "AWS_ENDPOINT_URL" in os.environ:
        name = settings["model"].rpartition("/")[2]
        base = f"{os.environ['AWS_ENDPOINT_URL']}/endpoints/{name}/invocations"
        settings["sagemaker_base_url"] = base
    messages = [{"role": "user", "content": question}]
    answer = litellm.completion(**settings, messages=messages, max_tokens=128)
    print(answer.choices[0].message.content)


if __name__ == "__main__":
    main(*sys.argv[1:])
