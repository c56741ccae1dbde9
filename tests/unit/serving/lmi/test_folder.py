"""
A serving artifact written by hand.
"""

from __future__ import annotations

from pathlib import Path

from cdk_sagemaker_llm import HuggingFaceModel, ServingFolder
from cdk_sagemaker_llm.findings import Finding, Severity
from tests.unit.serving.answers import container_of, findings_of

GOOD = "engine=MPI\noption.model_id=a/b\n"


def folder(path: Path) -> ServingFolder:
    """
    Serve a folder with the reference image.
    """
    return ServingFolder(path, container_family="djl-tensorrtllm", version="0.26.0")


def errors(path: Path) -> list[Finding]:
    """
    Return the errors found in a folder.
    """
    return [f for f in findings_of(folder(path), None) if f.severity is Severity.ERROR]


def test_all_files_travel_but_what_was_left_behind(tmp_path: Path) -> None:
    """
    model.py and requirements.txt go along; hidden files and bytecode do not.
    """
    for name in ("model.py", "requirements.txt", ".DS_Store"):
        (tmp_path / name).write_text("x")
    (tmp_path / "serving.properties").write_text(GOOD)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "model.pyc").write_text("x")

    container = container_of(folder(tmp_path), None, 8)

    assert sorted(container.files) == [
        "model.py",
        "requirements.txt",
        "serving.properties",
    ]
    assert errors(tmp_path) == []


def test_fails_if_the_folder_is_missing(tmp_path: Path) -> None:
    """
    The path is repeated as it was given.
    """
    (found,) = errors(tmp_path / "mixtrall")

    assert found.code == "LLM108"
    assert "mixtrall' is not a folder" in found.message


def test_fails_if_there_is_no_serving_properties(tmp_path: Path) -> None:
    """
    Such a folder would start an empty server.
    """
    assert [f.code for f in errors(tmp_path)] == ["LLM109"]


def test_warns_if_there_is_no_engine(tmp_path: Path) -> None:
    """
    It starts, but at 0.26 without the token that a gated model needs.
    """
    (tmp_path / "serving.properties").write_text("option.model_id=a/b\n")

    found = {f.code: f for f in findings_of(folder(tmp_path), None)}

    assert errors(tmp_path) == []
    assert found["LLM215"].remedy == "write engine=MPI"


def test_one_folder_may_hold_the_files(tmp_path: Path) -> None:
    """
    The server descends one level where there is nothing else.
    """
    (tmp_path / "mistral").mkdir()
    (tmp_path / "mistral" / "serving.properties").write_text(GOOD + "option.dtyp=x\n")

    assert [f.code for f in errors(tmp_path)] == ["LLM158"]


def test_fails_if_two_folders_hold_models(tmp_path: Path) -> None:
    """
    Two models would answer /invocations, which then is ambiguous.
    """
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "serving.properties").write_text(GOOD)

    assert [f.code for f in errors(tmp_path)] == ["LLM126"]


def test_an_option_without_effect_is_an_error_where_no_code_reads_it(
    tmp_path: Path,
) -> None:
    """
    A model.py of the user's may read any option; without one it is a mistake.
    """
    (tmp_path / "serving.properties").write_text(GOOD + "option.my_switch=1\n")
    alone = [f.code for f in errors(tmp_path)]
    (tmp_path / "model.py").write_text("")

    assert alone == ["LLM158"]
    assert errors(tmp_path) == []


def test_fails_if_the_file_holds_a_token(tmp_path: Path) -> None:
    """
    The message names the property and does not repeat the token.
    """
    token = "hf_" + "a1" * 17
    text = f"{GOOD}option.revision={token}\n"
    (tmp_path / "serving.properties").write_text(text)

    (found,) = errors(tmp_path)

    assert found.code == "LLM107"
    assert "option.revision" in found.message
    assert token not in str(found)


def test_fails_if_the_file_cannot_be_read(tmp_path: Path) -> None:
    """
    Where Java refuses the file, so do we.
    """
    (tmp_path / "serving.properties").write_text(GOOD + "option.revision=\\u1")

    assert [f.code for f in errors(tmp_path)] == ["LLM114"]


def test_fails_if_it_holds_weights(tmp_path: Path) -> None:
    """
    Weights do not travel in an artifact.
    """
    (tmp_path / "serving.properties").write_text(GOOD)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * (65 * 1024 * 1024))

    (found,) = errors(tmp_path)

    assert found.code == "LLM118"
    assert "S3 prefix" in found.remedy


def test_fails_if_a_model_is_named_twice(tmp_path: Path) -> None:
    """
    The folder names its weights.
    """
    (tmp_path / "serving.properties").write_text(GOOD)

    found = findings_of(folder(tmp_path), HuggingFaceModel("a/b"))

    assert "LLM117" in [f.code for f in found]
