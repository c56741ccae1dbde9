"""
The changes that no test can notice, because the program stays the same.
"""

from __future__ import annotations

from pathlib import Path

from tools.mutants.changes import Mutant

Key = tuple[str, tuple[str, ...], tuple[str, ...]]


def read_equivalents(file: Path) -> dict[Key, str]:
    """
    Return the reason of each accepted mutant.

    Raises:
        ValueError: If an entry has no reason, no file or no lines.
    """
    _, *entries = file.read_text(encoding="utf-8").split("\n\n# ")
    return dict(_entry(text) for text in entries)


def as_entry(mutant: Mutant, reason: str = "why no test can notice it") -> str:
    """
    Return a mutant in the form of the file.
    """
    removed = [f"- {line}" for line in mutant.removed]
    added = [f"+ {line}" for line in mutant.added]
    return "\n".join([f"# {reason}", mutant.path, *removed, *added])


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
