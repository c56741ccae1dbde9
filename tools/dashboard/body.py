"""
A dashboard's body, out of a template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ENDING = ".template.json"
_KIND = "AWS::CloudWatch::Dashboard"


def body_in(template: Path) -> dict[str, Any]:
    """
    Read the body of a template's only dashboard.

    A name that is known only at deployment is its resource's stack and logical id, as
    the simulation calls it.

    Raises:
        ValueError: If there is none, or more than one.
    """
    resources = json.loads(template.read_text(encoding="utf-8"))["Resources"].values()
    found = [each["Properties"] for each in resources if each["Type"] == _KIND]
    if len(found) != 1:
        raise ValueError(f"{template} must have one dashboard, got {len(found)}")
    body: dict[str, Any] = json.loads(_text(found[0]["DashboardBody"], template))
    return body


def _text(value: str | Mapping[str, Any], template: Path) -> str:
    match value:
        case str():
            return value
        case {"Fn::Join": [str(between), parts]}:
            return between.join(_text(part, template) for part in parts)
        case {"Fn::Select": [_, {"Fn::Split": [_, inner]}]}:
            return _text(inner, template)
        case {"Fn::GetAtt": [str(name), _]} | {"Ref": str(name)}:
            return f"{template.name.removesuffix(_ENDING)}/{name}"
    raise ValueError(f"a dashboard's body has {value!r}, which is not understood")
