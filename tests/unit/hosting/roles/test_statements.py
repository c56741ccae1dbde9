"""
What a role may do as plain values: united, counted and rendered.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Aws, CfnParameter, Stack

from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    covers,
    document_json,
    hosting_statements,
    prefix_condition,
    size_of,
    united,
)

READ = "s3:GetObject"
LIST = "s3:ListBucket"


def read(*resources: str) -> Statement:
    """
    Return a statement that reads objects.
    """
    return Statement(sid="Read", actions=[READ], resources=resources)


def listed(bucket: str, *prefixes: str) -> Statement:
    """
    Return a statement that lists a bucket under prefixes.
    """
    return Statement(
        sid="List",
        actions=[LIST],
        resources=[bucket],
        conditions=prefix_condition(*prefixes),
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            Statement(sid="A", actions=["s3:GetObject"], resources=["arn:1", "arn:2"]),
            {
                "Sid": "A",
                "Effect": "Allow",
                "Action": ["s3:GetObject"],
                "Resource": ["arn:1", "arn:2"],
            },
        ),
        (
            Statement(
                sid="B",
                actions=("s3:ListBucket", "s3:GetObject"),
                resources=("arn:1",),
                conditions={"StringLike": {"s3:prefix": ["a/*"]}},
                wildcard_reason="it is said elsewhere",
            ),
            {
                "Sid": "B",
                "Effect": "Allow",
                "Action": ["s3:ListBucket", "s3:GetObject"],
                "Resource": ["arn:1"],
                "Condition": {"StringLike": {"s3:prefix": ["a/*"]}},
            },
        ),
    ],
    ids=["plain", "conditional"],
)
def test_a_statement_reads_as_iam_writes_it(
    statement: Statement, expected: dict[str, Any]
) -> None:
    """
    Reasons are for the reader, and no part of it.
    """
    assert statement.to_json() == expected


def test_a_statement_is_said_in_short() -> None:
    """
    What for, and which actions: what a warning tells.
    """
    assert str(read("arn:bucket")) == "Read (s3:GetObject)"


def test_what_every_role_needs_is_a_login_logs_and_metrics() -> None:
    """
    The metrics of SageMaker's namespaces: it publishes no others by the role.
    """
    login, logs, metrics = hosting_statements()

    assert login.sid == "LogInToRegistries"
    assert logs.sid == "WriteLogs"
    assert metrics.to_json() == {
        "Sid": "PublishMetrics",
        "Effect": "Allow",
        "Action": ["cloudwatch:PutMetricData"],
        "Resource": ["*"],
        "Condition": {"StringLike": {"cloudwatch:namespace": ["/aws/sagemaker/*"]}},
    }


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([read("a"), read("b"), read("a")], [read("a", "b")]),
        (
            [listed("a", "x/*"), listed("b", "x/*")],
            [
                Statement(
                    sid="List",
                    actions=[LIST],
                    resources=["a", "b"],
                    conditions=prefix_condition("x/*"),
                )
            ],
        ),
        (
            [listed("a", "x/*"), listed("a", "y/*"), listed("a", "x/*")],
            [listed("a", "x/*", "y/*")],
        ),
        (
            [listed("a", "x/*"), listed("b", "y/*")],
            [
                listed("a", "x/*"),
                Statement(
                    sid="List2",
                    actions=[LIST],
                    resources=["b"],
                    conditions=prefix_condition("y/*"),
                ),
            ],
        ),
    ],
    ids=["resources", "buckets", "prefixes", "both differ"],
)
def test_statements_are_united_where_they_allow_the_same(
    statements: list[Statement], expected: list[Statement]
) -> None:
    """
    Nothing more is allowed than each of them did; no name is used twice.
    """
    assert [s.to_json() for s in united(statements)] == [s.to_json() for s in expected]


def test_other_conditions_are_never_united() -> None:
    """
    Values of a negative operator exclude: together they would allow less.
    """
    one, other = (
        Statement(
            sid="List",
            actions=[LIST],
            resources=["a"],
            conditions={"StringNotLike": {"s3:prefix": [prefix]}},
        )
        for prefix in ("x/*", "y/*")
    )

    assert [statement.conditions for statement in united([one, other])] == [
        {"StringNotLike": {"s3:prefix": ["x/*"]}},
        {"StringNotLike": {"s3:prefix": ["y/*"]}},
    ]


def test_what_is_there_already_is_covered() -> None:
    """
    A resource among others, or a prefix among others, is no news.
    """
    has = [read("a", "b"), listed("a", "x/*", "y/*")]

    assert covers(has, read("b"))
    assert covers(has, listed("a", "y/*"))
    assert not covers(has, read("c"))
    assert not covers(has, listed("b", "y/*"))
    assert not covers([], read("a"))


def test_single_values_are_rendered_as_the_cdk_renders_them() -> None:
    """
    A template does not change with the way that its policy was written.
    """
    assert document_json([read("a"), read("a", "b")])["Statement"] == [
        {"Sid": "Read", "Effect": "Allow", "Action": READ, "Resource": "a"},
        {"Sid": "Read", "Effect": "Allow", "Action": READ, "Resource": ["a", "b"]},
    ]


def test_the_size_is_what_iam_counts() -> None:
    """
    All characters but white space.
    """
    text = (
        '{"Statement":[{"Sid":"Read","Effect":"Allow","Action":"s3:GetObject",'
        '"Resource":"a"}],"Version":"2012-10-17"}'
    )

    assert size_of([read("a")]) == len(text)


@pytest.mark.parametrize(
    ("resource", "longest"),
    [
        (Aws.PARTITION, len("aws-us-gov")),
        (Aws.REGION, len("ap-southeast-2")),
        (Aws.ACCOUNT_ID, len("111111111111")),
        (f"arn:{Aws.PARTITION}:s3:::a", len("arn:aws-us-gov:s3:::a")),
    ],
    ids=["partition", "region", "account", "inside"],
)
def test_a_placeholder_is_counted_at_its_longest(resource: str, longest: int) -> None:
    """
    The stack's own names have known lengths.
    """
    assert size_of([read(resource)]) == size_of([read("x" * longest)])


def test_a_reference_is_counted_as_the_longest_arn() -> None:
    """
    A repository's ARN in a partition with a long name.
    """
    reference = CfnParameter(Stack(App(), "Test"), "Arn").value_as_string
    longest = f"arn:aws-us-gov:ecr:us-gov-west-1:111111111111:repository/{'x' * 256}"

    assert size_of([read(reference)]) == size_of([read("x" * 320)])
    assert len(longest) <= 320
