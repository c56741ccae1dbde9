"""
Draw mutants, run the tests that could notice them, and report: ``make mutants``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tools.mutants.changes import Change, Mutant, fertile
from tools.mutants.choosing import Suite
from tools.mutants.drawing import draw, shares
from tools.mutants.equivalents import Key, read_equivalents
from tools.mutants.measuring import measure
from tools.mutants.mutmut_operators import mutmut_changes
from tools.mutants.own_operators import own_changes
from tools.mutants.reporting import EQUIVALENT, UNTESTED, Report, Verdict
from tools.mutants.source import Source
from tools.mutants.trees import Tree

ROOT = Path(__file__).parents[2]
PACKAGE = "constructs/cdk_sagemaker_llm"
# A folder or a module each; one that is not there has no mutants.
ROOMS = ("architectures", "cli", "demand", "fit", "hosting", "models", "serving")
FOLDER = ROOT / "mutants"
ACCEPTED = Path(__file__).parent / "equivalent.txt"
_TESTS = 40.0  # Seconds of tests for one mutant.


def main() -> None:
    """
    Do it all.
    """
    options = _options()
    began = time.monotonic()
    sources = {source.path: source for source in read_sources(ROOT / PACKAGE)}
    drawn = draw_rooms(sources.values(), options.count, options.seed)
    print(f"{len(drawn)} mutants drawn", flush=True)
    with _trees(options.workers) as trees:
        measured = measure(ROOT, PACKAGE, FOLDER / "suite", trees)
        print(f"{len(measured.seconds)} tests measured", flush=True)
        suite = Suite(
            PACKAGE,
            sources,
            measured.seconds,
            list(measured.fixtures.values()),
            measured.covered,
            _TESTS,
        )
        accepted = read_equivalents(ACCEPTED)
        verdicts = judge_all(drawn, suite, accepted, trees)
    report = Report(options.seed, verdicts, measured.failed, time.monotonic() - began)
    print(f"\n{report.table()}\n\n{report.write(FOLDER)}")


def read_sources(package: Path) -> Iterator[Source]:
    """
    Return all modules of the package.
    """
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        yield Source(path, file.read_text(encoding="utf-8"))


def room_of(source: Source) -> str:
    """
    Return the name of the folder or module directly in the package.
    """
    first = source.path.removeprefix(f"{PACKAGE}/").partition("/")[0]
    return first.removesuffix(".py")


def draw_rooms(
    sources: Iterable[Source], count: int, seed: int
) -> list[tuple[str, Mutant]]:
    """
    Draw each room's share of the mutants.
    """
    changes: dict[str, list[Change]] = {room: [] for room in ROOMS}
    lines = dict.fromkeys(ROOMS, 0)
    for source in sources:
        if (room := room_of(source)) in changes:
            lines[room] += source.text.count("\n")
            changes[room] += fertile(own_changes(source))
            changes[room] += fertile(mutmut_changes(source))
    return [
        (room, mutant)
        for room, share in shares(lines, count).items()
        for mutant in draw(changes[room], share, f"{seed} {room}")
    ]


def judge_all(
    drawn: Sequence[tuple[str, Mutant]],
    suite: Suite,
    accepted: Mapping[Key, str],
    trees: Sequence[Tree],
) -> list[Verdict]:
    """
    Judge the mutants, as many at a time as there are copies of the checkout.
    """
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def judge(room: str, mutant: Mutant) -> Verdict:
        tree = free.get()
        try:
            verdict = _judge(room, mutant, suite, accepted, tree)
        finally:
            free.put(tree)
        print(
            f"{verdict.outcome:>15} {verdict.seconds:5.1f} s "
            f"{mutant.path.removeprefix(PACKAGE)}:{mutant.line} {mutant.operator}",
            flush=True,
        )
        return verdict

    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            return list(pool.map(lambda pair: judge(*pair), drawn))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # Ctrl-C: not all the others first.
            raise


def _judge(
    room: str,
    mutant: Mutant,
    suite: Suite,
    accepted: Mapping[Key, str],
    tree: Tree,
) -> Verdict:
    began = time.monotonic()
    tests: list[str] = []
    outcome: str = EQUIVALENT
    if mutant.key not in accepted:
        tests = suite.choose(mutant.path, mutant.line)
        outcome = UNTESTED
    if tests:
        outcome = tree.judge(mutant, {test: suite.seconds[test] for test in tests})
    return Verdict(room, mutant, outcome, tests, time.monotonic() - began)


@contextmanager
def _trees(workers: int) -> Iterator[list[Tree]]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        yield [Tree.copy(ROOT, Path(folder, str(number))) for number in range(workers)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--count", type=int, default=300, help="mutants, about")
    parser.add_argument("--workers", type=int, default=2, help="at a time")
    return parser.parse_args()


if __name__ == "__main__":
    main()
