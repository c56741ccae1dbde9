"""
What is broken is told of in one message that names the file, and the rest is checked.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from cdk_sagemaker_llm.cli.app.fleets import variant_plans
from cdk_sagemaker_llm.cli.app.hosting import App
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from tests.unit.cli.app.test_foreign_apps import (
    LMI,
    MODEL,
    llm,
    run,
    stack_of,
    synthesised,
)

TEMPLATE = "Prod.template.json"
GOOD = "engine=Python\noption.model_id=a/b\n"


@pytest.fixture(name="app", scope="module")
def _app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("app")
    return synthesised(path, lambda app: llm(stack_of(app)))


NEITHER = (
    " is neither a template, which has Resources, nor a Terraform plan, which has "
    "planned_values"
)


def copied(app: Path, folder: Path) -> Path:
    """
    Copy an assembly, to break it.
    """
    target = folder / "cdk.out"
    target.mkdir()
    for file in app.iterdir():
        if file.is_file():
            (target / file.name).write_bytes(file.read_bytes())
    return target


def faults(path: Path, command: str = "check") -> list[str]:
    """
    Return what is said of broken input, which ends with 2 and with no traceback.
    """
    result = run(command, path)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    return [
        line.removeprefix(f"sagemaker-llm {command}: ")
        for line in result.stderr.splitlines()
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"no tar at all", "is no gzipped tarball that can be read to its end"),
        (None, "is no gzipped tarball that can be read to its end"),
        (b"", "is no gzipped tarball that can be read to its end"),
    ],
    ids=["no tar", "truncated", "empty"],
)
def test_a_broken_tarball_is_named(
    app: Path, tmp_path: Path, content: bytes | None, expected: str
) -> None:
    """
    Whatever there is in its place.
    """
    path = copied(app, tmp_path)
    (tarball,) = path.glob("asset.*.gz")
    tarball.write_bytes(tarball.read_bytes()[:60] if content is None else content)

    (fault,) = faults(path)

    assert fault.startswith(f"{tarball} {expected}")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("manifest.json", "{", "is no JSON: "),
        ("manifest.json", "[]", "holds no JSON object"),
        ("manifest.json", '{"artifacts": []}', ": artifacts must be a map, got a list"),
        (
            "manifest.json",
            '{"artifacts": {"A": null}}',
            ": A must be a map, got null",
        ),
        (
            "manifest.json",
            '{"artifacts": {"A": {"type": "aws:cloudformation:stack"}}}',
            ": artifacts.A.properties: templateFile must be text, got null",
        ),
        (TEMPLATE, "{", "is no JSON: "),
        (TEMPLATE, '{"x": NaN}', "is no JSON: NaN is no number"),
        (TEMPLATE, "[" * 10**5, "is no JSON: "),
        (TEMPLATE, '{"Resources": null}', ": Resources must be a map, got null"),
        *(
            (
                TEMPLATE,
                json.dumps(
                    {
                        "Resources": {
                            "M": {
                                "Type": "AWS::SageMaker::Model",
                                "Properties": {
                                    "PrimaryContainer": {"Environment": {"A": value}}
                                },
                            }
                        }
                    }
                ),
                f".PrimaryContainer.Environment.A must be text, got {got}",
            )
            for value, got in ((None, "null"), ([1], "a list"), ({"a": 1}, "a map"))
        ),
        (TEMPLATE, '{"Outputs": 7}', ": Outputs must be a map, got a number"),
        (
            TEMPLATE,
            '{"Outputs": {"A": {"Value": {"Ref": 7}}}}',
            ": Outputs.A.Value: Ref must be a logical id",
        ),
        (TEMPLATE, None, " is missing"),
    ],
)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_broken_file_is_named_with_what_was_expected(
    app: Path,
    tmp_path: Path,
    name: str,
    text: str | None,
    expected: str,
    command: str,
) -> None:
    """
    By both commands that read an app.
    """
    path = copied(app, tmp_path)
    if text is None:
        (path / name).unlink()
    else:
        (path / name).write_text(text)

    (fault,) = faults(path, command)

    assert fault.startswith(f"{path / name}")
    assert expected in fault


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (None, "Resources.Bad must be a map, got null"),
        ({"Type": 7}, "Resources.Bad.Type must be text, got a number"),
        ({"Properties": []}, "Resources.Bad: Properties must be a map, got a list"),
        (
            {"PrimaryContainer": []},
            "Properties.PrimaryContainer must be a map, got a list",
        ),
        (
            {"PrimaryContainer": None},
            "Properties.PrimaryContainer must be a map, got null",
        ),
        (
            {"PrimaryContainer": {"Image": LMI, "Environment": None}},
            "Properties.PrimaryContainer.Environment must be a map, got null",
        ),
        ({"Containers": {"x": 1}}, "Properties.Containers must be a list, got a map"),
        (
            {"PrimaryContainer": {"Image": {"Fn::Join": "x"}}},
            "PrimaryContainer.Image: Fn::Join must be a separator and a list",
        ),
        (
            {"PrimaryContainer": {"Image": {"Fn::Join": ["x"]}}},
            "PrimaryContainer.Image: Fn::Join must be a separator and a list",
        ),
        (
            {"PrimaryContainer": {"Image": {"Fn::Sub": []}}},
            "PrimaryContainer.Image: Fn::Sub must be text, or text and a map",
        ),
        (
            {"PrimaryContainer": {"Image": {"Fn::GetStackOutput": {"StackName": "S"}}}},
            "Fn::GetStackOutput must be a map with StackName and OutputName",
        ),
        (
            {"PrimaryContainer": {"Image": {"Fn::GetAtt": "Alone"}}},
            "PrimaryContainer.Image: Fn::GetAtt must be a logical id and an attribute",
        ),
        (
            {"Tags": [{"Value": {"Ref": None}}]},
            "Properties.Tags.0.Value: Ref must be a logical id",
        ),
    ],
)
def test_a_broken_resource_does_not_hide_the_others(
    app: Path,
    tmp_path: Path,
    resource: dict[str, Any] | None,
    expected: str,
) -> None:
    """
    One message for it, and the findings of all that can be read.
    """
    path = copied(app, tmp_path)
    if isinstance(resource, dict) and not {"Type", "Properties"} & set(resource):
        resource = {"Type": "AWS::SageMaker::Model", "Properties": resource}
    elif isinstance(resource, dict):
        resource = {"Type": "AWS::SageMaker::Model", **resource}
    template = json.loads((path / TEMPLATE).read_text())
    own = {"Image": LMI, "Environment": {**MODEL, "OPTION_DTYPE": "fp4"}}
    template["Resources"] |= {
        "Bad": resource,
        "Other": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {"PrimaryContainer": own},
        },
    }
    (path / TEMPLATE).write_text(json.dumps(template))

    result = run("check", path)
    answer = json.loads(run("check", path, "--json").stdout)
    (planned,) = faults(path, "plan")

    assert result.exit_code == 2
    (fault,) = result.stderr.splitlines()
    assert fault.startswith(f"sagemaker-llm check: {path / TEMPLATE}: ")
    assert fault.endswith(expected)
    assert planned.endswith(expected)
    assert "Prod/Other: error LLM13" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "2 subjects checked: 1 error, 0 warnings; 1 could not be read"
    )
    (unreadable,) = answer["unreadable"]
    assert unreadable["reason"].endswith(expected)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - JSON
    """
    Return the way to every value in a JSON document.
    """
    yield way
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield from places(inner, (*way, key))


@pytest.mark.parametrize(
    "share", [pytest.param(1, marks=pytest.mark.whole), 7], ids=["all", "a seventh"]
)
@pytest.mark.parametrize("name", ["manifest.json", TEMPLATE])
def test_nothing_in_the_place_of_anything_ends_in_a_traceback(
    app: Path, tmp_path: Path, name: str, share: int
) -> None:
    """
    Each value of a synthesised app is replaced by each kind of JSON value, or by some.
    """
    turn = itertools.count()
    path = copied(app, tmp_path)
    whole = json.loads((path / name).read_text())
    for way in places(whole):
        if name == "manifest.json" and way[2:] and way[1] != "Prod":
            # Of artifacts that are no stacks the kind alone is read.
            continue
        if "metadata" in way:
            # What the CDK notes of an artifact is not read.
            continue
        for other in (None, [], {}, [None], {"Ref": "x"}, "x", 7, -1.5, 1e999, True):
            # There are ten kinds, and seven leaps over none of them for good.
            if next(turn) % share:
                continue
            broken = put(whole, way, other)
            (path / name).write_text(json.dumps(broken).replace("Infinity", "1e999"))
            with contextlib.suppress(AssemblyError):
                hosted_reports(path)
            with contextlib.suppress(AssemblyError):
                assert all(variant.quota for variant in variant_plans(App.read(path)))


def put(whole: Any, way: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401 - JSON
    """
    Return a copy of a document with another value in one place.
    """
    if not way:
        return value
    found = copy.deepcopy(whole)
    holder = found
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = value
    return found


def test_an_assembly_within_itself_is_refused(tmp_path: Path) -> None:
    """
    Neither a stage's folder nor a nested template may lead back.
    """
    stage = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "."}}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"A": stage}}))

    where = f"{tmp_path / 'manifest.json'}: artifacts.A.properties"
    assert faults(tmp_path) == [f"{where}: directoryName must be a folder within"]

    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": TEMPLATE},
    }
    nested = {
        "Type": "AWS::CloudFormation::Stack",
        "Metadata": {"aws:asset:path": TEMPLATE},
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"A": stack}}))
    (tmp_path / TEMPLATE).write_text(json.dumps({"Resources": {"Own": nested}}))

    assert faults(tmp_path) == [
        f"{tmp_path / TEMPLATE}: Own must not be nested in itself"
    ]


def test_a_nested_template_that_is_elsewhere_is_not_checked(tmp_path: Path) -> None:
    """
    It is listed, and a plan says that it does not count it.
    """
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": TEMPLATE},
    }
    nested = {
        "Type": "AWS::CloudFormation::Stack",
        "Properties": {"TemplateURL": "https://bucket.s3.amazonaws.com/own.json"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"Prod": stack}}))
    (tmp_path / TEMPLATE).write_text(json.dumps({"Resources": {"Own": nested}}))

    checked, planned = run("check", tmp_path), run("plan", tmp_path)

    assert (checked.exit_code, planned.exit_code) == (0, 0)
    assert checked.stdout.splitlines() == [
        "not checked: Prod/Own: its template is not in the assembly",
        "0 subjects checked: 0 errors, 0 warnings; 1 not checked",
    ]
    assert "Prod/Own is not counted" in planned.stderr


def test_a_nested_template_is_found_without_metadata(tmp_path: Path) -> None:
    """
    By its hash in the assets' manifest, as where the app leaves metadata out.
    """
    name = "ab" * 32
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": TEMPLATE},
    }
    url = {"Fn::Sub": f"https://s3.${{AWS::URLSuffix}}/assets/{name}.json"}
    nested = {
        "Type": "AWS::CloudFormation::Stack",
        "Properties": {"TemplateURL": url},
    }
    own = {"Type": "AWS::SageMaker::Model", "Properties": {}}
    files = {name: {"source": {"path": "inner.json", "packaging": "file"}}}
    for file, content in (
        ("manifest.json", {"artifacts": {"Prod": stack}}),
        (TEMPLATE, {"Resources": {"Own": nested}}),
        ("Prod.assets.json", {"files": files}),
        ("inner.json", {"Resources": {"Model": own}}),
    ):
        (tmp_path / file).write_text(json.dumps(content))

    assert run("check", tmp_path).stdout.splitlines()[0] == (
        "not checked: Prod/Own/Model: it has no container"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"architectures": ["X"]}', NEITHER),
        (b"[]", " holds no JSON object"),
        (b"", " is no JSON: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_a_file_in_json_is_told_as_such(
    tmp_path: Path, content: bytes, why: str
) -> None:
    """
    And not as a serving.properties, which nobody calls so.
    """
    file = tmp_path / "plan.json"
    file.write_bytes(content)

    assert faults(file) == [f"{file}{why}"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_plan_is_read_as_a_shell_on_windows_writes_it(
    tmp_path: Path, encoding: str
) -> None:
    """
    PowerShell redirects in UTF-16, or with a mark before UTF-8.
    """
    file = tmp_path / "plan.json"
    file.write_text(
        '{"terraform_version": "1.9.0", "values": {"root_module": {}}}',
        encoding=encoding,
    )

    assert run("check", file).stdout.splitlines()[0] == (
        f"not checked: {file}: it holds no model to check"
    )


@pytest.mark.parametrize(
    ("name", "content", "taken"),
    [
        ("README.md", b"# A page\n", False),
        ("serving.properties", b"\x89PNG\x00\x00", False),
        ("model.bin", b"engine=Python\n\0\0", False),
        ("own.txt", GOOD.encode(), True),
        ("own.properties", b"# nothing yet\n", True),
    ],
)
def test_a_file_that_holds_no_properties_is_refused(
    tmp_path: Path,
    name: str,
    content: bytes,
    taken: bool,  # noqa: FBT001 - a table
) -> None:
    """
    By its name and by its contents: what could be one is checked.
    """
    file = tmp_path / name
    file.write_bytes(content)

    if taken:
        assert run("check", file).exit_code in (0, 1)
    else:
        expected = "expected lines such as engine=Python or option.model_id=..."
        assert faults(file) == [f"{file} is no serving.properties: {expected}"]


def test_a_path_that_is_wrong_does_not_hide_the_others(tmp_path: Path) -> None:
    """
    Each is looked at; the exit status says that the question was wrong.
    """
    good = tmp_path / "serving.properties"
    good.write_text(GOOD)
    empty = tmp_path / "empty"
    empty.mkdir()

    result = run("check", tmp_path / "none", good, empty)

    assert result.exit_code == 2
    assert "1 subject checked: 0 errors, 0 warnings; 2 could not be read" in (
        result.stdout
    )
    assert f"{tmp_path / 'none'} does not exist" in result.stderr
    assert f"{empty} holds neither serving.properties nor" in result.stderr
