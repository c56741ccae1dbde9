"""
What a package index would show of the packages.
"""

from __future__ import annotations

import email.message
import email.parser
import re
import sys
import zipfile
from pathlib import Path

from tools.release import Report, StepError, run
from tools.release.candidate import Candidate

_NEEDED = (
    *("Summary", "Author", "Keywords", "License-Expression", "License-File"),
    *("Requires-Python", "Classifier", "Description-Content-Type"),
)
_LINK = re.compile(r"\]\((?!https?://|#)([^)\s]+)\)")


def check(candidate: Candidate) -> Report:
    """
    Hold both packages against what an index takes and shows.

    Args:
        candidate: The commit that would be released.
    """
    packages = candidate.packages
    own = judge(_metadata(packages.wheel))
    try:
        run(sys.executable, "-m", "twine", "check", "--strict", *packages.paths())
    except StepError as error:
        refused = f"{error}\nmend the field in pyproject.toml, or README.md"
        return Report(notes=own.notes, findings=[refused, *own.findings])
    taken = "twine takes both, and README.md renders"
    return Report(notes=[taken, *own.notes], findings=own.findings)


def judge(metadata: email.message.Message) -> Report:
    """
    Return what twine does not ask for.

    An address is not asked for: a project without one has no URLs, and what README.md
    links to works in the repository alone.

    Args:
        metadata: The wheel's.
    """
    findings = [
        f"the metadata has no {field}; add it to [project] in pyproject.toml"
        for field in _NEEDED
        if not metadata.get(field)
    ]
    urls = metadata.get_all("Project-URL", [])
    relative = sorted(set(_LINK.findall(str(metadata.get_payload()))))
    if urls and relative:
        findings.append(
            "an index cannot follow relative links of README.md: "
            f"{', '.join(relative)}; write them with the project's address"
        )
    note = f"{len(urls)} project URLs" if urls else _no_address(len(relative))
    return Report(notes=[note], findings=findings)


def _no_address(links: int) -> str:
    return (
        "no project URL, since the project has no address yet; until it has one, the "
        f"relative links of README.md ({links}) work in the repository alone"
    )


def _metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return email.parser.Parser().parsestr(archive.read(name).decode())
