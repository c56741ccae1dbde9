"""
Findings in the formats that other programs read: SARIF 2.1.0 and JUnit XML.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped] # it has no stubs
import pytest

from cdk_sagemaker_llm.cli.app.acknowledgements import Acknowledgement
from cdk_sagemaker_llm.cli.app.findings import Acknowledged, Report
from cdk_sagemaker_llm.cli.app.places import Place
from cdk_sagemaker_llm.cli.output.findings import as_junit
from cdk_sagemaker_llm.cli.output.sarif import as_sarif
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_RANGE
from tests.running import run
from tests.unit.cli.commands.test_check import BAD

DATA = Path(__file__).parents[3] / "data"
ERROR = OUTSIDE_RANGE.finding("OPTION_DTYPE is <wrong> & 'odd', ünï", "mend it")
WARNING = Finding(Severity.WARNING, "LLM209", "nothing is named", "look")
UNNEEDED = Acknowledgement(code="LLM201", path="Prod", reason="why", source="it.toml")
TEMPLATE = """\
{
 "Parameters": {
  "Model": {"Type": "String"}
 },
 "Resources": {
  "Other": {
   "Type": "AWS::SNS::Topic",
   "DependsOn": ["Model"]
  },
  "Model": {
   "Type": "AWS::SageMaker::Model",
   "Properties": {
    "OPTION_DTYPE": "fp4"
   }
  }
 }
}
"""


@pytest.fixture(name="reports")
def _reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """
    An error and two alike warnings of a model, one acknowledged; what was left out; and
    a serving.properties with the error.
    """
    monkeypatch.chdir(tmp_path)
    template = tmp_path / "cdk out" / "Prod.template.json"
    template.parent.mkdir()
    template.write_text(TEMPLATE)
    Path("serving.properties").write_text(
        "engine=Python\n# about\noption.model_id=a/b\nOPTION_DTYPE: fp4\n"
    )
    source = (tmp_path / "lib" / "prod.ts", 12)
    place = Place("Prod", template, "Model", "Prod/Chat/Model")
    made = Place("Prod", template, "Model", "Prod/Made", app_file=source)
    return [
        Report(
            "Prod/Model",
            [ERROR, WARNING, WARNING],
            left_out=("its environment: x",),
            place=place,
            acknowledged=(
                Acknowledged(ERROR, "we know", "it.toml"),
                Acknowledged(ERROR, "in code"),
            ),
        ),
        Report("Prod/Made", [WARNING], place=made),
        Report("serving.properties", [ERROR]),
        Report("good", []),
        Report("gone", [], is_checked=False, fault="gone is missing"),
    ]


@pytest.fixture(name="sarif")
def _sarif(reports: list[Report]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(as_sarif(reports, [UNNEEDED]))
    return found


def hold_schema(sarif: dict[str, Any]) -> None:
    """
    Hold a log against the schema that OASIS has published.
    """
    schema = json.loads((DATA / "sarif_schema.json").read_text())["schema"]
    checker = jsonschema.FormatChecker()
    jsonschema.Draft4Validator(schema, format_checker=checker).validate(sarif)


def test_sarif_is_valid(sarif: dict[str, Any]) -> None:
    """
    With everything in it, and with nothing.
    """
    hold_schema(sarif)
    hold_schema(json.loads(as_sarif([])))
    with pytest.raises(jsonschema.ValidationError):
        hold_schema({**sarif, "version": "2.0.0"})


def test_sarif_has_a_rule_for_each_code(sarif: dict[str, Any]) -> None:
    """
    With what it finds and its source; each result names its own.
    """
    (run_,) = sarif["runs"]
    rules, results = run_["tool"]["driver"]["rules"], run_["results"]

    assert [rule["id"] for rule in rules] == ["LLM111", "LLM209"]
    assert rules[0]["shortDescription"]["text"] == OUTSIDE_RANGE.finds
    assert (
        f"Source of the rule: {OUTSIDE_RANGE.source}."
        in (rules[0]["fullDescription"]["text"])
    )
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("LLM111", "error"),
        ("LLM209", "warning"),
        ("LLM209", "warning"),
        ("LLM111", "error"),
        ("LLM111", "error"),
        ("LLM209", "warning"),
        ("LLM111", "error"),
    ]


def where(result: dict[str, Any], key: str = "locations") -> tuple[str, int]:
    """
    Return the file and the line of a result.
    """
    place = result[key][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def test_each_result_is_at_a_file_and_line(sarif: dict[str, Any]) -> None:
    """
    At the key that it names, or at the resource; at the app's own line where the
    assembly says it. What is elsewhere called alike is not the resource.
    """
    first, second, _, _, _, made, file = sarif["runs"][0]["results"]

    assert where(first) == ("cdk%20out/Prod.template.json", 13)
    assert where(second) == ("cdk%20out/Prod.template.json", 10)
    assert where(made) == ("lib/prod.ts", 12)
    assert where(made, "relatedLocations") == ("cdk%20out/Prod.template.json", 10)
    assert where(file) == ("serving.properties", 4)
    (logical,) = first["locations"][0]["logicalLocations"]
    assert logical["fullyQualifiedName"] == "Prod/Chat/Model"
    assert first["message"]["text"] == (
        "Prod/Chat/Model: OPTION_DTYPE is <wrong> & 'odd', ünï; mend it"
    )


def test_fingerprints_are_of_the_rule_and_the_place(
    reports: list[Report], sarif: dict[str, Any]
) -> None:
    """
    Each its own, and the same whatever the words, the line and the folder are.
    """

    def marks(log: dict[str, Any]) -> list[str]:
        return [
            one["partialFingerprints"]["sagemakerLlm/v1"]
            for one in log["runs"][0]["results"]
        ]

    Path("cdk out/Prod.template.json").write_text("\n\n" + TEMPLATE)
    other = OUTSIDE_RANGE.finding("another value")
    absolute = str(Path.cwd() / "serving.properties")
    moved = [
        Report(
            reports[0].subject,
            [other, *reports[0].findings[1:]],
            place=reports[0].place,
            acknowledged=reports[0].acknowledged,
        ),
        reports[1],
        Report(absolute, [ERROR]),
    ]

    assert len(set(marks(sarif))) == 7
    assert marks(json.loads(as_sarif(moved))) == marks(sarif)


def test_what_is_acknowledged_is_suppressed_with_its_reason(
    sarif: dict[str, Any],
) -> None:
    """
    By a file or in the app's source; nothing else is.
    """
    found = [one.get("suppressions") for one in sarif["runs"][0]["results"]]

    assert found[3:5] == [
        [{"kind": "external", "justification": "we know"}],
        [{"kind": "inSource", "justification": "in code"}],
    ]
    assert not any([*found[:3], *found[5:]])


def test_gaps_are_notifications_of_the_run(sarif: dict[str, Any]) -> None:
    """
    They are no findings; what could not be read makes the run no success.
    """
    (invocation,) = sarif["runs"][0]["invocations"]
    told = [
        (one["level"], one["message"]["text"])
        for one in invocation["toolExecutionNotifications"]
    ]

    assert not invocation["executionSuccessful"]
    assert told == [
        ("note", "not checked: Prod/Chat/Model: its environment: x"),
        ("error", "gone is missing"),
        (
            "warning",
            (
                "not needed: the acknowledgement of LLM201 at Prod in it.toml, which "
                "nothing finds there; take it out"
            ),
        ),
    ]
    clean = json.loads(as_sarif([Report("good", [])]))
    assert clean["runs"][0]["invocations"][0]["executionSuccessful"]


def test_junit_has_a_suite_for_each_stack(reports: list[Report]) -> None:
    """
    Errors fail, warnings pass, and what is acknowledged or left out is skipped; the
    counts are those of the cases.
    """
    root = ET.fromstring(as_junit(reports))  # noqa: S314 - our own
    suites = {suite.get("name"): suite for suite in root}
    cases = [
        (case.get("name"), case[0].tag if len(case) else "") for case in suites["Prod"]
    ]

    assert root.tag == "testsuites"
    assert list(suites) == ["Prod", "serving.properties", "good", "gone"]
    assert cases == [
        ("LLM111 Prod/Chat/Model", "failure"),
        ("LLM209 Prod/Chat/Model", "system-out"),
        ("LLM209 Prod/Chat/Model", "system-out"),
        ("LLM111 Prod/Chat/Model", "skipped"),
        ("LLM111 Prod/Chat/Model", "skipped"),
        ("Prod/Chat/Model: its environment: x", "skipped"),
        ("LLM209 Prod/Made", "system-out"),
    ]
    assert suites["Prod"].attrib == {
        "name": "Prod",
        "tests": "7",
        "failures": "1",
        "errors": "0",
        "skipped": "3",
    }
    assert {**root.attrib, "name": ""} == {
        "name": "",
        "tests": "10",
        "failures": "2",
        "errors": "1",
    }
    (failure,) = suites["serving.properties"].iter("failure")
    assert failure.get("message") == "OPTION_DTYPE is <wrong> & 'odd', ünï"
    assert [len(case) for case in suites["good"]] == [0]


def test_junit_holds_what_xml_cannot_write() -> None:
    """
    Control characters are written as question marks.
    """
    odd = Finding(Severity.ERROR, "LLM135", "a\0b\x1b\ud800c\ttab")
    root = ET.fromstring(as_junit([Report("s\x01t", [odd])]))  # noqa: S314 - our own

    (failure,) = root.iter("failure")
    assert failure.get("message") == "a?b??c\ttab"
    assert [suite.get("name") for suite in root] == ["s?t"]


def test_the_command_prints_each_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    ``--json`` is ``--format json``, and no other one.
    """
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "serving.properties"
    file.write_text(BAD)
    text, sarif, junit, as_json, short = (
        run("check", file, *options)
        for options in (
            ("--format", "text"),
            ("--format", "sarif"),
            ("--format", "junit"),
            ("--format", "json"),
            ("--json", "--format", "json"),
        )
    )

    assert [one.returncode for one in (text, sarif, junit, as_json)] == [1] * 4
    assert text.stdout == run("check", file).stdout
    assert as_json.stdout == short.stdout == run("check", file, "--json").stdout
    log = json.loads(sarif.stdout)
    hold_schema(log)
    assert where(log["runs"][0]["results"][0])[0] == "serving.properties"
    assert ET.fromstring(junit.stdout).get("failures") == "1"  # noqa: S314 - our own
    wrong = run("check", file, "--json", "--format", "sarif")
    assert wrong.returncode == 2
    assert wrong.stderr == (
        "sagemaker-llm check: --json is --format json, got --format sarif beside it\n"
    )


def test_paths_that_cannot_be_read_are_in_the_log(tmp_path: Path) -> None:
    """
    Where nothing else is, and the run ends as misuse.
    """
    done = run("check", tmp_path / "none", "--format", "sarif")
    log = json.loads(done.stdout)

    assert done.returncode == 2
    hold_schema(log)
    assert not log["runs"][0]["invocations"][0]["executionSuccessful"]
