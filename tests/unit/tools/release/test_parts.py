"""
The other halves of a release's checks that need no network.
"""

from __future__ import annotations

import email
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.release import Report, StepError, run
from tools.release.__main__ import written
from tools.release.candidate import released
from tools.release.installation import interpreter, pythons, unexplained
from tools.release.metadata import judge as metadata_report
from tools.release.packages import differences
from tools.release.sbom import judge as sbom_report

METADATA = """\
Metadata-Version: 2.4
Name: cdk-sagemaker-llm
Summary: Constructs.
Author: Somebody
Keywords: aws
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.11
Classifier: Typing :: Typed
Description-Content-Type: text/markdown
"""


def test_releases_are_ordered_by_number() -> None:
    """
    Other tags are none.
    """
    tags = ["v0.10.0", "v0.9.1", "nightly", "v1.0.0rc1", "v0.9", "0.9.2"]

    assert released(tags) == ["v0.9.1", "v0.10.0"]


def wheel(path: Path, files: dict[str, str], moment: int = 2020) -> Path:
    """
    Write a wheel.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (moment, 1, 1, 0, 0, 0)), text)
    return path


def test_the_same_bytes_do_not_differ(tmp_path: Path) -> None:
    """
    Whatever the files are called.
    """
    one = wheel(tmp_path / "one.whl", {"a.py": "1"})
    two = wheel(tmp_path / "two.whl", {"a.py": "1"})

    assert differences(one, two) == []


def test_other_files_are_named(tmp_path: Path) -> None:
    """
    Those that changed, came or went.
    """
    one = wheel(tmp_path / "one.whl", {"a.py": "1", "b.py": "2", "c.py": "3"})
    two = wheel(tmp_path / "two.whl", {"a.py": "1", "b.py": "4", "d.py": "3"})

    assert differences(one, two) == ["b.py", "c.py", "d.py"]


def test_other_times_alone_are_told(tmp_path: Path) -> None:
    """
    The bytes differ, though no file does.
    """
    one = wheel(tmp_path / "one.whl", {"a.py": "1"})
    two = wheel(tmp_path / "two.whl", {"a.py": "1"}, moment=2021)

    assert differences(one, two) == ["the order, times or modes of its files"]


def test_files_of_an_sdist_are_named(tmp_path: Path) -> None:
    """
    It is read as the tarball that it is.
    """
    archives = []
    for text in ("1", "2"):
        (tmp_path / "a.py").write_text(text)
        archives.append(tmp_path / f"{text}.tar.gz")
        with tarfile.open(archives[-1], "w:gz") as archive:
            archive.add(tmp_path / "a.py", "package/a.py")

    assert differences(*archives) == ["package/a.py"]


def test_an_address_is_not_asked_for() -> None:
    """
    The report says what does not work without one.
    """
    message = email.message_from_string(f"{METADATA}\n[One](docs/one.md)\n")

    report = metadata_report(message)

    assert report.findings == []
    (note,) = report.notes
    assert note == (
        "no project URL, since the project has no address yet; until it has one, the "
        "relative links of README.md (1) work in the repository alone"
    )


def test_relative_links_are_a_finding_where_there_is_an_address() -> None:
    """
    Links on the page and to elsewhere are not.
    """
    text = f"{METADATA}Project-URL: Source, https://example.com/source\n\n"
    body = "[One](docs/one.md) ![Two](docs/two.png) [here](#top) [far](https://a.b)\n"

    (found,) = metadata_report(email.message_from_string(text + body)).findings

    assert found == (
        "an index cannot follow relative links of README.md: docs/one.md, "
        "docs/two.png; write them with the project's address"
    )


def test_a_missing_field_is_a_finding() -> None:
    """
    With the place to add it.
    """
    text = METADATA.replace("Keywords: aws\n", "")

    assert metadata_report(email.message_from_string(text)).findings == [
        "the metadata has no Keywords; add it to [project] in pyproject.toml"
    ]


def test_promised_pythons_are_those_of_the_classifiers() -> None:
    """
    Python 3 itself is none.
    """
    names = ["3", "3.11", "3.13", "Implementation :: CPython"]
    classifiers = [f"Programming Language :: Python :: {name}" for name in names]

    assert pythons(["Typing :: Typed", *classifiers]) == ["3.11", "3.13"]


def test_an_interpreter_has_to_run(tmp_path: Path) -> None:
    """
    A program of the right name that fails, or is another version, is passed over.
    """
    own = "{}.{}".format(*sys.version_info)
    for name, text in {
        "broken": "exit 127",
        "other": "echo 2.7",
        "right": f"exec '{sys.executable}' \"$@\"",
    }.items():
        program = tmp_path / name / f"python{own}"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    folders = [tmp_path / name for name in ("nowhere", "broken", "other", "right")]

    assert interpreter(own, folders) == tmp_path / "right" / f"python{own}"
    assert interpreter(own, folders[:3]) is None


def test_a_name_may_ask_for_its_extra_where_there_is_none() -> None:
    """
    It may not fail in another way, nor where all extras are there.
    """
    asks = "it needs numpy: pip install 'cdk-sagemaker-llm[simulate]'"

    assert unexplained({"a": asks}, extras="") == []
    assert unexplained({"a": "No module named 'boto3'"}, extras="") == [
        "a does not load: No module named 'boto3'"
    ]
    assert unexplained({"a": asks}, extras="[all]") == [f"a does not load: {asks}"]


def test_what_comes_along_is_locked(tmp_path: Path) -> None:
    """
    However a name is spelt.
    """
    components = [("zope.event", "6.2"), ("numpy", "2.1.0"), ("rich", "13.0")]
    bill = tmp_path / "library.cdx.json"
    listed = [{"name": name, "version": version} for name, version in components]
    bill.write_text(json.dumps({"components": listed}))
    locked = "zope-event==6.2 \\\n    --hash=sha256:0\nnumpy==2.1.0 ; a > b\n"

    report = sbom_report(bill, locked)

    assert report.notes == ["dist/library.cdx.json: 3 packages, all extras included"]
    assert report.findings == [
        "rich==13.0 comes along and is not in requirements.txt; run make lock"
    ]


def test_a_failure_has_its_findings_below_its_name() -> None:
    """
    Lines of a program that failed stand below the finding.
    """
    assert written("api", Report(notes=["1 name"])) == "ok      api\n          1 name\n"
    assert written("api", Report(notes=[], findings=["one\ntwo"])) == (
        "FAILED  api\n        - one\n          two\n"
    )


def test_a_program_that_fails_is_named_with_its_last_words() -> None:
    """
    Not with all that it printed.
    """
    code = "import sys; print('\\n'.join(map(str, range(100)))); sys.exit(1)"

    with pytest.raises(StepError) as caught:
        run(sys.executable, "-c", code)

    lines = str(caught.value).splitlines()
    assert lines[0].startswith("python")
    assert lines[1:] == [str(number) for number in range(85, 100)]
