"""
The file in which measured service times are kept; docs/service-times.md describes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from cdk_sagemaker_llm.simulation.service.fields import Fields
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes, row_faults

FORMAT = "cdk-sagemaker-llm/service-times"
VERSION = 1
_DOCS = "docs/service-times.md shows a whole file"


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
            If left out, there is nothing.
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


def write_service_times(path: Path | str, measurement: Measurement) -> None:
    """
    Write a measurement down.
    """
    times = measurement.times
    content = {
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
    text = json.dumps(content, indent=2, ensure_ascii=False)
    Path(path).write_text(f"{text}\n", encoding="utf-8")


def read_service_times(path: Path | str) -> Measurement:
    """
    Read what was written down.

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
    top = Fields(name, content, _DOCS)
    top.hold("format", FORMAT, f"be {FORMAT!r}")
    known = f"be {VERSION}, the version that this release reads"
    top.hold("version", VERSION, known, "update the library, or measure anew")
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
    )
    for part in (top, measured, times):
        part.hold_known()
    return found


def _times(fields: Fields) -> ServiceTimes:
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
    try:
        return ServiceTimes(
            decode=decode,
            max_sequences=most,
            overhead_seconds=overhead,
            prompt_seconds_per_token=prompt,
            kv_tokens=room,
            source=source,
            is_estimate=is_estimate,
        )
    except ValueError as error:
        fields.refuse("decode", f"go on above 0 s ({error})")
