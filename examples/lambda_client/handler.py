"""
A Lambda that asks a language model and says how sure it was.

The CDK is too large for a Lambda, and the client does not need it. Beside boto3, which
every Python runtime of Lambda has, the wheel alone is enough:

    pip install --no-deps --target package cdk-sagemaker-llm
    cp handler.py package/ && cd package && zip -qr ../function.zip .

The function's role needs ``grant_invoke`` of the endpoint. ``ENDPOINT`` names it, and
``COMPONENT`` its inference component, if it has one. The event is
``{"prompt": "Who is Roger Federer?"}``.
"""

from __future__ import annotations

import os
from typing import TypedDict

from cdk_sagemaker_llm.client import LlmClient, LlmError, Timeouts

# Made once for all events that this instance of the function gets. A Lambda does not
# wait ten minutes for a model that sleeps: its own time-out ends it.
CLIENT = LlmClient(
    os.environ["ENDPOINT"],
    os.environ.get("COMPONENT"),
    timeouts=Timeouts(total=25),
    wait_for_capacity=0,
)


class Event(TypedDict):
    """
    What the function is asked.
    """

    prompt: str


def handler(event: Event, _context: object) -> dict[str, object]:
    """
    Answer an event; an error says what to do, and keeps the text so far.
    """
    try:
        answer = CLIENT.continue_to_end(
            event["prompt"], max_new_tokens=256, max_requests=4
        )
    except LlmError as error:
        return {"text": error.text, "error": str(error)}
    return {
        "text": answer.text,
        "finish_reason": answer.finish_reason,
        "confidence": answer.confidence,
        "tokens": answer.completion_tokens,
        "requests": answer.requests,
    }
