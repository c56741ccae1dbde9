"""
The command that says which releases load a model.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import running

GEMMA = "google/gemma-3-4b-it"
ONE = ("--engine", "vllm", "--instance-type", "ml.g5.2xlarge")
OLD = (
    "vLLM 0.7.1 does not load Gemma3ForConditionalGeneration; take an image with vllm "
    "0.8.0 and newer, such as djl-lmi 0.33.0"
)
ENGINES = (
    "vllm, sglang, tgi, tei, tensorrt-llm, lmi-dist, deepspeed, vllm-neuron, "
    "vllm-omni, tgi-neuron or llama.cpp"
)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    Run the command as a user does.
    """
    return running.run("support", *arguments)


def facts(*arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
    """
    Run the command and read what it prints.
    """
    return json.loads(run(*arguments, "--json").stdout)


def test_releases_that_do_the_same_are_one_row() -> None:
    """
    Each reason stands once below, and the newest image last.
    """
    answer = run(GEMMA, *ONE)

    assert [" ".join(line.split()) for line in answer.stdout.splitlines()] == [
        GEMMA,
        "",
        "vLLM every type why",
        "0.2.1.post1 to 0.7.1 does not 1",
        "0.8.4 to 0.30.0 loads",
        f"1: {OLD}",
        "the newest image that serves it: huggingface-vllm 0.30.0",
    ]
    assert answer.returncode == 0


def test_a_release_that_does_not_load_it() -> None:
    """
    JSON has the rule, the message and the way out; the status says that nothing does.
    """
    asked = (GEMMA, *ONE, "--release", "0.7.1")
    message, _, remedy = OLD.partition("; ")

    assert facts(*asked) == [
        {
            "engine": "vllm",
            "release": "0.7.1",
            "image": "djl-lmi 0.32.0",
            "instance_type": "ml.g5.2xlarge",
            "verdict": "does not",
            "findings": [
                {
                    "code": "LLM901",
                    "severity": "error",
                    "message": message,
                    "remedy": remedy,
                }
            ],
        }
    ]
    assert run(*asked).returncode == 1


def test_a_model_that_nobody_knows() -> None:
    """
    It may load, so that the status is no failure.
    """
    answer = run("nobody/has-this", *ONE)

    assert answer.stdout == "nobody/has-this\n\nnot known: vLLM 0.2.1.post1 to 0.30.0\n"
    assert answer.returncode == 0


@pytest.mark.parametrize(
    ("engine", "release", "model", "verdict"),
    [
        # Made of TGI, of which nobody read what it loads.
        ("lmi-dist", "8.0.0", "Qwen/Qwen3-8B", "not known"),
        ("lmi-dist", "9.0.0", "Qwen/Qwen3-8B", "does not"),
        ("lmi-dist", "9.0.0", "mistralai/Mistral-7B-v0.1", "loads"),
        ("vllm-omni", "0.20.0", "Qwen/Qwen3-8B", "loads"),
        # Of pictures nothing is known: vLLM itself makes none.
        ("vllm-omni", "0.20.0", "Qwen/Qwen-Image", "not known"),
    ],
)
def test_what_is_made_of_another_engine_is_known_as_far_as_that_is(
    engine: str, release: str, model: str, verdict: str
) -> None:
    """
    No finding is no promise where nothing is known.
    """
    asked = ("--engine", engine, "--release", release)

    (found,) = facts(model, *asked, "--instance-type", "ml.g5.2xlarge")

    assert found["verdict"] == verdict


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_model_of_ones_own(tmp_path: Path, *, is_folder: bool) -> None:
    """
    Its config.json says the class; the folder that it is in names it too.
    """
    file = tmp_path / "config.json"
    file.write_text('{"architectures": ["Gemma3ForCausalLM"]}')
    path = tmp_path if is_folder else file

    (old,) = facts(path, *ONE, "--release", "0.7.1")
    (new,) = facts(path, *ONE, "--release", "0.8.4")

    assert [old["verdict"], new["verdict"]] == ["does not", "loads"]


def test_types_that_are_treated_alike_share_a_column() -> None:
    """
    Without a type it is the smallest of each accelerator; Neuron engines have theirs.
    """
    found = facts(GEMMA, "--engine", "vllm", "--release", "0.30.0")
    types = [one["instance_type"] for one in found]

    assert {"ml.g4dn.xlarge", "ml.g5.xlarge", "ml.p5.4xlarge"} <= {*types}
    assert len(types) == len({*types})
    neuron = facts(GEMMA, "--engine", "tgi-neuron", "--release", "0.3.0")
    assert [one["instance_type"] for one in neuron] == [
        "ml.inf1.xlarge",
        "ml.inf2.xlarge",
        "ml.trn1.2xlarge",
    ]


def test_each_column_has_its_own_types_verdicts() -> None:
    """
    T4 has no kernels for the weights, Blackwell's small GPUs fall back; the reason
    that several releases have is the newest one's.
    """
    asked = ("openai/gpt-oss-20b", "--engine", "vllm")
    types = ("ml.g4dn.xlarge", "ml.g5.xlarge", "ml.g7e.2xlarge")
    kinds = ("T4", "A10G", "RTX-PRO-6000-Server")
    heads = " ".join(f"{one} ({kind})" for one, kind in zip(types, kinds, strict=True))
    named = [word for one in types for word in ("--instance-type", one)]
    lines = run(*asked, *named).stdout.splitlines()

    assert [" ".join(line.split()) for line in lines[2:7]] == [
        f"vLLM {heads} why",
        "0.2.1.post1 to 0.8.4 does not does not does not 6",
        "0.10.2 does not loads warning 1, 2, 5, 4",
        "0.11.1 does not loads warning 1, 2, 4",
        "0.12.0 to 0.30.0 does not loads warning 1, 2, 3, 4",
    ]
    assert lines[8].startswith(
        "2: vLLM 0.30.0 needs a compute capability of 8.0 for the quantization method "
        "gpt_oss_mxfp4, got T4"
    )
    assert lines[12] == (
        "6: vLLM 0.8.4 does not load GptOssForCausalLM; take an image with vllm 0.10.1 "
        "and newer, such as djl-lmi 0.34.0"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("x/y", "--engine", "vlm"),
            f"--engine must be {ENGINES}, got 'vlm'",
        ),
        (
            ("x/y", "--engine", "llama.cpp", "--release", "99"),
            "no catalogued image has llama.cpp 99; they have b9522",
        ),
        (("no/such.json",), "no/such.json is not there"),
    ],
)
def test_a_wrong_word(arguments: tuple[str, ...], words: str) -> None:
    """
    The message says what there is, and nothing is printed.
    """
    answer = run(*arguments)

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"sagemaker-llm support: {words}\n"
