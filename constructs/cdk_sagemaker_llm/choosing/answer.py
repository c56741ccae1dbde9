"""
The answer: every candidate in order, what it comes to, why it lost, and what would
change the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.choosing.candidates import Candidate, Result
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.setups import Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """
    A candidate, and what became of it.

    Args:
        candidate: The candidate.

        result: What it comes to.

        reason: Why it lost; empty for the one that is chosen.

        is_on_front: Whether no other is both cheaper and faster.
    """

    candidate: Candidate
    result: Result
    reason: str = ""
    is_on_front: bool = False

    @property
    def cost(self) -> float:
        """
        US dollars a month; infinite without a known price.
        """
        cost = self.result.monthly_cost
        return float("inf") if cost is None else cost


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """
    What would be chosen if something were otherwise.

    Args:
        what: What is otherwise.

        candidate: What would be chosen then; ``None`` if nothing keeps the objective.

        monthly_cost: What it would cost.

        is_same: Whether it is the same setup, however many copies run.
    """

    what: str
    candidate: Candidate | None
    monthly_cost: float | None
    is_same: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """
    What to deploy.

    Args:
        question: What was asked.

        choices: All candidates with a known price, the best first: those that keep the
            objective and the budget, by cost, those that were simulated before those
            that were not; then the others.

        unpriced: Candidates without a known price, which are in no order of cost.

        refusals: What cannot run, and why.

        sensitivity: What would change the choice.

        notes: What was assumed, one sentence each.
    """

    question: Question
    choices: Sequence[Choice]
    unpriced: Sequence[Choice]
    refusals: Sequence[Refusal]
    sensitivity: Sequence[Sensitivity]
    notes: Sequence[str]

    @property
    def best(self) -> Choice | None:
        """
        The cheapest that keeps the objective; ``None`` if none does.
        """
        first = self.choices[0] if self.choices else None
        return first if first is not None and not first.reason else None

    @property
    def front(self) -> Sequence[Choice]:
        """
        Those that no other beats in both cost and latency, the cheapest first.
        """
        return [one for one in self.choices if one.is_on_front]

    @property
    def reasons(self) -> Sequence[tuple[int, Refusal]]:
        """
        Why most setups cannot run: how many each kind of reason leaves out, and which
        of them comes nearest, the most frequent kind first.
        """
        groups: dict[str, list[Refusal]] = {}
        for one in self.refusals:
            if one.group:
                groups.setdefault(one.group, []).append(one)
        found = [
            (len(each), min(each, key=lambda it: it.miss)) for each in groups.values()
        ]
        return sorted(found, key=lambda pair: -pair[0])

    @property
    def construct_call(self) -> str:
        """
        The construct call of the best candidate, to paste into a stack.

        Raises:
            ValueError: If nothing keeps the objective.
        """
        from cdk_sagemaker_llm.choosing.code import construct_call  # noqa: PLC0415 - who reads it

        return construct_call(self._best(), self.question)

    @property
    def stack(self) -> str:
        """
        A whole app with the best candidate, as the text of its file.

        Raises:
            ValueError: If nothing keeps the objective.
        """
        from cdk_sagemaker_llm.choosing.code import app_text  # noqa: PLC0415 - who writes it

        return app_text(self._best(), self.question)

    def _best(self) -> Candidate:
        if self.best is None:
            raise ValueError(
                f"nothing keeps the objective for {self.question.model}; allow more "
                "seconds, more types or a larger budget"
            )
        return self.best.candidate
