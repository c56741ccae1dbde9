"""
What the chat says of an answer that ended at its length.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.cli.commands.chat import cut_off
from cdk_sagemaker_llm.client import FinishReason, Generation


@pytest.mark.parametrize(
    ("text", "reasoning", "reason", "said"),
    [
        ("Yes", "", FinishReason.LENGTH, ", cut off at its length"),
        ("Yes", "Hm", FinishReason.LENGTH, ", cut off at its length"),
        ("", "", FinishReason.LENGTH, ", cut off at its length"),
        (
            "\n",
            "Hm",
            FinishReason.LENGTH,
            ", cut off at its length while the model thought: raise --max-new-tokens",
        ),
        ("", "Hm", FinishReason.STOP_SEQUENCE, ""),
        ("Yes", "", None, ""),
    ],
)
def test_an_answer_that_is_cut_off_says_so(
    text: str, reasoning: str, reason: FinishReason | None, said: str
) -> None:
    """
    And why there is none, where all of it was thought.
    """
    answer = Generation(text, reasoning=reasoning, finish_reason=reason)

    assert cut_off(answer) == said
