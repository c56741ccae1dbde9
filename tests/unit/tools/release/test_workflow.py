"""
The workflow that publishes: what it may do, and what it runs.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tools.release.installation import pythons

GITHUB = ROOT / ".github"
TEXT = (GITHUB / "workflows" / "release.yml").read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS = WORKFLOW["jobs"]
FORMS = sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml"))


def steps(job: str, action: str) -> list[dict[str, Any]]:
    """
    Return what a job passes to an action, once for each time that it uses it.
    """
    used = [
        step for step in JOBS[job]["steps"] if step.get("uses", "").startswith(action)
    ]
    return [step["with"] for step in used]


def test_a_tag_of_a_version_starts_it() -> None:
    """
    And nothing else; YAML reads the word ``on`` as true.
    """
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}


def test_every_action_is_pinned_by_its_commit() -> None:
    """
    A tag can be moved; the version stands behind it for readers.
    """
    used = re.findall(r"uses: (.+)", TEXT)

    assert len(used) == 11
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_only_publishing_has_an_identity_and_runs_no_code_of_this_repository() -> None:
    """
    What builds and tests could not publish, had somebody put something into it.
    """
    allowed = {name: job["permissions"] for name, job in JOBS.items()}

    assert WORKFLOW["permissions"] == {}
    assert allowed == {
        "test": {"contents": "read"},
        "check": {"contents": "read"},
        "publish": {"id-token": "write", "attestations": "write"},
    }
    assert not any("run" in step for step in JOBS["publish"]["steps"])
    assert not steps("publish", "actions/checkout")
    assert "secrets." not in TEXT


def test_publishing_waits_for_tests_checks_and_whoever_approves() -> None:
    """
    Tests are those of CI.
    """
    assert JOBS["publish"]["needs"] == ["test", "check"]
    assert JOBS["publish"]["environment"] == "pypi"
    ran = [step["run"] for step in JOBS["test"]["steps"] if "run" in step]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert ran == [line for line in ci if line.startswith("make ")]


def test_the_check_has_every_python_and_every_tag() -> None:
    """
    Those that the metadata promises.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (python,) = steps("check", "actions/setup-python")
    (checkout,) = steps("check", "actions/checkout")
    ran = [step["run"] for step in JOBS["check"]["steps"] if "run" in step]

    assert sorted(python["python-version"].split()) == pythons(project["classifiers"])
    assert checkout["fetch-depth"] == 0
    assert ran == ["make release-check EVERY_PYTHON=yes"]


def test_what_was_checked_is_what_is_published_with_provenance() -> None:
    """
    Packages alone go to the index: it takes no bill of materials.
    """
    packages, bill = steps("check", "actions/upload-artifact")
    (published,) = steps("publish", "pypa/gh-action-pypi-publish")

    assert packages["path"].split() == ["dist/*.whl", "dist/*.tar.gz"]
    assert bill["path"] == "dist/*.cdx.json"
    assert published == {"packages-dir": "dist", "attestations": True}
    assert steps("publish", "actions/attest") == [
        {"subject-path": "dist/*"},
        {"subject-path": "dist/*", "sbom-path": "materials/cdk-sagemaker-llm.cdx.json"},
    ]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_is_needed(form: Path) -> None:
    """
    Each field has a name of its own and a label, and some must be filled in.
    """
    read = yaml.safe_load(form.read_text(encoding="utf-8"))
    fields = [field for field in read["body"] if field["type"] != "markdown"]
    names = [field["id"] for field in fields]

    assert read.keys() == {"name", "description", "labels", "body"}
    assert len(set(names)) == len(names)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_no_document_names_an_address_that_nobody_has() -> None:
    """
    Vulnerabilities are reported by GitHub's own form.
    """
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")

    assert "**Report a vulnerability**" in security
    assert not re.search(r"\w@\w", security)
