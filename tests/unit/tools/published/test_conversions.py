"""
What becomes of the parts of published scripts: none of them is passed over in silence.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from unittest import mock

import pytest

from cdk_sagemaker_llm.adoption.scripts import read_script
from cdk_sagemaker_llm.adoption.scripts.cells import script_of
from tools.published import conversions
from tools.published.conversions import Part, Reading, parts_of

SCRIPT = """
model = Model(
    image_uri="image", role="arn:aws:iam::1:role/a", name="a",
    env={"HF_MODEL_ID": "org/model", "SM_NUM_GPUS": gpus, "HF_TOKEN": "of-our-own"},
)
model.deploy(1, "ml.g5.xlarge", endpoint_name="a")
spare = {
    "HF_MODEL_ID": "org/spare", "OPTION_S3URI": "s3://models-111111111111/a",
}
estimator.deploy(1, "ml.g5.xlarge")
later = lambda: {"HF_MODEL_ID": "org/later"}
plain = {"other": "org/model"}
"""


@pytest.fixture(name="script")
def _script(tmp_path: Path) -> Path:
    path = tmp_path / "deploy.py"
    path.write_text(SCRIPT)
    return path


def parts_in(script: Path) -> list[Part]:
    """
    Read a script, and return its parts.
    """
    found = read_script(script, region="us-east-1")
    return [*parts_of(script_of(script), found, "it")]


def test_each_part_is_converted_or_told_of(script: Path) -> None:
    """
    Or named as passed over, in which the run ends badly.
    """
    found = [(one.place, one.kind, one.outcome) for one in parts_in(script)]

    assert sorted(found) == [
        ("it line 10", "call", "told"),
        ("it line 11", "dictionary", "silent"),
        ("it line 4", "dictionary", "converted"),
        ("it line 6", "call", "converted"),
        ("it line 7", "dictionary", "told"),
    ]


def test_a_value_that_is_another_is_no_conversion(script: Path) -> None:
    """
    The names alone do not do.
    """
    script.write_text(
        SCRIPT.replace("model.deploy", 'model.env["HF_MODEL_ID"] = "b"; model.deploy')
    )

    (one,) = (one for one in parts_in(script) if one.place == "it line 4")
    assert one.outcome == "silent"


def test_what_is_kept_of_dictionaries(script: Path) -> None:
    """
    Plain values, without credentials and accounts.
    """
    kept = conversions.dictionaries_of("owner/name", parts_in(script))

    assert sorted(json.dumps(one["environment"]) for one in kept) == [
        '{"HF_MODEL_ID": "org/later"}',
        '{"HF_MODEL_ID": "org/model"}',
        '{"HF_MODEL_ID": "org/spare"}',
    ]


def test_counts_are_kept_and_held(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Of a commit; a check fails if anything differs, and a run where something is passed
    over.
    """
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Begin"],
    ):
        subprocess.run(["git", "-C", str(script.parent), *command], check=True)
    counts, rows = script.with_name("counts.json"), script.with_name("rows.json")

    def run(*options: str, fault: Exception | None = None) -> int:
        source = f"owner/name={script.parent}"
        with (
            mock.patch.object(conversions, "_COUNTS", counts),
            mock.patch.object(conversions, "_DICTIONARIES", rows),
            mock.patch.object(conversions, "adopted") as adopted,
            mock.patch("sys.argv", ["conversions", source, *options]),
        ):
            adopted.side_effect = fault
            return conversions.main()

    assert run() == 1
    assert "deploy.py line 11" in capsys.readouterr().out
    assert run("--check") == 1
    kept = json.loads(counts.read_text())
    assert kept["owner/name"]["dictionaries"] == 3
    assert kept["owner/name"]["apps"] == 1
    assert len(json.loads(rows.read_text())["dictionaries"]) == 3
    capsys.readouterr()
    assert run("--check", fault=ValueError("no app")) == 1
    assert "deploy.py: no app" in capsys.readouterr().out
    counts.write_text(json.dumps(kept).replace('"told": 1', '"told": 2'))
    assert run("--check") == 1
    assert "the kept counts are others" in capsys.readouterr().out


def test_a_part_says_what_is_hashed() -> None:
    """
    So that counts are of what is published, and not of what becomes of it.
    """
    one, other = (Part("a", "call", "deploy", each) for each in ("told", "silent"))

    hashes = {conversions.counts_of(Reading([each]))["sha256"] for each in (one, other)}
    assert len(hashes) == 1
