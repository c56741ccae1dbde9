"""
Synthesise, lint and write ``tools/peers/found.json``: ``python -m tools.peers``.

Every linter reads the templates alone, so that no acknowledgement of anybody counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from aws_cdk import App, Stack, Validations
from aws_cdk import cloudformation_include as include
from cdk_nag import AwsSolutionsChecks
from cfnlint.api import lint as cfn_lint  # type: ignore[import-untyped] # it ships no types

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.cli.app.assembly import read_stacks
from tools.policies import ROOT, lint

FOUND = Path(__file__).with_name("found.json")
CHECKOV = ROOT / ".venv-checkov" / "bin" / "checkov"
PEERS = ROOT / ".venv-clients" / "constructs" / "bin" / "python"
PROGRAMS = Path(__file__).parent / "programs"
MODEL, VERSION, INSTANCE = "mistralai/Mistral-7B-v0.1", "3.3.6", "ml.g5.2xlarge"
# Who makes it, by the program that does: the interpreter, and the package.
MAKERS = {
    "ours": (Path(sys.executable), "cdk-sagemaker-llm"),
    "alpha": (PEERS, "aws-cdk.aws-sagemaker-alpha"),
    "generative": (PEERS, "cdklabs.generative-ai-cdk-constructs"),
}


def synthesise(name: str, outdir: Path) -> None:
    """
    Run a program as its user would.
    """
    image = find_image("huggingface-llm", VERSION)
    tag = VERSION if name == "ours" else image.tag
    python, _ = MAKERS[name]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    subprocess.run(
        [python, PROGRAMS / f"{name}.py", MODEL, image.repository, tag, INSTANCE],
        env={**kept, "CDK_OUTDIR": str(outdir)},
        check=True,
    )


def linted(outdir: Path) -> dict[str, dict[str, int]]:
    """
    Return what each linter finds in a template, by its rules.
    """
    template = outdir / "Peer.template.json"
    cfn = Counter(match.rule.id for match in cfn_lint(template.read_text()))
    told = lint([outdir])
    return {
        "checkov": _checkov(template),
        "cdk-nag": _nag(template),
        "cfn-lint": dict(cfn),
        "parliament": _counted(told, "parliament"),
        "cloudsplaining": _counted(told, "cloudsplaining"),
        "managed policies": dict(Counter(_managed(outdir))),
    }


def _counted(told: Any, linter: str) -> dict[str, int]:  # noqa: ANN401 - of the linter
    return dict(Counter(f"{o.issue} {o.detail}" for o in told if o.linter == linter))


def _checkov(template: Path) -> dict[str, int]:
    where = ["--file", str(template), "--framework", "cloudformation"]
    done = subprocess.run(
        [CHECKOV, *where, "--skip-download", "--compact", "--output", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    checks = json.loads(done.stdout)["results"]["failed_checks"]
    return dict(Counter(check["check_id"] for check in checks))


def _nag(template: Path) -> dict[str, int]:
    """
    Let cdk-nag look at the template's resources, in an app that has nothing else.
    """
    with tempfile.TemporaryDirectory() as folder:
        plain = json.loads(template.read_text())
        for resource in plain["Resources"].values():
            resource.pop("Metadata", None)
        for section in ("Parameters", "Rules"):
            plain.pop(section, None)
        file = Path(folder) / "plain.json"
        file.write_text(json.dumps(plain))
        app = App(outdir=f"{folder}/out")
        include.CfnInclude(Stack(app, "Peer"), "It", template_file=str(file))
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        # It ends a synthesis that it finds something in.
        with contextlib.suppress(RuntimeError):
            app.synth()
        report = json.loads(Path(f"{folder}/out/validation-report.json").read_text())
    return dict(
        Counter(
            each["ruleName"]
            for plugin in report["pluginReports"]
            for each in plugin["violations"]
        )
    )


def _managed(outdir: Path) -> list[str]:
    """
    Return the managed policies that roles are given: no linter reads what they allow.
    """
    return [
        json.dumps(arn).rpartition("policy/")[2].strip('"]}')
        for stack in read_stacks(outdir)
        for _, properties in stack.of_type("Role", "IAM")
        for arn in properties.get("ManagedPolicyArns", ())
    ]


def _version(name: str) -> str:
    python, package = MAKERS[name]
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _linters() -> Mapping[str, str]:
    own = {name: metadata.version(name) for name in ("cdk-nag", "cfn-lint")}
    code = (
        "from importlib.metadata import version; import json; print(json.dumps("
        "{n: version(n) for n in ('checkov', 'parliament', 'cloudsplaining')}))"
    )
    python = CHECKOV.with_name("python")
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    )
    return {**own, **json.loads(done.stdout)}


def main() -> None:
    """
    Write what is found of each.
    """
    found: dict[str, Any] = {
        "deployment": f"{MODEL} on TGI {VERSION}, {INSTANCE}, with a role that may "
        "invoke it",
        "linters": _linters(),
        "makers": {},
    }
    for name, (_, package) in MAKERS.items():
        with tempfile.TemporaryDirectory() as folder:
            synthesise(name, Path(folder))
            found["makers"][package] = {
                "version": _version(name),
                "found": linted(Path(folder)),
            }
    FOUND.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
