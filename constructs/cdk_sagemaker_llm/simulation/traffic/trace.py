"""
Traces: requests that were seen, in the forms in which they are kept and published.

A CSV file has the columns time, prompt_tokens and output_tokens, or those of Azure's
traces (Azure/AzurePublicDataset, AzureLLMInferenceTrace: TIMESTAMP, ContextTokens,
GeneratedTokens). A JSON Lines file is one of Mooncake's (kvcache-ai/Mooncake,
mooncake_trace.jsonl: timestamp in milliseconds, input_length, output_length, hash_ids).
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TypeVar

from cdk_sagemaker_llm.arguments import hold_kinds

BLOCK = 512
"""Tokens of a prompt that a block of Mooncake's traces stands for."""

_COLUMNS = ("time", "prompt_tokens", "output_tokens")
# What they are called in the traces of others.
_SAME = {
    "timestamp": "time",
    "contexttokens": "prompt_tokens",
    "generatedtokens": "output_tokens",
}
_MOST_SHOWN = 10
_ROW = TypeVar("_ROW")


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """
    One request of a trace.

    Args:
        at: When it came, in seconds; only differences count.

        prompt_tokens: How many tokens its prompt had.

        output_tokens: How many its answer had.

        blocks: What stands for each 512 tokens of its prompt: prompts with the same
            first blocks began alike. If omitted, none is known to.
    """

    at: float
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int | str, ...] = ()

    def __post_init__(self) -> None:
        kinds = (type(self.prompt_tokens), type(self.output_tokens), type(self.blocks))
        if kinds != (int, int, tuple):
            # Not of each of a hundred thousand: it takes its time.
            hold_kinds(self)
        if not math.isfinite(self.at):
            raise ValueError(f"at must be a finite number, got {self.at}")
        for name in ("prompt_tokens", "output_tokens"):
            tokens = getattr(self, name)
            if tokens < 1:
                raise ValueError(f"{name} must be at least 1, got {tokens}")


def read_trace(path: Path | str) -> tuple[TracedRequest, ...]:
    """
    Read a trace, its requests in the order in which they came.

    Times of a CSV file are ISO 8601, or seconds; other columns do not matter, nor does
    how the columns' names are capitalised.

    Args:
        path: The file; ``.jsonl`` is read as Mooncake's, any other as CSV.

    Raises:
        ValueError: If it is no such file; one line for each fault.
    """
    name = Path(path)
    is_mooncake = name.suffix.lower() == ".jsonl"
    try:
        if is_mooncake:
            lines = name.read_text(encoding="utf-8-sig").splitlines()
            rows = ((at, line) for at, line in enumerate(lines, 1) if line.strip())
            found = list(_read(name, rows, _of_line))
        else:
            with name.open(encoding="utf-8-sig", newline="") as file:
                numbered = enumerate(_rows(name, file), start=2)
                found = list(_read(name, numbered, _Columns().request))
    except (UnicodeDecodeError, csv.Error) as fault:
        kind = "JSON Lines" if is_mooncake else "CSV"
        raise ValueError(f"{name} is no {kind} file in UTF-8: {fault}") from fault
    if not found:
        raise ValueError(f"{name} has no requests")
    return tuple(sorted(found, key=lambda one: one.at))


def _rows(name: Path, file: Iterable[str]) -> Iterator[list[str | None]]:
    """
    Give the three columns of each row; ``None`` for one that a row is too short for.
    """
    rows = csv.reader(file)
    named = [one.strip().lower() for one in next(rows, ())]
    known = [_SAME.get(one, one) for one in named]
    lacking = [one for one in _COLUMNS if one not in known]
    if lacking:
        raise ValueError(
            f"{name}: the first line must name the columns {', '.join(_COLUMNS)}, "
            f"and lacks {', '.join(lacking)}; it reads {','.join(named)!r}"
        )
    # Of two that are called the same the last one counts.
    last = {one: place for place, one in enumerate(known)}
    places = [last[one] for one in _COLUMNS]
    for row in filter(None, rows):
        yield [row[place] if place < len(row) else None for place in places]


def _read(
    name: Path,
    rows: Iterable[tuple[int, _ROW]],
    read: Callable[[_ROW], TracedRequest],
) -> Iterator[TracedRequest]:
    faults: list[str] = []
    count = 0
    for line, row in rows:
        try:
            yield read(row)
        except ValueError as fault:
            count += 1
            if len(faults) < _MOST_SHOWN:
                faults.append(f"{name}, line {line}: {fault}")
    if count > len(faults):
        faults.append(
            f"{name}: {count - len(faults)} more rows are not as they must be"
        )
    if faults:
        raise ValueError("\n".join(faults))


class _Columns:
    """
    The rows of a CSV file, whose times are all of one kind.
    """

    def __init__(self) -> None:
        self._first: str | None = None

    def request(self, row: Sequence[str | None]) -> TracedRequest:
        time, prompt, answer = row
        at, kind = _moment(time)
        self._first = self._first or kind
        if kind != self._first:
            _refuse("time", time, f"be {self._first}, as in the rows before")
        return TracedRequest(
            at, _tokens("prompt_tokens", prompt), _tokens("output_tokens", answer)
        )


def _of_line(line: str) -> TracedRequest:
    try:
        row = json.loads(line)
    except ValueError as fault:
        raise ValueError(f"it is no JSON: {fault}") from fault
    if not isinstance(row, dict):
        _refuse("it", line, "be an object with timestamp, input_length, output_length")
    milliseconds = row.get("timestamp")
    if (
        not isinstance(milliseconds, int | float)
        or isinstance(milliseconds, bool)
        or not math.isfinite(milliseconds)
    ):
        _refuse("timestamp", milliseconds, "be milliseconds")
    prompt = _whole("input_length", row.get("input_length"))
    answer = _whole("output_length", row.get("output_length"))
    blocks = row.get("hash_ids", [])
    if not isinstance(blocks, list) or any(
        isinstance(one, bool) or not isinstance(one, int | str) for one in blocks
    ):
        _refuse("hash_ids", blocks, "be a list of numbers or texts")
    return TracedRequest(milliseconds / 1000, prompt, answer, tuple(blocks))


def _moment(text: str | None) -> tuple[float, str]:
    written = (text or "").strip()
    try:
        seconds = float(written)
    except ValueError:
        seconds = math.nan
    if math.isfinite(seconds):
        return seconds, "seconds"
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        _refuse("time", text, "be seconds, or ISO 8601 as 2026-01-31T12:00:00")
    if moment.tzinfo is not None:
        return moment.timestamp(), "ISO 8601 with a time zone"
    return moment.replace(tzinfo=UTC).timestamp(), "ISO 8601 without a time zone"


def _tokens(column: str, text: str | None) -> int:
    try:
        tokens = int(text or "")
    except ValueError:
        tokens = 0
    if tokens < 1:
        _refuse(column, text, "be a whole number of at least 1")
    return tokens


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        _refuse(name, value, "be a whole number of at least 1")
    return value


def _refuse(column: str, value: object, must: str) -> NoReturn:
    got = "nothing" if value is None else repr(value)
    raise ValueError(f"{column} must {must}, got {got}")
