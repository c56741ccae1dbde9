"""
What linters say: of every template, of every policy, and of others' templates.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tools.engine_page.tables import code, table
from tools.policies import ARGUED

ROOT = Path(__file__).parents[2]
FOUND = ROOT / "tools" / "peers" / "found.json"
_LINTERS = """\
## Linters

`make test` holds every template above before cdk-nag (AwsSolutions), cfn-lint, \
checkov, and, policy by policy, parliament and cloudsplaining.
Nothing else is found than what is listed here with its reason.
IAM Access Analyzer was not asked: it runs in an account.
"""
_POLICIES = """\
What parliament and cloudsplaining find in policies, and why it stays:
"""
_OTHERS = """\
## The same deployment by others

{deployment}, made with this library and with its two nearest peers, each as its own \
documentation has it, read on {linters}.
What linters find is counted by rule, and no acknowledgement of anybody counts.
`make peers` finds it anew, and was last run where these versions were.
"""
_AFTER = """\
No linter here reads what a managed policy of AWS allows: with \
`AmazonSageMakerFullAccess` a container may, among much else, read every bucket whose \
name has `sagemaker` in it, and create, change and delete endpoints.
That one policy is one finding of cdk-nag, and each named log group of this library \
another one.
"""
_SKIPPED = re.compile(r"^ *# checkov:skip=(CKV\w+): (.+)$", re.MULTILINE)
_ACKNOWLEDGED = "aws:cdk:acknowledged-rules"


def acknowledged(assemblies: Path) -> str:
    """
    Return the section of what is found in templates and stays.
    """
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for folder in sorted(path.parent for path in assemblies.glob("*/manifest.json")):
        for rule, reason in _of_nag(folder):
            found["cdk-nag", rule, reason].add(folder.name)
        for rule, reason in _of_checkov(folder.name):
            found["checkov", rule, reason].add(folder.name)
    rows = [
        [linter, code(rule), reason, ", ".join(sorted(apps))]
        for (linter, rule, reason), apps in sorted(found.items())
    ]
    return f"{_LINTERS}\n{table(('linter', 'rule', 'why it stays', 'apps'), rows)}"


def policies() -> str:
    """
    Return what is found in policies and stays.
    """
    rows = [
        [linter, code(issue), code(detail), reason]
        for (linter, issue, detail), reason in sorted(ARGUED.items())
    ]
    head = ("linter", "issue", "found", "why it stays")
    return f"{_POLICIES}\n{table(head, rows)}"


def others() -> str:
    """
    Return the section of the same deployment by others.
    """
    told = json.loads(FOUND.read_text(encoding="utf-8"))
    linters = ", ".join(f"{name} {each}" for name, each in told["linters"].items())
    makers = told["makers"]
    head = ["", *(f"{code(name)} {one['version']}" for name, one in makers.items())]
    rows = [
        [kind, *(_counts(one["found"][kind]) for one in makers.values())]
        for kind in (*told["linters"], "managed policies")
    ]
    text = _OTHERS.format(deployment=told["deployment"], linters=linters)
    return f"{text}\n{table(head, rows)}\n{_AFTER}"


def _counts(found: Mapping[str, int]) -> str:
    shown = [
        f"{number} x {code(rule)}" if number > 1 else code(rule)
        for rule, number in sorted(found.items())
    ]
    return "<br>".join(shown) or "nothing"


def _of_nag(folder: Path) -> set[tuple[str, str]]:
    """
    Return the rules that are acknowledged, without the resources that they name.
    """
    found = set()
    for file in folder.rglob("*.metadata.json"):
        for entries in json.loads(file.read_text(encoding="utf-8")).values():
            for entry in entries:
                if entry["type"] == _ACKNOWLEDGED:
                    found |= {
                        (rule.partition("[")[0].rpartition("::")[2], reason)
                        for rule, reason in entry["data"].items()
                    }
    return found


def _of_checkov(name: str) -> list[tuple[str, str]]:
    where = "app.py" if name == "reference" else f"examples/{name}/app.py"
    return _SKIPPED.findall((ROOT / where).read_text(encoding="utf-8"))
