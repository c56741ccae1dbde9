"""
What a container's refusal tells of how it wants to be asked.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.client import Schema
from cdk_sagemaker_llm.client.requests import FIRST, schema_wanted


@pytest.mark.parametrize(
    ("refusal", "schema"),
    [
        ("Either prompt or prompt_embeds must be provided (...)", Schema.OPENAI),
        (
            "Cannot find suitable handler for request. Expected one of: ['chat']",
            Schema.OPENAI,
        ),
        ('ask with schema="openai" (--schema openai), or for a chat', Schema.OPENAI),
        ("'messages' is required", Schema.CHAT),
        ("missing field `messages`", Schema.CHAT),
        (
            "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'",
            Schema.CHAT,
        ),
        ("1 validation error:\n  Field required: body.messages", Schema.CHAT),
        ("messages must not be empty", None),
        ("missing field `inputs`", None),
        ("Field required: inputs. " + "." * 40 + " messages", None),
        ("", None),
    ],
)
def test_a_refusal_may_say_what_is_wanted(refusal: str, schema: Schema | None) -> None:
    """
    By the words of each engine, and by none that say something else.
    """
    assert schema_wanted(refusal) is schema


def test_the_first_form_is_inputs() -> None:
    """
    What LMI and TGI read, and TEI for embeddings.
    """
    assert FIRST is Schema.LMI
