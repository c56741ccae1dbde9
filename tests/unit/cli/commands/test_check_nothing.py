"""
What ``sagemaker-llm check`` says where there is nothing that it could check.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.assembly import _SCHEMA
from cdk_sagemaker_llm.cli.app.findings import Report
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands.check import Target, reports_of
from tests.unit.cli.commands.test_check import run

NO_MODEL = "it holds no model to check"


def assembly(folder: Path, **manifest: object) -> Path:
    """
    Write a cloud assembly without stacks.
    """
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def link(path: Path) -> None:
    """
    Put a link to nothing at a path.
    """
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "is a named pipe, no file"),
        (link, "is a link to nothing"),
    ],
)
def test_what_is_no_file_is_called_what_it_is(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    """
    It is there, and cannot be read as a file.
    """
    make(tmp_path / "it")

    with pytest.raises(MisuseError, match=f"/it {why}$"):
        reports_of(tmp_path / "it", Target())


def test_a_device_is_no_file() -> None:
    """
    Nothing is read of it.
    """
    with pytest.raises(MisuseError, match=r"^/dev/null is a device, no file$"):
        reports_of(Path(os.devnull), Target())


def test_a_path_that_is_not_there_does_not_exist(tmp_path: Path) -> None:
    """
    As it was given.
    """
    with pytest.raises(MisuseError, match="/none does not exist$"):
        reports_of(tmp_path / "none", Target())


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "is a named pipe, no file"),
        (link, "is a link to nothing"),
        (os.mkdir, "is a folder, no file"),
    ],
)
def test_folders_without_a_file_that_can_be_read_are_listed(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    """
    Beside those that are checked; if there is none such, it is misuse.
    """
    (tmp_path / "broken").mkdir()
    make(tmp_path / "broken" / "serving.properties")
    with pytest.raises(MisuseError, match=f"/broken: serving.properties {why}$"):
        reports_of(tmp_path, Target())
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "serving.properties").write_text("engine=Python\n")
    good, broken = reports_of(tmp_path, Target())

    assert good.is_checked
    assert broken == Report(
        str(tmp_path / "broken"),
        [],
        is_checked=False,
        left_out=(f"serving.properties {why}",),
    )


@pytest.mark.parametrize("manifest", [{}, {"version": "1.0.0", "artifacts": {}}])
def test_an_app_without_models_is_said_to_have_none(
    tmp_path: Path, manifest: dict[str, Any]
) -> None:
    """
    An empty answer could be taken for a clean one.
    """
    folder = assembly(tmp_path, **manifest)
    done = run(folder)

    assert done.returncode == 0
    assert done.stdout == (
        f"not checked: {folder}: {NO_MODEL}\n"
        "0 subjects checked: 0 errors, 0 warnings; 1 not checked\n"
    )


def test_an_assembly_of_a_newer_cdk_is_told_of(tmp_path: Path) -> None:
    """
    The installed version itself is known, and the next one is not.
    """
    known = metadata.version("aws-cdk.cloud-assembly-schema")
    newer = f"{int(known.split('.')[0]) + 1}.0.0"

    def told(version: str) -> list[str]:
        folder = assembly(tmp_path, version=version)
        return [why for one in reports_of(folder, Target()) for why in one.left_out]

    # What is newer than this was written for is asked of the installed CDK.
    assert int(known.split(".")[0]) == _SCHEMA
    assert told(known) == [NO_MODEL]
    assert told(newer) == [
        NO_MODEL,
        (
            f"manifest.json is of version {newer}, and the installed CDK writes "
            f"{known}: what is new in it is not seen"
        ),
    ]
