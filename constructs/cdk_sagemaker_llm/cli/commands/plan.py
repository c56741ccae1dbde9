"""
``sagemaker-llm plan``: where a model fits, how often, and what an app takes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.architectures import model_names
from cdk_sagemaker_llm.catalog.instances import accelerated_type_names
from cdk_sagemaker_llm.cli.app.template_shapes import is_assembly
from cdk_sagemaker_llm.cli.commands._options import (
    AsJson,
    complete,
    complete_instance_types,
    complete_models,
    grouped,
    is_given,
)
from cdk_sagemaker_llm.cli.commands._prices import PriceOptions
from cdk_sagemaker_llm.cli.output.plans import (
    Choice,
    app_facts,
    draw_memory,
    facts_of,
    show_app,
    show_plan,
    show_ranking,
)
from cdk_sagemaker_llm.demand import (
    Assumptions,
    Demand,
    DraftModel,
    EngineName,
    engine_title,
)
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.fit.planning import plan as plan_for
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.serving.support_check import check_support

if TYPE_CHECKING:
    from cdk_sagemaker_llm.serving import ServingConfiguration

FITS, DOES_NOT_FIT, MISUSE = 0, 1, 2
_ENGINES = ("vllm", "lmi-vllm", "lmi-dist", "trtllm", "tgi")
_OTHERS: Mapping[str, EngineName] = {
    "sglang": "sglang",
    "llama.cpp": "llama.cpp",
    "tei": "tei",
}
_VERSIONED = ("vllm", "sglang")
# What is said of an app, too.
_OF_APPS = ("prices", "region", "profile")
_TEMPLATE = ".template.json"
_NO_GPUS = ("ml.inf", "ml.trn", "ml.dl")


@grouped
def plan(
    *,
    command: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(
            autocompletion=complete_models,
            help="A model of the catalogue, a config.json, or cdk.out; if omitted, "
            "the models of the catalogue are listed.",
        ),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option(
            "--instance-type",
            autocompletion=complete_instance_types,
            help="The instance type; if omitted, all are ranked.",
        ),
    ] = None,
    serving: Annotated[
        str,
        typer.Option(
            autocompletion=complete(*_ENGINES, *_OTHERS),
            help=f"The engine: {', '.join((*_ENGINES, *_OTHERS))}.",
        ),
    ] = "vllm",
    engine_version: Annotated[
        str | None,
        typer.Option(
            help="The release of vLLM or SGLang; if omitted, that of the image."
        ),
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Tokens of prompt and answer; if omitted, 4096.")
    ] = None,
    weight_bits: Annotated[
        int | None,
        typer.Option(
            help="Bits of a weight: 4, 8, 16 or 32; if omitted, as published."
        ),
    ] = None,
    gguf_type: Annotated[
        str | None,
        typer.Option(
            help="A GGUF file's type, as Q4_K_M; if omitted, its bits are not known."
        ),
    ] = None,
    tensor_parallel_degree: Annotated[
        int | None, typer.Option(help="If omitted, the smallest that fits.")
    ] = None,
    draft_model: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_models,
            help="A model of the catalogue that drafts tokens, with vLLM; if omitted, "
            "none does.",
        ),
    ] = None,
    copies: Annotated[int, typer.Option(min=1, help="Copies that must run.")] = 1,
    prices: PriceOptions,
    plot: Annotated[
        Path | None,
        typer.Option("--png", help="Draw the memory of an accelerator to a file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Compute where a model fits before anything is deployed. Without a model, list those
    of the catalogue.

    Exits with 0 if it fits, or may fit the type that is named; 1 if it does not fit,
    2 on misuse.
    """
    try:
        if model is None:
            _check_options(command, "without a model", "name one")
            _list_models(as_json=as_json)
            return
        if is_assembly(Path(model)):
            _check_options(
                command,
                "for a synthesised app, whose own templates say it",
                "leave it out, or name a model instead",
                but=_OF_APPS,
            )
            _plan_app(Path(model), prices, as_json=as_json)
            return
        demand = _demand(serving, engine_version)
        draft = _draft(draft_model, demand)
        gpu_types = [
            name for name in accelerated_type_names() if not name.startswith(_NO_GPUS)
        ]
        costs = prices.read()
        architecture = _architecture(model)
        plans = [
            plan_for(
                architecture,
                name,
                weight_bits=weight_bits,
                gguf_type=gguf_type,
                context_length=context,
                tensor_parallel_degree=tensor_parallel_degree,
                assumptions=demand.assumptions,
                engine=demand.engine,
                engine_version=demand.engine_version,
                draft=draft,
            )
            for name in ([instance] if instance else gpu_types)
        ]
        choices = [Choice(one, copies, costs) for one in plans]
        named = architecture if Path(model).is_file() else model
        refusals = _refusals(named, demand, [one for one in plans if one.may_fit])
        loaded = [
            one for one in choices if not refusals.get(one.plan.instance_type.name)
        ]
        fitting = sorted((c for c in loaded if c.plan.fits), key=Choice.rank)
        possible = any(choice.plan.may_fit for choice in loaded)
        rows = fitting if instance is None else choices
        if plot is not None:
            draw_memory([choice.plan for choice in rows], plot)
    except (ValueError, OSError) as fault:
        for line in str(fault).splitlines():
            typer.echo(f"sagemaker-llm plan: {line}", err=True)
        raise typer.Exit(MISUSE) from fault
    _tell_refused(refusals)
    if as_json:
        typer.echo(json.dumps([facts_of(choice) for choice in rows], indent=2))
    elif instance is not None:
        show_plan(rows[0])
    else:
        show_ranking(rows)
    fits = possible if instance is not None else bool(fitting)
    raise typer.Exit(FITS if fits else DOES_NOT_FIT)


def _refusals(
    model: str | ModelArchitecture, demand: Demand, plans: Sequence[Plan]
) -> dict[str, list[Finding]]:
    """
    Return why the engine does not load the model, by instance type.
    """
    if demand.engine_version is None:
        return {}
    # Without arguments, the accelerators alone decide: types with the same are alike.
    judged: dict[tuple[str | None, int], list[Finding]] = {}
    found = {}
    for hardware in [one.instance_type for one in plans]:
        devices = (hardware.accelerator_model, hardware.accelerators)
        if devices not in judged:
            judged[devices] = errors_of(
                check_support(
                    model,
                    engine=demand.engine,
                    release=demand.engine_version,
                    instance_type=hardware,
                )
            )
        found[hardware.name] = judged[devices]
    return found


def _tell_refused(refusals: Mapping[str, Sequence[Finding]]) -> None:
    by_reason: dict[str, list[str]] = {}
    for name, findings in refusals.items():
        family = name.rpartition(".")[0]
        for one in findings[:1]:
            by_reason.setdefault(one.message, []).append(family)
    for reason, families in by_reason.items():
        names = ", ".join(dict.fromkeys(families))
        where = "on any type" if len(families) == len(refusals) else f"on {names}"
        typer.echo(f"sagemaker-llm plan: not {where}: {reason}", err=True)


def _plan_app(path: Path, options: PriceOptions, *, as_json: bool) -> None:
    # Reading an app loads what judges containers, which a model's plan needs none of.
    from cdk_sagemaker_llm.cli.app.fleets import variant_plans  # noqa: PLC0415
    from cdk_sagemaker_llm.cli.app.hosting import App  # noqa: PLC0415

    app = App.read(path)
    prices = options.read(app.region)
    variants = variant_plans(app)
    for name in app.assembly.unopened:
        typer.echo(
            f"sagemaker-llm plan: {name} is not counted: its template is not in the "
            "assembly",
            err=True,
        )
    if as_json:
        typer.echo(json.dumps(app_facts(variants, prices), indent=2))
    else:
        show_app(variants, prices)


def _list_models(*, as_json: bool) -> None:
    names = sorted(model_names(), key=str.lower)
    typer.echo(json.dumps(names, indent=2) if as_json else "\n".join(names))


def _check_options(
    command: typer.Context, where: str, remedy: str, *, but: Collection[str] = ()
) -> None:
    flags = [
        one.opts[0]
        for one in command.command.params
        if one.name not in {"model", "as_json", *but}
        and is_given(command, str(one.name))
    ]
    if flags:
        raise ValueError(f"{', '.join(flags)} cannot be given {where}; {remedy}")


def _architecture(model: str) -> ModelArchitecture:
    path = Path(model)
    if path.name.endswith(_TEMPLATE):
        raise ValueError(
            f"{model} is a template, and no config.json; name the cloud assembly that "
            f"it is in, {path.parent}"
        )
    if path.is_file():
        try:
            return ModelArchitecture.from_config(path)
        except ValueError as fault:
            # The file may have any name.
            message = str(fault).removeprefix("config.json")
            named = message if message == str(fault) else f"{model}{message}"
            raise ValueError(named) from fault
    if path.suffix == ".json" or path.is_dir():
        raise ValueError(f"{model} is neither a config.json nor a cloud assembly")
    return ModelArchitecture.of(model)


def _demand(serving: str, version: str | None) -> Demand:
    names = (*_ENGINES, *_OTHERS)
    if serving not in names:
        raise ValueError(
            f"--serving must be one of {', '.join(names)}, got {serving!r}"
        )
    demand = _usual_demand(serving)
    if version is not None and demand.engine not in _VERSIONED:
        raise ValueError(
            f"--engine-version is that of vLLM or SGLang, and --serving is {serving}; "
            "leave it out"
        )
    return replace(demand, engine_version=version or demand.engine_version)


def _draft(name: str | None, demand: Demand) -> DraftModel | None:
    if name is None:
        return None
    if demand.engine != "vllm":
        raise ValueError(
            "--draft-model is counted with vLLM alone, and --serving is that of "
            f"{engine_title(demand.engine)}; leave it out"
        )
    # A name that the catalogue lacks is refused in its words.
    ModelArchitecture.of(name)
    return DraftModel(name)


def _usual_demand(serving: str) -> Demand:
    usual = Demand(architecture=None, assumptions=Assumptions())
    # Each loads its own checks, and one is asked for.
    from cdk_sagemaker_llm import serving as servings  # noqa: PLC0415

    match serving:
        case "vllm":
            made: ServingConfiguration = servings.Vllm()
        case "lmi-vllm":
            made = servings.LmiVllm()
        case "lmi-dist":
            made = servings.LmiDist("0.32.0")
        case "trtllm":
            made = servings.TensorRtLlm("0.33.0")
        case "tgi":
            made = servings.Tgi("3.3.6")
        case "sglang":
            made = servings.Sglang()
        case _:
            return replace(usual, engine=_OTHERS[serving])
    return made.prepare(None, None).demand or usual
