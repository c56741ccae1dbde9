"""
What a shell completes a line of the command to.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer import Typer

from cdk_sagemaker_llm.catalog.architectures import model_names
from cdk_sagemaker_llm.cli import commands
from tests.running import INSTALLED, run
from tests.unit.cli.test_command import GROUPS

GUIDE = Path(__file__).parents[3] / "docs" / "command-line.md"
SHELLS = ("bash", "zsh", "fish")
PROGRAM = "sagemaker-llm"


def asked(shell: str, line: str) -> Mapping[str, str]:
    """
    Return the variables with which a shell's script asks for completions of a line.
    """
    words = line.split(" ")
    return {
        "_SAGEMAKER_LLM_COMPLETE": f"complete_{shell}",
        **(
            {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
            if shell == "bash"
            else {
                "_TYPER_COMPLETE_ARGS": line,
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            }
        ),
    }


def completed(line: str, shell: str = "bash") -> list[str]:
    """
    Return what a shell is told that the last word of a line may become.
    """
    done = run(environment=asked(shell, line))
    assert (done.returncode, done.stderr) == (0, "")
    if shell == "zsh":
        return re.findall(r'(?:^|\(\()"(.*?)"', done.stdout, re.MULTILINE)
    return [one.partition("\t")[0] for one in done.stdout.splitlines() if one]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_and_values(shell: str) -> None:
    """
    As they are in help, and in the catalogue.
    """
    names = [name for group in GROUPS.values() for name in group]

    assert completed(f"{PROGRAM} ", shell) == names
    assert completed(f"{PROGRAM} p", shell) == ["plan", "permissions", "preflight"]
    assert completed(f"{PROGRAM} plan --in", shell) == ["--instance-type"]
    assert completed(f"{PROGRAM} plan Qwen/Qwen3-0", shell) == ["Qwen/Qwen3-0.6B"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan --draft-model Qwen/Qwen3-0", ["Qwen/Qwen3-0.6B"]),
        ("support Qwen/Qwen3-0", ["Qwen/Qwen3-0.6B"]),
        *(
            (f"{command} --instance-type ml.g5.1", ["ml.g5.12xlarge", "ml.g5.16xlarge"])
            for command in ("plan x", "check x", "support x")
        ),
        ("plan x --serving lmi", ["lmi-vllm", "lmi-dist"]),
        ("plan x --prices ", ["aws"]),
        ("check --serving n", ["neuronx"]),
        ("check --container djl-t", ["djl-tensorrtllm"]),
        ("support x --engine vllm-n", ["vllm-neuron"]),
        ("simulate cdk.out --traffic s", ["spike"]),
        ("simulate cdk.out --method ", ["requests", "aggregate"]),
        # Files are the shell's own.
        ("plan cdk", []),
        ("check ", []),
    ],
)
def test_a_value_is_completed_to_what_the_option_takes(
    line: str, words: list[str]
) -> None:
    """
    Models, instance types, engines, and other words of one's own.
    """
    assert completed(f"{PROGRAM} {line}") == words


def test_every_model_of_the_catalogue_is_offered() -> None:
    """
    In the order of the alphabet.
    """
    assert completed(f"{PROGRAM} plan ") == sorted(model_names(), key=str.lower)


def test_only_the_command_that_is_completed_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A key has no time for all of them, once the command's name is there.
    """
    loaded: list[str] = []
    add = commands.add_command

    def noted(app: Typer, name: str) -> None:
        loaded.append(name)
        add(app, name)

    monkeypatch.setattr(commands, "add_command", noted)

    for shell in SHELLS:
        completed(f"{PROGRAM} plan --", shell)
    assert loaded == ["plan"] * 3


@pytest.mark.parametrize("shell", SHELLS)
def test_the_guide_says_how_a_shell_gets_its_script(shell: str) -> None:
    """
    And that variable makes it be printed.
    """
    done = run(environment={"_SAGEMAKER_LLM_COMPLETE": f"source_{shell}"})

    assert f"_SAGEMAKER_LLM_COMPLETE=source_{shell} sagemaker-llm" in GUIDE.read_text()
    assert done.returncode == 0, done.stderr
    assert f"_SAGEMAKER_LLM_COMPLETE=complete_{shell}" in done.stdout


def test_completion_is_installed_in_ones_home(tmp_path: Path) -> None:
    """
    A script, and a line that loads it.
    """
    environment: dict[str, Any] = {
        "HOME": str(tmp_path),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    done = run("--install-completion", "bash", environment=environment)
    script = tmp_path / ".bash_completions" / "sagemaker-llm.sh"

    assert done.returncode == 0, done.stderr
    assert "_SAGEMAKER_LLM_COMPLETE=complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()


@pytest.mark.whole
def test_bash_itself_completes_a_line() -> None:
    """
    By the script that it is given.
    """
    program = f"""
PATH="{INSTALLED.parent}:$PATH"
eval "$(_SAGEMAKER_LLM_COMPLETE=source_bash sagemaker-llm)"
COMP_WORDS=(sagemaker-llm plan Qwen/Qwen3-0)
COMP_CWORD=2
_sagemaker_llm_completion sagemaker-llm
echo "${{COMPREPLY[@]}}"
complete -p sagemaker-llm
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == [
        "Qwen/Qwen3-0.6B",
        "complete -o default -F _sagemaker_llm_completion sagemaker-llm",
    ]
