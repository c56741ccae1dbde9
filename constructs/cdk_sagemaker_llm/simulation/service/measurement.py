"""
The file in which measured service times are kept; docs/service-times.md describes it.

It is read field by field, with one message for what is not as it must be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from cdk_sagemaker_llm.simulation.service.times import ServiceTimes, row_faults

FORMAT = "cdk-sagemaker-llm/service-times"
VERSION = 1
_DOCS = "docs/service-times.md shows a whole file"

# Past any number that is meant; infinity is no JSON, but Python reads it.
_MOST = 1e300

Between = tuple[int, int | None]
_Check = Callable[[object], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """
    Service times, and what they were measured on.

    Args:
        times: What was found.

        instance_type: The API's name of the instance type.

        model: The model, by whatever name it goes.

        engine: The engine, such as ``vllm``.

        engine_version: Its version, such as ``0.10.2``.

        date: The day.

        accelerators: Over how many accelerators a copy was split.

        prompt_tokens: Tokens of the prompts, on average, as the engine counted them.

        output_tokens: Tokens of the answers, on average, as the engine counted them.

        requests: How many requests were measured.

        notes: What else is to be known, in words.
            If omitted, there is nothing.

        max_sequences_between: Between which numbers the times' ``max_sequences`` lies;
            the larger is ``None`` where nothing says that it is no more.
            If omitted, that is not known, as where it was given.
    """

    times: ServiceTimes
    instance_type: str
    model: str
    engine: str
    engine_version: str
    date: date
    accelerators: int
    prompt_tokens: float
    output_tokens: float
    requests: int
    notes: str = ""
    max_sequences_between: Between | None = None


def write_service_times(path: Path | str, measurement: Measurement) -> None:
    """
    Write a measurement down.

    Args:
        path: The file.

        measurement: What was measured, and of what.
    """
    times = measurement.times
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "measured": {
            "date": measurement.date.isoformat(),
            "instance_type": measurement.instance_type,
            "accelerators": measurement.accelerators,
            "model": measurement.model,
            "engine": measurement.engine,
            "engine_version": measurement.engine_version,
            "prompt_tokens": measurement.prompt_tokens,
            "output_tokens": measurement.output_tokens,
            "requests": measurement.requests,
            "notes": measurement.notes,
            "max_sequences_between": measurement.max_sequences_between,
        },
        "times": {
            "overhead_seconds": times.overhead_seconds,
            "prompt_seconds_per_token": times.prompt_seconds_per_token,
            "decode": [
                {"sequences": count, "seconds_per_token": seconds}
                for count, seconds in times.decode
            ],
            "max_sequences": times.max_sequences,
            "kv_tokens": times.kv_tokens,
            "source": times.source,
            "is_estimate": times.is_estimate,
        },
    }
    if times.spread is not None:
        content["times"]["spread"] = list(times.spread)
    text = json.dumps(content, indent=2, ensure_ascii=False)
    Path(path).write_text(f"{text}\n", encoding="utf-8")


def read_service_times(path: Path | str) -> Measurement:
    """
    Read what was written down.

    Args:
        path: The file.

    Raises:
        ValueError: If it is no such file: which file, which field, what it must be,
            what it is, and the way out.
        OSError: If it cannot be opened.
    """
    name = Path(path)
    try:
        content = json.loads(name.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{name} must be JSON in UTF-8: {error}; {_DOCS}") from None
    top = _Fields(name, content, _DOCS)
    top.hold("format", FORMAT, f"be {FORMAT!r}")
    must = f"be {VERSION}, the version that this release reads"
    top.hold("version", VERSION, must, "update the library, or measure anew")
    measured, times = top.part("measured"), top.part("times")
    found = Measurement(
        times=_times(times),
        instance_type=measured.text("instance_type"),
        model=measured.text("model"),
        engine=measured.text("engine"),
        engine_version=measured.text("engine_version"),
        date=measured.day("date"),
        accelerators=measured.whole("accelerators", 1),
        prompt_tokens=measured.number("prompt_tokens"),
        output_tokens=measured.number("output_tokens"),
        requests=measured.whole("requests", 1),
        notes=measured.text("notes", is_needed=False),
        max_sequences_between=measured.between("max_sequences_between"),
    )
    for part in (top, measured, times):
        part.hold_known()
    return found


class _Fields:
    """
    The fields of an object in a file; each is read once, and told of by its path.
    """

    def __init__(
        self, file: Path, content: object, way_out: str, path: str = ""
    ) -> None:
        self._file = file
        self._path = path
        self._way_out = way_out
        self._read: set[str] = set()
        if not isinstance(content, dict):
            name = path or "the file"
            raise ValueError(  # noqa: TRY004 - the file is at fault, not the caller
                f"{file}: {name} must be an object, got {_excerpt(content)}; {way_out}"
            )
        self.content: Mapping[str, Any] = content

    def refuse(self, field: str, must: str, way_out: str = "") -> NoReturn:
        where = f"{self._path}.{field}" if self._path else field
        got = _excerpt(self.content[field]) if field in self.content else "nothing"
        raise ValueError(
            f"{self._file}: {where} must {must}, got {got}; {way_out or self._way_out}"
        )

    def hold(self, field: str, value: object, must: str, way_out: str = "") -> None:
        self._read.add(field)
        if self.content.get(field) != value:
            self.refuse(field, must, way_out)

    def hold_known(self) -> None:
        """
        Refuse fields that mean nothing: a misspelt one would be left out unnoticed.
        """
        for field in self.content.keys() - self._read:
            fields = ", ".join(sorted(self._read))
            self.refuse(field, f"not be there: the fields are {fields}")

    def part(self, field: str) -> _Fields:
        self._read.add(field)
        path = f"{self._path}.{field}" if self._path else field
        return _Fields(self._file, self.content.get(field), self._way_out, path)

    def rows(self, field: str) -> list[_Fields]:
        rows = self._value(field, "be a list of rows", lambda v: isinstance(v, list))
        path = f"{self._path}.{field}"
        return [
            _Fields(self._file, row, self._way_out, f"{path}[{index}]")
            for index, row in enumerate(rows)
        ]

    def text(self, field: str, *, is_needed: bool = True) -> str:
        if not is_needed and field not in self.content:
            return ""
        must = "be text that is not empty" if is_needed else "be text"

        def holds(value: object) -> bool:
            return isinstance(value, str) and (bool(value) or not is_needed)

        return str(self._value(field, must, holds))

    def whole(self, field: str, least: int) -> int:
        def holds(value: object) -> bool:
            return _is_whole(value) and isinstance(value, int) and value >= least

        must = f"be a whole number of at least {least}"
        return int(self._value(field, must, holds))

    def whole_or_none(self, field: str, least: int) -> int | None:
        if field in self.content and self.content[field] is None:
            self._read.add(field)
            return None
        return self.whole(field, least)

    def between(self, field: str) -> Between | None:
        """
        Read two whole numbers; files of earlier releases do without.
        """
        if self.content.get(field) is None:
            self._read.add(field)
            return None

        def holds(value: object) -> bool:
            if not isinstance(value, list) or len(value) != len(("low", "high")):
                return False
            numbers = [each for each in value if each is not None]
            in_order = all(map(_is_whole, numbers)) and numbers == sorted(numbers)
            return in_order and value[0] is not None and numbers[0] >= 1

        must = "be two whole numbers such as [14, 17] or [14, null]"
        low, high = self._value(field, must, holds)
        return low, high

    def number(self, field: str) -> float:
        """
        Read a number that is not negative, as it is written.
        """

        def holds(value: object) -> bool:
            is_number = _is_whole(value) or isinstance(value, float)
            # NaN is no JSON, but Python reads it; it is not below anything either.
            return is_number and isinstance(value, int | float) and 0 <= value < _MOST

        found: float = self._value(field, "be a number of at least 0", holds)
        return found

    def factors(self, field: str) -> tuple[float, float] | None:
        """
        Read two factors, the lower one first, which may be left out.
        """
        self._read.add(field)
        if self.content.get(field) is None:
            return None

        def holds(value: object) -> bool:
            if not isinstance(value, list) or len(value) != len(("low", "high")):
                return False
            are_numbers = all(_is_whole(v) or isinstance(v, float) for v in value)
            return are_numbers and 0 < value[0] <= value[1] < _MOST

        low, high = self._value(field, "be two factors, the lower one first", holds)
        return low, high

    def switch(self, field: str) -> bool:
        must = "be true or false"
        return bool(self._value(field, must, lambda v: isinstance(v, bool)))

    def day(self, field: str) -> date:
        must = "be a date such as 2026-01-31"
        text = self._value(field, must, lambda v: isinstance(v, str))
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.refuse(field, must)

    def _value(self, field: str, must: str, holds: _Check) -> Any:  # noqa: ANN401 - as JSON has it
        self._read.add(field)
        value = self.content.get(field)
        if field not in self.content or not holds(value):
            self.refuse(field, must)
        return value


def _times(fields: _Fields) -> ServiceTimes:
    rows = fields.rows("decode")
    decode = tuple(
        (row.whole("sequences", 1), row.number("seconds_per_token")) for row in rows
    )
    for row in rows:
        row.hold_known()
    fault = next(iter(row_faults("its rows", decode)), None)
    if fault is not None:
        fields.refuse("decode", f"be in order ({fault.message})")
    overhead = fields.number("overhead_seconds")
    prompt = fields.number("prompt_seconds_per_token")
    most = fields.whole("max_sequences", 1)
    room = fields.whole_or_none("kv_tokens", 1)
    source, is_estimate = fields.text("source"), fields.switch("is_estimate")
    spread = fields.factors("spread")
    try:
        return ServiceTimes(
            decode=decode,
            max_sequences=most,
            overhead_seconds=overhead,
            prompt_seconds_per_token=prompt,
            kv_tokens=room,
            source=source,
            is_estimate=is_estimate,
            spread=spread,
        )
    except ValueError as error:
        fields.refuse("decode", f"go on above 0 s ({error})")


def _excerpt(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    most = 60
    return text if len(text) <= most else f"{text[:most]}..."


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
