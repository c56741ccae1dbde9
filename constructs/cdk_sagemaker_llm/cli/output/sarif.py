"""
What ``check`` found as SARIF 2.1.0, which code scanning shows beside the code.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import cdk_sagemaker_llm
from cdk_sagemaker_llm.cli.app.findings import Acknowledged, Report
from cdk_sagemaker_llm.cli.output.findings import words_of
from cdk_sagemaker_llm.findings import Finding, Rule

if TYPE_CHECKING:
    from cdk_sagemaker_llm.cli.app.acknowledgements import Acknowledgement

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
_WORD = re.compile(r"[\w.]+")


def as_sarif(
    reports: Sequence[Report], unneeded: Sequence[Acknowledgement] = ()
) -> str:
    """
    Write one run: a rule for each code that was found, and a result for each finding.

    What was not checked, could not be read or is acknowledged in vain is told among
    the notifications of the run.
    """
    rows = [(report, one) for report in reports for one in _findings(report)]
    codes = sorted({entry.finding.code for _, entry in rows})
    known_rules = _rules()
    results = []
    seen: dict[str, int] = {}
    for report, entry in rows:
        result = _result(report, entry, codes.index(entry.finding.code))
        # Two findings of a code at one place are two, whatever their words.
        mark = _mark(report, entry.finding)
        seen[mark] = seen.get(mark, 0) + 1
        result["partialFingerprints"] = {"sagemakerLlm/v1": f"{mark}:{seen[mark]}"}
        results.append(result)
    driver = {
        "name": "sagemaker-llm",
        "version": str(cdk_sagemaker_llm.__version__),
        "rules": [_rule(code, known_rules.get(code)) for code in codes],
    }
    invocation = {
        "executionSuccessful": not any(report.fault for report in reports),
        "toolExecutionNotifications": [*_notifications(reports, unneeded)],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _findings(report: Report) -> Iterator[Acknowledged]:
    for finding in report.findings:
        yield Acknowledged(finding, "")
    yield from report.acknowledged


def _rules() -> Mapping[str, Rule]:
    """
    Return the rules that are loaded, by their codes; each finding is of one of them.

    All of them (``codes.rules``) would take the CDK, and a second.
    """
    package = cdk_sagemaker_llm.__name__
    return {
        value.code: value
        for name, module in [*sys.modules.items()]
        if name.startswith(package)
        for value in [*vars(module).values()]
        if isinstance(value, Rule)
    }


def _rule(code: str, rule: Rule | None) -> dict[str, Any]:
    found: dict[str, Any] = {"id": code}
    if rule is None:
        return found
    source = f" Source of the rule: {rule.source}." if rule.source else ""
    text = f"{rule.finds[0].upper()}{rule.finds[1:]}.{source}"
    return found | {
        "shortDescription": {"text": rule.finds},
        "fullDescription": {"text": text},
        "help": {"text": f"{text} docs/checks.md lists all rules."},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _result(report: Report, entry: Acknowledged, rule_index: int) -> dict[str, Any]:
    finding = entry.finding
    remedy = f"; {finding.remedy}" if finding.remedy else ""
    found: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": str(finding.severity),
        "message": {"text": f"{_subject(report)}: {finding.message}{remedy}"},
        "locations": [_location(report, finding)],
    }
    place = report.place
    if place is not None and place.app_file is not None:
        file, line = place.app_file
        template = found["locations"][0]["physicalLocation"]
        found["relatedLocations"] = [
            {"physicalLocation": template, "message": {"text": "in the template"}}
        ]
        found["locations"][0]["physicalLocation"] = _physical(file, line)
    if entry.reason:
        kind = "external" if entry.source else "inSource"
        found["suppressions"] = [{"kind": kind, "justification": entry.reason}]
    return found


def _subject(report: Report) -> str:
    if report.place is not None:
        return report.place.name
    # What is the same wherever the checkout is, as fingerprints have to be.
    return report.subject.removeprefix(f"{Path.cwd()}/")


def _location(report: Report, finding: Finding) -> dict[str, Any]:
    place = report.place
    if place is None:
        file = Path(report.subject)
        file = file / "serving.properties" if file.is_dir() else file
        return {"physicalLocation": _physical(file, _line(file, finding.message))}
    logical = {"fullyQualifiedName": place.name, "kind": "resource"}
    line = place.line(finding.message)
    return {
        "physicalLocation": _physical(place.template, line),
        "logicalLocations": [{"name": place.logical_id, **logical}],
    }


def _physical(file: Path, line: int) -> dict[str, Any]:
    # Code scanning takes paths from where the checkout is, which is where it runs.
    try:
        uri = quote(file.resolve().relative_to(Path.cwd()).as_posix())
    except ValueError:
        uri = file.resolve().as_uri()
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}


def _line(file: Path, message: str) -> int:
    """
    Return the line of a serving.properties that a message is about: that of the first
    option that it names, or else the first one.
    """
    try:
        rows = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return 1
    words = _WORD.findall(message)
    keys = [re.split(r"[=:\s]", row.strip(), maxsplit=1)[0] for row in rows]
    lines = (
        number
        for word in words
        for number, key in enumerate(keys, start=1)
        if key and word in {key, key.removeprefix("option.")}
    )
    return next(lines, 1)


def _mark(report: Report, finding: Finding) -> str:
    text = "\0".join((finding.code, _subject(report)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def _notifications(
    reports: Sequence[Report], unneeded: Sequence[Acknowledgement]
) -> Iterator[dict[str, Any]]:
    for report in reports:
        for reason in report.left_out:
            text = f"not checked: {_subject(report)}: {reason}"
            yield {"level": "note", "message": {"text": text}}
        if report.fault:
            yield {"level": "error", "message": {"text": report.fault}}
    for one in unneeded:
        text = f"not needed: {words_of(one)}"
        yield {"level": "warning", "message": {"text": text}}
