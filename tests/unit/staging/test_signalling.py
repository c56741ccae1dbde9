"""
What CloudFormation is told of a reason.
"""

from __future__ import annotations

import json

import pytest

from cdk_sagemaker_llm.staging.signalling import shortened


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("gone", 4),
        ("a" * 3000, 3000),
        ("a" * 3001, 3000),
        # A character beyond ASCII takes six bytes of JSON, and a quote two.
        ("ü" * 500, 500),
        ("ü" * 501, 450),
        ('"' * 3000, 1433),
    ],
)
def test_a_reason_has_room_in_an_answer(reason: str, kept: int) -> None:
    """
    CloudFormation refuses an answer of more than 4096 bytes, in words of its own.
    """
    found = shortened(reason)

    assert len(found) == kept
    assert reason.startswith(found)
    assert len(json.dumps(found)) <= 3002
