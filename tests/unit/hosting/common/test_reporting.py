"""
How findings reach the user: errors at once and together, warnings where they belong.
"""

from __future__ import annotations

import pytest
from aws_cdk import App, CfnResource, Stack
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.hosting.common.reporting import annotate, at_synth, report
from tests.unit.hosting.written import warnings_of

WRONG = Finding(Severity.ERROR, "LLM101", "it is wrong", "mend it")
WORSE = Finding(Severity.ERROR, "LLM102", "it is worse")
DOUBTFUL = Finding(Severity.WARNING, "LLM201", "it is doubtful", "think again")
ODD = Finding(Severity.WARNING, "LLM202", "it is odd")


def test_one_error_is_one_line(stack: Stack) -> None:
    """
    The path of what was to be made, the code, the message, the remedy.
    """
    scope = Construct(stack, "Scope")
    with pytest.raises(ValueError, match="LLM101") as raised:
        report(scope, "It", [DOUBTFUL, WRONG])

    assert str(raised.value) == "Test/Scope/It: LLM101 it is wrong; mend it"


def test_several_errors_are_a_list(stack: Stack) -> None:
    """
    Warnings are no part of it.
    """
    with pytest.raises(ValueError, match="2 errors") as raised:
        report(stack, "It", iter([WRONG, ODD, WORSE]))

    assert str(raised.value) == (
        "Test/It: 2 errors\n  - LLM101 it is wrong; mend it\n  - LLM102 it is worse"
    )


def test_warnings_raise_nothing(stack: Stack) -> None:
    """
    They are attached once the construct is there.
    """
    report(stack, "It", [DOUBTFUL, ODD])
    report(stack, "It", [])


def test_each_warning_is_attached_with_its_code(stack: Stack) -> None:
    """
    Message and remedy; the code is what acknowledges it.
    """
    CfnResource(stack, "Resource", type="AWS::SNS::Topic")
    scope = Construct(stack, "Scope")
    annotate(scope, iter([DOUBTFUL, ODD]))
    annotate(stack, [])

    assert warnings_of(stack) == [
        ("/Test/Scope", "it is doubtful; think again [ack: cdk-sagemaker-llm:LLM201]"),
        ("/Test/Scope", "it is odd [ack: cdk-sagemaker-llm:LLM202]"),
    ]


def test_what_shows_at_the_end_is_told_at_synth() -> None:
    """
    Errors stop it, all together; what is found later counts.
    """
    app = App()
    stack = Stack(app, "Test")
    found: list[Finding] = []
    at_synth(stack, lambda: found)
    found += [WRONG, DOUBTFUL, WORSE]

    with pytest.raises(RuntimeError) as raised:
        app.synth()

    assert "[Test] LLM101 it is wrong; mend it" in str(raised.value)
    assert "[Test] LLM102 it is worse" in str(raised.value)
    assert "LLM201" not in str(raised.value)


def test_warnings_of_the_end_are_attached_once(stack: Stack) -> None:
    """
    However often it is synthesised.
    """
    CfnResource(stack, "Resource", type="AWS::SNS::Topic")
    at_synth(stack, lambda: [DOUBTFUL])
    expected = [
        (
            "/Test",
            "it is doubtful; think again [ack: cdk-sagemaker-llm:LLM201]",
        )
    ]

    assert warnings_of(stack) == expected
    assert warnings_of(stack) == expected
