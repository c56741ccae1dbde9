"""
Lint policies: a list of documents in, a list of findings for each out, as JSON.

It runs in checkov's environment, which has nothing of this project.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from cloudsplaining.scan.policy_document import (  # type: ignore[import-not-found] # of another environment
    PolicyDocument,
)
from parliament import (  # type: ignore[import-not-found] # of another environment
    analyze_policy_string,
)

# What cloudsplaining looks for, by the names of its own report.
_RISKS = (
    "allows_privilege_escalation",
    "allows_data_exfiltration_actions",
    "credentials_exposure",
    "infrastructure_modification",
    "permissions_management_without_constraints",
    "service_wildcard",
    "contains_statement_using_not_action",
)


def findings(document: dict[str, Any]) -> list[list[str]]:
    """
    Return what is found in one document: linter, issue and detail.
    """
    told = [
        ["parliament", found.issue, _detail(found)]
        for found in analyze_policy_string(json.dumps(document)).findings
    ]
    risks = PolicyDocument(document)
    told += [
        ["cloudsplaining", risk, _shown(each)]
        for risk in _RISKS
        for each in getattr(risks, risk)
    ]
    return told


def _detail(found: Any) -> str:  # noqa: ANN401 - parliament has no types
    if found.issue == "UNKNOWN_ACTION":
        return str(found.location["string"])
    return str(found.detail or found.location.get("string", ""))


def _shown(each: object) -> str:
    return each if isinstance(each, str) else json.dumps(each, sort_keys=True)


if __name__ == "__main__":
    json.dump([findings(each) for each in json.load(sys.stdin)], sys.stdout)
