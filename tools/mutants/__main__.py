"""
Draw mutants, run the tests that reach them, and report: ``make mutants``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tools.mutants.changes import Key, Mutant, Source, draw, mutmut_changes, own_changes
from tools.mutants.running import Suite, Tree, measure

ROOT = Path(__file__).parents[2]
PACKAGE = "constructs/cdk_sagemaker_llm"
LEFT = "only make test-all reaches it"
OUTCOMES = ("killed", "survived", "no test reaches it", LEFT, "equivalent")
KILLED, SURVIVED, UNTESTED, _, EQUIVALENT = OUTCOMES
# Run side by side: what is quick, and what starts the CDK CLI, servers and pip.
PARTS = [["tests/unit"], ["tests", "--ignore=tests/unit"]]
_WORKERS = 2  # At a time.
_SHOWN = 8  # Names of tests.
# What became of a mutant, and the tests that were tried.
Verdict = tuple[Mutant, str, Sequence[str]]


def main() -> None:
    """
    Do it all.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--count", type=int, default=300, help="mutants")
    parser.add_argument("--room", default="", help="a folder of the package: it alone")
    options = parser.parse_args()
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    texts = {it.relative_to(ROOT).as_posix(): it.read_text("utf-8") for it in files}
    sources = {path: Source(path, text) for path, text in texts.items()}
    room = Path(PACKAGE, options.room)
    inside = [
        source for path, source in sources.items() if Path(path).is_relative_to(room)
    ]
    accepted = read_equivalents(Path(__file__).parent / "equivalent.txt")
    drawn = draw(inside, options.count, options.seed, [own_changes, mutmut_changes])
    print(f"{len(drawn)} mutants drawn", flush=True)
    parts = [[f"tests/unit/{options.room}"]] if options.room else PARTS
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        trees = [Tree.copy(ROOT, folder / str(it)) for it in range(_WORKERS)]
        suite = measure(trees, sources, parts, folder)
        print(f"{len(suite.seconds)} tests measured", flush=True)
        verdicts = judge_all(drawn, suite, accepted, trees)
    text = report(f"Seed {options.seed}", verdicts, suite.failed)
    target = ROOT / "mutants" / "report.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"\n{text}\n{target}")


def judge_all(
    drawn: Sequence[Mutant],
    suite: Suite,
    equivalents: Mapping[Key, str],
    trees: Sequence[Tree],
) -> list[Verdict]:
    """
    Judge the mutants, as many at a time as there are copies of the checkout.
    """
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def judge(mutant: Mutant) -> Verdict:
        tests = suite.choose(mutant.path, mutant.line)
        if mutant.key in equivalents:
            outcome, tests = EQUIVALENT, []
        elif tests:
            tree = free.get()
            try:
                seconds = {test: suite.seconds[test] for test in tests}
                outcome = KILLED if tree.notices(mutant, seconds) else SURVIVED
            finally:
                free.put(tree)
        else:
            is_left = suite.is_left_to_test_all(mutant.path, mutant.line)
            outcome = LEFT if is_left else UNTESTED
        print(f"{outcome:>29} {mutant.path}:{mutant.line}", flush=True)
        return mutant, outcome, tests

    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            return list(pool.map(judge, drawn))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # Ctrl-C: not all the others first.
            raise


def report(head: str, verdicts: Sequence[Verdict], failed: Sequence[str]) -> str:
    """
    Return the counts, and each mutant that no test of ``make test`` notices.
    """
    found = [outcome for _, outcome, _ in verdicts]
    counts = [f"{outcome}: {found.count(outcome)}" for outcome in OUTCOMES]
    parts = [f"# Mutants\n\n{head}, {len(found)} mutants; {', '.join(counts)}."]
    if failed:
        parts.append(f"Left out, as they fail without a change: {', '.join(failed)}.")
    for outcome in (SURVIVED, UNTESTED, LEFT):
        alive = [_alive(it) for it in verdicts if it[1] == outcome]
        parts += [f"## {outcome.capitalize()}", *alive] if alive else []
    return "\n\n".join(parts) + "\n"


def _alive(verdict: Verdict) -> str:
    mutant, _, tests = verdict
    first = ", ".join(tests[:_SHOWN])
    tried = f"{len(tests)} tests were tried, the first: {first}.\n\n"
    return (
        f"### {mutant.path}:{mutant.line} ({mutant.operator})\n\n"
        f"{tried if first else ''}"
        f"```diff\n{mutant.diff}\n```\n\n```text\n{as_entry(mutant)}\n```"
    )


def as_entry(mutant: Mutant, reason: str = "why no test can notice it") -> str:
    """
    Return a mutant in the form of the file of equivalents.
    """
    path, before, after = mutant.key
    lines = [f"- {line}" for line in before] + [f"+ {line}" for line in after]
    return "\n".join([f"# {reason}", path, *lines])


def read_equivalents(file: Path) -> dict[Key, str]:
    """
    Return the reason of each mutant that no test can notice.

    Raises:
        ValueError: If an entry has no reason, no file or no lines.
    """
    _, *entries = file.read_text(encoding="utf-8").split("\n\n# ")
    return dict(map(_entry, entries))


def _entry(text: str) -> tuple[Key, str]:
    reason, _, rest = text.partition("\n")
    path, *lines = filter(None, rest.splitlines())
    removed = tuple(line[2:] for line in lines if line.startswith("-"))
    added = tuple(line[2:] for line in lines if line.startswith("+"))
    if not reason.strip() or len(lines) != len(removed) + len(added) or not lines:
        raise ValueError(
            f"an entry needs a reason, a file and lines after - and +: # {text}"
        )
    return (path, removed, added), reason.strip()


if __name__ == "__main__":
    main()
