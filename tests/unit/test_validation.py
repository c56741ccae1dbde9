"""
The checks as a plugin of the CDK: in apps of any constructs, with construct paths.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import (
    Acknowledgment,
    App,
    CfnParameter,
    Environment,
    NestedStack,
    Stack,
    Stage,
    Validations,
)

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, SageMakerLlmChecks, Tgi
from tests.unit.cli.app.test_foreign_apps import LMI, MODEL, model
from tests.unit.foreign.cdk_apps import TGI

WRONG = {**MODEL, "OPTION_DTYPE": "fp4"}
ENVIRONMENT = Environment(account="111111111111", region="us-east-1")


def stack_in(scope: Any, name: str = "Prod") -> Stack:  # noqa: ANN401 - a construct
    """
    Define an empty stack.
    """
    return Stack(scope, name, env=ENVIRONMENT)


def reported(
    folder: Path,
    define: Callable[[App], object],
    checks: SageMakerLlmChecks | None = None,
) -> tuple[str, dict[str, Any]]:
    """
    Synthesise an app with the plugin; return what it failed with, and its report.
    """
    app = App(outdir=str(folder))
    define(app)
    Validations.of(app).add_plugins(checks or SageMakerLlmChecks())
    failure = ""
    try:
        app.synth()
    except RuntimeError as error:
        failure = str(error)
    return failure, own_report(folder)


def own_report(folder: Path) -> dict[str, Any]:
    """
    Return what the CDK has written down of the plugin.
    """
    file = folder / "validation-report.json"
    reports = json.loads(file.read_text())["pluginReports"] if file.exists() else []
    mine = [one for one in reports if one["pluginName"] == "cdk-sagemaker-llm"]
    return mine[0] if mine else {"violations": [], "conclusion": "success"}


def paths(report: dict[str, Any], kind: str = "violations") -> list[tuple[str, str]]:
    """
    Return the code and the construct of each violation.
    """
    return sorted(
        (one["ruleName"], construct["constructPath"])
        for one in report.get(kind) or ()
        for construct in one["violatingConstructs"]
    )


def test_an_error_stops_the_synthesis_with_the_constructs_path(tmp_path: Path) -> None:
    """
    The report has the message, the way out and the template.
    """
    failure, report = reported(tmp_path, lambda app: model(stack_in(app), LMI, WRONG))
    (violation,) = report["violations"]

    assert "Prod/Model" in failure
    assert "Acknowledge with 'cdk-sagemaker-llm::LLM136'" in failure
    assert report["conclusion"] == "failure"
    assert (violation["ruleName"], violation["severity"]) == ("LLM136", "error")
    assert "OPTION_DTYPE" in violation["description"]
    (construct,) = violation["violatingConstructs"]
    assert construct["constructPath"] == "Prod/Model"
    assert construct["cloudFormationResource"] == {
        "templatePath": "Prod.template.json",
        "logicalId": "Model",
    }


def test_a_clean_app_is_let_through(tmp_path: Path) -> None:
    """
    And one without models.
    """

    def define(app: App) -> None:
        model(stack_in(app), LMI, MODEL)
        stack_in(app, "Empty")

    assert reported(tmp_path, define) == (
        "",
        {"violations": [], "conclusion": "success"},
    )


def test_stages_and_nested_stacks_are_checked(tmp_path: Path) -> None:
    """
    Each construct by its own path, though their logical ids are the same.
    """

    def define(app: App) -> None:
        stack = stack_in(app)
        model(stack, LMI, MODEL)
        model(NestedStack(stack, "Inner"), LMI, WRONG)
        later = stack_in(Stage(Stage(app, "Later"), "Deep"), "Own")
        model(later, LMI, WRONG)
        model(NestedStack(later, "Inner"), LMI, WRONG)

    failure, report = reported(tmp_path, define)

    assert failure
    assert paths(report) == [
        ("LLM136", "Later/Deep/Own/Inner/Model"),
        ("LLM136", "Later/Deep/Own/Model"),
        ("LLM136", "Prod/Inner/Model"),
    ]


def test_a_plugin_of_a_stage_is_of_its_stacks(tmp_path: Path) -> None:
    """
    What is beside the stage is not its own.
    """
    app = App(outdir=str(tmp_path))
    model(stack_in(app), LMI, WRONG)
    stage = Stage(app, "Later")
    model(stack_in(stage, "Own"), LMI, WRONG)
    Validations.of(stage).add_plugins(SageMakerLlmChecks())

    with pytest.raises(RuntimeError, match="Later/Own/Model"):
        app.synth()
    assert paths(own_report(tmp_path)) == [("LLM136", "Later/Own/Model")]


def test_what_deployment_decides_is_left_open(tmp_path: Path) -> None:
    """
    It is no violation, whatever it may turn out to be.
    """

    def define(app: App) -> None:
        stack = stack_in(app)
        kind = CfnParameter(stack, "Type").value_as_string
        model(stack, LMI, {**MODEL, "OPTION_DTYPE": kind})

    assert reported(tmp_path, define)[0] == ""


def test_acknowledgements_are_the_cdks_own(tmp_path: Path) -> None:
    """
    At the construct or above, with the reason in the report; one that nothing needs is
    a warning, and lets the synthesis go on.
    """

    def define(app: App) -> None:
        stack = stack_in(app)
        model(stack, LMI, WRONG)
        Validations.of(stack).acknowledge(
            Acknowledgment(id="cdk-sagemaker-llm::LLM136", reason="we know"),
            Acknowledgment(id="cdk-sagemaker-llm::LLM201", reason="of old"),
        )

    failure, report = reported(tmp_path, define)

    assert failure == ""
    assert paths(report, "suppressedViolations") == [("LLM136", "Prod/Model")]
    assert [one["reason"] for one in report["suppressedViolations"]] == ["we know"]
    (left,) = report["violations"]
    assert (left["ruleName"], left["severity"]) == (
        "unneeded-acknowledgement",
        "warning",
    )
    assert left["description"] == (
        "the acknowledgement of LLM201 at Prod, which nothing finds there"
    )


def test_a_file_acknowledges_for_apps_that_cannot(tmp_path: Path) -> None:
    """
    As ``sagemaker-llm check`` reads it; a wrong one is told where the plugin is made.
    """
    file = tmp_path / "it.toml"
    file.write_text(
        '[[acknowledge]]\ncode = "LLM136"\npath = "Prod/*"\nreason = "we know"\n'
    )
    checks = SageMakerLlmChecks(acknowledgements=file)

    def define(app: App) -> None:
        model(stack_in(app), LMI, WRONG)

    assert reported(tmp_path / "cdk.out", define, checks)[0] == ""
    file.write_text('[[acknowledge]]\ncode = "LLM136"\npath = "*"\n')
    with pytest.raises(ValueError, match="entry 1: reason is missing"):
        SageMakerLlmChecks(acknowledgements=str(file))


def test_what_cannot_be_read_stops_the_synthesis(tmp_path: Path) -> None:
    """
    A resource that is not of its type's shape.
    """

    def define(app: App) -> None:
        made = model(stack_in(app), LMI, MODEL)
        made.add_property_override("PrimaryContainer.Environment", ["odd"])

    failure, report = reported(tmp_path, define)

    assert "Environment must be a map, got a list" in failure
    assert [one["ruleName"] for one in report["violations"]] == ["unreadable"]


def test_what_a_construct_warns_of_is_not_told_again(tmp_path: Path) -> None:
    """
    An app may have constructs of this library beside others; acknowledging the
    construct's warning acknowledges both.
    """

    def define(app: App, *, is_known: bool) -> None:
        stack = stack_in(app)
        model(stack, TGI, MODEL)
        endpoint = LlmEndpoint(
            stack,
            "Chat",
            model=HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct"),
            serving=Tgi("3.3.6"),
            instance_type="ml.g5.2xlarge",
        )
        if is_known:
            id_ = "cdk-sagemaker-llm:LLM201"
            Validations.of(endpoint).acknowledge(
                Acknowledgment(id=id_, reason="of old")
            )

    for is_known in (False, True):
        folder = tmp_path / str(is_known)
        failure, report = reported(folder, partial(define, is_known=is_known))
        warned = (folder / "Prod.metadata.json").read_text().count("ack: cdk-sage")

        assert failure == ""
        assert paths(report) == [("LLM201", "Prod/Model")]
        assert bool(warned) is not is_known


@pytest.mark.parametrize("odd", [1, [], b"it.toml"])
def test_a_file_is_a_path(odd: Any) -> None:  # noqa: ANN401 - a wrong one
    """
    Told in the caller's words.
    """
    with pytest.raises(ValueError, match="acknowledgements must be text or a Path"):
        SageMakerLlmChecks(acknowledgements=odd)
