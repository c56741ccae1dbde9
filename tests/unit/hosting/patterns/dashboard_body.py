"""
A dashboard's body, held against what CloudWatch documents of it.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import json
import re
from typing import Any

from aws_cdk import Stack
from jsonschema import (  # type: ignore[import-untyped]  # it ships no types
    Draft202012Validator,
)

from tests.unit.hosting.written import properties_of

WHOLE = {"type": "integer", "minimum": 0}
PLACE = {
    "x": {**WHOLE, "maximum": 23},
    "y": WHOLE,
    "width": {"type": "integer", "minimum": 1, "maximum": 24},
    "height": {"type": "integer", "minimum": 1, "maximum": 1000},
}
METRIC_OPTIONS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "color": {"type": "string"},
        "expression": {"type": "string"},
        "id": {"type": "string", "pattern": "^[a-z][a-zA-Z0-9_]*$"},
        "label": {"type": "string"},
        "period": WHOLE,
        "region": {"type": "string"},
        "stat": {"type": "string"},
        "visible": {"type": "boolean"},
        "yAxis": {"enum": ["left", "right"]},
    },
}
AXIS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "label": {"type": "string"},
        "max": {"type": "number"},
        "min": {"type": "number"},
        "showUnits": {"type": "boolean"},
    },
}
LEVEL = {
    "type": "object",
    "additionalProperties": False,
    "required": ["value"],
    "properties": {
        "color": {"type": "string"},
        "fill": {"type": "string"},
        "label": {"type": "string"},
        "value": {"type": "number"},
        "visible": {"type": "boolean"},
    },
}


def _widget(
    kind: str, required: list[str], properties: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["type", "properties", *PLACE],
        "properties": {
            "type": {"const": kind},
            **PLACE,
            "properties": {
                "type": "object",
                "additionalProperties": False,
                "required": required,
                "properties": properties,
            },
        },
    }


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["widgets"],
    "properties": {
        "start": {"type": "string", "pattern": r"^-P(T\d+[HM]|\d+[DWMY])$"},
        "end": {"type": "string"},
        "periodOverride": {"enum": ["auto", "inherit"]},
        "widgets": {
            "type": "array",
            "maxItems": 500,
            "items": {
                "oneOf": [
                    _widget("text", ["markdown"], {"markdown": {"type": "string"}}),
                    _widget(
                        "alarm",
                        ["alarms"],
                        {
                            "alarms": {
                                "type": "array",
                                "minItems": 1,
                                "maxItems": 100,
                                "items": {"type": "string"},
                            },
                            "title": {"type": "string"},
                        },
                    ),
                    _widget(
                        "metric",
                        ["metrics", "region"],
                        {
                            "annotations": {
                                "type": "object",
                                "additionalProperties": False,
                                "properties": {
                                    "horizontal": {"type": "array", "items": LEVEL}
                                },
                            },
                            "metrics": {
                                "type": "array",
                                "minItems": 1,
                                "maxItems": 500,
                                "items": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {"type": ["string", "object"]},
                                },
                            },
                            "period": {"type": "integer", "multipleOf": 60},
                            "region": {"type": "string", "minLength": 1},
                            "stacked": {"type": "boolean"},
                            "title": {"type": "string"},
                            "view": {"enum": ["timeSeries", "singleValue"]},
                            "yAxis": {
                                "type": "object",
                                "additionalProperties": False,
                                "properties": {"left": AXIS, "right": AXIS},
                            },
                        },
                    ),
                ]
            },
        },
    },
}


def body_of(stack: Stack) -> dict[str, Any]:
    """
    Return the body of a stack's only dashboard, references as ``${Logical.Attribute}``.
    """
    text = properties_of(stack, "CloudWatch::Dashboard")["DashboardBody"]
    if isinstance(text, dict):
        _, parts = text["Fn::Join"]
        text = "".join(part if isinstance(part, str) else _name(part) for part in parts)
    body: dict[str, Any] = json.loads(text)
    hold(body)
    return body


def _name(part: dict[str, Any]) -> str:
    # A component's name ends its ARN, which is what is referred to.
    match part:
        case {"Fn::Select": [1, {"Fn::Split": ["/", reference]}]}:
            return str(reference)
    raise AssertionError(part)


def hold(body: dict[str, Any]) -> None:
    """
    Hold a body to the syntax, its metrics to their form, and its places to the grid.
    """
    Draft202012Validator(SCHEMA).validate(body)
    taken: set[tuple[int, int]] = set()
    for widget in body["widgets"]:
        x, y = widget["x"], widget["y"]
        assert x + widget["width"] <= 24
        cells = {
            (x + right, y + down)
            for right in range(widget["width"])
            for down in range(widget["height"])
        }
        assert not cells & taken, "two widgets lie over each other"
        taken |= cells
        if widget["type"] == "metric":
            _hold_metrics(widget["properties"]["metrics"])


def _hold_metrics(rows: list[list[Any]]) -> None:
    ids: list[str] = []
    named: set[str] = set()
    for row in rows:
        *names, options = row
        Draft202012Validator(METRIC_OPTIONS).validate(options)
        ids += [options["id"]] if "id" in options else []
        if "expression" in options:
            assert names == []
            outside = re.sub(r"'[^']*'", "", options["expression"])
            named |= set(re.findall(r"\b[a-z]\w*\b", outside))
        else:
            assert len(names) >= 4
            assert len(names) % 2 == 0
            assert options["stat"]
    assert len(ids) == len(set(ids)), "an id is given twice"
    assert named <= set(ids), "an expression names what is not there"


def charts_of(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """
    Return the properties of each chart by its section and its title.
    """
    found, section = {}, ""
    for widget in body["widgets"]:
        if widget["type"] == "text":
            section = widget["properties"]["markdown"].removeprefix("## ")
        if widget["type"] == "metric":
            properties = widget["properties"]
            found[f"{section}: {properties['title']}"] = properties
    return found
