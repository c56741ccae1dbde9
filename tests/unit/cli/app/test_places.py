"""
Where a resource is: its construct, its template's line, and the app's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.assembly import Stack
from cdk_sagemaker_llm.cli.app.places import Place, place_of

OUTER, INNER = Path("Prod.template.json"), Path("Inner.nested.template.json")


def entry(kind: str, data: object) -> dict[str, object]:
    """
    Return a row of an assembly's metadata.
    """
    return {"type": f"aws:cdk:{kind}", "data": data}


METADATA: dict[str, Any] = {
    "/Prod": [entry("templateFile", OUTER.name)],
    "/Prod/Model": [
        entry("logicalId", "Model"),
        entry(
            "creationStack",
            [
                "new Model (/app/node_modules/aws-cdk-lib/m.js:1:2)",
                "...jsii runtime, node internals...",
                "new Chat (/app/lib/chat.ts:12:5)",
                "<anonymous> (/app/bin/app.ts:3:1)",
            ],
        ),
    ],
    "/Prod/Inner": [entry("templateFile", INNER.name)],
    "/Prod/Inner/Deep/Model": [entry("logicalId", "Model"), "odd"],
    "/Prod/Inner/Odd": "odd",
}


def stack(template: Path, **resource: Any) -> Stack:  # noqa: ANN401 - JSON
    """
    Return a stack of one model, which has METADATA.
    """
    return Stack("Prod", Path(), {"Model": resource}, template, metadata=METADATA)


def test_the_path_is_the_templates_own() -> None:
    """
    Where it has one.
    """
    metadata = {"aws:cdk:path": "Prod/Chat/Model"}
    assert place_of(stack(OUTER, Metadata=metadata), "Model").name == "Prod/Chat/Model"


@pytest.mark.parametrize(
    ("template", "path"),
    [(OUTER, "Prod/Model"), (INNER, "Prod/Inner/Deep/Model")],
)
def test_the_assembly_has_the_path_where_the_template_has_none(
    template: Path, path: str
) -> None:
    """
    In a nested stack a resource may be called as one of the stack around it.
    """
    assert place_of(stack(template), "Model").construct_path == path


def test_what_nothing_says_is_left_open() -> None:
    """
    It is called by stack and logical id.
    """
    assert place_of(stack(OUTER), "Other").construct_path == ""
    assert place_of(stack(OUTER), "Other").name == "Prod/Other"
    plain = Stack("Prod", Path(), {"Model": {}}, OUTER)
    assert place_of(plain, "Model").name == "Prod/Model"


def test_the_apps_line_is_the_first_of_its_own() -> None:
    """
    Frames of libraries are not the app's.
    """
    assert place_of(stack(OUTER), "Model").app_file == (Path("/app/lib/chat.ts"), 12)
    assert place_of(stack(INNER), "Model").app_file is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"Resources": {"Model": {"Type": "T", "A": 1}}}', 1),
        (
            '{"A": {"Model": {\n"Type": 1}},\n"Resources": {\n"Model": {"Type": 1}}}',
            4,
        ),
        ('{\n"Resources": {\n"Model": {\n"Type": "T",\n"A": 1}}}', 5),
        ('{\n"Resources": {\n"Mod', 2),
        ("", 1),
    ],
    ids=["one line", "called alike", "the key that is named", "cut off", "empty"],
)
def test_a_line_is_found_in_any_template(tmp_path: Path, text: str, line: int) -> None:
    """
    Of the key that the message names, of the resource, or the first one.
    """
    file = tmp_path / "x.json"
    file.write_text(text)

    assert Place("Prod", file, "Model").line("A is wrong") == line


def test_a_template_that_is_gone_has_a_first_line(tmp_path: Path) -> None:
    """
    As one in another encoding has.
    """
    odd = tmp_path / "odd.json"
    odd.write_bytes(b"\xff\xfe")

    assert Place("Prod", tmp_path / "none", "Model").line() == 1
    assert Place("Prod", odd, "Model").line() == 1
