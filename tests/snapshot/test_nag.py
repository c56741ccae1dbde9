"""
cdk-nag's AwsSolutions rules over the reference app.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import App, Stack, Validations
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

import app as reference
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
