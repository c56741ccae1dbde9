"""
The argument tables as they are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import ENGINES, TABLES, Engine
from tools.catalog import engines, tables
from tools.catalog.tables import Release, Row

FLAG = {"default": False, "field": "x", "src": "engine", "type": "bool"}


def table() -> tables.Table:
    """
    Return a table of three releases.
    """
    return {
        "about": "what",
        "versions": ["1.0", "1.1", "1.2"],
        "args": {
            "gone": {"first": "1.0", "last": "1.1", "h": [{"v": "1.0", **FLAG}]},
            "size": {
                "first": "1.0",
                "last": "1.2",
                "h": [
                    {"v": "1.0", "choices": ["a", "b"], "default": "a", "type": "str"},
                    {"v": "1.2", "null": True, "+choices": ["c"]},
                ],
            },
            "x": {"first": "1.2", "last": "1.2", "h": [{"v": "1.2", **FLAG}]},
        },
        "schemas": {
            "Config": {
                "first": "1.1",
                "last": "1.2",
                "keys": {"a": [], "b": ["1.1", "1.1"], "c": ["1.2", "1.2"]},
                "types": {"a": "int", "b": "bool", "c": [["1.2", "str", ["x"]]]},
            }
        },
    }


def found(rows: dict[str, Row], schemas: dict[str, Any] | None = None) -> Release:
    """
    Return what was read of a release.
    """
    return Release(rows, {}, schemas or {})


@pytest.mark.parametrize("engine", ENGINES)
def test_the_shipped_tables_are_written_by_the_command(engine: Engine) -> None:
    """
    Nothing is edited by hand: order and layout are the command's.
    """
    text = (engines.CATALOG / TABLES[engine]).read_text("utf-8")

    assert tables.render(json.loads(text)) == text


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_that_is_added_again_changes_nothing(engine: Engine) -> None:
    """
    What the table has of its newest release comes out as it went in.
    """
    text = (engines.CATALOG / TABLES[engine]).read_text("utf-8")
    whole = json.loads(text)
    newest = whole["versions"][-1]
    schemas = {
        name: {"keys": keys, "rejects": True}
        for name, keys in tables.schemas_at(whole, newest).items()
    }
    again = tables.add(whole, "99.0", found(tables.at(whole, newest), schemas))

    assert tables.at(again, "99.0") == tables.at(whole, newest)
    assert tables.schemas_at(again, "99.0") == tables.schemas_at(whole, newest)
    assert [e["h"] for e in again["args"].values()] == [
        e["h"] for e in whole["args"].values()
    ]


def test_a_release_is_added() -> None:
    """
    New arguments come whole, others with what changed, and those that went stay.
    """
    row = {"choices": ["b", "c", "d"], "default": "b", "type": "str"}
    added = tables.add(table(), "1.3", found({"size": row, "y": FLAG, "gone": FLAG}))

    assert added["versions"] == ["1.0", "1.1", "1.2", "1.3"]
    assert list(added["args"]) == ["gone", "size", "x", "y"]
    assert added["args"]["size"]["h"][2:] == [
        {
            "v": "1.3",
            "default": "b",
            "+choices": ["d"],
            "-choices": ["a"],
            "drop": ["null"],
        }
    ]
    assert added["args"]["x"]["last"] == "1.2"
    assert added["args"]["y"] == {
        "first": "1.3",
        "last": "1.3",
        "h": [{"v": "1.3", **FLAG}],
    }
    assert added["args"]["gone"] == {
        "first": "1.0",
        "last": "1.3",
        "absent": ["1.2"],
        "h": [{"v": "1.0", **FLAG}],
    }
    assert tables.at(added, "1.3") == {"gone": FLAG, "size": row, "y": FLAG}
    assert set(tables.at(added, "1.2")) == {"size", "x"}


def test_true_is_not_one() -> None:
    """
    To Python it is.
    """
    assert tables.changes({"const": 1}, {"const": True}) == {"const": True}
    assert tables.changes({"const": 1}, {"const": 1.0}) == {}


def test_an_argument_keeps_its_name() -> None:
    """
    Where the engine says another spelling first, which used to be the other.
    """
    row: Row = {"alias": ["--size", "-s"], "type": "str"}
    known: dict[str, Row] = {"size": {}, "x": {}}

    assert tables.settled({"dimension": row}, known) == {
        "size": {"alias": ["--dimension", "-s"], "type": "str"}
    }
    both: dict[str, Row] = {"dimension": row, "size": {"type": "int"}}
    assert tables.settled(both, known) == both


def test_schemas_are_added() -> None:
    """
    Keys come and go, kinds change, and classes come.
    """
    keys = {"a": ["float"], "c": ["str", ["x"]], "d": ["bool"]}
    other = {"keys": {"k": ["object"]}, "rejects": True}
    schemas = {"Config": {"keys": keys, "rejects": True}, "Other": other}
    added = tables.add(table(), "1.3", found({}, schemas))

    assert added["schemas"] == {
        "Config": {
            "first": "1.1",
            "last": "1.3",
            "unknown_keys_rejected_since": "1.3",
            "keys": {
                "a": [],
                "b": ["1.1", "1.1"],
                "c": ["1.2", "1.3"],
                "d": ["1.3", "1.3"],
            },
            "types": {
                "a": [["1.1", "int"], ["1.3", "float"]],
                "b": "bool",
                "c": [["1.2", "str", ["x"]]],
                "d": "bool",
            },
        },
        "Other": {
            "first": "1.3",
            "last": "1.3",
            "unknown_keys_rejected_since": "1.3",
            "keys": {"k": []},
            "types": {"k": "object"},
        },
    }
    assert tables.schemas_at(added, "1.3")["Config"] == keys


def test_differences_are_said() -> None:
    """
    What a release has beyond the table, what it has not, and what is otherwise.
    """
    row = {"choices": ["a", "b"], "default": "b", "type": "str"}
    schemas = {"Config": {"keys": {"a": ["int"]}, "rejects": True}}
    release = found({"size": row, "y": FLAG}, schemas)

    assert list(engines.differences(table(), "1.2", release)) == [
        '--size: default is "b", and the table has a',
        '--size: -choices is ["c"], and the table has less or more',
        "--size: has no null",
        "has no --x, which the table has",
        "has --y, which the table has not",
        'Config: its keys are {"a": ["int"]}',
    ]


def test_the_layout(tmp_path: Path) -> None:
    """
    An argument a line, so that a change is read as one.
    """
    path = tmp_path / "table.json"
    path.write_text(tables.render(table()), "utf-8")
    flag = '{"v":"1.0","default":false,"field":"x","src":"engine","type":"bool"}'
    lines = path.read_text("utf-8").splitlines()

    assert json.loads(path.read_text("utf-8")) == table()
    assert lines[:5] == [
        "{",
        '"about": "what",',
        '"versions": ["1.0", "1.1", "1.2"],',
        '"args": {',
        '"gone": {"first":"1.0","last":"1.1","h":[' + flag + "]},",
    ]
