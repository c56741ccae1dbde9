"""
Say whether HEAD may be released: ``python -m tools.release``, ``make release-check``.

Nothing is published and no file of the checkout changes, but for ``dist/``: the wheel,
the sdist and the bill of materials that were checked.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tools.release import (
    DISTRIBUTION,
    Report,
    StepError,
    api,
    changelog,
    installation,
    metadata,
    sbom,
)
from tools.release.candidate import Candidate
from tools.release.packages import build_elsewhere, differences

ROOT = Path(__file__).parents[2]


def version_check(candidate: Candidate) -> Report:
    """
    The version is new, is the tag's, and has its entry in CHANGELOG.md.
    """
    version, last = candidate.version, candidate.last_release
    tag = f"v{version}"
    findings = [
        f"the commit has the tag {other}, and pyproject.toml says {version}; "
        f"move the tag, or raise the version"
        for other in candidate.own_tags
        if other != tag
    ]
    if tag == last:
        findings.append(
            f"{version} is released already, from another commit that has the tag "
            f"{tag}; raise the version in pyproject.toml"
        )
    text = _changelog(candidate)
    findings += changelog.findings(text, version, is_tagged=bool(candidate.own_tags))
    notes = [f"{version} after {last or 'no release'}"]
    if candidate.uncommitted:
        notes.append(
            f"{len(candidate.uncommitted)} changed files are not committed, and so are "
            f"not looked at: {', '.join(candidate.uncommitted[:3])}"
        )
    return Report(notes=notes, findings=findings)


def build_check(candidate: Candidate) -> Report:
    """
    Two builds, in two places, have the same bytes.
    """
    first = candidate.packages
    second = build_elsewhere(
        candidate.source, candidate.folder / "again", candidate.epoch
    )
    findings = []
    for one, other in zip(first.paths(), second.paths(), strict=True):
        if where := differences(one, other):
            findings.append(
                f"{one.name} has other bytes when it is built again; they differ in "
                f"{', '.join(where[:5])}; what is written there must depend on the "
                "commit alone, not on the clock, the folder or chance"
            )
    candidate.dist.mkdir(parents=True, exist_ok=True)
    for path in first.paths():
        shutil.copy2(path, candidate.dist)
    sizes = [f"{p.name}, {p.stat().st_size / 1e6:.1f} MB" for p in first.paths()]
    return Report(notes=sizes, findings=findings)


def api_check(candidate: Candidate) -> Report:
    """
    What breaks against the last release is told in bold.
    """
    release = candidate.last_release
    names = sum(map(len, api.public_names(candidate.source).values()))
    if release is None:
        return Report(
            notes=[f"{names} public names; no release has promised any of them yet"]
        )
    found = api.breaks(candidate.exported(release), candidate.source)
    entries = changelog.entries_since(_changelog(candidate), release.lstrip("v"))
    findings = api.findings(
        found, entries, version=candidate.version, release=release.lstrip("v")
    )
    return Report(
        notes=[f"{names} public names; {len(found)} breaks since {release}"],
        findings=findings,
    )


def _changelog(candidate: Candidate) -> str:
    return (candidate.source / "CHANGELOG.md").read_text(encoding="utf-8")


# In the order in which they run: those that take a moment first.
CHECKS: Mapping[str, Callable[[Candidate], Report]] = {
    "version": version_check,
    "api": api_check,
    "build": build_check,
    "metadata": metadata.check,
    "install": installation.check,
    "sbom": sbom.check,
}


def report_of(check: Callable[[Candidate], Report], candidate: Candidate) -> Report:
    """
    Run a check; a program that fails in it is a finding like others.
    """
    try:
        return check(candidate)
    except StepError as error:
        return Report(notes=[], findings=[str(error)])


def written(name: str, report: Report) -> str:
    """
    Return a check's lines.

    Args:
        name: The check's.

        report: What it saw.
    """
    lines = [f"{'FAILED' if report.findings else 'ok':8}{name}"]
    lines += [textwrap.indent(note, " " * 10) for note in report.notes]
    for finding in report.findings:
        first, *rest = finding.splitlines()
        lines.append(f"        - {first}")
        lines += [f"          {line}" for line in rest]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the checks and return 1 if any of them failed.
    """
    parser = argparse.ArgumentParser("python -m tools.release", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="another repository")
    parser.add_argument(
        "--every-python",
        action="store_true",
        help="fail where a Python that the metadata promises is not on this machine",
    )
    parser.add_argument(
        "--only", action="append", choices=CHECKS, help="this check alone"
    )
    asked = parser.parse_args(arguments)
    chosen = {name: CHECKS[name] for name in asked.only or CHECKS}
    if asked.every_python and "install" in chosen:
        chosen["install"] = partial(installation.check, every_python=True)
    with tempfile.TemporaryDirectory() as folder:
        root = asked.root.resolve()
        candidate = Candidate(root, Path(folder), root / "dist")
        return _run(chosen, candidate)


def _run(
    chosen: Mapping[str, Callable[[Candidate], Report]], candidate: Candidate
) -> int:
    sys.stdout.write(
        f"release-check: {DISTRIBUTION} {candidate.version}, "
        f"commit {candidate.commit}\n"
    )
    failed = []
    for name, check in chosen.items():
        report = report_of(check, candidate)
        sys.stdout.write(written(name, report))
        sys.stdout.flush()
        if report.findings:
            failed.append(name)
    if failed:
        sys.stdout.write(f"not ready: {', '.join(failed)} failed\n")
        return 1
    sys.stdout.write(f"ready: {len(chosen)} checks passed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
