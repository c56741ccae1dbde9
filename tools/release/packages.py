"""
A wheel and an sdist: built, compared, and as a package index would read them.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.release import StepError, run

# What may differ between two machines, and must not show.
_ELSEWHERE = {"TZ": "Asia/Kolkata", "LC_ALL": "C", "PYTHONHASHSEED": "7"}


@dataclass(frozen=True)
class Packages:
    """
    What is published.
    """

    wheel: Path
    sdist: Path

    def paths(self) -> tuple[Path, Path]:
        """
        Return both.
        """
        return self.wheel, self.sdist


def build(
    source: Path, folder: Path, epoch: str, variables: Mapping[str, str] | None = None
) -> Packages:
    """
    Build the sdist, and the wheel from the sdist.

    Args:
        source: The files to build from.

        folder: Where the packages are put.

        epoch: The seconds that stand in for the clock.

        variables: Other environment variables. If omitted, there are none.

    Raises:
        StepError: If the build fails, or makes something else.
    """
    folder.mkdir(parents=True)
    run(
        *(sys.executable, "-m", "build", "--no-isolation"),
        *("--outdir", folder, source),
        variables={"SOURCE_DATE_EPOCH": epoch, **(variables or {})},
    )
    wheels, sdists = [*folder.glob("*.whl")], [*folder.glob("*.tar.gz")]
    if len(wheels) != 1 or len(sdists) != 1:
        made = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise StepError(f"the build made {made}, instead of a wheel and an sdist")
    return Packages(wheels[0], sdists[0])


def build_elsewhere(source: Path, folder: Path, epoch: str) -> Packages:
    """
    Build again from a copy in another place, in another time zone and language.

    Args:
        source: The files to build from.

        folder: A folder that does not exist yet.

        epoch: The seconds that stand in for the clock.
    """
    copy = folder / "a place with another name"
    shutil.copytree(source, copy)
    return build(copy, folder / "built", epoch, _ELSEWHERE)


def differences(first: Path, second: Path) -> list[str]:
    """
    Return where two archives differ, nothing if they have the same bytes.

    Args:
        first: A wheel or an sdist.

        second: The same, built again.
    """
    if first.read_bytes() == second.read_bytes():
        return []
    old, new = _members(first), _members(second)
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return names or ["the order, times or modes of its files"]


def _members(archive: Path) -> dict[str, bytes]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(archive) as sdist:
        opened = ((item.name, sdist.extractfile(item)) for item in sdist)
        return {name: file.read() for name, file in opened if file is not None}
