"""
Making resource_types.json: what the registry's schemas say of the types that the
embedded AWS makes.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from cfnlint.schema import (  # type: ignore[import-untyped] # it ships no types
    PROVIDER_SCHEMA_MANAGER,
    ResourceNotFoundError,
)

_REGION = "us-east-1"
_PREFIX = "/properties/"
_IDENTIFIER = "identifier"
_MARKS = {
    "create_only": "createOnlyProperties",
    "read_only": "readOnlyProperties",
    "write_only": "writeOnlyProperties",
    _IDENTIFIER: "primaryIdentifier",
}
_ABOUT = (
    "Which properties of a CloudFormation type replace it, are set by the service, "
    "cannot be read back, or tell a resource from others, made by tools/catalog from "
    f"the registry's schemas for {_REGION} that cfn-lint ships; of the types that the "
    "embedded AWS makes."
)


def build(names: Iterable[str], importable: Container[str]) -> dict[str, Any]:
    """
    Return the content of resource_types.json.

    Args:
        names: The types, such as ``AWS::SageMaker::Model``; one that the registry does
            not have, and one of which it marks nothing, are left out.

        importable: Those of which a stack takes over what exists, and what that is
            found by is needed.
    """
    marks = {name: _marks(name, name in importable) for name in sorted(names)}
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


def _marks(name: str, is_importable: bool) -> dict[str, list[str]]:  # noqa: FBT001 - of two tables
    try:
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(_REGION, name).schema
    except ResourceNotFoundError:
        return {}
    lists = {
        mark: schema.get(key)
        for mark, key in _MARKS.items()
        if is_importable or mark != _IDENTIFIER
    }
    names = {
        mark: [pointer.removeprefix(_PREFIX) for pointer in pointers]
        for mark, pointers in lists.items()
        if pointers
    }
    # What identifies a resource is put together in its own order.
    return {
        mark: found if mark == _IDENTIFIER else sorted(found)
        for mark, found in names.items()
    }


def _date() -> str:
    text = files("cfnlint").joinpath("data/schemas/version.json").read_text("utf-8")
    return str(json.loads(text)["schema_date"])[:10]
