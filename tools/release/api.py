"""
The public API: what it is, and what a change of it breaks.

griffe reads it from the source. It is installed beside the other tools of a release
alone, and so imported where it is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.release import PACKAGE
from tools.release.candidate import numbers
from tools.release.changelog import says_that_it_breaks

if TYPE_CHECKING:
    import griffe

# It serves the other rooms; users have no use for it.
_OURS = {f"{PACKAGE}.arguments"}


@dataclass(frozen=True)
class Break:
    """
    A change that a caller notices.

    Args:
        where: The class, function or argument, as a user would write it.

        what: How it changed, in griffe's words.

        names: What an entry of the changelog has to name.
    """

    where: str
    what: str
    names: tuple[str, ...]


def public_names(source: Path) -> dict[str, list[str]]:
    """
    Return what each public package lists in ``__all__``, by the package's full name.

    Public are the library itself and the packages directly below it that have such a
    list.

    Args:
        source: The files of a commit.
    """
    root = source / "constructs" / PACKAGE
    found = {}
    for path in (root / "__init__.py", *sorted(root.glob("*/__init__.py"))):
        name = ".".join(path.parent.relative_to(root.parent).parts)
        names = _listed(path.read_text(encoding="utf-8"))
        if names and name not in _OURS:
            found[name] = names
    return found


def _listed(text: str) -> list[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def breaks(old: Path, new: Path) -> list[Break]:
    """
    Return what callers of one commit notice with another.

    Args:
        old: The files of the last release.

        new: Those of the commit that would be released.
    """
    before, after = _loaded(old), _loaded(new)
    found: dict[Break, None] = {}
    kept = public_names(new)
    for package in public_names(old):
        if package in kept:
            found |= dict.fromkeys(_in_package(before, after, package))
        else:
            found[Break(package, "Public package was removed", (package,))] = None
    return list(found)


def _loaded(source: Path) -> griffe.GriffeLoader:
    import griffe  # noqa: PLC0415 - it is no tool of the unit tests

    loader = griffe.GriffeLoader(
        search_paths=[source / "constructs"], allow_inspection=False
    )
    loader.load(PACKAGE)
    loader.resolve_aliases()
    return loader


def _in_package(
    before: griffe.GriffeLoader, after: griffe.GriffeLoader, package: str
) -> Iterator[Break]:
    import griffe  # noqa: PLC0415 - as above

    old, new = before.modules_collection[package], after.modules_collection[package]
    for change in griffe.find_breaking_changes(old, new):
        yield _break(change)


def _break(change: griffe.Breakage) -> Break:
    thing: Any = change.obj
    module = thing.parent.module.path if thing.is_alias else thing.module.path
    where = (thing.path if thing.is_alias else thing.canonical_path)[len(module) + 1 :]
    where = where.removesuffix(".__init__")
    names = (where.rpartition(".")[2],)
    what = change.kind.value
    if what.startswith("Parameter"):
        name = (change.old_value or change.new_value).name
        return Break(f"{where}({name}=)", what, (*names, name))
    return Break(where, what, names)


def findings(
    found: Sequence[Break], entries: Sequence[str], *, version: str, release: str
) -> list[str]:
    """
    Return the breaks that nobody was told of, and a version that may not break.

    Args:
        found: What broke.

        entries: The entries of the changelog since the last release.

        version: The version that would be released.

        release: That of the last release.
    """
    untold = [one for one in found if not says_that_it_breaks(entries, one.names)]
    wrong = [
        f"{one.where}: {one.what}, and no bold entry of CHANGELOG.md says so; keep it, "
        f"or write: - **Breaking: ... `{'` ... `'.join(one.names)}` ...**"
        for one in untold
    ]
    if found and not _may_break(numbers(version), numbers(release)):
        wrong.append(
            f"{version} breaks what {release} promised, which only a new "
            f"{'minor' if numbers(release)[0] == 0 else 'major'} version may; raise "
            f"the version in pyproject.toml, or keep what broke"
        )
    return wrong


def _may_break(version: tuple[int, ...], release: tuple[int, ...]) -> bool:
    promised = 2 if release[0] == 0 else 1
    return version[:promised] > release[:promised]
