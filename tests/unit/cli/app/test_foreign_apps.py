"""
Apps as others write them: nested stacks, stages, variables instead of files, images of
their own; each synthesised, and looked at through the command.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from aws_cdk import App, CfnParameter, Environment, NestedStack, Stack, Stage
from aws_cdk import aws_sagemaker as sagemaker
from typer.testing import CliRunner, Result

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, LmiVllm
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.cli.commands import add_command

ENVIRONMENT = Environment(account="111111111111", region="us-east-1")
LMI = find_image("djl-lmi", "0.36.0").uri("us-east-1")
RAY = find_image("ray-serve", "1.4").uri("us-east-1")
OWN = "111111111111.dkr.ecr.us-east-1.amazonaws.com/mine:1"
ROLE = "arn:aws:iam::111111111111:role/it"
MODEL = {"HF_MODEL_ID": "a/b"}


def synthesised(folder: Path, define: Callable[[App], object]) -> Path:
    """
    Synthesise an app into a folder, which is returned.
    """
    app = App(outdir=str(folder))
    define(app)
    app.synth()
    return folder


def run(command: str, *arguments: str | Path) -> Result:
    """
    Run a subcommand as the command line does.
    """
    app = typer.Typer(add_completion=False)
    app.callback()(lambda: None)
    for name in ("check", "plan", "simulate"):
        add_command(app, name)
    return CliRunner().invoke(app, [command, *map(str, arguments)])


def model(
    scope: Any,  # noqa: ANN401 - a construct
    image: str,
    environment: object = None,
    **more: Any,  # noqa: ANN401 - what a container takes
) -> sagemaker.CfnModel:
    """
    Define a model without the library.
    """
    container = {"image": image, "environment": environment, **more}
    return sagemaker.CfnModel(
        scope, "Model", execution_role_arn=ROLE, primary_container=container
    )


def stack_of(app: App) -> Stack:
    """
    Define an empty stack.
    """
    return Stack(app, "Prod", env=ENVIRONMENT)


def llm(scope: Any) -> LlmEndpoint:  # noqa: ANN401 - a construct
    """
    Define an endpoint of two instances.
    """
    return LlmEndpoint(
        scope,
        "Qwen",
        model=HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct"),
        serving=LmiVllm(),
        instance_type="ml.g5.12xlarge",
        instance_count=2,
    )


def test_variables_of_lmi_are_checked_without_a_tarball(tmp_path: Path) -> None:
    """
    In their own names, and with the accelerators of where the model runs.
    """

    def define(app: App) -> None:
        stack = stack_of(app)
        own = model(stack, LMI, {**MODEL, "OPTION_TENSOR_PARALLEL_DEGREE": "8"})
        variant = {
            "initialVariantWeight": 1,
            "modelName": own.attr_model_name,
            "variantName": "All",
            "initialInstanceCount": 1,
            "instanceType": "ml.g5.12xlarge",
            "inferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
        }
        sagemaker.CfnEndpointConfig(stack, "Config", production_variants=[variant])

    result = run("check", synthesised(tmp_path, define))

    name = "OPTION_TENSOR_PARALLEL_DEGREE"
    said = f"{name}=8 needs 8 accelerators, and there are 4; write {name}=4 or max"
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"Prod/Model: error LLM154 {said}",
        "1 subject checked: 1 error, 0 warnings",
    ]


def test_variables_beside_a_tarball_are_held_against_it(tmp_path: Path) -> None:
    """
    The file wins, and what it says is named.
    """

    def define(app: App) -> None:
        endpoint = llm(stack_of(app))
        made: Any = endpoint.node.find_child("Model").node.find_child("Resource")
        path = "PrimaryContainer.Environment"
        made.add_property_override(path, {"OPTION_ROLLING_BATCH": "disable"})

    result = run("check", synthesised(tmp_path, define))

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("1 subject checked: 0 errors")


@pytest.mark.parametrize(
    ("image", "environment", "more", "reason"),
    [
        (RAY, MODEL, {}, "there are no checks of the image ray-serve 1.4"),
        (
            OWN,
            MODEL,
            {},
            f"the catalogue does not have its image {OWN}",
        ),
        (
            LMI,
            None,
            {"modelDataUrl": "s3://bucket/model.tar.gz"},
            "what is at s3://bucket/model.tar.gz: it is not in the assembly",
        ),
    ],
)
def test_what_cannot_be_judged_is_listed_and_counted_apart(
    tmp_path: Path,
    image: str,
    environment: dict[str, str] | None,
    more: dict[str, str],
    reason: str,
) -> None:
    """
    Nothing of it was checked, so that it is not among what was.
    """

    def define(app: App) -> None:
        model(stack_of(app), image, environment, **more)

    path = synthesised(tmp_path, define)
    text, answer = run("check", path), json.loads(run("check", path, "--json").stdout)

    assert text.exit_code == 0
    assert text.stdout.splitlines() == [
        f"not checked: Prod/Model: {reason}",
        "0 subjects checked: 0 errors, 0 warnings; 1 not checked",
    ]
    assert answer == {
        "errors": 0,
        "warnings": 0,
        "subjects": [],
        "not_checked": [{"subject": "Prod/Model", "reason": reason}],
    }


def test_an_image_and_variables_by_parameter_are_not_guessed(tmp_path: Path) -> None:
    """
    The one leaves nothing to check; the other leaves the rest.
    """

    def define(app: App) -> None:
        first, second = stack_of(app), Stack(app, "Second", env=ENVIRONMENT)
        model(first, CfnParameter(first, "Image").value_as_string, MODEL)
        length = CfnParameter(second, "Length").value_as_string
        model(second, LMI, {**MODEL, "OPTION_MAX_MODEL_LEN": length})

    result = run("check", synthesised(tmp_path, define))

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "not checked: Prod/Model: its image is known at deployment only: ${Image}",
        "not checked: Second/Model: OPTION_MAX_MODEL_LEN: known at deployment only",
        "1 subject checked: 0 errors, 0 warnings; 2 not checked",
    ]


def test_what_decides_the_backend_is_never_guessed(tmp_path: Path) -> None:
    """
    An engine that deployment names could be the right one.
    """

    def define(app: App) -> None:
        stack = stack_of(app)
        batch = CfnParameter(stack, "Batch").value_as_string
        given = {**MODEL, "OPTION_ENGINE": "MPI", "OPTION_ROLLING_BATCH": batch}
        model(stack, LMI, given)

    result = run("check", synthesised(tmp_path, define))

    assert "1 subject checked: 0 errors, 0 warnings" in result.stdout


def test_nested_stacks_are_opened(tmp_path: Path) -> None:
    """
    However deep; each model is named by the stacks around it.
    """

    def define(app: App) -> None:
        outer = NestedStack(stack_of(app), "Outer")
        model(NestedStack(outer, "Inner"), LMI, {**MODEL, "OPTION_DTYPE": "fp4"})

    result = run("check", synthesised(tmp_path, define))

    assert result.exit_code == 1
    (line, summary) = result.stdout.splitlines()
    assert line.startswith("Prod/Outer")
    assert "/Model: error LLM13" in line
    assert "OPTION_DTYPE" in line
    assert summary == "1 subject checked: 1 error, 0 warnings"


def test_references_are_followed_into_nested_stacks_and_out(tmp_path: Path) -> None:
    """
    A model of the parent runs on the variant of a nested stack.
    """

    def define(app: App) -> None:
        stack = stack_of(app)
        own = model(stack, LMI, {**MODEL, "TENSOR_PARALLEL_DEGREE": "8"})
        nested = NestedStack(stack, "Nested")
        variant = {
            "initialVariantWeight": 1,
            "modelName": own.attr_model_name,
            "variantName": "All",
            "initialInstanceCount": 3,
            "instanceType": "ml.g5.12xlarge",
        }
        config = sagemaker.CfnEndpointConfig(
            nested, "Config", production_variants=[variant]
        )
        name = config.attr_endpoint_config_name
        sagemaker.CfnEndpoint(stack, "Endpoint", endpoint_config_name=name)

    path = synthesised(tmp_path, define)
    checked = run("check", path)
    planned = json.loads(run("plan", path, "--json").stdout)

    assert "LLM154 TENSOR_PARALLEL_DEGREE=8" in checked.stdout
    assert planned["quotas"] == {"ml.g5.12xlarge for endpoint usage": 3}


def test_references_are_followed_from_stack_to_stack(tmp_path: Path) -> None:
    """
    What one exports another imports.
    """

    def define(app: App) -> None:
        first, second = stack_of(app), Stack(app, "Second", env=ENVIRONMENT)
        own = model(first, LMI, {**MODEL, "TENSOR_PARALLEL_DEGREE": "8"})
        variant = {
            "initialVariantWeight": 1,
            "modelName": own.attr_model_name,
            "variantName": "All",
            "initialInstanceCount": 2,
            "instanceType": "ml.g5.12xlarge",
        }
        config = sagemaker.CfnEndpointConfig(
            second, "Config", production_variants=[variant]
        )
        third = Stack(app, "Third", env=ENVIRONMENT)
        name = config.attr_endpoint_config_name
        sagemaker.CfnEndpoint(third, "Endpoint", endpoint_config_name=name)

    path = synthesised(tmp_path, define)

    assert "LLM154 TENSOR_PARALLEL_DEGREE=8" in run("check", path).stdout
    planned = json.loads(run("plan", path, "--json").stdout)
    assert planned["quotas"] == {"ml.g5.12xlarge for endpoint usage": 2}


def test_a_plan_counts_nested_stacks_and_stages(tmp_path: Path) -> None:
    """
    The quotas are those of the whole app, scaling included.
    """

    def define(app: App) -> None:
        endpoint = llm(NestedStack(stack_of(app), "Nested"))
        endpoint.auto_scale_instance_count(max_capacity=5)
        llm(Stack(Stage(app, "Later", env=ENVIRONMENT), "Own"))

    path = synthesised(tmp_path, define)
    planned = json.loads(run("plan", path, "--json").stdout)
    checked = run("check", path)

    assert planned["quotas"] == {"ml.g5.12xlarge for endpoint usage": 7}
    assert checked.stdout.splitlines()[-1] == (
        "2 subjects checked: 0 errors, 0 warnings"
    )


def test_the_tarball_of_a_stage_is_read(tmp_path: Path) -> None:
    """
    Its file lies beside the stage's folder, not in it.
    """

    def define(app: App) -> None:
        llm(Stack(Stage(app, "Later", env=ENVIRONMENT), "Own"))

    path = synthesised(tmp_path, define)
    (template,) = path.glob("assembly-Later/*.template.json")
    text = template.read_text().replace("ml.g5.12xlarge", "ml.g5.xlarge")
    template.write_text(text)

    assert "1 subject checked: 0 errors" in run("check", path).stdout
    for tarball in path.rglob("asset.*"):
        if tarball.is_file():
            tarball.unlink()
    assert "it is not in the assembly" in run("check", path).stdout


def test_an_app_has_its_costs(tmp_path: Path) -> None:
    """
    By the hour, as it is deployed and at most.
    """
    path = synthesised(tmp_path, lambda app: llm(stack_of(app)))
    prices = tmp_path / "prices.json"
    prices.write_text('{"ml.g5.12xlarge": 1.5}')
    told = ("plan", path, "--prices", str(prices))
    (host,) = json.loads(run(*told, "--json").stdout)["endpoints"]
    usual, most = 1.5 * host["instances"], 1.5 * host["most_instances"]

    assert (host["usd_per_hour"], host["most_usd_per_hour"]) == (usual, most)
    assert (
        f"  costs: {usual:.2f} $/h, {usual * 730:,.0f} $ a month; "
        f"at most {most:.2f} $/h, {most * 730:,.0f} $ a month\n"
    ) in run(*told).stdout
    prices.write_text('{"ml.g6.xlarge": 1.5}')
    assert "  costs: no price known for ml.g5.12xlarge\n" in run(*told).stdout


@pytest.mark.parametrize(
    ("regions", "options", "expected"),
    [
        (("us-west-2",), (), "us-west-2 (2026-03-11)"),
        (("us-west-2", "us-west-2"), (), "us-west-2 (2026-03-11)"),
        (("eu-west-1",), (), "eu-west-1 (none), * us-west-2 (2026-03-11)"),
        (("us-west-2",), ("--region", "us-east-1"), "us-east-1 (2026)"),
        # Of several regions, or none, none is the app's.
        (("us-west-2", "eu-west-1"), (), "us-east-1 (2026)"),
        ((None,), (), "us-east-1 (2026)"),
    ],
    ids=["own", "twice", "elsewhere", "other", "several", "none"],
)
def test_prices_are_of_the_apps_region(
    tmp_path: Path,
    regions: tuple[str | None, ...],
    options: tuple[str, ...],
    expected: str,
) -> None:
    """
    Of all its stacks, unless another one is asked for; the output says which it is.
    """

    def define(app: App) -> None:
        for number, region in enumerate(regions):
            env = Environment(account="111111111111", region=region)
            llm(Stack(app, f"Stack{number}", env=env if region else None))

    path = synthesised(tmp_path, define)
    lines = [
        line
        for command in ("plan", "simulate")
        for line in run(command, path, *options).stdout.splitlines()
        if line.startswith("prices: ")
    ]

    source = "this package's list of 2026-11-23, --prices aws asks AWS"
    assert lines == [f"prices: {expected}; {source}"] * 2


@pytest.mark.parametrize(
    "option",
    [
        ["--instance-type", "ml.g5.xlarge"],
        ["--copies", "1"],
        ["--context", "8"],
        ["--serving", "tgi"],
        ["--gguf-type", "Q4_K_M"],
    ],
)
def test_options_of_one_model_are_refused_for_an_app(
    tmp_path: Path, option: list[str]
) -> None:
    """
    They were ignored; a default that is written out is an option given.
    """
    path = synthesised(tmp_path, lambda app: llm(stack_of(app)))

    result = run("plan", path, *option)

    assert result.exit_code == 2
    assert f"{option[0]} cannot be given for a synthesised app" in result.stderr
    assert run("plan", path).exit_code == 0
