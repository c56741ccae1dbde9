"""
What a run found, for people and for programs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.changes import Mutant
from tools.mutants.equivalents import as_entry

KILLED = ("killed", "timed out")
SURVIVED = "survived"
UNTESTED = "no test runs it"
EQUIVALENT = "equivalent"
_SHOWN = 8  # Names of tests in the text; the other file has them all.


@dataclass(frozen=True)
class Verdict:
    """
    What became of a mutant.

    Args:
        tests: Those that were tried, in their order.
    """

    room: str
    mutant: Mutant
    outcome: str
    tests: Sequence[str]
    seconds: float

    @property
    def is_alive(self) -> bool:
        """
        Whether a test is missing.
        """
        return self.outcome in {SURVIVED, UNTESTED}


@dataclass(frozen=True)
class Report:
    """
    All verdicts of one run.

    Args:
        failed: The tests that failed without any change, and were left out.
    """

    seed: int
    verdicts: Sequence[Verdict]
    failed: Sequence[str]
    seconds: float

    def write(self, folder: Path) -> Path:
        """
        Write both files; return the one for people.
        """
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / "report.md"
        text.write_text(self.text(), encoding="utf-8")
        data = json.dumps(self.data(), indent=2) + "\n"
        (folder / "report.json").write_text(data, encoding="utf-8")
        return text

    def text(self) -> str:
        """
        Return the report in Markdown.
        """
        alive = [verdict for verdict in self.verdicts if verdict.is_alive]
        parts = [self._head(), self.table(), "## Survivors", *map(_survivor, alive)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def table(self) -> str:
        """
        Return the score of each room and of all.
        """
        rooms = dict.fromkeys(verdict.room for verdict in self.verdicts)
        rows = [self._row(room, [room]) for room in rooms]
        heads = ("room", "mutants", *KILLED, SURVIVED, UNTESTED, EQUIVALENT, "score")
        lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
        return "\n".join([*lines, *rows, self._row("all", list(rooms))])

    def _row(self, name: str, rooms: Sequence[str]) -> str:
        outcomes = [v.outcome for v in self.verdicts if v.room in rooms]
        kinds = (*KILLED, SURVIVED, UNTESTED, EQUIVALENT)
        counts = [outcomes.count(kind) for kind in kinds]
        killed, judged = sum(counts[:2]), sum(counts[:4])
        score = f"{killed / judged:.0%}" if judged else ""
        cells = [name, len(outcomes), *counts, score]
        return f"| {' | '.join(map(str, cells))} |"

    def _head(self) -> str:
        took = sum(verdict.seconds for verdict in self.verdicts)
        judged = sum(bool(verdict.tests) for verdict in self.verdicts) or 1
        text = (
            f"# Mutants\n\nSeed {self.seed}, {len(self.verdicts)} mutants in "
            f"{self.seconds / 60:.0f} minutes; {took / judged:.1f} s of tests each."
        )
        if self.failed:
            text += f"\nLeft out, as they fail without a change: {_names(self.failed)}."
        return text

    def data(self) -> dict[str, object]:
        """
        Return everything, for ``json``.
        """
        return {
            "seed": self.seed,
            "seconds": round(self.seconds),
            "failed_without_a_change": list(self.failed),
            "mutants": [
                {
                    "room": verdict.room,
                    "path": verdict.mutant.path,
                    "line": verdict.mutant.line,
                    "operator": verdict.mutant.operator,
                    "outcome": verdict.outcome,
                    "diff": verdict.mutant.diff,
                    "seconds": round(verdict.seconds, 1),
                    "tests": list(verdict.tests),
                }
                for verdict in self.verdicts
            ],
        }


def _survivor(verdict: Verdict) -> str:
    mutant = verdict.mutant
    return "\n".join(
        [
            f"### {mutant.path}:{mutant.line} ({mutant.operator})",
            "",
            f"Tried: {_names(verdict.tests)}." if verdict.tests else "No test runs it.",
            "",
            "```diff",
            mutant.diff,
            "```",
            "",
            "```text",
            as_entry(mutant),
            "```",
        ]
    )


def _names(tests: Sequence[str]) -> str:
    shown = ", ".join(f"`{test}`" for test in tests[:_SHOWN])
    more = len(tests) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
