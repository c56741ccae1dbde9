"""
Making resource_types.json: what the registry's schemas say of the types that the
embedded AWS makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from cfnlint.schema import (  # type: ignore[import-untyped] # it ships no types
    PROVIDER_SCHEMA_MANAGER,
    ResourceNotFoundError,
)

_REGION = "us-east-1"
_PREFIX = "/properties/"
_MARKS = {
    "create_only": "createOnlyProperties",
    "read_only": "readOnlyProperties",
    "write_only": "writeOnlyProperties",
}
_ABOUT = (
    "Which properties of a CloudFormation type replace it, are set by the service, or "
    "cannot be read back, made by tools/catalog from the registry's schemas for "
    f"{_REGION} that cfn-lint ships; of the types that the embedded AWS makes."
)


def build(names: Iterable[str]) -> dict[str, Any]:
    """
    Return the content of resource_types.json.

    Args:
        names: The types, such as ``AWS::SageMaker::Model``; one that the registry does
            not have, and one of which it marks nothing, are left out.
    """
    marks = {name: _marks(name) for name in sorted(names)}
    return {
        "about": _ABOUT,
        "source": f"cfn-lint {version('cfn-lint')}",
        "date": _date(),
        "types": {name: marked for name, marked in marks.items() if marked},
    }


def render(content: Mapping[str, Any]) -> str:
    """
    Write the file.
    """
    return json.dumps(content, indent=1) + "\n"


def _marks(name: str) -> dict[str, list[str]]:
    try:
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(_REGION, name).schema
    except ResourceNotFoundError:
        return {}
    lists = {mark: schema.get(key) for mark, key in _MARKS.items()}
    return {
        mark: sorted(pointer.removeprefix(_PREFIX) for pointer in pointers)
        for mark, pointers in lists.items()
        if pointers
    }


def _date() -> str:
    text = files("cfnlint").joinpath("data/schemas/version.json").read_text("utf-8")
    return str(json.loads(text)["schema_date"])[:10]
