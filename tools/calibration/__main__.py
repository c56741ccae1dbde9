"""
Fit the constants and judge them: ``python -m tools.calibration``; ten minutes.

It writes the constants into the package, what came of the judgement beside this file,
and the page that shows it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.step_constants import calibration
from tools.calibration import page
from tools.calibration.fitting import Fit
from tools.calibration.judging import (
    Judged,
    by,
    coverage,
    errors_of,
    fit,
    halves,
    held_out,
    judge,
    price_of,
    ranked,
    spreads_of,
    table_of,
)
from tools.calibration.points import FILE, Point, later_groups, points

ROOT = Path(__file__).parents[2]
CONSTANTS = ROOT / "constructs/cdk_sagemaker_llm/catalog/step_constants.json"
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """
    Fit, judge, and write down.
    """
    every = points()
    used = [each for each in every if not each.reason]
    whole = fit(used)
    seen = judge(whole, used, used)
    unseen = held_out(used, whole)
    spreads = spreads_of(unseen)
    one, other = halves(used)
    earlier = [each for each in used if each.group not in later_groups()]
    later = [each for each in used if each.group in later_groups()]
    results = {
        "used": len(used),
        "sources": len({each.group for each in used}),
        "left_out": dict(Counter(each.reason for each in every if each.reason)),
        "seen": _figures(seen, spreads),
        "unseen": {**_figures(unseen, spreads), **_ranking(unseen)},
        "halves": [_half(one, other, whole), _half(other, one, whole)],
        "later": _half(earlier, later, whole),
        "by_gpu": _by(seen, unseen, lambda each: each.kind.gpu),
        "by_size": _by(seen, unseen, lambda each: each.kind.size),
        "by_engine": _by(seen, unseen, lambda each: each.kind.generation),
        "by_load": _by(seen, unseen, lambda each: each.load),
    }
    lines = ",\n".join(f' "{name}": {json.dumps(row)}' for name, row in results.items())
    RESULTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    _write_constants(whole, used, spreads)
    calibration.cache_clear()
    load.cache_clear()
    page.TARGET.write_text(page.page(), encoding="utf-8")
    shown = {name: results[name] for name in ("seen", "unseen", "halves", "later")}
    sys.stdout.write(json.dumps(shown, indent=1) + "\n")


def _half(train: list[Point], test: list[Point], whole: Fit) -> dict[str, Any]:
    found = fit(train, whole.names)
    spreads = spreads_of(held_out(train, found))
    sources = sorted({one.group for one in test})
    return {"tested": sources, **_figures(judge(found, test, train), spreads)}


def _figures(
    judged: list[Judged], spreads: list[tuple[float, float]]
) -> dict[str, Any]:
    return {
        "errors": errors_of(judged),
        "coverage": round(coverage(judged, spreads), 3),
        "spreads": spreads,
    }


def _ranking(judged: list[Judged]) -> dict[str, Any]:
    return {
        "ranked_by_copy": ranked(judged, lambda _: 1.0),
        "ranked_by_accelerator": ranked(judged, lambda one: float(one.degree)),
        "ranked_by_dollar": ranked(judged, price_of),
    }


def _by(
    seen: list[Judged], unseen: list[Judged], of: Callable[[Point], str]
) -> dict[str, Any]:
    inside, outside = by(seen, of), by(unseen, of)
    return {
        name: {
            "points": len({one.point.name for one in rows}),
            "sources": len({one.point.group for one in rows}),
            "seen": errors_of(rows),
            "unseen": errors_of(outside[name]),
        }
        for name, rows in inside.items()
    }


def _write_constants(
    whole: Fit, used: list[Point], spreads: list[tuple[float, float]]
) -> None:
    old = json.loads(CONSTANTS.read_text(encoding="utf-8"))
    measured = [
        [*astuple(row.kind), row.points, row.sources] for row in table_of(used).measured
    ]
    rows = ",\n".join(f"  {json.dumps(row)}" for row in measured)
    constants = ",\n".join(
        f"  {json.dumps(name)}: {value:.4g}"
        for name, value in whole.constants().items()
    )
    links = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(link)}"
        for name, link in old["links"].items()
    )
    date = json.loads(FILE.read_text(encoding="utf-8"))["date"]
    CONSTANTS.write_text(
        f'{{\n "about": {json.dumps(old["about"])},\n "date": "{date}",\n'
        f' "points": {len(used)},\n "spreads": {json.dumps(spreads)},\n'
        f' "constants": {{\n{constants}\n }},\n "links": {{\n{links}\n }},\n'
        f' "measured": [\n{rows}\n ]\n}}\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
