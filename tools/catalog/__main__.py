"""
Rebuild the packaged catalogue, or say what a rebuild would change.

``python -m tools.catalog`` writes; with ``--check`` it compares and fails.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.local.cloudformation.registry import importable_names, type_names
from tools.catalog import (
    cpu_instances,
    images,
    instances,
    job_types,
    resource_types,
    sdk,
)
from tools.catalog.recorded import Recorded, recorded

CATALOG = Path(__file__).parents[2] / "constructs" / "cdk_sagemaker_llm" / "catalog"


def main(arguments: list[str] | None = None) -> int:
    """
    Run the command and return the exit status.
    """
    options = _parser().parse_args(arguments)
    record = recorded()
    lists = _lists(record, options.wheel)
    faults = images.stale_records(lists, record)
    before = _text("images.json")
    after = images.render(images.build(lists, record, json.loads(before)))
    cpu_types = cpu_instances.render(cpu_instances.build())
    rebuilt = {
        "images.json": after,
        "cpu_instances.json": cpu_types,
        "job_types.json": job_types.render(job_types.build(_hosting())),
        "resource_types.json": resource_types.render(
            resource_types.build(type_names(), importable_names())
        ),
    }
    faults += instances.differences(
        _load("instances.json"), instances.api_names(), record.instances
    )
    faults += images.undescribed(json.loads(after), _load("engine_releases.json"))
    changed = {name: _diff(_text(name), text) for name, text in rebuilt.items()}
    changed = {name: lines for name, lines in changed.items() if lines}
    _say(*(line for lines in changed.values() for line in lines), *faults)
    for name in () if options.check else changed:
        (CATALOG / name).write_text(rebuilt[name], encoding="utf-8")
        _say(f"{name} is rebuilt: review the change like code")
    failed = bool(faults or (options.check and changed))
    if not failed and not changed:
        _say(f"the catalogue is what {record.pin.package} {record.pin.version} says")
    return int(failed)


def _hosting() -> list[str]:
    rows = _load("instances.json")["instances"]
    return [name for name, row in rows.items() if row["hosting_supported"]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.catalog")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare, write nothing, fail if it differs",
    )
    parser.add_argument(
        "--wheel", type=Path, help="read this wheel instead of the pinned one"
    )
    return parser


def _lists(record: Recorded, wheel: Path | None) -> images.Lists:
    if wheel is not None:
        return sdk.read_wheel(wheel, record.families, record.listings)
    with tempfile.TemporaryDirectory() as folder:
        downloaded = sdk.download(record.pin, Path(folder))
        return sdk.read_wheel(downloaded, record.families, record.listings)


def _load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_text(name))
    return data


def _text(name: str) -> str:
    return (CATALOG / name).read_text(encoding="utf-8")


def _diff(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "shipped", "rebuilt", "", "", 0, ""
    )
    return list(lines)


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
