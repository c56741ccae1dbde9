"""
cdk-nag's AwsSolutions rules over the reference app.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import App, Stack, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

import app as reference
from cdk_sagemaker_llm import (
    InferenceComponentEndpoint,
    ResourceRequirements,
    S3Model,
    Tgi,
)
from tests.conftest import STRICT


def test_no_rule_is_violated(tmp_path: Path) -> None:
    """
    Synthesis fails on a violation; the report lists none.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    reference.define(app)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())

    assert report["title"] == "Validation Report"
    assert [r["violations"] for r in report["pluginReports"]] == [
        [] for _ in report["pluginReports"]
    ]


@pytest.mark.parametrize("mutable", [True, False], ids=["shared", "given"])
def test_no_rule_is_violated_by_many_models_of_one_role(
    tmp_path: Path, *, mutable: bool
) -> None:
    """
    Also where what they need fills several policies, or is asked of others.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    stack = Stack(app, "Stack")
    arn = "arn:aws:iam::111111111111:role/mine"
    role = iam.Role.from_role_arn(stack, "Role", arn, mutable=mutable)
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", instance_count=2, role=role
    )
    for number in range(12):
        host.add_model(
            f"Model{number}",
            model=S3Model(f"s3://weights/{'x' * 500}{number}/"),
            serving=Tgi("3.3.6"),
            resources=ResourceRequirements(accelerators=1),
        )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    app.synth()
    template = json.loads((tmp_path / "Stack.template.json").read_text())
    kinds = [each["Type"] for each in template["Resources"].values()]

    assert kinds.count("AWS::IAM::Policy") == (1 if mutable else 0)
    assert kinds.count("AWS::IAM::ManagedPolicy") == (3 if mutable else 0)


def test_the_rules_do_run(tmp_path: Path) -> None:
    """
    An open bucket in such an app is found: the test above is no empty promise.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    s3.Bucket(Stack(app, "Stack"), "Bucket")
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    with pytest.raises(RuntimeError, match="AwsSolutions-S1"):
        app.synth()


def test_every_acknowledgement_has_a_reason(tmp_path: Path) -> None:
    """
    It stands at the policy that needs it, one for each wildcard.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    reference.define(app)
    app.synth()

    key = Validations.ACKNOWLEDGED_RULES_METADATA_KEY
    acknowledged = {
        (path, rule): reason
        for file in tmp_path.glob("*.metadata.json")
        for path, entries in json.loads(file.read_text()).items()
        for entry in entries
        if entry["type"] == key
        for rule, reason in entry["data"].items()
    }

    # Login and metrics together, and two log groups, for each of three; the tarballs
    # of two.
    assert len(acknowledged) == 11
    assert all(path.endswith("/Access") for path, _ in acknowledged)
    assert all("AwsSolutions-IAM5[Resource::" in rule for _, rule in acknowledged)
    assert all(len(reason) > 20 for reason in acknowledged.values())
