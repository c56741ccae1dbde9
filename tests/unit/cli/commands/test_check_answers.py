"""
What ``check`` answers: each line, each part of its JSON, and its exit status.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from cdk_sagemaker_llm.cli.app.findings import Report
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands.check import (
    Target,
    reports_of,
)
from cdk_sagemaker_llm.cli.output.findings import as_json, lines, ranges
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.lmi.artifact import (
    LARGEST_ARTIFACT,
    LARGEST_PROPERTIES,
    Artifact,
    folder_files,
)
from tests.unit.cli.commands.test_check import BAD, GOOD, run

ERROR = Finding(Severity.ERROR, "LLM135", "it is wrong", "mend it")
WARNING = Finding(Severity.WARNING, "LLM209", "it is odd", "look")
CLEAN = Report("good", [], ("a 1", "a 2", "a 3", "b 7"))
FAULTY = Report("bad", [ERROR, WARNING, ERROR], left_out=("its environment: x",))
UNREAD = Report("gone", [], is_checked=False, fault="gone is missing")
UNJUDGED = Report("open", [], is_checked=False, left_out=("no image", "no container"))
# Read in part, and told of all the same.
HALF = Report("half", [WARNING], is_checked=False, fault="half is cut off")


def test_every_finding_and_gap_is_a_line() -> None:
    """
    And the last one counts them.
    """
    assert list(lines([CLEAN, FAULTY, UNREAD, UNJUDGED, HALF])) == [
        "good: taken by a 1 to 3; b 7",
        f"bad: error {ERROR}",
        f"bad: warning {WARNING}",
        f"bad: error {ERROR}",
        "not checked: bad: its environment: x",
        "not checked: open: no image",
        "not checked: open: no container",
        f"half: warning {WARNING}",
        (
            "2 subjects checked: 2 errors, 2 warnings; 3 not checked; 2 could not be "
            "read"
        ),
    ]


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([], "0 subjects checked: 0 errors, 0 warnings"),
        ([CLEAN], "1 subject checked: 0 errors, 0 warnings"),
        (
            [Report("a", [ERROR, WARNING])],
            "1 subject checked: 1 error, 1 warning",
        ),
        (
            [UNJUDGED],
            "0 subjects checked: 0 errors, 0 warnings; 2 not checked",
        ),
        ([UNREAD], "0 subjects checked: 0 errors, 0 warnings; 1 could not be read"),
    ],
)
def test_the_last_line_counts(reports: list[Report], words: str) -> None:
    """
    In the singular where it is one.
    """
    assert list(lines(reports))[-1] == words


def test_images_are_told_by_family() -> None:
    """
    From the first to the last of each.
    """
    assert ranges(["a 1"]) == "a 1"
    assert ranges(["a 1", "b 2", "a 9"]) == "a 1 to 9; b 2"


def test_json_has_every_subject_with_all_its_parts() -> None:
    """
    What could be read, at least in part; gaps are listed only where there are any.
    """
    finding = {
        "severity": "error",
        "code": "LLM135",
        "message": "it is wrong",
        "remedy": "mend it",
    }
    warning = {
        "severity": "warning",
        "code": "LLM209",
        "message": "it is odd",
        "remedy": "look",
    }

    assert json.loads(as_json([CLEAN, FAULTY, UNREAD, UNJUDGED, HALF])) == {
        "errors": 2,
        "warnings": 2,
        "subjects": [
            {"subject": "good", "images": list(CLEAN.images), "findings": []},
            {"subject": "bad", "images": [], "findings": [finding, warning, finding]},
            {"subject": "half", "images": [], "findings": [warning]},
        ],
        "not_checked": [
            {"subject": "bad", "reason": "its environment: x"},
            {"subject": "open", "reason": "no image"},
            {"subject": "open", "reason": "no container"},
        ],
        "unreadable": [
            {"subject": "gone", "reason": "gone is missing"},
            {"subject": "half", "reason": "half is cut off"},
        ],
    }
    assert set(json.loads(as_json([CLEAN]))) == {"errors", "warnings", "subjects"}


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    return tmp_path / "serving.properties"


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        (
            "--container",
            "djl",
            (
                "--container must be one of djl-tensorrtllm, djl-lmi, djl-deepspeed, "
                "djl-neuronx, got 'djl'"
            ),
        ),
        ("--serving", "tgi", "--serving must be one of "),
        ("--instance-type", "ml.g5.huge", "ml.g5.huge"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_read(
    option: str, value: str, why: str, tmp_path: Path
) -> None:
    """
    With the command before it.
    """
    done = run(tmp_path / "none", option, value)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sagemaker-llm check: ")
    assert why in done.stderr
    assert "does not exist" not in done.stderr


def test_a_version_that_no_image_has_is_told_with_the_family(file: Path) -> None:
    """
    If one was named.
    """
    file.write_text(GOOD)
    with pytest.raises(
        MisuseError, match="^no LMI image of any family has version '9'$"
    ):
        reports_of(file, Target(version="9"))


def test_the_answer_is_there_though_a_path_is_wrong(file: Path) -> None:
    """
    Nothing is printed where no path could be read; JSON always is.
    """
    file.write_text(BAD)
    wrong = file.parent / "none"
    both, alone = run(file, wrong), run(wrong)
    facts: dict[str, Any] = json.loads(run(wrong, "--json").stdout)

    assert both.returncode == alone.returncode == 2
    assert "error LLM135" in both.stdout
    assert alone.stdout == ""
    assert (
        both.stderr
        == alone.stderr
        == (f"sagemaker-llm check: {wrong} does not exist\n")
    )
    assert facts == {
        "errors": 0,
        "warnings": 0,
        "subjects": [],
        "unreadable": [{"subject": str(wrong), "reason": f"{wrong} does not exist"}],
    }


def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    """
    A folder of a folder, beside those that may be.
    """
    for name in ("good", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "serving.properties").write_text(GOOD)
    secret = tmp_path / "closed" / "serving.properties"

    def read(folder: Path) -> Artifact:
        # Whoever runs this may read everything, perhaps.
        if folder == secret.parent:
            raise PermissionError(errno.EACCES, "Permission denied", str(secret))
        return folder_files(folder)

    with mock.patch("cdk_sagemaker_llm.cli.commands.check.folder_files", read):
        closed, good = reports_of(tmp_path, Target())

    assert closed == Report(
        str(secret.parent),
        [],
        is_checked=False,
        fault=f"{secret} cannot be read: Permission denied",
    )
    assert (good.subject, good.is_checked) == (str(tmp_path / "good"), True)


@pytest.mark.parametrize(
    ("content", "is_taken"),
    [
        (b"engine=Python\n", True),
        (b"engine: Python\n", True),
        (b"engine Python\n", True),
        (b"  \toption.model_id = a/b\n", True),
        (b"# what it is\n\noption.dtype=fp16\n", True),
        (b"engineer=Python\n", False),
        (b"the engine=Python\n", False),
        (b"option.=x\n", False),
        (b"model_id=a/b\n", False),
        (b"engine=Python\0\n", False),
        (codecs.BOM_UTF16_LE + "engine=Python".encode("utf-16-le"), False),
        (b"", False),
        # What stands beyond what a file may have is not looked at.
        (b"#" * LARGEST_PROPERTIES + b"\nengine=Python\n", False),
        (b"#" * (LARGEST_PROPERTIES - 9) + b"\nengine=Python\n", True),
    ],
)
def test_a_file_of_another_name_is_told_by_itslines(
    content: bytes,
    is_taken: bool,  # noqa: FBT001 - a table
    tmp_path: Path,
) -> None:
    """
    That only a serving.properties has.
    """
    file = tmp_path / "it.txt"
    file.write_bytes(content)
    if is_taken:
        (report,) = reports_of(file, Target())
        assert report.subject == str(file)
        return
    with pytest.raises(MisuseError, match=".") as raised:
        reports_of(file, Target())
    assert str(raised.value) == (
        f"{file} is no serving.properties: expected lines such as engine=Python or "
        "option.model_id=..."
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("template.yaml", b"Outputs: {}\n"),
        ("template.yml", b"Resources: {}\n"),
        ("it.txt", b"AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  A: {}\n"),
        ("it.template", b"Description: of mine\nResources:\n  A: {}\n"),
    ],
)
def test_a_template_in_yaml_is_told_from_other_files(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """
    What ``cdk synth`` prints is such a one.
    """
    file = tmp_path / name
    file.write_bytes(content)

    with pytest.raises(MisuseError) as raised:
        reports_of(file, Target())
    assert str(raised.value) == (
        f"{file} is no serving.properties: expected lines such as engine=Python or "
        "option.model_id=...; a template must be in JSON, as cdk synth writes it: name "
        "cdk.out"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [("{", "is no JSON: "), ('{"a": NaN}', "is no JSON: NaN is no number")],
)
def test_what_is_wrong_with_json_is_told(
    tmp_path: Path, content: str, why: str
) -> None:
    """
    A plan or a template that was cut off is not taken for something else.
    """
    file = tmp_path / "plan.json"
    file.write_text(content)
    done = run(file)

    assert done.returncode == 2
    assert f"{file} {why}" in done.stderr


def test_a_file_in_utf_16_is_no_binary_file(file: Path) -> None:
    """
    It is told what is wrong with it as a serving.properties.
    """
    file.write_bytes(codecs.BOM_UTF16_LE + GOOD.encode("utf-16-le"))
    (report,) = reports_of(file, Target())

    assert report.findings
    file.write_bytes(b"a\0" + GOOD.encode())
    with pytest.raises(MisuseError, match="is no serving.properties"):
        reports_of(file, Target())


def test_a_file_that_is_too_large_is_told_as_such(tmp_path: Path) -> None:
    """
    Whatever it holds.
    """
    file = tmp_path / "it.bin"
    with file.open("wb") as sparse:
        sparse.truncate(LARGEST_ARTIFACT + 1)
    (report,) = reports_of(file, Target())

    assert [one.code for one in report.findings] == ["LLM118"]
    os.truncate(file, LARGEST_ARTIFACT)
    with pytest.raises(MisuseError, match="is no serving.properties"):
        reports_of(file, Target())


def test_what_cannot_be_read_of_a_file_no_image_takes(file: Path) -> None:
    """
    It has its finding once, and no images.
    """
    file.write_bytes(b"engine=Python\noption.model_id=\\uZZZZ\n")
    (report,) = reports_of(file, Target())

    assert report.findings
    assert report.images == ()


def test_the_newest_of_the_best_answers_is_given(file: Path) -> None:
    """
    With what that image warns of.
    """
    file.write_text(f"{GOOD}option.tensor_parallel_degree=all\n")
    (report,) = reports_of(file, Target(container="djl-deepspeed"))
    (named,) = reports_of(file, Target(container="djl-deepspeed", version="0.27.0"))

    assert report.images == ()
    assert report.findings == [one for one in named.findings if one.code != "LLM201"]


def test_a_folder_of_nothing_is_told_what_to_name(tmp_path: Path) -> None:
    """
    Each kind of it.
    """
    with pytest.raises(MisuseError, match=".") as raised:
        reports_of(tmp_path, Target())
    assert str(raised.value) == (
        f"{tmp_path} holds neither serving.properties nor manifest.json; name a file, "
        "an artifact's folder, a folder of these, or cdk.out"
    )
