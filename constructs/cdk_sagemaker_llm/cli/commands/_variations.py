"""
An app as it is, with other settings, and another app beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.app.playing import Told, play
from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import (
    Hosted,
    HostedApp,
    HostedModel,
    read_hosted,
)
from cdk_sagemaker_llm.cli.commands._options import (
    named_numbers,
    positive,
    seconds,
    whole,
)
from cdk_sagemaker_llm.cli.output.runs import Run
from cdk_sagemaker_llm.simulation.scaling import Bounds, Policy, TargetTracking

_KNOWN: Mapping[str, str] = {
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
class ComparingOptions:
    """
    Other settings, and what is set beside the app.
    """

    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another setting than the app's, as target=8, max=6, scale-out-"
            "cooldown=30s; left out, the app's.",
        ),
    ] = None
    compare: Annotated[
        Path | None,
        typer.Option(help="Another app, to set beside this one; left out, none."),
    ] = None
    compare_with: Annotated[
        list[str] | None,
        typer.Option(
            help="The same app with other settings beside it, as target=8; "
            "several go together; left out, none."
        ),
    ] = None

    def subject(self, app: Path, endpoint: str | None) -> Subject:
        """
        Return what is played out, and what is set beside it.
        """
        return Subject(
            app,
            endpoint,
            self.setting or (),
            self.compare,
            self.compare_with or (),
        )


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

    def run(self, told: Told) -> Run:
        """
        Play out the app itself.
        """
        if told.available:
            paths = [self.app, *([self.other] if self.other else [])]
            used = set().union(*(_types(self._read(path)) for path in paths))
            _refuse_unused(told.available, used)
        name = " ".join([str(self.app), *self.settings])
        app = self._read(self.app)
        return _run(app, "--set", self.settings, told, name, app)

    def others(self, told: Told) -> list[Run]:
        """
        Play out what it is compared with.
        """
        found = []
        first = self._read(self.app)
        if self.other is not None:
            name = " ".join([str(self.other), *self.settings])
            app = self._read(self.other)
            found.append(_run(app, "--set", self.settings, told, name, first))
        if self.other_settings:
            settings = [*self.settings, *self.other_settings]
            name = " ".join(["with", *settings])
            found.append(_run(first, "--compare-with", settings, told, name, first))
        return found

    def _read(self, path: Path) -> HostedApp:
        if path not in self._apps:
            self._apps[path] = read_hosted(path)
        app = self._apps[path]
        found = tuple(one for one in app.variants if self._is_meant(one))
        if not app.variants:
            reasons = "".join(f"\n{why}" for why in app.left_out)
            raise ValueError(
                f"{path} hosts no endpoint that can be played out{reasons}"
            )
        if not found:
            known = ", ".join(one.endpoint for one in app.variants)
            raise ValueError(
                f"--endpoint must be in one of these names: {known}; got "
                f"{self.endpoint!r}"
            )
        return replace(app, variants=found)

    def _is_meant(self, hosted: Hosted) -> bool:
        return (self.endpoint or "").lower() in hosted.endpoint.lower()


def _types(app: HostedApp) -> set[str]:
    return {pool.instance_type for one in app.variants for pool in one.pools}


def _run(  # noqa: PLR0917 - what makes one run of several
    app: HostedApp,
    flag: str,
    settings: Sequence[str],
    told: Told,
    name: str,
    first: HostedApp,
) -> Run:
    variants = changed(app.variants, flag, settings)
    played = [
        replace(one, notes=(*one.notes, *app.assumed))
        for one in play(variants, told, first.variants)
    ]
    return Run(name=name, played=played, left_out=app.left_out)


def changed(
    variants: Sequence[Hosted], flag: str, given: Sequence[str]
) -> tuple[Hosted, ...]:
    """
    Return the variants with other settings.

    Args:
        variants: As the app has them.

        flag: Where the settings are from, for messages.

        given: The settings, as ``name=value``.

    Raises:
        ValueError: If there is no such setting, or nothing that it would change.
    """
    wanted = named_numbers(flag, given, _KNOWN)
    found = tuple(_changed(one, flag, wanted) for one in variants)
    policies = {"target", "scale-out-cooldown", "scale-in-cooldown"} & wanted.keys()
    if policies and not any(_tracked(one) for one in variants):
        raise ValueError(
            f"{flag} {', '.join(sorted(policies))} changes a target tracking policy, "
            "and the app has none"
        )
    bounds = {"min", "max"} & wanted.keys()
    if bounds and not any(m.scaling for one in variants for m in one.models):
        raise ValueError(
            f"{flag} {', '.join(sorted(bounds))} changes the bounds of scaling, and "
            "the app scales nothing"
        )
    return found


def _tracked(hosted: Hosted) -> bool:
    return any(
        isinstance(policy, TargetTracking)
        for model in hosted.models
        if model.scaling
        for policy in model.scaling.policies
    )


def _changed(hosted: Hosted, flag: str, wanted: Mapping[str, str]) -> Hosted:
    models = tuple(_model(model, flag, wanted) for model in hosted.models)
    instances, most = hosted.instances, hosted.maximum
    if "instances" in wanted:
        instances = whole(f"{flag} instances", wanted["instances"], 1)
    if "max-instances" in wanted:
        most = whole(f"{flag} max-instances", wanted["max-instances"], 1)
    least = hosted.minimum
    fixed = least == hosted.instances == hosted.maximum and not hosted.managed
    scaling = models[0].scaling if models and models[0].needs is None else None
    if scaling is not None:
        least, most = scaling.bounds.minimum, scaling.bounds.maximum
    elif fixed:
        least = most = instances
    if "instances" in wanted and models and models[0].needs is None:
        models = (replace(models[0], copies=instances), *models[1:])
    return replace(
        hosted,
        instances=instances,
        minimum=min(least, instances),
        maximum=max(most, instances),
        models=models,
    )


def _model(model: HostedModel, flag: str, wanted: Mapping[str, str]) -> HostedModel:
    copies = model.copies
    if "copies" in wanted and model.needs is not None:
        copies = whole(f"{flag} copies", wanted["copies"])
    if model.scaling is None:
        return replace(model, copies=copies)
    return replace(model, copies=copies, scaling=_scaling(model.scaling, flag, wanted))


def _scaling(scaling: Scaling, flag: str, wanted: Mapping[str, str]) -> Scaling:
    bounds = scaling.bounds
    least, most = bounds.minimum, bounds.maximum
    if "min" in wanted:
        least = whole(f"{flag} min", wanted["min"])
    if "max" in wanted:
        most = whole(f"{flag} max", wanted["max"], 1)
    if least > most:
        raise ValueError(f"{flag} must leave min at most max, got {least} and {most}")
    return replace(
        scaling,
        bounds=Bounds(minimum=least, maximum=most),
        policies=tuple(_policy(each, flag, wanted) for each in scaling.policies),
    )


def _policy(policy: Policy, flag: str, wanted: Mapping[str, str]) -> Policy:
    if not isinstance(policy, TargetTracking):
        return policy

    def given(name: str, read: Callable[[str, str], float], otherwise: float) -> float:
        return read(f"{flag} {name}", wanted[name]) if name in wanted else otherwise

    return replace(
        policy,
        target=given("target", positive, policy.target),
        scale_out_cooldown=given(
            "scale-out-cooldown", seconds, policy.scale_out_cooldown
        ),
        scale_in_cooldown=given("scale-in-cooldown", seconds, policy.scale_in_cooldown),
    )


def _refuse_unused(available: Collection[str], known: Collection[str]) -> None:
    """
    Refuse instance types that are limited and that nothing uses.

    Raises:
        ValueError: If there are any.
    """
    for name in available:
        if name not in known:
            raise ValueError(
                f"--available must be of an instance type that the app uses, got "
                f"{name}; it uses {', '.join(sorted(known))}"
            )
