"""
Judge what others publish: ``python -m tools.published OWNER/NAME=FOLDER ...``.

Each folder is a clone. Counts and hashes are kept in ``tools/published/counts.json``;
``--check`` reads the commits that are named there, and fails if anything differs. It
fails as well where a deployment is refused, and ``argued.json`` does not say why.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.findings import Severity
from tools.published import djl_serving, jumpstart, model_tests, notebooks
from tools.published.configuration import Configuration, hash_of
from tools.published.repository import Repository
from tools.published.verdict import Verdict, verdict_of

_HERE = Path(__file__).parent
_COUNTS = _HERE / "counts.json"
_READERS: Mapping[str, Callable[..., Iterator[Configuration]]] = {
    "deepjavalibrary/djl-serving": djl_serving.configurations_of,
    "aws/deep-learning-containers": model_tests.configurations_of,
    "awslabs/generative-ai-cdk-constructs": jumpstart.configurations_of,
}
# Stands among the codes where an author is mistaken of the first release.
_SINCE = "since"
_COLUMNS = (
    "configurations",
    "judged",
    "model not known",
    "engine not asked",
    "errors",
    "argued",
    "warnings",
)


def commits_of(repository: Repository) -> dict[str, str]:
    """
    Return the commits that are read of a repository as it is.
    """
    if repository.name == "deepjavalibrary/djl-serving":
        return djl_serving.commits_of(repository)
    return {"HEAD": repository.commits()["HEAD"]}


def judged(repository: Repository, commits: Mapping[str, str]) -> list[Verdict]:
    """
    Judge all that a repository publishes.
    """
    names = json.loads((_HERE / "names.json").read_text()).get(repository.name, {})
    read = _READERS.get(repository.name, notebooks.configurations_of)
    return [verdict_of(one) for one in read(repository, commits, names)]


def refusals(name: str, verdicts: list[Verdict]) -> tuple[list[str], int]:
    """
    Return what is refused and should not be, and how much is refused rightly.
    """
    rows = json.loads((_HERE / "argued.json").read_text()).get(name, [])
    found, argued = [], 0
    for verdict in verdicts:
        place = verdict.configuration.place
        codes = {
            code
            for row in rows
            if re.search(row["place"], place)
            for code in row["codes"]
        }
        errors = verdict.of(Severity.ERROR)
        wrong = [one for one in errors if one[1].code not in codes]
        argued += bool(errors and not wrong)
        found += [f"{place}: {on}: {one.code} {one.message}" for on, one in wrong[:1]]
        lacking = verdict.lacking
        if lacking and _SINCE not in codes:
            found.append(f"{place}: {lacking}")
    return found, argued


def counts_of(verdicts: list[Verdict], argued: int) -> dict[str, Any]:
    """
    Return what is counted of a repository's deployments.
    """
    all_of = [one.configuration for one in verdicts]
    return {
        "configurations": len(all_of),
        "judged": sum(one.is_judged for one in verdicts),
        "model not known": sum(one.is_asked and not one.is_judged for one in verdicts),
        "engine not asked": sum(not one.is_asked for one in verdicts),
        "errors": sum(bool(one.of(Severity.ERROR)) for one in verdicts),
        "argued": argued,
        "warnings": sum(bool(one.of(Severity.WARNING)) for one in verdicts),
        "sha256": hash_of(all_of),
    }


def main() -> int:
    """
    Print a table, and keep or hold it.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.published")
    parser.add_argument("sources", nargs="+", metavar="OWNER/NAME=FOLDER")
    parser.add_argument("--check", action="store_true", help="hold the kept counts")
    options = parser.parse_args()
    kept = json.loads(_COUNTS.read_text()) if _COUNTS.exists() else {}
    found: dict[str, Any] = {}
    faults: list[str] = []
    print("| source |", *(f"{name} |" for name in _COLUMNS), "sha256 |")
    print("| --- " * (len(_COLUMNS) + 2) + "|")
    for source in options.sources:
        name, _, folder = source.partition("=")
        repository = Repository(name, Path(folder))
        before = kept.get(name, {})
        if options.check and not before:
            parser.error(f"nothing is kept of {name}")
        commits = before["commits"] if options.check else commits_of(repository)
        verdicts = judged(repository, commits)
        refused, argued = refusals(name, verdicts)
        faults += refused
        counts = counts_of(verdicts, argued)
        cells = [str(counts[column]) for column in _COLUMNS]
        print(f"| {name} |", *(f"{cell} |" for cell in cells), counts["sha256"], "|")
        newest = max(map(repository.date, commits.values()))
        found[name] = {"commits": commits, "date": newest, **counts}
        if options.check and found[name] != before:
            faults.append(f"{name}: the kept counts are others: {before}")
    if not options.check:
        text = json.dumps({**kept, **found}, indent=1, sort_keys=True)
        _COUNTS.write_text(text + "\n")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
