"""
Every example and the reference app synthesise without credentials, and pass cdk-nag,
cfn-lint and checkov.

What checkov finds and is acknowledged has its reason in the example, in the form that
checkov itself has for comments: ``# checkov:skip=CKV_AWS_370: ...``. What cdk-nag finds
is acknowledged by the CDK's own means, and ends the synthesis otherwise.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import aws_cdk
import pytest

from tests.examples.synthesis import ERROR, EXAMPLES, REFERENCE, synthesise
from tests.linting import lint

NAMES = [*sorted(app.parent.name for app in EXAMPLES.glob("*/app.py")), REFERENCE]
CHECKOV = EXAMPLES.parent / ".venv-checkov" / "bin" / "checkov"
REPORT = "validation-report.json"
OPEN_BUCKET = """\
from aws_cdk import App, Stack, aws_s3
app = App()
aws_s3.Bucket(Stack(app, "Open"), "Bucket")
app.synth()
"""
ACKNOWLEDGED = re.compile(r"^ *# checkov:skip=(CKV\w+): (.{20,})$", re.MULTILINE)


@pytest.fixture(name="found", scope="session")
def _found(assemblies: Path) -> dict[str, set[str]]:
    """
    Return what checkov finds in each example, all in one process.
    """
    # Its pins clash with the project's, so that it has an environment of its own.
    assert CHECKOV.exists(), "install checkov: make .venv-checkov/.ready"
    where = ["--directory", str(assemblies), "--framework", "cloudformation"]
    done = subprocess.run(
        [CHECKOV, *where, "--skip-download", "--compact", "--output", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 20 * len(NAMES)
    found = defaultdict(set)
    for check in report["results"]["failed_checks"]:
        found[Path(check["file_path"]).parts[1]].add(check["check_id"])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_an_example_passes_cdk_nag_and_cfn_lint(name: str, assemblies: Path) -> None:
    """
    What the examples show is what works, and what a reviewer lets through.
    """
    folder = assemblies / name
    error = folder / ERROR
    report = json.loads((folder / REPORT).read_text())
    templates = sorted(folder.glob("*.template.json"))

    assert not error.exists(), error.read_text() + json.dumps(report, indent=1)
    assert report["pluginReports"] == []
    assert templates
    assert [str(found) for one in templates for found in lint(one.read_text())] == []


def test_cdk_nag_does_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An open bucket in an example is found: the test above is no empty promise.
    """
    monkeypatch.setattr(aws_cdk, "App", aws_cdk.App)
    example, outdir = tmp_path / "app.py", tmp_path / "open"
    example.write_text(OPEN_BUCKET)
    synthesise(example, outdir)

    assert (outdir / ERROR).exists()
    assert "AwsSolutions-S1" in (outdir / REPORT).read_text()


@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_an_example_passes_checkov(name: str, found: dict[str, set[str]]) -> None:
    """
    Each finding is acknowledged beside the code with a reason, and nothing else is.
    """
    folder = EXAMPLES.parent if name == REFERENCE else EXAMPLES / name
    text = (folder / "app.py").read_text(encoding="utf-8")
    acknowledged = {code for code, _ in ACKNOWLEDGED.findall(text)}

    assert acknowledged == found.get(name, set())
