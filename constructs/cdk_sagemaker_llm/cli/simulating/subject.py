"""
What the command line names: an app, its settings, and what is set beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cdk_sagemaker_llm.cli.simulating import misuse
from cdk_sagemaker_llm.cli.simulating.apps import Hosted, HostedApp
from cdk_sagemaker_llm.cli.simulating.changes import changed
from cdk_sagemaker_llm.cli.simulating.playing import Told, play
from cdk_sagemaker_llm.cli.simulating.reading import read_app
from cdk_sagemaker_llm.cli.simulating.results import Run


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

    def run(self, told: Told) -> Run:
        """
        Play out the app itself.
        """
        if told.available:
            paths = [self.app, *([self.other] if self.other else [])]
            used = set().union(*(_types(self._read(path)) for path in paths))
            misuse.refuse_unused(told.available, used)
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
        app = read_app(path)
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
