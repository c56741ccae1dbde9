"""
Findings that somebody has acknowledged, with a reason: in the app, or in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cdk_sagemaker_llm.cli.app.assembly import read_assembly
from cdk_sagemaker_llm.cli.app.findings import Acknowledged, Report
from cdk_sagemaker_llm.cli.app.places import Place
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError, is_assembly
from cdk_sagemaker_llm.findings import Finding

FILE = "sagemaker-llm.toml"
# What `Validations.of(...).acknowledge(...)` leaves in an assembly, by the construct.
_METADATA = "aws:cdk:acknowledged-rules"
NAMESPACE = "cdk-sagemaker-llm"
_ID = re.compile(rf"{NAMESPACE}::(?P<code>LLM\d{{3}})\Z")
# The warnings of this library's constructs have ids of their own.
_ANNOTATION = re.compile(rf"Annotation::{NAMESPACE}:(?P<code>LLM\d{{3}})\Z")
# As the CDK writes a warning that has an id.
_WARNING = "aws:cdk:warning"
_WARNED = re.compile(rf" \[ack: {NAMESPACE}:(?P<code>LLM\d{{3}})\]\Z")
_CODE = re.compile(r"LLM\d{3}\Z")
_KEYS = ("code", "path", "reason")
_SECTION = "acknowledge"


class Acknowledgement(NamedTuple):
    """
    One finding, or several of one code, that shall be reported no more.

    Args:
        path: The construct's path, or stack and logical id, or what is checked; what
            is below it counts as well, and in a file ``*`` stands for anything; in
            Terraform the address, or that of a module.

        source: The file; empty for the app itself.

        of_annotation: Whether it is of a warning that a construct attached, of which
            nothing says any more whether it was needed.
    """

    code: str
    path: str
    reason: str
    source: str = ""
    of_annotation: bool = False

    def __str__(self) -> str:
        """
        Name the code, where it is acknowledged, and the file that does it.
        """
        return f"{self.code} at {self.path or 'the app'}" + (
            f" in {self.source}" if self.source else ""
        )

    def is_of(self, report: Report, finding: Finding) -> bool:
        """
        Whether it acknowledges a finding of a report.
        """
        if finding.code != self.code:
            return False
        # Nothing but the asterisk stands for others: addresses have brackets.
        path = re.escape(self.path)
        pattern = path.replace(r"\*", ".*") if self.source else path
        below = r"[/.\[]" if _is_address(report.place) else "/"
        around = re.compile(rf"{pattern}(?:{below}.*)?\Z", re.DOTALL)
        return not self.path or any(map(around.match, _names(report)))


def read_acknowledgements(file: Path) -> list[Acknowledgement]:
    """
    Read a file of acknowledgements.

    Raises:
        ValueError: If it cannot be read, or one of them lacks its reason; all faults
            together.
    """
    import tomllib  # noqa: PLC0415 - most have no such file

    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as fault:
        raise ValueError(f"{file} cannot be read: {fault.strerror}") from fault
    except ValueError as fault:
        raise ValueError(f"{file} is no TOML: {fault}") from fault
    entries = content.get(_SECTION, [])
    faults = [
        f"{name!r} is not read; write [[{_SECTION}]] with {', '.join(_KEYS)}"
        for name in content
        if name != _SECTION
    ]
    if not isinstance(entries, list):
        faults.append(f"{_SECTION} must be a list of tables: write [[{_SECTION}]]")
        entries = []
    for number, entry in enumerate(entries, start=1):
        faults += [f"entry {number}: {fault}" for fault in _faults(entry)]
    if faults:
        raise ValueError("\n".join(f"{file}: {fault}" for fault in faults))
    return [Acknowledgement(**entry, source=str(file)) for entry in entries]


def acknowledged_in(path: Path) -> list[Acknowledgement]:
    """
    Return what the app of a cloud assembly acknowledges itself; nothing of what is no
    assembly, or cannot be read.
    """
    return [
        Acknowledgement(
            code=match["code"],
            path=construct,
            reason=str(reason),
            of_annotation=match.re is _ANNOTATION,
        )
        for construct, data in _metadata(path, _METADATA)
        if isinstance(data, Mapping)
        for name, reason in data.items()
        if (match := _ID.match(str(name)) or _ANNOTATION.match(str(name)))
    ]


def warned_in(path: Path) -> list[Acknowledgement]:
    """
    Return what constructs of a cloud assembly warn of themselves, as something that
    need not be told again.
    """
    return [
        Acknowledgement(
            code=match["code"],
            path=construct,
            reason="its construct warns of it",
            of_annotation=True,
        )
        for construct, data in _metadata(path, _WARNING)
        if (match := _WARNED.search(str(data)))
    ]


def acknowledge(
    reports: Iterable[Report], acknowledgements: Sequence[Acknowledgement]
) -> tuple[list[Report], list[Acknowledgement]]:
    """
    Set aside what is acknowledged; return the acknowledgements that nothing needs, too.
    """
    needed: set[Acknowledgement] = set()
    left = []
    for report in reports:
        findings, entries = [], list(report.acknowledged)
        for finding in report.findings:
            mine = [one for one in acknowledgements if one.is_of(report, finding)]
            needed.update(mine)
            if mine:
                entries.append(Acknowledged(finding, mine[0].reason, mine[0].source))
            else:
                findings.append(finding)
        left.append(replace(report, findings=findings, acknowledged=tuple(entries)))
    unneeded = dict.fromkeys(
        one for one in acknowledgements if one not in needed and not one.of_annotation
    )
    return left, list(unneeded)


def _metadata(path: Path, kind: str) -> Iterator[tuple[str, object]]:
    """
    Yield the constructs of a cloud assembly with what it says of each.
    """
    try:
        stacks = read_assembly(path).stacks if is_assembly(path) else []
    except AssemblyError:
        # What is wrong with it, the check itself tells.
        return
    for stack in stacks:
        for construct, entries in stack.metadata.items() if not stack.parent else ():
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, Mapping) and entry.get("type") == kind:
                    yield construct.removeprefix("/"), entry.get("data")


def _is_address(place: Place | None) -> bool:
    # What Terraform calls a resource is its path as well.
    return place is not None and place.construct_path == place.logical_id


def _names(report: Report) -> Iterator[str]:
    yield report.subject
    if report.place is not None:
        yield report.place.name
        yield f"{report.place.stack}/{report.place.logical_id}"


def _faults(entry: Any) -> Iterator[str]:  # noqa: ANN401 - TOML
    if not isinstance(entry, dict):
        yield f"must be a table with {', '.join(_KEYS)}, got {entry!r}"
        return
    for key in _KEYS:
        value = entry.get(key)
        if key not in entry:
            yield f"{key} is missing"
        elif not isinstance(value, str) or not value.strip():
            yield f"{key} must be text, got {value!r}"
        elif key == "code" and not _CODE.match(value):
            yield f"code must be one such as LLM201, got {value!r}"
    for key in sorted(set(entry) - {*_KEYS}):
        yield f"{key!r} is not read; write {', '.join(_KEYS)}"
