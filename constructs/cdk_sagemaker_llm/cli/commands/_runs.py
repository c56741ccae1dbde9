"""
What ``simulate`` runs: an app as it is or with other settings, and another beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.app.playing import RunSettings, play
from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import (
    HostedApp,
    HostedModel,
    HostedVariant,
    read_hosted,
)
from cdk_sagemaker_llm.cli.commands._options import (
    complete,
    named_numbers,
    positive,
    seconds,
    whole,
)
from cdk_sagemaker_llm.cli.output.runs import Run
from cdk_sagemaker_llm.simulation.scaling import Bounds, Policy, TargetTracking
from cdk_sagemaker_llm.simulation.scenario import Method
from cdk_sagemaker_llm.simulation.service.measurement import (
    Measurement,
    read_service_times,
)

_METHODS: Mapping[str, Method] = {"requests": "requests", "aggregate": "aggregate"}
_SETTINGS: Mapping[str, str] = {
    "target": "8",
    "scale-out-cooldown": "30s",
    "scale-in-cooldown": "300s",
    "min": "1",
    "max": "6",
    "instances": "2",
    "copies": "2",
    "max-instances": "8",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingOptions:
    """
    How requests are served, and on what.
    """

    service_times: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file of measured service times, one for each model; if "
            "omitted, they are estimated from the accelerators' bandwidth and "
            "arithmetic."
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete(*_METHODS),
            help="requests or aggregate; if omitted, whichever suits the rate.",
        ),
    ] = None
    available: Annotated[
        list[str] | None,
        typer.Option(
            help="How many instances of a type can be had, as ml.g5.xlarge=2; "
            "if omitted, as many as are asked for."
        ),
    ] = None

    def measured(self) -> tuple[Measurement, ...]:
        return read_measured(self.service_times or ())

    def way(self) -> Method | None:
        """
        Read how the run is computed; ``None`` for whichever suits.
        """
        if self.method is not None and self.method not in _METHODS:
            raise ValueError(
                f"--method must be requests or aggregate, got {self.method!r}"
            )
        return _METHODS[self.method] if self.method else None

    def limits(self) -> dict[str, int]:
        found = {}
        for text in self.available or ():
            name, sign, number = text.partition("=")
            if not sign or not name.startswith("ml."):
                raise ValueError(
                    f"--available must be such as ml.g5.xlarge=2, got {text!r}"
                )
            found[name] = whole(f"--available {name}", number)
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparingOptions:
    """
    Other settings, and what is set beside the app.
    """

    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another setting than the app's, as target=8, max=6, scale-out-"
            "cooldown=30s; if omitted, the app's.",
        ),
    ] = None
    compare: Annotated[
        Path | None,
        typer.Option(help="Another app, to set beside this one; if omitted, none."),
    ] = None
    compare_with: Annotated[
        list[str] | None,
        typer.Option(
            help="The same app with other settings beside it, as target=8; "
            "several go together; if omitted, none."
        ),
    ] = None

    def subject(self, app: Path, endpoint: str | None) -> Subject:
        settings, others = self.setting or (), self.compare_with or ()
        return Subject(app, endpoint, settings, self.compare, others)


@dataclass(frozen=True, slots=True)
class Subject:
    """
    What is played out, and what is set beside it.
    """

    app: Path
    endpoint: str | None
    settings: Sequence[str]
    other: Path | None
    other_settings: Sequence[str]
    _apps: dict[Path, HostedApp] = field(default_factory=dict, init=False, repr=False)

    @property
    def region(self) -> str:
        """
        Where the app is deployed; empty if it names no region, or several.
        """
        return self._read(self.app).region

    def run(self, run_settings: RunSettings) -> Run:
        if run_settings.available:
            paths = [self.app, *([self.other] if self.other else [])]
            used = {
                pool.instance_type
                for path in paths
                for one in self._read(path).variants
                for pool in one.pools
            }
            for name in run_settings.available:
                if name not in used:
                    raise ValueError(
                        "--available must be of an instance type that the app uses, "
                        f"got {name}; it uses {', '.join(sorted(used))}"
                    )
        name = " ".join([str(self.app), *self.settings])
        app = self._read(self.app)
        return _run(app, "--set", self.settings, run_settings, name, app)

    def others(self, run_settings: RunSettings) -> list[Run]:
        found = []
        first = self._read(self.app)
        if self.other is not None:
            name = " ".join([str(self.other), *self.settings])
            app = self._read(self.other)
            found.append(_run(app, "--set", self.settings, run_settings, name, first))
        if self.other_settings:
            settings = [*self.settings, *self.other_settings]
            name = " ".join(["with", *settings])
            found.append(
                _run(first, "--compare-with", settings, run_settings, name, first)
            )
        return found

    def _read(self, path: Path) -> HostedApp:
        if path not in self._apps:
            self._apps[path] = read_hosted(path)
        app = self._apps[path]
        chosen = (self.endpoint or "").lower()
        found = tuple(one for one in app.variants if chosen in one.endpoint.lower())
        if not app.variants:
            reasons = "".join(f"\n{why}" for why in app.left_out)
            raise ValueError(
                f"{path} hosts no endpoint that can be played out{reasons}"
            )
        if not found:
            names = ", ".join(one.endpoint for one in app.variants)
            raise ValueError(
                f"--endpoint must be in one of these names: {names}; got "
                f"{self.endpoint!r}"
            )
        return replace(app, variants=found)


def _run(  # noqa: PLR0917 - what makes one run of several
    app: HostedApp,
    flag: str,
    settings: Sequence[str],
    run_settings: RunSettings,
    name: str,
    first: HostedApp,
) -> Run:
    variants = with_changes(app.variants, flag, settings)
    results = [
        replace(one, notes=(*one.notes, *app.assumed))
        for one in play(variants, run_settings, first.variants)
    ]
    return Run(name=name, results=results, left_out=app.left_out)


def with_changes(
    variants: Sequence[HostedVariant], flag: str, settings: Sequence[str]
) -> tuple[HostedVariant, ...]:
    changes = named_numbers(flag, settings, _SETTINGS)
    found = tuple(_with_changes(one, flag, changes) for one in variants)
    policies = {"target", "scale-out-cooldown", "scale-in-cooldown"} & changes.keys()
    scaled = [m.scaling for one in variants for m in one.models if m.scaling]
    all_policies = (policy for scaling in scaled for policy in scaling.policies)
    if policies and not any(isinstance(one, TargetTracking) for one in all_policies):
        raise ValueError(
            f"{flag} {', '.join(sorted(policies))} changes a target tracking policy, "
            "and the app has none"
        )
    bounds = {"min", "max"} & changes.keys()
    if bounds and not scaled:
        raise ValueError(
            f"{flag} {', '.join(sorted(bounds))} changes the bounds of scaling, and "
            "the app scales nothing"
        )
    return found


def _with_changes(
    hosted: HostedVariant, flag: str, changes: Mapping[str, str]
) -> HostedVariant:
    models = tuple(_model(model, flag, changes) for model in hosted.models)
    instances, most = hosted.instances, hosted.maximum
    if "instances" in changes:
        instances = whole(f"{flag} instances", changes["instances"], 1)
    if "max-instances" in changes:
        most = whole(f"{flag} max-instances", changes["max-instances"], 1)
    least = hosted.minimum
    fixed = least == hosted.instances == hosted.maximum and not hosted.managed
    scaling = models[0].scaling if models and models[0].needs is None else None
    if scaling is not None:
        least, most = scaling.bounds.minimum, scaling.bounds.maximum
    elif fixed:
        least = most = instances
    if "instances" in changes and models and models[0].needs is None:
        models = (replace(models[0], copies=instances), *models[1:])
    return replace(
        hosted,
        instances=instances,
        minimum=min(least, instances),
        maximum=max(most, instances),
        models=models,
    )


def _model(model: HostedModel, flag: str, changes: Mapping[str, str]) -> HostedModel:
    copies = model.copies
    if "copies" in changes and model.needs is not None:
        copies = whole(f"{flag} copies", changes["copies"])
    if model.scaling is None:
        return replace(model, copies=copies)
    return replace(model, copies=copies, scaling=_scaling(model.scaling, flag, changes))


def _scaling(scaling: Scaling, flag: str, changes: Mapping[str, str]) -> Scaling:
    bounds = scaling.bounds
    least, most = bounds.minimum, bounds.maximum
    if "min" in changes:
        least = whole(f"{flag} min", changes["min"])
    if "max" in changes:
        most = whole(f"{flag} max", changes["max"], 1)
    if least > most:
        raise ValueError(f"{flag} must leave min at most max, got {least} and {most}")
    return replace(
        scaling,
        bounds=Bounds(minimum=least, maximum=most),
        policies=tuple(_policy(each, flag, changes) for each in scaling.policies),
    )


def _policy(policy: Policy, flag: str, changes: Mapping[str, str]) -> Policy:
    if not isinstance(policy, TargetTracking):
        return policy

    def new(name: str, read: Callable[[str, str], float], otherwise: float) -> float:
        return read(f"{flag} {name}", changes[name]) if name in changes else otherwise

    return replace(
        policy,
        target=new("target", positive, policy.target),
        scale_out_cooldown=new(
            "scale-out-cooldown", seconds, policy.scale_out_cooldown
        ),
        scale_in_cooldown=new("scale-in-cooldown", seconds, policy.scale_in_cooldown),
    )


def read_measured(paths: Iterable[Path]) -> tuple[Measurement, ...]:
    """
    Read the files of ``--service-times``.
    """
    found = []
    for path in paths:
        try:
            found.append(read_service_times(path))
        except OSError as fault:
            raise ValueError(
                f"--service-times {path} cannot be read: {fault.strerror}; leave it "
                "out to estimate them"
            ) from fault
    return tuple(found)
