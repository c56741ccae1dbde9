"""
The pinned sources, and what the catalogue differs in on purpose, with the reasons.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded.json")
EVERY_FAMILY = "*"


@dataclass(frozen=True, slots=True)
class Pin:
    """
    A package whose data is the source, by version and hash.
    """

    package: str
    version: str
    sha256: str

    def requirement(self) -> str:
        """
        Render as pip reads it with ``--require-hashes``.
        """
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"


@dataclass(frozen=True, slots=True)
class Listing:
    """
    Which of the SDK's lists a family is in, and which of its images are meant.

    Args:
        name: The list's name.

        processor: The kind of processor, of a list that has several; empty for the
            only one.
    """

    name: str
    processor: str = ""


@dataclass(frozen=True, slots=True)
class AddedImage:
    """
    An image that the SDK does not list, or hides behind another version.

    Args:
        family: The container family.

        version: Our name of the version.

        tag: The image's tag.

        regions_of: The version whose regions are assumed.

        reason: Where it comes from.
    """

    family: str
    version: str
    tag: str
    regions_of: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    Everything that a rebuild does to the sources' own data.

    Args:
        pin: The SageMaker SDK package.

        about: What images.json says of itself.

        date: When the SDK package was released.

        families: The families in the catalogue, in its order.

        listings: Where a family is listed that is not listed under its own name.

        accounts: The name of the registry accounts of families that are not in those
            of all others.

        added: Images beyond the SDK's.

        held_back_versions: Why a version of a family is not taken.

        held_back_regions: Why a region of a family, or of every one, is not taken.

        held_back_aliases: Why the other names of a family's versions are not taken.

        instances: Why an instance type is in the catalogue and not in the API.
    """

    pin: Pin
    about: str
    date: str
    families: tuple[str, ...]
    listings: Mapping[str, Listing]
    accounts: Mapping[str, str]
    added: tuple[AddedImage, ...]
    held_back_versions: Mapping[tuple[str, str], str]
    held_back_regions: Mapping[tuple[str, str], str]
    held_back_aliases: Mapping[str, str]
    instances: Mapping[str, str]

    def listing(self, family: str) -> Listing:
        """
        Return where a family is listed.
        """
        return self.listings.get(family, Listing(family))

    def takes(self, family: str, region: str) -> bool:
        """
        Whether a region that the SDK lists for a family is taken.
        """
        held_back = self.held_back_regions
        return not {(family, region), (EVERY_FAMILY, region)} & set(held_back)


def recorded(path: Path = RECORDED) -> Recorded:
    """
    Read the record.
    """
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    images, pin = data["images"], Pin(**data["sdk"])
    return Recorded(
        pin=pin,
        about=images["about"].format(sdk=f"{pin.package} {pin.version}"),
        date=images["date"],
        families=tuple(images["families"]),
        listings={f: Listing(**row) for f, row in images["listings"].items()},
        accounts=images["accounts"],
        added=tuple(AddedImage(**row) for row in images["added"]),
        held_back_versions={
            (row["family"], version): row["reason"]
            for row in images["held_back_versions"]
            for version in row["versions"]
        },
        held_back_regions={
            (row["family"], region): row["reason"]
            for row in images["held_back_regions"]
            for region in row["regions"]
        },
        held_back_aliases={
            family: row["reason"]
            for row in images["held_back_aliases"]
            for family in row["families"]
        },
        instances=data["instances"],
    )
