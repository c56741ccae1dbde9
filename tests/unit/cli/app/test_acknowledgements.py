"""
Findings that are acknowledged with a reason: set aside there, and nowhere else.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import (
    Acknowledgment,
    Annotations,
    App,
    Environment,
    NestedStack,
    Stack,
    Validations,
)

from cdk_sagemaker_llm.cli.app.acknowledgements import (
    Acknowledgement,
    acknowledge,
    acknowledged_in,
    read_acknowledgements,
)
from cdk_sagemaker_llm.cli.app.findings import Acknowledged, Report
from cdk_sagemaker_llm.cli.app.places import Place
from cdk_sagemaker_llm.findings import Finding, Severity
from tests.unit.cli.app.test_foreign_apps import LMI, MODEL, model, run

ERROR = Finding(Severity.ERROR, "LLM135", "it is wrong")
WARNING = Finding(Severity.WARNING, "LLM209", "it is odd")


def known(path: str, code: str = "LLM135", source: str = "it.toml") -> Acknowledgement:
    """
    Return an acknowledgement of a file, or of the app.
    """
    return Acknowledgement(code=code, path=path, reason="why", source=source)


def report() -> Report:
    """
    Return a report with two findings of a construct.
    """
    place = Place("Prod", Path("x.template.json"), "Model1A2B", "Prod/Chat/Model")
    return Report("Prod/Model1A2B", [ERROR, WARNING], place=place)


@pytest.mark.parametrize(
    ("path", "source", "is_needed"),
    [
        ("Prod/Chat/Model", "it.toml", True),
        ("Prod/Model1A2B", "it.toml", True),
        ("Prod", "it.toml", True),
        ("Prod/Chat", "it.toml", True),
        ("*/Model", "it.toml", True),
        ("*", "it.toml", True),
        ("Prod/Cha", "it.toml", False),
        ("Prod/Chat/Model/Resource", "it.toml", False),
        ("prod", "it.toml", False),
        # What an app says is of one construct: nothing in it is a pattern.
        ("Prod/Chat", "", True),
        ("", "", True),
        ("Prod/*", "", False),
    ],
)
def test_an_acknowledgement_is_of_a_construct_and_what_is_below(
    path: str,
    source: str,
    is_needed: bool,  # noqa: FBT001 - a table
) -> None:
    """
    Of its code alone; where it is of nothing it is told.
    """
    one = known(path, source=source)
    (left,), unneeded = acknowledge([report()], [one])

    if is_needed:
        assert left.findings == [WARNING]
        assert left.acknowledged == (Acknowledged(ERROR, "why", source),)
        assert unneeded == []
    else:
        assert left.findings == [ERROR, WARNING]
        assert left.acknowledged == ()
        assert unneeded == [one]


@pytest.mark.parametrize(
    ("path", "is_needed"),
    [
        ('module.chat["eu/a"].aws_sagemaker_model.this[0]', True),
        ('plan/module.chat["eu/a"].aws_sagemaker_model.this[0]', True),
        ('module.chat["eu/a"]', True),
        ("module.chat", True),
        ('module.chat["eu/a"].aws_sagemaker_model.this', True),
        ("*.this[0]", True),
        ("module.cha", False),
        ("*.this[1]", False),
        ("*.this[[]0]", False),
        ("*.thi?", False),
    ],
)
def test_an_address_of_terraform_is_a_path(
    path: str,
    is_needed: bool,  # noqa: FBT001 - a table
) -> None:
    """
    With its brackets as they are; a module has what is in it.
    """
    address = 'module.chat["eu/a"].aws_sagemaker_model.this[0]'
    place = Place("plan", Path("plan.json"), address, address)
    (left,), unneeded = acknowledge(
        [Report(f"plan/{address}", [ERROR], place=place)], [known(path)]
    )

    assert left.findings == ([] if is_needed else [ERROR])
    assert unneeded == ([] if is_needed else [known(path)])


def test_a_full_stop_in_a_constructs_path_is_no_step() -> None:
    """
    Unlike in an address of Terraform's.
    """
    place = Place("Prod", Path("x.template.json"), "Model1A2B", "Prod/Chat.v2/Model")
    reports = [Report("Prod/Model1A2B", [ERROR], place=place)]

    assert acknowledge(reports, [known("Prod/Chat")])[0] == reports
    assert acknowledge(reports, [known("Prod/Chat.v2")])[1] == []


def test_another_code_is_left() -> None:
    """
    And the acknowledgement that found nothing is told once.
    """
    one = known("*", code="LLM999")
    (left,), unneeded = acknowledge([report()], [one, one])

    assert left.findings == [ERROR, WARNING]
    assert unneeded == [one]
    assert str(one) == "LLM999 at * in it.toml"


def test_a_file_is_read_in_toml(tmp_path: Path) -> None:
    """
    Code, path and reason; one of another subject is told.
    """
    file = tmp_path / "it.toml"
    file.write_text(
        '[[acknowledge]]\ncode = "LLM135"\npath = "Prod/*"\nreason = "we know"\n'
    )

    assert read_acknowledgements(file) == [
        Acknowledgement(
            code="LLM135", path="Prod/*", reason="we know", source=str(file)
        )
    ]
    file.write_text("")
    assert read_acknowledgements(file) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[acknowledge]", ["is no TOML: "]),
        (
            '[[acknowledge]]\ncode = "LLM135"\npath = "*"\n',
            ["entry 1: reason is missing"],
        ),
        (
            '[[acknowledge]]\ncode = "LLM1"\npath = ""\nreason = " "\n',
            [
                "entry 1: code must be one such as LLM201, got 'LLM1'",
                "entry 1: path must be text, got ''",
                "entry 1: reason must be text, got ' '",
            ],
        ),
        (
            "[[acknowledge]]\ncode = nan\npath = 1\nreason = []\n",
            ["code must be text, got nan", "path must be text, got 1", "got []"],
        ),
        (
            '[[acknowledge]]\ncode = "LLM135"\npath = "*"\nreason = "x"\nid = 1\n',
            ["entry 1: 'id' is not read; write code, path, reason"],
        ),
        ("acknowledge = 1\n", ["must be a list of tables: write [[acknowledge]]"]),
        ("acknowledge = [1]\n", ["entry 1: must be a table with code, path, reason"]),
        ("acknowledged = 1\n", ["'acknowledged' is not read; write [[acknowledge]]"]),
    ],
)
def test_a_file_that_is_wrong_is_told_with_all_its_faults(
    tmp_path: Path, text: str, why: list[str]
) -> None:
    """
    Nothing is acknowledged by chance, nor without a reason.
    """
    file = tmp_path / "it.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match="it.toml") as raised:
        read_acknowledgements(file)

    for words in why:
        assert words in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """
    Where it was asked for.
    """
    done = run("check", tmp_path, "--acknowledgements", str(tmp_path / "none.toml"))

    assert done.exit_code == 2
    assert "none.toml cannot be read: No such file or directory" in done.stderr


@pytest.fixture(name="assembly", scope="module")
def _assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    An app that acknowledges one error, one warning that nothing finds, and, in the
    form of a construct's own warning, what its templates show as well.
    """
    folder = tmp_path_factory.mktemp("acknowledged") / "cdk.out"
    app = App(outdir=str(folder))
    stack = Stack(
        app, "Prod", env=Environment(account="111111111111", region="us-east-1")
    )
    wrong = {**MODEL, "OPTION_DTYPE": "fp4"}
    first = model(stack, LMI, wrong)
    model(NestedStack(stack, "Inner"), LMI, wrong)

    def acknowledged(id_: str) -> Acknowledgment:
        return Acknowledgment(id=id_, reason=f"why {id_}")

    Validations.of(first).acknowledge(
        acknowledged("cdk-sagemaker-llm::LLM136"),
        acknowledged("cdk-sagemaker-llm::LLM201"),
        acknowledged("cdk-sagemaker-llm:LLM202"),
        acknowledged("cdk-nag::AwsSolutions-SM1"),
    )
    Annotations.of(stack).add_warning_v2("another:warning", "of nobody")
    app.synth()
    return folder


def test_an_app_acknowledges_in_the_cdks_own_way(assembly: Path) -> None:
    """
    By the path of the construct; of other tools nothing is read.
    """
    found = {
        (one.code, one.path, one.of_annotation) for one in acknowledged_in(assembly)
    }

    assert found == {
        ("LLM136", "Prod/Model", False),
        ("LLM201", "Prod/Model", False),
        ("LLM202", "Prod/Model", True),
    }


def test_check_sets_aside_what_is_acknowledged(
    assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Here, and not in the nested stack, for which the folder's file does it.
    """
    monkeypatch.chdir(tmp_path)
    half = run("check", assembly)
    Path("sagemaker-llm.toml").write_text(
        '[[acknowledge]]\ncode = "LLM136"\npath = "Prod/Inner"\nreason = "of old"\n'
    )
    whole = run("check", assembly)
    facts = json.loads(run("check", assembly, "--json").stdout)

    assert half.exit_code == 1
    assert "1 error, 0 warnings; 1 acknowledged" in half.stdout
    assert (
        "not needed: the acknowledgement of LLM201 at Prod/Model, which nothing finds "
        "there; take it out\n"
    ) in half.stdout
    assert whole.exit_code == 0
    assert "acknowledged: Prod/Model: LLM136: why cdk-sagemaker-llm::LLM136" in (
        whole.stdout
    )
    assert "2 subjects checked: 0 errors, 0 warnings; 2 acknowledged" in whole.stdout
    assert [(one["code"], one["reason"]) for one in facts["acknowledged"]] == [
        ("LLM136", "why cdk-sagemaker-llm::LLM136"),
        ("LLM136", "of old"),
    ]
    assert facts["unneeded_acknowledgements"] == [
        {"code": "LLM201", "path": "Prod/Model", "file": None}
    ]


def test_places_are_constructs_in_nested_stacks_too(assembly: Path) -> None:
    """
    With the line of what the finding names.
    """
    facts = json.loads(run("check", assembly, "--json").stdout)
    rows = [
        (one["construct"], Path(one["file"]).name, one["line"])
        for one in [
            *facts["acknowledged"],
            *(one for each in facts["subjects"] for one in each["findings"]),
        ]
    ]

    assert [name for name, _, _ in rows] == ["Prod/Model", "Prod/Inner/Model"]
    for _, file, line in rows:
        text = (assembly / file).read_text().splitlines()[line - 1]
        assert text.strip().startswith('"OPTION_DTYPE": ')
