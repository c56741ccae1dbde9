"""
How values are written as Python, and what differs between two of them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.adoption.code import Name, call, comment, imports, written
from cdk_sagemaker_llm.adoption.deployment import Hidden, Open
from cdk_sagemaker_llm.adoption.resources import differences


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", '"it\'s"'),
        ('say "yes"', "'say \"yes\"'"),
        ({"a": [1, True, None]}, '{"a": [1, True, None]}'),
        (call("f", "a", b=Name("c"), left_out=None), 'f("a", b=c)'),
        (Open("role_arn", ""), "role_arn"),
    ],
)
def test_values_are_written_as_python(value: object, text: str) -> None:
    """
    In double quotes where that takes no backslash.
    """
    assert written(value, 2) == text


def test_long_calls_take_a_line_for_each_argument() -> None:
    """
    At 88 characters, as the indentation counts too.
    """
    fits, too_long = call("f", "a" * 73), call("f", "a" * 76)

    assert written(fits, 2) == f'f("{"a" * 73}")'
    assert written(too_long, 2) == f'f(\n            "{"a" * 76}",\n        )'


def test_comments_are_wrapped() -> None:
    """
    Each line within the width, and no word lost.
    """
    lines = comment("word " * 40)

    assert len(lines) == 3
    assert all(len(line) <= 88 for line in lines)
    assert sum(line.count("word") for line in lines) == 40


def test_imports_are_those_that_the_lines_use() -> None:
    """
    Names in texts are none.
    """
    lines = imports('Model(self, "Endpoint", role=iam.Role(), wait=Duration.days(1))')

    assert lines == [
        "from aws_cdk import Duration",
        "from aws_cdk import aws_iam as iam",
        "",
        "from cdk_sagemaker_llm import Model",
    ]


@pytest.mark.parametrize(
    ("wanted", "found", "settings"),
    [
        ({"A": 1}, {"A": 1.0}, []),
        ({"A": True}, {"A": 1}, [(("A",), True)]),
        ({}, {"A": {"B": 1}}, [(("A",), None)]),
        (
            {"A": {"B": 1}},
            {"A": {"B": 2, "C": 3}},
            [(("A", "B"), 1), (("A", "C"), None)],
        ),
        ({"A": [{"B": 1}]}, {"A": [{"B": 2}]}, [(("A", "0", "B"), 1)]),
        ({"A": [{"B": 1}]}, {"A": []}, [(("A",), [{"B": 1}])]),
        ({"A": ["b"]}, {"A": ["b"]}, []),
        ({"A": "2026-12-24T18:00:00+00:00"}, {"A": "2026-12-24T18:00:00Z"}, []),
        (
            {"A": "2026-12-24T18:00:00"},
            {"A": "2026-12-24T19:00:00Z"},
            [(("A",), "2026-12-24T18:00:00")],
        ),
    ],
)
def test_differences_are_what_is_to_be_set(
    wanted: object, found: object, settings: list[tuple[tuple[str, ...], object]]
) -> None:
    """
    By its path; nothing in the place of what has to go.
    """
    assert list(differences(wanted, found)) == settings


def test_a_reference_is_as_good_as_the_secret() -> None:
    """
    And any value as good as an argument; nothing is not.
    """
    secret = Hidden("HF_TOKEN", "a Hugging Face token")
    reference = "{{resolve:secretsmanager:adopted/HF_TOKEN:SecretString:::}}"

    assert list(differences({"A": secret}, {"A": reference})) == []
    assert list(differences({"A": secret}, {"A": "plain"})) != []
    assert list(differences({"A": Open("a", "")}, {"A": "x"})) == []
    assert list(differences({"A": Open("a", "")}, {})) != []
