"""
Streams from a model that another app has deployed, and is told nothing but the name of
its parameter: endpoint, region and how it is asked stand there.
"""

from __future__ import annotations

import os
import time
from typing import TypedDict

from cdk_sagemaker_llm.client import LlmClient, LlmError, Timeouts

# Made once for all events that this instance of the function gets.
CLIENT = LlmClient.from_ssm(
    os.environ["CONNECTION"], timeouts=Timeouts(total=25), wait_for_capacity=0
)


class Event(TypedDict):
    """
    What the function is asked.
    """

    prompt: str


def handler(event: Event, _context: object) -> dict[str, object]:
    """
    Read the answer as it comes; say how long the first token took.
    """
    begun, first, text, tokens = time.monotonic(), None, "", 0
    try:
        for token in CLIENT.stream(event["prompt"], max_new_tokens=256):
            first = time.monotonic() - begun if first is None else first
            text += token.text
            tokens += 1
    except LlmError as error:
        return {"text": error.text, "error": str(error)}
    return {"text": text, "tokens": tokens, "seconds_to_first_token": first}
