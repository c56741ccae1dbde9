"""
What ``check`` found: as lines, as JSON, and as the test report that CI systems read.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.cli.app.findings import Report
from cdk_sagemaker_llm.findings import Finding, Severity, errors_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from cdk_sagemaker_llm.cli.app.acknowledgements import Acknowledgement

# XML 1.0 has no way to write these.
_NOT_IN_XML = {code: "?" for code in range(32) if chr(code) not in "\t\n\r"} | {
    0xFFFE: "?",
    0xFFFF: "?",
}


class Format(enum.StrEnum):
    """
    How findings are printed.
    """

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


def lines(
    reports: Sequence[Report], unneeded: Sequence[Acknowledgement] = ()
) -> Iterator[str]:
    """
    Return a line for each finding and each gap; the last one counts them.
    """
    for report in reports:
        for finding in report.findings:
            yield f"{report.subject}: {finding.severity} {finding}"
        for entry in report.acknowledged:
            yield (
                f"acknowledged: {report.subject}: {entry.finding.code}: {entry.reason}"
            )
        if report.images:
            yield f"{report.subject}: taken by {ranges(report.images)}"
        for reason in report.left_out:
            yield f"not checked: {report.subject}: {reason}"
    yield from (f"not needed: {words_of(one)}" for one in unneeded)
    yield _summary(reports)


def words_of(unneeded: Acknowledgement) -> str:
    """
    Say that nothing needs an acknowledgement.
    """
    return f"the acknowledgement of {unneeded}, which nothing finds there; take it out"


def ranges(images: Sequence[str]) -> str:
    """
    Name images by their families, from the first to the last version of each.
    """
    families: dict[str, list[str]] = {}
    for image in images:
        family, version = image.split()
        families.setdefault(family, []).append(version)
    return "; ".join(
        f"{family} {versions[0]}" + (f" to {versions[-1]}" if versions[1:] else "")
        for family, versions in families.items()
    )


def as_json(reports: Sequence[Report], unneeded: Sequence[Acknowledgement] = ()) -> str:
    """
    Write every subject with its findings.
    """
    answer: dict[str, Any] = {
        "errors": count(reports, Severity.ERROR),
        "warnings": count(reports, Severity.WARNING),
        "subjects": [
            {
                "subject": report.subject,
                "images": list(report.images),
                "findings": [_as_map(finding, report) for finding in report.findings],
            }
            for report in reports
            if report.is_checked or report.findings
        ],
    }
    left_out = [
        {"subject": report.subject, "reason": reason}
        for report in reports
        for reason in report.left_out
    ]
    acknowledged = [
        {
            "subject": report.subject,
            **_as_map(entry.finding, report),
            "reason": entry.reason,
        }
        for report in reports
        for entry in report.acknowledged
    ]
    unreadable = [
        {"subject": report.subject, "reason": report.fault}
        for report in reports
        if report.fault
    ]
    # Only where there is any: what is read by CI stays as it was otherwise.
    further = {
        "not_checked": left_out,
        "unreadable": unreadable,
        "acknowledged": acknowledged,
        "unneeded_acknowledgements": [
            {"code": one.code, "path": one.path, "file": one.source or None}
            for one in unneeded
        ],
    }
    answer |= {name: rows for name, rows in further.items() if rows}
    return json.dumps(answer, indent=2)


def as_junit(reports: Sequence[Report]) -> str:
    """
    Write a suite for each stack, or each path, with a case for each finding.

    Errors fail; warnings pass, and are in the case's output; what is acknowledged or
    was not checked is skipped.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - who prints XML has it

    root = ET.Element("testsuites", name="sagemaker-llm check")
    suites: dict[str, list[Report]] = {}
    for report in reports:
        name = report.subject if report.place is None else report.place.stack
        suites.setdefault(name, []).append(report)
    for name, rows in suites.items():
        suite = ET.SubElement(root, "testsuite", name=_plain(name))
        for report in rows:
            _add_cases(suite, report)
        _count_cases(suite)
    _count_cases(root)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def count(reports: Sequence[Report], severity: Severity) -> int:
    """
    Count the findings of a severity.
    """
    return sum(f.severity is severity for report in reports for f in report.findings)


def _summary(reports: Sequence[Report]) -> str:
    checked = sum(report.is_checked for report in reports)
    left_out = sum(len(report.left_out) for report in reports)
    acknowledged = sum(len(report.acknowledged) for report in reports)
    unread = sum(bool(report.fault) for report in reports)
    return (
        f"{_plural(checked, 'subject')} checked: "
        f"{_plural(count(reports, Severity.ERROR), 'error')}, "
        f"{_plural(count(reports, Severity.WARNING), 'warning')}"
        + (f"; {acknowledged} acknowledged" if acknowledged else "")
        + (f"; {left_out} not checked" if left_out else "")
        + (f"; {unread} could not be read" if unread else "")
    )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _as_map(finding: Finding, report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {
        "severity": str(finding.severity),
        "code": finding.code,
        "message": finding.message,
        "remedy": finding.remedy,
    }
    if report.place is not None:
        found["construct"] = report.place.construct_path or None
        found["file"] = str(report.place.template)
        found["line"] = report.place.line(finding.message)
    return found


def _add_cases(suite: Element, report: Report) -> None:
    from xml.etree.ElementTree import SubElement  # noqa: PLC0415 - as above

    subject = report.subject if report.place is None else report.place.name

    def case(name: str) -> Element:
        return SubElement(
            suite, "testcase", name=_plain(name), classname=_plain(subject)
        )

    for finding in report.findings:
        one = case(f"{finding.code} {subject}")
        if errors_of([finding]):
            SubElement(
                one, "failure", type=finding.code, message=_plain(finding.message)
            ).text = _plain(str(finding))
        else:
            SubElement(one, "system-out").text = _plain(f"warning {finding}")
    for entry in report.acknowledged:
        one = case(f"{entry.finding.code} {subject}")
        SubElement(one, "skipped", message=_plain(f"acknowledged: {entry.reason}"))
    for reason in report.left_out:
        one = case(f"{subject}: {reason}")
        SubElement(one, "skipped", message=_plain(f"not checked: {reason}"))
    if report.fault:
        SubElement(
            case(subject), "error", type="unreadable", message=_plain(report.fault)
        )
    if report.is_checked and not (report.findings or report.acknowledged):
        case(subject)


def _count_cases(element: Element) -> None:
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error"}
    for name, tag in {**kinds, "skipped": "skipped"}.items():
        # The attribute of the whole is one that readers do not know.
        if element.tag == "testsuite" or name != "skipped":
            element.set(name, str(sum(1 for _ in element.iter(tag))))


def _plain(text: str) -> str:
    return text.translate(_NOT_IN_XML).encode(errors="replace").decode()
