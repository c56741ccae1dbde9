"""
What ``sagemaker-llm new`` writes, used as its README says: by the real CDK CLI, the
command, and pytest.
"""

from __future__ import annotations

import itertools
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.local.conftest import CDK, Cdk

BIN = Path(sys.executable).parent
COMMAND = BIN / "sagemaker-llm"
EVERY = [
    (shared, vpc, ci)
    for shared, vpc, ci in itertools.product(
        ["--single", "--shared"], ["--no-vpc", "--vpc"], ["--no-ci", "--ci"]
    )
]

pytestmark = [pytest.mark.whole, pytest.mark.timeout(600)]


def said(
    aws: EmbeddedAws, folder: Path, *command: str | Path, timeout: float = 300
) -> str:
    """
    Run a command there, which must succeed; return what it said.
    """
    path = f"{BIN}{os.pathsep}{CDK.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**aws.process_environment, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def made(aws: EmbeddedAws, beside: Path, flags: Sequence[str]) -> Path:
    """
    Write an app, and return its folder.
    """
    folder = beside / "-".join(["app", *(flag.strip("-") for flag in flags)])
    told = said(aws, beside, COMMAND, "new", folder, *flags)
    assert "no Node.js" not in told
    assert [one.name for one in beside.iterdir()] == [folder.name]
    return folder


@pytest.mark.parametrize("flags", EVERY, ids=" ".join)
def test_a_new_app_is_green_at_once(
    embedded_aws: EmbeddedAws, tmp_path: Path, flags: Sequence[str]
) -> None:
    """
    It synthesises, nothing is found in it, and its tests pass, of which one deploys it.
    """
    folder = made(embedded_aws, tmp_path, flags)

    synthesised = said(embedded_aws, folder, "cdk", "synth", "--quiet", "--no-notices")
    checked = said(embedded_aws, folder, COMMAND, "check", "cdk.out")
    tested = said(embedded_aws, folder, BIN / "pytest", "-W", "error")

    assert "feature flags" not in synthesised
    assert checked.splitlines()[-1].endswith(": 0 errors, 0 warnings")
    assert "3 passed" in tested


@pytest.mark.parametrize("flags", [EVERY[0], EVERY[-1]], ids=" ".join)
def test_the_cdk_cli_deploys_and_deletes_a_new_app(
    embedded_aws: EmbeddedAws, cdk: Cdk, tmp_path: Path, flags: Sequence[str]
) -> None:
    """
    The least and the most that one can ask for.
    """
    folder = made(embedded_aws, tmp_path, flags)

    deployed = cdk("deploy", "--all", "--require-approval", "never", cwd=folder)
    gone = cdk("destroy", "--all", "--force", cwd=folder)

    assert deployed.returncode == 0, deployed.stdout
    assert "EndpointName = " in deployed.stdout
    assert gone.returncode == 0, gone.stdout


def test_it_asks_on_a_terminal(tmp_path: Path) -> None:
    """
    For the model first, whose smallest instance type it then proposes.
    """
    answers = b"Qwen/Qwen3-8B\n\n\ny\nn\nn\n"
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "new", "asked"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, answers)
    told = b""
    while process.poll() is None:
        try:
            told += os.read(ours, 4096)
        except OSError:  # The other end is closed.
            break

    assert process.wait() == 0, told
    stack = (tmp_path / "asked" / "llm_stack.py").read_text()
    assert b"Instance type [ml.g5.xlarge]" in told
    assert 'HuggingFaceModel("Qwen/Qwen3-8B")' in stack
    assert "InferenceComponentEndpoint(" in stack
    assert not (tmp_path / "asked" / ".github").exists()
