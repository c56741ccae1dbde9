"""
How a container wants a prompt, as its refusal of another form tells.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm.client.requests import Schema

FIRST = Schema.LMI
"""The form to begin with: what refuses it says so, and has done nothing yet."""

# vLLM to a body that has ``inputs``, from 0.29 on and before; and the embedded AWS of
# a server that a model is forwarded to.
_WANTS_PROMPTS = re.compile(
    r"Either prompt or prompt_embeds must be provided"
    r"|Cannot find suitable handler for request"
    r"|ask with schema=\"openai\""
)
# SGLang, by pydantic and by its own words, and llama.cpp's chat.cpp.
_WANTS_MESSAGES = re.compile(
    r"missing field `messages`"
    r"|'messages' is required"
    r"|\bmessages\b.{0,40}Field required"
    r"|Field required.{0,40}\bmessages\b",
    re.DOTALL,
)


def schema_wanted(refusal: str) -> Schema | None:
    """
    Return the form that a container asks for; ``None`` if it does not say so.

    Args:
        refusal: What it said to another form.
    """
    if _WANTS_PROMPTS.search(refusal):
        return Schema.OPENAI
    return Schema.CHAT if _WANTS_MESSAGES.search(refusal) else None
