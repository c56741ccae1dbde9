"""
What ``choose`` finds: for a model, for several, or for the endpoints of an app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.choosing.choosing import Progress
from cdk_sagemaker_llm.choosing.choosing import choose as chosen_for
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.sharing import choose_together
from cdk_sagemaker_llm.cli.app.alternatives import read_alternatives
from cdk_sagemaker_llm.cli.app.playing import RunSettings
from cdk_sagemaker_llm.cli.app.template_shapes import is_assembly, is_template
from cdk_sagemaker_llm.cli.output.prices import Prices

_APP_FILES = (".json", ".template")


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """
    What was found, and how it is put out.

    Args:
        keeps: Whether something keeps the objective for all that was asked about.

        show: Prints it.

        facts: Returns it for JSON.

        page: Writes it as a page.

        stack: The app with the best, as the text of its file; ``None`` without one.
    """

    keeps: bool
    show: Callable[[], None]
    facts: Callable[[], dict[str, Any]]
    page: Callable[[], str]
    stack: str | None = None


def app_at(models: Sequence[str]) -> Path | None:
    """
    Return the app that the arguments name; ``None`` if they name models.
    """
    for name in filter(None, models):
        path = Path(name)
        if is_assembly(path) or is_template(path):
            if len(models) > 1:
                raise ValueError(
                    f"{name} is an app; give it alone, got {len(models)} arguments"
                )
            return path
        if path.suffix in _APP_FILES or path.is_dir():
            raise ValueError(
                f"{name} is neither a cloud assembly, such as cdk.out, nor a template "
                "in JSON; name a model of the catalogue, or write one with: cdk synth"
            )
    return None


def for_model(question: Question, prices: Prices, simulation: str) -> Findings:
    """
    Find what serves a model.
    """
    # A name that the catalogue lacks is refused in its words.
    ModelArchitecture.of(question.model)
    with _watching() as progress:
        answer = chosen_for(question, progress=progress)
    from cdk_sagemaker_llm.cli.output import choice_pages, choices  # noqa: PLC0415 - rich

    return Findings(
        keeps=answer.best is not None,
        show=lambda: choices.show_answer(answer, prices, simulation),
        facts=lambda: choices.facts_of(answer, prices),
        page=lambda: choice_pages.page_of(answer, prices, simulation),
        stack=None if answer.best is None else answer.stack,
    )


def for_models(
    questions: Sequence[Question], prices: Prices, budget: float | None
) -> Findings:
    """
    Find what serves several models, together or each by itself.
    """
    for one in questions:
        ModelArchitecture.of(one.model)
    with _watching() as progress:
        found = choose_together(questions, budget=budget, progress=progress)
    from cdk_sagemaker_llm.cli.output import together  # noqa: PLC0415 - rich

    return Findings(
        keeps=found.keeps,
        show=lambda: together.show(found, prices),
        facts=lambda: together.facts_of(found, prices),
        page=lambda: together.page_of(found, prices),
        stack=found.stack,
    )


def for_app(
    path: Path,
    settings: RunSettings,
    question: Question,
    prices: Prices,
    endpoint: str | None,
) -> Findings:
    """
    Find what serves the endpoints of an app for less.
    """
    with _watching() as progress:
        found, left_out = read_alternatives(
            path, settings, question, endpoint=endpoint, progress=progress
        )
    from cdk_sagemaker_llm.cli.output import alternatives  # noqa: PLC0415 - rich

    return Findings(
        keeps=all(one.is_kept_by_any for one in found),
        show=lambda: alternatives.show(found, left_out, prices),
        facts=lambda: alternatives.facts_of(found, left_out, prices),
        page=lambda: alternatives.page_of(found, left_out, prices),
    )


@contextmanager
def _watching() -> Iterator[Progress | None]:
    """
    Say on a terminal how far it is.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("reading the traffic") as status:

        def show(what: str, done: int, total: int) -> None:
            status.update(f"{what} {done} of {total}")

        yield show
