"""
A new app: what its files are to say, and how they are written.
"""

from __future__ import annotations

import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from string import Template

from cdk_sagemaker_llm.cli.app.assembly import masked
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.serving.engines.vllm import Vllm

# What no dependency of this library pins; the versions that its own tests run with.
PINS: Mapping[str, str] = {"cdk_cli": "2.1148.1", "pytest": "9.2.0", "syrupy": "7.0.2"}
_INSTANCES = 2  # At most, when there is load.
_BUSY = 8  # Requests that a copy answers at once before there is another, at most.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_LONGEST_NAME = 64
_FILES: Mapping[str, str] = {
    ".gitignore": "gitignore",
    "README.md": "README.md",
    "app.py": "app.py",
    "cdk.json": "cdk.json",
    "package.json": "package.json",
    "pytest.ini": "pytest.ini",
    "requirements.txt": "requirements.txt",
    "tests/conftest.py": "conftest.py",
    "tests/test_deployment.py": "test_deployment.py",
    "tests/test_templates.py": "test_templates.py",
}
_SNAPSHOT = "tests/__snapshots__/test_templates/test_templates_are_the_reviewed_ones"


@dataclass(frozen=True, kw_only=True, slots=True)
class Starter:
    """
    A new app, before it is written.

    Args:
        name: The name of its folder, which its stacks are named after.

        model_id: The model on the Hugging Face Hub.

        revision: The model's commit. If omitted, the newest one is downloaded whenever
            a copy starts, and nothing scales.

        plan: How the model fits the instance type.

        shared: Whether models share the instances.

        vpc: Whether the model runs in a VPC.

        ci: Whether there is a workflow for GitHub Actions.
    """

    name: str
    model_id: str
    revision: str | None
    plan: Plan
    shared: bool = False
    vpc: bool = False
    ci: bool = True

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def instance_type(self) -> str:
        """
        The instance type that runs it.
        """
        return self.plan.instance_type.name

    @property
    def stack(self) -> str:
        """
        The name of the stack that has the model.
        """
        parts = re.split("[-_]", self.name)
        return "".join(part[0].upper() + part[1:] for part in parts)

    def files(self) -> dict[str, str]:
        """
        Return the text of each file by its path.
        """
        kind = "shared" if self.shared else "single"
        templates = {**_FILES, "llm_stack.py": f"llm_stack_{kind}.py"}
        if self.vpc:
            templates["network_stack.py"] = "network_stack.py"
        if self.ci:
            templates[".github/workflows/ci.yml"] = "ci.yml"
        words = self._words()
        return {
            path: _template(name).substitute(words)
            for path, name in sorted(templates.items())
        }

    def _words(self) -> dict[str, str]:
        model = f'MODEL = HuggingFaceModel("{self.model_id}")'
        if self.revision:
            model = (
                f'MODEL = HuggingFaceModel(\n    "{self.model_id}",\n'
                f'    revision="{self.revision}",\n)'
            )
        degree = self.plan.tensor_parallel_degree
        serving = f'Vllm("{Vllm().version}", max_model_len={self.plan.context_length}'
        serving += f", tensor_parallel_size={degree})" if degree > 1 else ")"
        return {
            **PINS,
            **self._network(),
            "aws_cdk_lib": version("aws-cdk-lib"),
            "cdk_sagemaker_llm": version("cdk-sagemaker-llm"),
            "component_option": " --component COMPONENT_NAME" if self.shared else "",
            "constructs": version("constructs"),
            "hints": "\n".join(self._hints()),
            "instance_type": self.instance_type,
            "kind": _SHARED if self.shared else _SINGLE,
            "model": model,
            "model_id": self.model_id,
            "name": self.name,
            "scaling": self._scaling() if self.revision else "",
            "serving": serving,
            "stack": self.stack,
        }

    def _network(self) -> dict[str, str]:
        if not self.vpc:
            return {
                "network_argument": "",
                "network_import": "",
                "network_name": "",
                "network_parameter": "",
                "stacks": f'    LlmStack(app, "{self.stack}")',
            }
        return {
            "network_argument": "\n            network=network,",
            "network_import": "\nfrom network_stack import NetworkStack",
            "network_name": "\n    Network,",
            "network_parameter": ", *, network: Network",
            "stacks": (
                f'    vpc = NetworkStack(app, "{self.stack}Network")\n'
                f'    LlmStack(app, "{self.stack}", network=vpc.network)'
            ),
        }

    def _scaling(self) -> str:
        busy = max(1, min(_BUSY, self.plan.largest_batch))
        indent = "\n        "
        if self.shared:
            most = _INSTANCES * self.plan.replicas
            return (
                f"{indent}copies = component.auto_scale_copy_count("
                f"max_capacity={most})"
                f'{indent}copies.scale_on_concurrency("Load", per_copy={busy})'
            )
        return (
            f"{indent}instances = endpoint.auto_scale_instance_count("
            f"max_capacity={_INSTANCES})"
            f'{indent}instances.scale_on_concurrency("Load", per_instance={busy})'
        )

    def _hints(self) -> Iterator[str]:
        if not self.revision:
            yield (
                "- Nothing scales yet, because copies that start later could download "
                "another commit.\n  Name one first, "
                '`HuggingFaceModel(..., revision="COMMIT")`, then call '
                + (
                    "`component.auto_scale_copy_count(max_capacity=2)`."
                    if self.shared
                    else "`endpoint.auto_scale_instance_count(max_capacity=2)`."
                )
            )
        if self.shared:
            yield "- `host.add_model` adds another model to the same instances."
        if self.vpc:
            yield (
                "- `network_stack.py` makes a VPC.\n  To use yours, give "
                "`ec2.Vpc.from_lookup(...)` to `Network`."
            )
        yield (
            "- A gated model needs a token in Secrets Manager: "
            '`HuggingFaceModel(..., token=SecretValue.secrets_manager("NAME"))`.'
        )


_SINGLE = "Each instance runs one copy of the model."
_SHARED = (
    "Instances are shared: each model is an inference component with copies of its own."
)


def check_name(name: str) -> None:
    """
    Raise if a folder's name cannot name stacks.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ValueError(
            "DIR must end in a name for the stacks: at most "
            f"{_LONGEST_NAME} letters and digits, with single hyphens or underscores "
            f"between them, a letter first; got {name!r}"
        )


def write(starter: Starter, folder: Path) -> bool:
    """
    Write an app whole, or nothing of it; return whether its snapshots are there.

    Raises:
        ValueError: If the app that was written does not synthesise.

        OSError: If the folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as beside:
        made = Path(beside) / "app"
        for path, text in starter.files().items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, encoding="utf-8")
        has_snapshots = _write_snapshots(made, Path(beside) / "cdk.out")
        if folder.exists():
            # The shell may be in it.
            for entry in made.iterdir():
                entry.rename(folder / entry.name)
        else:
            made.rename(folder)
    return has_snapshots


def _write_snapshots(made: Path, assembly: Path) -> bool:
    """
    Synthesise an app as the CDK CLI does, and keep its templates as syrupy would.
    """
    if not (os.environ.get("JSII_NODE") or shutil.which("node")):
        return False
    context = json.loads((made / "cdk.json").read_text(encoding="utf-8"))["context"]
    done = subprocess.run(
        [sys.executable, "-B", "app.py"],
        cwd=made,
        env={
            **os.environ,
            "CDK_CONTEXT_JSON": json.dumps(context),
            "CDK_OUTDIR": str(assembly),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["(it printed nothing)"]
        raise ValueError(f"the app does not synthesise: {lines[-1]}")
    for template in assembly.glob("*.template.json"):
        stack = template.name.removesuffix(".template.json")
        text = json.loads(template.read_text(encoding="utf-8"))
        snapshot = made / f"{_SNAPSHOT}[{stack}].json"
        snapshot.parent.mkdir(parents=True, exist_ok=True)
        written = json.dumps(text, indent=2, ensure_ascii=False, sort_keys=True)
        snapshot.write_text(masked(written) + "\n", encoding="utf-8")
    return True


def _template(name: str) -> Template:
    content = pkgutil.get_data(__package__, f"templates/{name}.template") or b""
    return Template(content.decode())
