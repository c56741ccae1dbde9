"""
Placeholders are told apart as the CDK itself does.
"""

from __future__ import annotations

import pytest
from aws_cdk import Aws, Fn, Token

from cdk_sagemaker_llm.tokens import (
    AT_DEPLOYMENT,
    is_list_placeholder,
    is_unresolved,
    told_apart,
)


@pytest.mark.parametrize(
    "value",
    [
        Aws.REGION,
        f"arn:{Aws.PARTITION}:s3:::bucket",
        Token.as_number(Fn.ref("Count")),
        Token.as_list(Fn.ref("Names")),
        Fn.select(1, Fn.split("/", "a/b" + Aws.REGION)),
    ],
    ids=["string", "inside", "number", "list", "function"],
)
def test_a_placeholder_is_recognised(value: object) -> None:
    """
    Our reading of the encoding agrees with the CDK's own.
    """
    assert Token.is_unresolved(value)
    assert is_unresolved(value)


@pytest.mark.parametrize(
    "value", ["us-east-1", "${Token[", "${HOME}", "", 0, -5, 1.5, [], ["a"], None, True]
)
def test_a_known_value_is_not(value: object) -> None:
    """
    Text that only begins alike is text.
    """
    assert not is_unresolved(value)


@pytest.mark.parametrize(
    ("value", "is_list"),
    [
        (Token.as_list(Fn.ref("Names")), True),
        (tuple(Token.as_list(Fn.ref("Names"))), True),
        ([Aws.REGION], False),
        ([*Token.as_list(Fn.ref("Names")), "a"], False),
        (Aws.REGION, False),
        ([], False),
        ([3], False),
    ],
    ids=["list", "tuple", "of text", "of more", "text", "empty", "number"],
)
def test_a_list_that_is_a_placeholder_is_told_apart(
    value: object, *, is_list: bool
) -> None:
    """
    From a list that has placeholders in it.
    """
    assert is_list_placeholder(value) is is_list


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"got {Aws.REGION!r}", f"got {AT_DEPLOYMENT}"),
        (f"got 'a-{Aws.REGION}'", "got 'a-<known at deployment>'"),
        (f"got {Token.as_number(Fn.ref('Count'))}; go", f"got {AT_DEPLOYMENT}; go"),
        (f"got {Token.as_number(Fn.ref('Count')):g}", f"got {AT_DEPLOYMENT}"),
        ("got -1.5e+28, 1.8e+289 and ${HOME}", "got -1.5e+28, 1.8e+289 and ${HOME}"),
    ],
    ids=["text", "part of a text", "number", "rounded number", "others"],
)
def test_a_message_says_a_placeholder_in_words(text: str, told: str) -> None:
    """
    Nobody wrote it as the CDK encodes it.
    """
    assert told_apart(text) == told
