"""
A prompt and a conversation by langchain-aws, at once and streamed, with the library's
content handlers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from langchain_aws.chat_models.sagemaker_endpoint import ChatSagemakerEndpoint
from langchain_aws.llms import SagemakerEndpoint

from cdk_sagemaker_llm.client import langchain_chat_handler, langchain_prompt_handler

QUESTION = "Who is Roger Federer?"


def main(kind: str, endpoint: str, component: str | None = None) -> None:
    """
    Ask at once and streamed, and print the answers.
    """
    model, handler, settings = {
        "prompt": (SagemakerEndpoint, langchain_prompt_handler, {"max_new_tokens": 12}),
        "chat": (ChatSagemakerEndpoint, langchain_chat_handler, {"max_tokens": 12}),
    }[kind]

    def of(*, stream: bool) -> Any:
        return model(
            endpoint_name=endpoint,
            inference_component_name=component,
            region_name=os.environ["AWS_REGION"],
            content_handler=handler(stream=stream),
            model_kwargs=settings,
        )

    plain = of(stream=False).invoke(QUESTION)
    pieces = list(of(stream=True).stream(QUESTION))
    # A handler of streams that is asked for a whole answer.
    collected = of(stream=True).invoke(QUESTION)
    said = {
        "plain": _text(plain),
        "pieces": list(map(_text, pieces)),
        "collected": _text(collected),
    }
    print(json.dumps(said))


def _text(answer: Any) -> str:
    return str(answer if isinstance(answer, str) else answer.content)


if __name__ == "__main__":
    main(*sys.argv[1:])
