"""
``sagemaker-llm new``: an app to begin with.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import accelerated_type_names
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._options import (
    complete_instance_types,
    complete_models,
    is_given,
)
from cdk_sagemaker_llm.cli.starter.starter import Starter, check_name, write
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.fit.planning import plan as plan_for
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from cdk_sagemaker_llm.serving.support_check import check_support

MISUSE = 2
_MODEL = "Qwen/Qwen3-0.6B"
# Of the Hub on 2026-11-23.
_COMMIT = "c1899de289a04d12100db370d81485cdf75e47ca"
_NO_GPUS = ("ml.inf", "ml.trn", "ml.dl")
_OPTIONS = ("model", "revision", "instance_type", "shared", "vpc", "ci")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wishes:
    model: str
    revision: str | None
    instance_type: str | None
    shared: bool
    vpc: bool
    ci: bool


def new(
    *,
    command: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The folder of the app, new or empty."),
    ],
    model: Annotated[
        str,
        typer.Option(
            help="The model's id on the Hugging Face Hub.",
            autocompletion=complete_models,
        ),
    ] = _MODEL,
    revision: Annotated[
        str | None,
        typer.Option(
            help="The model's commit; if omitted, a known one of the default model, "
            "else none, and nothing scales."
        ),
    ] = None,
    instance_type: Annotated[
        str | None,
        typer.Option(
            help="The instance type; if omitted, the smallest that the model fits.",
            autocompletion=complete_instance_types,
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared/--single",
            help="Let models share the instances, or have one model fill each.",
        ),
    ] = False,
    vpc: Annotated[
        bool, typer.Option("--vpc/--no-vpc", help="Run the model in a VPC.")
    ] = False,
    ci: Annotated[
        bool, typer.Option("--ci/--no-ci", help="Add a workflow for GitHub Actions.")
    ] = True,
) -> None:
    """
    Write an app to begin with: a stack, tests, pinned versions and a CI workflow.

    On a terminal, and without options, it asks. The app passes its own tests, which
    need no AWS account. Exits with 0, or with 2 on misuse; then nothing is written.
    """
    wishes = _Wishes(
        model=model,
        revision=revision,
        instance_type=instance_type,
        shared=shared,
        vpc=vpc,
        ci=ci,
    )
    try:
        _check_empty(folder)
        check_name(folder.resolve().name)
        is_said = any(is_given(command, name) for name in _OPTIONS)
        if not is_said and sys.stdin.isatty() and sys.stdout.isatty():
            wishes = _answers(wishes)
        starter = _starter(folder.resolve().name, wishes)
        has_snapshots = write(starter, folder.resolve())
    except (ValueError, OSError) as fault:
        for line in str(fault).splitlines():
            typer.echo(f"sagemaker-llm new: {line}", err=True)
        raise typer.Exit(MISUSE) from fault
    typer.echo(_next_steps(folder, starter, has_snapshots=has_snapshots))


def _check_empty(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise MisuseError(f"DIR must be a folder, new or empty; {folder} is a file")
    # A repository that was just made is empty, too.
    found = sorted(one.name for one in folder.iterdir() if one.name != ".git")
    if found:
        raise MisuseError(
            f"DIR must be a folder, new or empty; {folder} has {found[0]} in it"
        )


def _answers(wishes: _Wishes) -> _Wishes:
    model = typer.prompt("Model on the Hugging Face Hub", default=wishes.model)
    revision = None
    if model != _MODEL:
        revision = typer.prompt(
            "Its commit, without which nothing scales", default="", show_default=False
        )
    smallest = _smallest(model).instance_type.name
    return replace(
        wishes,
        model=model,
        revision=revision or None,
        instance_type=typer.prompt("Instance type", default=smallest),
        shared=typer.confirm("Shall several models share the instances?"),
        vpc=typer.confirm("Shall it run in a VPC?"),
        ci=typer.confirm("Add a workflow for GitHub Actions?", default=True),
    )


def _starter(name: str, wishes: _Wishes) -> Starter:
    revision = wishes.revision
    if revision is None and wishes.model == _MODEL:
        revision = _COMMIT
    # It knows what an id and a commit are.
    HuggingFaceModel(wishes.model, revision=revision)
    found = (
        _plan(wishes.model, wishes.instance_type)
        if wishes.instance_type
        else _smallest(wishes.model)
    )
    return Starter(
        name=name,
        model_id=wishes.model,
        revision=revision,
        plan=found,
        shared=wishes.shared,
        vpc=wishes.vpc,
        ci=wishes.ci,
    )


def _plan(model: str, instance_type: str) -> Plan:
    found = plan_for(
        _architecture(model), instance_type, engine_version=_engine_version()
    )
    reasons = [str(one) for one in _findings(model, instance_type)]
    if not found.fits:
        reasons.insert(0, f"{model} does not fit {instance_type}, by {found.limit}")
    if reasons:
        raise ValueError(
            f"--instance-type: {reasons[0]}; leave it out for the smallest that a new "
            f"app takes, or see sagemaker-llm plan {model}"
        )
    return found


def _smallest(model: str) -> Plan:
    """
    Choose the type with the least memory of those that nothing is found wrong with.
    """
    architecture, release = _architecture(model), _engine_version()
    plans = [
        found
        for name in accelerated_type_names()
        if not name.startswith(_NO_GPUS)
        if (found := plan_for(architecture, name, engine_version=release)).fits
    ]
    for found in sorted(plans, key=_size):
        if not _findings(model, found.instance_type.name):
            return found
    raise ValueError(
        f"--model: vLLM serves {model} on no instance type without a warning; "
        f"sagemaker-llm support {model} and sagemaker-llm plan {model} say why"
    )


def _size(found: Plan) -> tuple[float, ...]:
    hardware = found.instance_type
    memory = hardware.accelerators * hardware.accelerator_memory_gib
    return (memory, hardware.vcpus, hardware.accelerators)


def _architecture(model: str) -> ModelArchitecture:
    try:
        found = ModelArchitecture.of(model)
    except ValueError as fault:
        raise ValueError(
            f"--model: the catalogue does not have {model!r}; sagemaker-llm plan lists "
            "the models that it has. Begin with one of them, and name yours in "
            "llm_stack.py"
        ) from fault
    if not found.kv_elements_per_token:
        raise ValueError(
            f"--model: {model} writes no text, and a new app answers chats; "
            "TextEmbeddings serves it"
        )
    return found


def _engine_version() -> str | None:
    demand = Vllm().prepare(None, None).demand
    return None if demand is None else demand.engine_version


def _findings(model: str, instance_type: str) -> tuple[Finding, ...]:
    release = _engine_version()
    if release is None:
        return ()
    return tuple(
        check_support(
            model, engine="vllm", release=release, instance_type=instance_type
        )
    )


def _next_steps(folder: Path, starter: Starter, *, has_snapshots: bool) -> str:
    pytest = "pytest" if has_snapshots else "pytest --snapshot-update"
    lines = [
        f"{folder} has an app with {starter.model_id} on {starter.instance_type}.",
        *([] if has_snapshots else [_NO_NODE]),
        "Next:",
        f"  cd {shlex.quote(str(folder))}",
        "  pip install -r requirements.txt && npm install",
        f"  npx cdk synth --quiet && sagemaker-llm check cdk.out && {pytest}",
        f"  sagemaker-llm local --port 0 -- sh -c '{_DEPLOY}'",
    ]
    return "\n".join(lines)


_DEPLOY = "npx cdk bootstrap && npx cdk deploy --all --require-approval never"
_NO_NODE = (
    "It has no snapshots yet, because there is no Node.js here to synthesise it with; "
    "the first run of pytest writes them."
)
