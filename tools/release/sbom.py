"""
The bill of materials: what comes along with the library, as the lock has it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.release import DISTRIBUTION, Report, run
from tools.release.candidate import Candidate
from tools.release.installation import Environment, installed


def pins(locked: str) -> list[str]:
    """
    Return the versions of a lock file, without their hashes.

    Args:
        locked: What stands in the file.
    """
    return [line.rstrip(" \\") for line in locked.splitlines() if "==" in line]


def unlocked(components: Iterable[Mapping[str, str]], locked: str) -> list[str]:
    """
    Return the components that the lock does not have.

    Args:
        components: Name and version of each.

        locked: What stands in the lock file.
    """
    known = {pin.partition(";")[0].strip().lower() for pin in pins(locked)}
    found = (f"{one['name']}=={one['version']}" for one in components)
    return sorted(one for one in found if _normal(one) not in known)


def _normal(pin: str) -> str:
    name, version = pin.split("==")
    return f"{re.sub(r'[-_.]+', '-', name).lower()}=={version}"


def check(candidate: Candidate) -> Report:
    """
    Write the bill of materials of the locked runtime dependencies, extras included.

    Args:
        candidate: The commit that would be released.
    """
    locked = (candidate.source / "requirements.txt").read_text(encoding="utf-8")
    home = candidate.folder / "materials"
    home.mkdir()
    constraints = home / "constraints.txt"
    constraints.write_text("\n".join(pins(locked)) + "\n", encoding="utf-8")
    python = installed(
        candidate,
        home / "venv",
        sys.executable,
        Environment("locked", ("--constraint", str(constraints)), "[all]"),
    )
    target = candidate.dist / f"{DISTRIBUTION}.cdx.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", "--validate"),
        *("--pyproject", candidate.source / "pyproject.toml", "--mc-type", "library"),
        *("--output-reproducible", "--output-format", "JSON"),
        *("--output-file", target, python),
    )
    return judge(target, locked)


def judge(target: Path, locked: str) -> Report:
    """
    Hold a bill of materials against the lock.

    Args:
        target: The file.

        locked: What stands in the lock file.
    """
    written = json.loads(target.read_text(encoding="utf-8"))
    components = [c for c in written["components"] if c["name"] != DISTRIBUTION]
    foreign = unlocked(components, locked)
    return Report(
        notes=[f"dist/{target.name}: {len(components)} packages, all extras included"],
        findings=[
            f"{one} comes along and is not in requirements.txt; run make lock"
            for one in foreign
        ],
    )
