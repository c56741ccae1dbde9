"""
The command that checks before anything is deployed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests import running
from tests.deployments import ROOT, synthesised

GOOD = "engine=MPI\noption.model_id=a/b\noption.rolling_batch=auto\n"
BAD = f"{GOOD}option.tensor_parallel_degree=all\n"
# What serves, and what a check has no question for.
UNUSED = [
    "cdk_sagemaker_llm.catalog.prices",
    "cdk_sagemaker_llm.serving.lmi.base",
    "cdk_sagemaker_llm.serving.lmi.folder",
    "aws_cdk",
    "boto3",
]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    Run the command as a user does.
    """
    return running.run("check", *arguments)


def run_json(*arguments: str | Path) -> dict[str, Any]:
    """
    Run the command and read what it prints.
    """
    answer: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return answer


@pytest.fixture(name="artifact")
def _artifact(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "serving.properties").write_text(GOOD)
    return folder


def test_a_clean_file_ends_with_0_and_names_the_images(artifact: Path) -> None:
    """
    Without an image the answer says which ones take the file.
    """
    result = running.run_installed("check", artifact / "serving.properties")

    assert result.returncode == 0
    assert "djl-tensorrtllm 0.25.0 to 0.33.0" in result.stdout
    assert "1 subject checked: 0 errors" in result.stdout


def test_a_check_loads_no_backend_no_prices_and_no_cdk(artifact: Path) -> None:
    """
    It starts in a fraction of what they take.
    """
    code = (
        "import sys\n"
        "from cdk_sagemaker_llm.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print([m for m in {UNUSED} if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check", artifact],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-2:] == [
        "1 subject checked: 0 errors, 0 warnings",
        "[]",
    ]


@pytest.mark.parametrize("module", UNUSED)
def test_what_a_check_leaves_out_is_there(module: str) -> None:
    """
    A module that was renamed is never loaded: the test above is no empty promise.
    """
    assert import_module(module)


def test_a_fault_ends_with_1_and_says_what_to_do(artifact: Path) -> None:
    """
    One line: the file, the code, the option, the value.
    """
    (artifact / "serving.properties").write_text(BAD)
    result = run(artifact, "--container", "djl-tensorrtllm", "--version", "0.26.0")

    assert result.returncode == 1
    line = result.stdout.splitlines()[0]
    assert line.startswith(f"{artifact}: error LLM135 option.tensor_parallel_degree")
    assert "'all'" in line


def test_a_file_that_no_image_takes_has_the_faults_of_the_nearest(
    artifact: Path,
) -> None:
    """
    A fault in every image is a fault.
    """
    (artifact / "serving.properties").write_text(BAD)

    answer = run_json(artifact)

    (subject,) = answer["subjects"]
    assert subject["images"] == []
    assert [f["code"] for f in subject["findings"]] == ["LLM135"]


def test_json_has_the_findings_with_all_their_parts(artifact: Path) -> None:
    """
    What CI reads: counts, and per subject severity, code, message, remedy.
    """
    (artifact / "serving.properties").write_text(f"{GOOD}option.max_tokns=1\n")

    answer = run_json(artifact, "--container", "djl-lmi", "--version", "0.30.0")

    assert (answer["errors"], answer["warnings"]) == (1, 0)
    (finding,) = answer["subjects"][0]["findings"]
    assert finding["severity"] == "error"
    assert finding["code"] == "LLM158"
    assert set(finding) == {"severity", "code", "message", "remedy"}


def test_json_names_the_images_that_take_the_file(artifact: Path) -> None:
    """
    Each by family and version, where no image was asked for.
    """
    answer = run_json(artifact, "--version", "0.27.0")

    assert answer == {
        "errors": 0,
        "warnings": 0,
        "subjects": [
            {
                "subject": str(artifact),
                "images": ["djl-tensorrtllm 0.27.0", "djl-deepspeed 0.27.0"],
                "findings": [],
            }
        ],
    }


def test_one_image_is_named_without_a_range(artifact: Path) -> None:
    """
    And faults are counted in the plural from none on.
    """
    result = run(artifact, "--version", "0.27.0")

    assert result.stdout.splitlines() == [
        f"{artifact}: taken by djl-tensorrtllm 0.27.0; djl-deepspeed 0.27.0",
        "1 subject checked: 0 errors, 0 warnings",
    ]


def test_a_folder_of_artifacts_is_checked_one_by_one(artifact: Path) -> None:
    """
    As ``assets/`` is.
    """
    other = artifact.with_name("other")
    other.mkdir()
    (other / "serving.properties").write_text(BAD)

    answer = run_json(artifact.parent)

    subjects = {s["subject"]: len(s["findings"]) for s in answer["subjects"]}
    assert subjects == {str(artifact): 0, str(other): 1}


def test_accelerators_come_from_the_instance_type(artifact: Path) -> None:
    """
    Eight GPUs are more than ml.g5.12xlarge has.
    """
    text = f"{GOOD}option.tensor_parallel_degree=8\n"
    (artifact / "serving.properties").write_text(text)
    image = ("--container", "djl-tensorrtllm", "--version", "0.26.0")

    assert run(artifact, *image).returncode == 0
    assert run(artifact, *image, "--instance-type", "ml.p4d.24xlarge").returncode == 0
    assert run(artifact, *image, "--instance-type", "ml.g5.12xlarge").returncode == 1


def test_accelerators_that_are_given_count_before_those_of_the_instance(
    artifact: Path,
) -> None:
    """
    A copy may have two of the eight GPUs of its instance.
    """
    text = f"{GOOD}option.tensor_parallel_degree=8\n"
    (artifact / "serving.properties").write_text(text)
    image = ("--container", "djl-tensorrtllm", "--version", "0.26.0")
    place = ("--instance-type", "ml.p4d.24xlarge")

    assert run(artifact, *image, *place, "--accelerators", "8").returncode == 0
    assert run(artifact, *image, *place, "--accelerators", "2").returncode == 1


def test_a_cloud_assembly_is_checked_model_by_model(tmp_path: Path) -> None:
    """
    The reference app, as synthesised: image, artifact and instance type are its own.
    """
    synthesised(ROOT / "app.py", tmp_path)

    answer = run_json(tmp_path)

    stacks = sorted(s["subject"].split("/")[0] for s in answer["subjects"])
    assert stacks == ["Llama13BX8", "MistralTrtLlm", "Mixtral"]
    assert answer["errors"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-file"], "does not exist"),
        (["{empty}"], "holds neither serving.properties nor manifest.json"),
        (["{file}", "--container", "djl"], "--container must be one of"),
        (["{file}", "--serving", "tgi"], "--serving must be one of"),
        (["{file}", "--version", "9"], "has version '9'"),
        (["{file}", "--instance-type", "ml.g5.huge"], "ml.g5.huge"),
        (["{broken}"], "is no JSON"),
        ([], "Missing argument"),
    ],
)
def test_misuse_ends_with_2_and_says_why(
    artifact: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    """
    Neither clean nor faulty: the question was wrong.
    """
    empty, broken = tmp_path / "empty", tmp_path / "broken"
    empty.mkdir()
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    names = {
        "empty": empty,
        "broken": broken,
        "file": artifact / "serving.properties",
    }
    result = run(*(argument.format(**names) for argument in arguments))

    assert result.returncode == 2
    assert message in result.stderr
