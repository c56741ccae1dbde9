"""
``--service-times`` of ``sagemaker-llm benchmark``: what simulations read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cdk_sagemaker_llm.cli.simulating import parsing
from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.observed import run_alone
from cdk_sagemaker_llm.load.running import Progress
from cdk_sagemaker_llm.load.service_times import (
    Deployed,
    Probe,
    deployed,
    save_service_times,
)
from cdk_sagemaker_llm.load.settings import LoadSettings

_PANEL = "Service times"
_COPIES = (
    "- not sure: copies: SageMaker was not asked how many serve, or did not say; one "
    "is taken: give --copies"
)
ServiceTimes: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Compute what one copy takes for requests and write it here, for "
        "sagemaker-llm simulate. Left out, it is not.",
        rich_help_panel=_PANEL,
    ),
]
MaxSequences: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many sequences a copy writes at once, at most, such as vLLM's "
        "max_num_seqs. If left out, it is told from where requests wait in line.",
        rich_help_panel=_PANEL,
    ),
]
Alone: TypeAlias = Annotated[
    str,
    typer.Option(
        "--probe",
        help="For how long one user asks alone before the sweep, with short prompts "
        "and again with whole ones; 0s leaves it out.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(slots=True)
class Fitting:
    """
    What ``--service-times`` does before the sweep and after it.

    Args:
        path: Where the service times go; ``None`` if nobody asked.

        copies: How many copies serve; ``None`` to ask SageMaker.

        max_sequences: How many sequences a copy writes at once; ``None`` to find out.

        seconds: For how long one user asks alone, each time.
    """

    path: Path | None
    copies: int | None
    max_sequences: int | None
    seconds: float
    alone: tuple[Row, ...] = ()
    served: Deployed | None = None

    @classmethod
    def of(
        cls,
        path: Path | None,
        copies: int | None,
        max_sequences: int | None,
        probe: str,
        *,
        is_streamed: bool,
    ) -> Fitting:
        """
        Take what the command line says.

        Raises:
            ValueError: If there would be nothing to compute from.
        """
        if path is not None and not is_streamed:
            raise ValueError(
                "--service-times needs answers that are streamed; leave out --no-stream"
            )
        return cls(path, copies, max_sequences, parsing.seconds("--probe", probe))

    def before(
        self, settings: LoadSettings, on_progress: Callable[[Progress], object]
    ) -> None:
        """
        Measure what a single user meets with.

        Raises:
            LoadError: If the endpoint refuses.
        """
        if self.path is None:
            return
        self.served = deployed(settings)
        if self.seconds:
            self.alone = run_alone(settings, self.seconds, on_progress)

    def after(self, benchmark: Benchmark) -> list[str]:
        """
        Write the file; return what there is to say of it.

        Raises:
            ValueError: If the sweep has too little in it.
        """
        if self.path is None or self.served is None:
            return []
        known = self.copies or benchmark.copies
        copies = known or 1
        probe = Probe(copies=copies, alone=self.alone, max_sequences=self.max_sequences)
        fitted = save_service_times(self.path, benchmark, probe, self.served)
        of = "1 copy" if copies == 1 else f"one of {copies} copies"
        return [
            f"service times of {of} are in {self.path}:",
            *(f"- {each}" for each in fitted.found),
            *(f"- not sure: {each}" for each in fitted.warnings),
            *([] if known else [_COPIES]),
        ]
