"""
The rows of images.json, and the names that they go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.wording import any_of, nearest


def family_row(name: str) -> Mapping[str, Any]:
    """
    Return what is listed of a container family.

    Raises:
        ValueError: If there is no such family; names the nearest ones.
    """
    families = load("images.json")["families"]
    if name not in families:
        near = nearest(name, families) or sorted(families)
        raise ValueError(f"unknown container family {name!r}; use {any_of(near)}")
    family: Mapping[str, Any] = families[name]
    return family


def full_version(family: str, version: str) -> str:
    """
    Return the version behind another name of it, such as ``0.30`` or ``latest``.

    What is no other name is returned as it is.
    """
    row: Mapping[str, Any] = load("images.json")["families"].get(family, {})
    name: str = row.get("aliases", {}).get(version, version)
    return name


def region_set(name: str) -> frozenset[str]:
    """
    Return the regions of a set that versions are listed in.
    """
    return frozenset(load("images.json")["region_sets"][name])


def accounts_of(family: str) -> Mapping[str, str]:
    """
    Return the registry account of each region that a family may be in.

    TEI's are in accounts of their own; a family that is not listed is looked for where
    nearly all are.
    """
    data = load("images.json")
    name = data["families"].get(family, {}).get("accounts")
    accounts: Mapping[str, str] = (
        data["accounts"] if name is None else data["other_accounts"][name]
    )
    return accounts


def all_accounts() -> frozenset[str]:
    """
    Return every account that a catalogued image is in.
    """
    data = load("images.json")
    others = (
        account for row in data["other_accounts"].values() for account in row.values()
    )
    return frozenset({*data["accounts"].values(), *others})
