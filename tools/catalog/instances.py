"""
Comparing the names in instances.json with those that the API accepts.

The accelerators of a new type are no API's to tell: they are written by hand. What has
none is in cpu_instances.json, which is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import botocore.session
from botocore.model import StringShape

_ACCELERATED = re.compile(r"ml\.(?:g|gr|p|inf|trn|dl)\d")


def api_names() -> set[str]:
    """
    Return the accelerated types that the installed botocore's API model accepts.
    """
    return {name for name in all_api_names() if _ACCELERATED.match(name)}


def all_api_names() -> set[str]:
    """
    Return every type that the installed botocore's API model accepts.
    """
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = cast("StringShape", model.shape_for("ProductionVariantInstanceType"))
    return set(shape.enum)


def differences(
    content: Mapping[str, Any], names: set[str], reasons: Mapping[str, str]
) -> list[str]:
    """
    Return how the catalogue differs from the API without a recorded reason.
    """
    rows = content["instances"]
    hosting = {name for name, row in rows.items() if row["hosting_supported"]}
    found = [f"{name} is in the API only" for name in names - set(rows)]
    found += [f"{name} is in the catalogue only" for name in hosting - names]
    found += [f"{name} hosts by the API" for name in (set(rows) - hosting) & names]
    unexplained = [text for text in found if text.split()[0] not in reasons]
    gone = [f"{n} differs no more" for n in reasons if n not in _differing(rows, names)]
    return sorted(unexplained + gone)


def _differing(rows: Mapping[str, Any], names: set[str]) -> set[str]:
    return set(rows) ^ names
