"""
What examples are measured against is the same app on L1 classes.
"""

from __future__ import annotations

import ast
from pathlib import Path

import aws_cdk
import pytest

from benchmarks.twins import TwinError, templates, write_twin
from tests.examples.synthesis import ERROR, EXAMPLES, app_into

NAMES = sorted(app.parent.name for app in EXAMPLES.glob("*/app.py"))
# Stacks and files of two of them, so that equal is not equally empty.
MADE = {"building_blocks": (1, 2), "in_a_vpc": (2, 0)}


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_makes_the_same_templates(
    name: str, assemblies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    To the last property, with as many stacks and files; only their hashes differ.
    """
    example = assemblies / name
    assert not (example / ERROR).exists()
    program = write_twin(example)
    monkeypatch.setattr(aws_cdk, "App", app_into(tmp_path, is_watched=False))
    exec(compile(program, "twin", "exec"), {})  # noqa: S102 - it is a program

    files = len(list(tmp_path.glob("asset.*")))
    assert templates(tmp_path) == templates(example)
    assert files == len(list(example.glob("asset.*")))
    if name in MADE:
        assert (len(templates(tmp_path)), files) == MADE[name]


def test_a_twin_is_typed_and_does_not_load_the_library(assemblies: Path) -> None:
    """
    Each resource is a call of its own class.
    """
    program = write_twin(assemblies / "building_blocks")
    made = [
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("aws_")
    ]

    assert "cdk_sagemaker_llm" not in program
    assert "CfnResource(" not in program
    assert {each for each in made if not each.endswith("Property")} == {
        "aws_applicationautoscaling.CfnScalableTarget",
        "aws_applicationautoscaling.CfnScalingPolicy",
        "aws_iam.CfnPolicy",
        "aws_iam.CfnRole",
        "aws_s3_assets.Asset",
        "aws_sagemaker.CfnEndpoint",
        "aws_sagemaker.CfnEndpointConfig",
        "aws_sagemaker.CfnModel",
    }


def test_a_template_that_no_twin_is_written_of_is_told(tmp_path: Path) -> None:
    """
    Rather than measured against something else.
    """
    app = aws_cdk.App(outdir=str(tmp_path))
    stack = aws_cdk.Stack(app, "Stack")
    queue = aws_cdk.CfnResource(stack, "Queue", type="AWS::SQS::Queue")
    wide = aws_cdk.Fn.condition_equals(aws_cdk.Aws.REGION, "us-east-1")
    queue.cfn_options.condition = aws_cdk.CfnCondition(stack, "Wide", expression=wide)
    app.synth()

    with pytest.raises(TwinError, match="templates with Conditions"):
        write_twin(tmp_path)
