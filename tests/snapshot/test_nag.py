"""
cdk-nag's AwsSolutions rules over the reference app.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import (
    Acknowledgment,
    App,
    Aws,
    CfnCondition,
    CfnMapping,
    CfnParameter,
    Fn,
    Stack,
    Validations,
)
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

import app as reference
from cdk_sagemaker_llm import (
    AsyncInference,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
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


@pytest.mark.parametrize(
    "name",
    [
        lambda _: Fn.import_value("Weights"),
        lambda stack: Fn.import_value(f"{stack.stack_name}-${{Weights}}"),
        lambda stack: Fn.select(1, Fn.split("/", later(stack))),
        lambda stack: Fn.select(0, ["a", later(stack)]),
        lambda stack: Fn.condition_if(condition(stack), "a", later(stack)).to_string(),
        lambda stack: Fn.sub("${AWS::AccountId}-${Name}", {"Name": later(stack)}),
        lambda _: Fn.sub("${AWS::AccountId}-weights"),
        lambda stack: table(stack).find_in_map(Aws.REGION, "bucket"),
        lambda stack: f"{later(stack)}-{Aws.REGION}",
    ],
    ids=[
        "ImportValue",
        "ImportValue with a placeholder",
        "Select of Split",
        "Select",
        "If",
        "Sub with a map",
        "Sub",
        "FindInMap",
        "Join",
    ],
)
def test_wildcards_are_acknowledged_whatever_names_the_bucket(
    tmp_path: Path, name: Callable[[Stack], str]
) -> None:
    """
    Each form that a reference can have is written as cdk-nag writes it.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    stack = Stack(app, "Stack")
    bucket = s3.Bucket.from_bucket_name(stack, "Weights", name(stack))
    Model(
        stack,
        "Model",
        serving=Tgi("3.3.6"),
        model=S3Model.from_bucket(bucket, "weights"),
    )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())

    assert [r["violations"] for r in report["pluginReports"]] == [
        [] for _ in report["pluginReports"]
    ]


def later(stack: Stack) -> str:
    """
    Return a text that only deployment knows.
    """
    return CfnParameter(stack, "Name").value_as_string


def condition(stack: Stack) -> str:
    """
    Return the id of a condition.
    """
    made = CfnCondition(stack, "Wide", expression=Fn.condition_equals(Aws.REGION, "a"))
    return made.logical_id


def table(stack: Stack) -> CfnMapping:
    """
    Return a table of buckets by region.
    """
    return CfnMapping(stack, "Table", mapping={"us-east-1": {"bucket": "a"}})


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


def test_a_bucket_of_another_stack_is_acknowledged(tmp_path: Path) -> None:
    """
    Its name is an import in the template, and was none when the model was defined.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    bucket = s3.Bucket(Stack(app, "Data"), "Weights")
    Validations.of(bucket).acknowledge(
        Acknowledgment(id="AwsSolutions-S1", reason="it is a test's"),
        Acknowledgment(id="AwsSolutions-S10", reason="it is a test's"),
    )
    Model(
        Stack(app, "Chat"),
        "Model",
        serving=Tgi("3.3.6"),
        model=S3Model.from_bucket(bucket, "weights"),
    )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())

    assert [r["violations"] for r in report["pluginReports"]] == [
        [] for _ in report["pluginReports"]
    ]


def asynchronous(scope: Stack) -> LlmEndpoint:
    """
    Define an endpoint whose callers are granted wildcards below a bucket.
    """
    return LlmEndpoint(
        scope,
        "Llm",
        model=S3Model("s3://weights/a/"),
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.xlarge",
        async_inference=AsyncInference(
            output="s3://answers/out", inputs="s3://answers/in"
        ),
    )


def test_a_callers_wildcards_are_acknowledged(tmp_path: Path) -> None:
    """
    At the caller's policy, those that the library asks for.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    stack = Stack(app, "Stack")
    lambda_ = iam.ServicePrincipal("lambda.amazonaws.com")
    asynchronous(stack).grant_invoke_async(
        iam.Role(stack, "Caller", assumed_by=lambda_)
    )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    app.synth()

    assert (tmp_path / "Stack.template.json").exists()


def test_what_covers_everything_is_left_to_the_principals_owner(tmp_path: Path) -> None:
    """
    An acknowledgement of ``*`` would cover what others let the same policy do.
    """
    app = App(context=STRICT, outdir=str(tmp_path))
    stack = Stack(app, "Stack")
    lambda_ = iam.ServicePrincipal("lambda.amazonaws.com")
    user = iam.Role(stack, "Caller", assumed_by=lambda_)
    asynchronous(stack).grant_invoke(user, bearer_token=True)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    with pytest.raises(RuntimeError, match=r"AwsSolutions-IAM5\[Resource::\*\]"):
        app.synth()
