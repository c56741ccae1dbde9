"""
The result of a run, for people, programs and spreadsheets: what was asked, in a line,
and what came of it, in tables.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.load.figures import (
    Distribution,
    Figures,
    Second,
    figures_of,
    seconds_of,
)
from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.objective import NAMES, Goodput, Objective
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.text import counted

RUN_FORMAT = "cdk-sagemaker-llm/load-test"
RUN_VERSION = 1
_PERCENTILES = ("p50", "p90", "p95", "p99", "longest")
RUN_HEADS = ("seconds", *_PERCENTILES)
LATENCY = "latency"
_REMEDY = "use more processes, or a machine with nothing else to do"
_COLUMNS = tuple(field.name for field in fields(Record))

_COUNTED = {"prompt_tokens": "a prompt", "tokens": "an answer"}


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadResult:
    """
    What a load test measured.

    Args:
        settings: Who asked what.

        begin: From when on it was measured, in seconds since 1970.

        end: Until when.

        measured: What was measured.

        objective: How fast it has to be. If omitted, there is no goodput to tell.
    """

    settings: LoadSettings
    begin: float
    end: float
    measured: Measured
    objective: Objective | None = None

    @property
    def figures(self) -> Figures:
        """
        What it comes to.
        """
        return figures_of(self.measured, self.begin, self.end)

    @property
    def goodput(self) -> Goodput | None:
        """
        How much was done as fast as it has to be; ``None`` without an objective.
        """
        if self.objective is None or not self.objective.bounds:
            return None
        return Goodput.of(self.measured.records, self.objective, self.begin, self.end)

    @property
    def seconds(self) -> list[Second]:
        """
        The course of it.
        """
        return list(seconds_of(self.measured.records, self.begin, self.end))

    @property
    def is_generator_bottleneck(self) -> bool:
        """
        Whether the generator's own delay shows in what was measured.
        """
        return bool(self._slowed())

    def remarks(self) -> list[str]:
        """
        Say what else there is to know of it: first of all, whether to believe it.
        """
        figures, delay = self.figures, self.measured.delay
        own = (
            f"the generator's own delay: half of its wake-ups were late by up to "
            f"{delay.p50 * 1000:.1f} ms, all but one in a hundred by up to "
            f"{delay.p99 * 1000:.1f} ms, the latest by {delay.longest * 1000:.1f} ms; "
            f"its busiest process took {delay.cpu:.0%} of a core"
        )
        sentences = [own]
        if slower := self._slowed():
            sentences.insert(0, slower)
        sentences[:0] = [
            f"worker {number} was lost, last heard of {heard - self.begin:.0f} s after "
            "measuring began: its users asked no more, and what it had under way then "
            "is missing; run the test again"
            for number, heard in sorted(self.measured.lost.items())
        ]
        if figures.unfinished:
            sentences.append(
                f"{counted(figures.unfinished, 'request')} "
                f"{'was' if figures.unfinished == 1 else 'were'} never answered, not "
                f"even in the {self.settings.drain:g} s for the last answers, which "
                "counts against success"
            )
        sentences += [
            f"{count} x {kind}: {self.measured.messages.get(kind, '')}"
            for kind, count in sorted(figures.failures.items())
        ]
        return sentences

    def _slowed(self) -> str:
        delay = self.measured.delay
        slowed = {
            name: found
            for name, one in self.distributions()
            # A mean over many tokens, which no single wake-up makes much longer.
            if name != NAMES["output_token"]
            if (found := delay.shown_in(one.p50, one.p99))
        }
        # What a request takes in all decides how many there are.
        if delay.is_exhausted or LATENCY in slowed:
            return (
                "the generator itself was the bottleneck: the endpoint is faster than "
                f"these figures; {_REMEDY}, or fewer users"
            )
        parts = [f"{' and '.join(found)} of {name}" for name, found in slowed.items()]
        if not parts:
            return ""
        return (
            "the generator's own delay is more than a tenth of "
            f"{' and of '.join(parts)}: the endpoint is faster there, and its other "
            f"figures stand; {_REMEDY}"
        )

    def rows(self) -> list[tuple[str, str]]:
        """
        Return the figures that are single numbers, by name.
        """
        figures, goodput = self.figures, self.goodput
        rate = figures.success_rate
        share = None if goodput is None else goodput.share
        within = "" if share is None else f"{share:.2%}"
        rows = [
            ("requests", str(figures.requests)),
            ("never answered", str(figures.unfinished or "")),
            ("success", "-" if rate is None else f"{rate:.2%}"),
            ("requests a second", f"{figures.requests_per_second:.2f}"),
            ("goodput", "" if goodput is None else str(goodput)),
            ("within all bounds", within),
            ("tokens a second", f"{figures.tokens_per_second:.1f}"),
            ("tokens an answer", _mean(figures.tokens)),
            ("tokens a prompt", _mean(figures.prompt_tokens)),
        ]
        return [(name, value) for name, value in rows if value]

    def distributions(self) -> list[tuple[str, Distribution]]:
        """
        Name the distributions that there are.
        """
        figures = self.figures
        named = [
            (LATENCY, figures.latency),
            (NAMES["first_token"], figures.first_token),
            (NAMES["output_token"], figures.output_token),
            ("time between tokens", figures.between_tokens),
        ]
        return [(name, one) for name, one in named if one is not None]

    def distribution_rows(self) -> list[tuple[str, ...]]:
        """
        Write the distributions in seconds, a row each.
        """
        return [
            (name, *(f"{getattr(one, each):.3f}" for each in _PERCENTILES))
            for name, one in self.distributions()
        ]

    def to_markdown(self) -> str:
        """
        Write the figures as tables.
        """
        figures = table_of(("figure", "value"), self.rows())
        times = table_of(RUN_HEADS, self.distribution_rows())
        remarks = "".join(f"- {each}\n" for each in self.remarks())
        return f"{figures}\n{times}\n{remarks}"

    def to_csv(self) -> str:
        """
        Write a row for each request, those before the measured time too.

        ``start`` is in seconds since the measured time began.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for one in sorted(self.measured.records, key=lambda record: record.start):
            start, latency, first, *others = one.packed()
            first = "" if first is None else f"{first:.6f}"
            writer.writerow(
                (f"{start - self.begin:.6f}", f"{latency:.6f}", first, *others)
            )
        return text.getvalue()

    def to_facts(self) -> dict[str, Any]:
        """
        Return all but the single requests, as JSON has it.
        """
        settings = self.settings.packed()
        # They may be somebody's, and there may be a million of them.
        settings["prompts"] = len(self.settings.prompts)
        settings["tools"] = len(self.settings.tools)
        settings["trace"] = len(self.settings.trace)
        settings["run_time"] = self.settings.seconds
        delay = self.measured.delay
        return {
            "began": datetime.fromtimestamp(self.begin, UTC).isoformat(),
            "seconds": self.end - self.begin,
            "settings": settings,
            "figures": asdict(self.figures),
            "goodput": None if self.goodput is None else self.goodput.to_facts(),
            "generator": asdict(delay),
            "is_generator_bottleneck": self.is_generator_bottleneck,
            "remarks": self.remarks(),
            "course": [asdict(second) for second in self.seconds],
        }

    def to_json(self) -> str:
        """
        Write all but the single requests as JSON.
        """
        facts = {"format": RUN_FORMAT, "version": RUN_VERSION, **self.to_facts()}
        return json.dumps(facts, indent=2) + "\n"


def table_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def percent(share: float) -> str:
    """
    Write a share; a single failure among thousands does not read as none.
    """
    if share in {0, 1}:
        return f"{share:.0%}"
    written = f"{min(max(share, 0.0001), 0.9999):.2%}"
    return written.replace(".00%", "%")


def asked_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """
    Say what was asked, and for how long.
    """
    if not rows:
        return "Nothing was measured."
    settings = rows[0]["settings"]
    most = settings["max_new_tokens"]
    unit = "words" if settings.get("tokenizer") is None else "tokens"
    count, traced = settings["prompts"], settings.get("trace")
    what = (
        f"{traced} requests of a trace"
        if traced
        else f"{count} {'prompt' if count == 1 else 'prompts'} of a file"
        if count
        else f"{settings['prompt_words']} prompt {unit}"
    )
    answers = "answers of any length" if most is None else f"at most {most} generated"
    return f"{what}, {answers}, {settings['run_time']:g} s per row.{_counted(rows)}"


def _mean(number: float | None) -> str:
    return "" if number is None else f"{number:.1f}"


def _counted(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = []
    for name, what in _COUNTED.items():
        pairs = [
            (row["figures"]["requests"], row["figures"][name])
            for row in rows
            if row["figures"][name] is not None
        ]
        if count := sum(number for number, _ in pairs):
            mean = sum(number * tokens for number, tokens in pairs) / count
            counts.append(f"{mean:.0f} {what}")
    return f" Tokens counted: {', '.join(counts)}." if counts else ""
