"""
``sagemaker-llm plan``: where a model fits, how often, and what an app takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cdk_sagemaker_llm._lazily import later
from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import accelerated_type_names
from cdk_sagemaker_llm.cli import plan_text
from cdk_sagemaker_llm.cli.choices import Choice
from cdk_sagemaker_llm.cli.prices import PriceError, read_prices
from cdk_sagemaker_llm.cli.shapes import AssemblyError, is_assembly
from cdk_sagemaker_llm.demand import Assumptions, Demand, EngineName
from cdk_sagemaker_llm.fit.outcomes import Outcome
from cdk_sagemaker_llm.fit.planning import plan as plan_for
from cdk_sagemaker_llm.fit.plans import Plan

if TYPE_CHECKING:
    from cdk_sagemaker_llm.serving import (
        LmiDist,
        LmiVllm,
        ServingConfiguration,
        TensorRtLlm,
        Tgi,
        Vllm,
    )
else:
    LmiDist, LmiVllm, TensorRtLlm, Tgi, Vllm = (
        later("serving", name)
        for name in ("LmiDist", "LmiVllm", "TensorRtLlm", "Tgi", "Vllm")
    )

FITS, DOES_NOT_FIT, MISUSE = 0, 1, 2
# Made when asked for: each loads its own checks, and one is asked for.
_ENGINES: Mapping[str, Callable[[], ServingConfiguration]] = {
    "vllm": Vllm,
    "lmi-vllm": LmiVllm,
    "lmi-dist": lambda: LmiDist("0.32.0"),
    "trtllm": lambda: TensorRtLlm("0.33.0"),
    "tgi": lambda: Tgi("3.3.6"),
}
_OTHERS: Mapping[str, EngineName] = {
    "sglang": "sglang",
    "llama.cpp": "llama.cpp",
    "tei": "tei",
}
_VERSIONED = ("vllm", "sglang")


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("plan")(plan)


def plan(
    *,
    command: typer.Context,
    model: Annotated[
        str,
        typer.Argument(help="A model of the catalogue, a config.json, or cdk.out."),
    ],
    instance: Annotated[
        str | None, typer.Option(help="The instance type; left out, all are ranked.")
    ] = None,
    serving: Annotated[
        str,
        typer.Option(help=f"The engine: {', '.join((*_ENGINES, *_OTHERS))}."),
    ] = "vllm",
    engine_version: Annotated[
        str | None,
        typer.Option(
            help="The release of vLLM or SGLang; left out, that of the image."
        ),
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Tokens of prompt and answer; left out, 4096.")
    ] = None,
    weight_bits: Annotated[
        int | None,
        typer.Option(help="Bits of a weight: 4, 8, 16 or 32; left out, as published."),
    ] = None,
    gguf_type: Annotated[
        str | None,
        typer.Option(
            help="A GGUF file's type, as Q4_K_M; left out, its bits are not known."
        ),
    ] = None,
    tensor_parallel_degree: Annotated[
        int | None, typer.Option(help="If left out, the smallest that fits.")
    ] = None,
    copies: Annotated[int, typer.Option(min=1, help="Copies that must run.")] = 1,
    prices: Annotated[
        str | None,
        typer.Option(
            help="A JSON file of US dollars an hour, or aws for its list; left out, "
            "no costs are told."
        ),
    ] = None,
    region: Annotated[str, typer.Option(help="The region of the prices.")] = (
        "us-east-1"
    ),
    plot: Annotated[
        Path | None, typer.Option(help="Draw the memory of an accelerator to a file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """
    Compute where a model fits before anything is deployed.

    Exits with 0 if it fits, or may fit the type that is named; 1 if it does not fit,
    2 on misuse.
    """
    try:
        if is_assembly(Path(model)):
            _refuse_options(command)
            _plan_app(Path(model), as_json=as_json)
            return
        demand = _demand(serving, engine_version)
        names = [instance] if instance else _gpu_types()
        costs = read_prices(prices, region) if prices else {}
        choices = [
            Choice(one, copies, costs.get(one.instance_type.name))
            for one in _plans(
                _architecture(model),
                names,
                demand,
                weight_bits=weight_bits,
                gguf_type=gguf_type,
                context_length=context,
                tensor_parallel_degree=tensor_parallel_degree,
            )
        ]
        fitting = sorted((c for c in choices if c.plan.fits), key=Choice.rank)
        possible = any(choice.plan.may_fit for choice in choices)
        shown = fitting if instance is None else choices
        if plot is not None:
            _draw(shown, plot)
    except (ValueError, AssemblyError, PriceError, OSError) as fault:
        for line in str(fault).splitlines():
            typer.echo(f"sagemaker-llm plan: {line}", err=True)
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps([_as_dict(choice) for choice in shown], indent=2))
    elif instance is not None:
        plan_text.show_plan(shown[0])
    else:
        plan_text.show_ranking(shown)
    fits = possible if instance is not None else bool(fitting)
    raise typer.Exit(FITS if fits else DOES_NOT_FIT)


def _plan_app(path: Path, *, as_json: bool) -> None:
    # Reading an app loads what judges containers, which a model's plan needs none of.
    from cdk_sagemaker_llm.cli import fleet_text  # noqa: PLC0415
    from cdk_sagemaker_llm.cli.assembly import read_assembly  # noqa: PLC0415
    from cdk_sagemaker_llm.cli.fleets import read_variants  # noqa: PLC0415

    variants = read_variants(path)
    for name in read_assembly(path).unopened:
        typer.echo(
            f"sagemaker-llm plan: {name} is not counted: its template is not in the "
            "assembly",
            err=True,
        )
    if as_json:
        typer.echo(json.dumps(fleet_text.facts(variants), indent=2))
    else:
        fleet_text.show(variants)


def _refuse_options(command: typer.Context) -> None:
    """
    Refuse what is said of one model, where a whole app is planned.
    """
    sources = {name: command.get_parameter_source(name) for name in command.params}
    given = [
        f"--{name.replace('_', '-')}"
        for name, source in sources.items()
        if name not in ("model", "as_json")
        if source is not None and source.name == "COMMANDLINE"
    ]
    if given:
        raise ValueError(
            f"{', '.join(given)} cannot be given for a synthesised app, whose own "
            "templates say it; leave it out, or name a model instead"
        )


def _architecture(model: str) -> ModelArchitecture:
    path = Path(model)
    if path.is_file():
        return ModelArchitecture.from_config(path)
    if path.suffix == ".json" or path.is_dir():
        raise ValueError(f"{model} is neither a config.json nor a cloud assembly")
    return ModelArchitecture.of(model)


def _demand(serving: str, version: str | None) -> Demand:
    known = (*_ENGINES, *_OTHERS)
    if serving not in known:
        raise ValueError(
            f"--serving must be one of {', '.join(known)}, got {serving!r}"
        )
    demand = _usual_demand(serving)
    if version is not None and demand.engine not in _VERSIONED:
        raise ValueError(
            f"--engine-version is that of vLLM or SGLang, and --serving is {serving}; "
            "leave it out"
        )
    return replace(demand, engine_version=version or demand.engine_version)


def _usual_demand(serving: str) -> Demand:
    usual = Demand(architecture=None, assumptions=Assumptions())
    if serving in _ENGINES:
        return _ENGINES[serving]().prepare(None, None).demand or usual
    if serving == "sglang":
        from cdk_sagemaker_llm.serving import Sglang  # noqa: PLC0415 - seldom asked for

        return Sglang().prepare(None, None).demand or usual
    return replace(usual, engine=_OTHERS[serving])


def _gpu_types() -> list[str]:
    others = ("ml.inf", "ml.trn", "ml.dl")
    return [name for name in accelerated_type_names() if not name.startswith(others)]


def _plans(
    architecture: ModelArchitecture,
    names: Sequence[str],
    demand: Demand,
    **wanted: Any,  # noqa: ANN401 - what plan() takes by keyword
) -> list[Plan]:
    return [
        plan_for(
            architecture,
            name,
            assumptions=demand.assumptions,
            engine=demand.engine,
            engine_version=demand.engine_version,
            **wanted,
        )
        for name in names
    ]


def _draw(choices: Sequence[Choice], path: Path) -> None:
    from cdk_sagemaker_llm.cli.plot import draw_memory  # noqa: PLC0415 - matplotlib

    draw_memory([choice.plan for choice in choices], path)


def _as_dict(choice: Choice) -> Mapping[str, Any]:
    one = choice.plan
    return {
        "instance_type": one.instance_type.name,
        "fits": one.fits,
        "loads": one.loads,
        "limit": one.limit,
        "tensor_parallel_degree": one.tensor_parallel_degree,
        "replicas": one.replicas,
        "copies": choice.copies,
        "instances": choice.instances,
        "accelerators": choice.accelerators,
        "context_length": one.context_length,
        "largest_context": one.largest_context,
        "concurrent_sequences": one.concurrent_sequences,
        "engine": one.engine,
        "engine_version": one.engine_version,
        "gguf_type": one.setting.gguf_type,
        "memory_of": "host" if one.is_on_host else "accelerator",
        "range": {
            "best": _outcome(one.best),
            "expected": _outcome(one.expected),
            "cautious": _outcome(one.cautious),
        },
        "bytes_per_accelerator": {
            **one.terms.items(),
            "total": one.terms.total,
            "capacity": one.capacity,
        },
        "usd_per_hour": choice.cost,
    }


def _outcome(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "fits": outcome.fits,
        "loads": outcome.loads,
        "kv_cache_bytes": outcome.kv_cache_room,
        "kv_cache_tokens": outcome.kv_cache_tokens,
        "concurrent_sequences": outcome.sequences,
        "bytes_per_accelerator": outcome.terms.items(),
    }
