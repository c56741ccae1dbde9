"""
What an app needs of the account that it is deployed to; the command reads it from the
cloud assembly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

DataKind = Literal["object", "prefix", "bucket"]
NameKind = Literal["endpoint", "configuration", "component", "model", "role", "bucket"]

_REGISTRY = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com"
    r"(?:\.cn)?/(?P<repository>[^:@]+)(?::(?P<tag>[^@]+))?(?:@(?P<digest>.+))?\Z"
)


@dataclass(frozen=True, slots=True)
class Place:
    """
    A resource that needs something.

    Args:
        label: How it is shown, such as ``Chat/Endpoint``.

        stack: What CloudFormation calls the stack around it.

        region: Where that is deployed.

        path: The logical ids that lead to it, through nested stacks.
    """

    label: str
    stack: str
    region: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        """
        Render as findings show it.
        """
        return self.label


@dataclass(frozen=True, kw_only=True, slots=True)
class Fleet:
    """
    Instances of one type.

    Args:
        first: How many start with the endpoint.

        most: How many scaling may come to.

        updating: How many run while an update is rolled out to the most.

        is_choice: Whether the variant has other types to choose from.

        reservation: The ARN of the reserved capacity; empty for capacity on demand.
    """

    place: Place
    instance_type: str
    first: int
    most: int
    updating: int
    is_choice: bool = False
    subnets: tuple[str, ...] = ()
    reservation: str = ""

    @property
    def quota(self) -> str:
        """
        The name of the service quota that counts them.
        """
        return f"{self.instance_type} for endpoint usage"


@dataclass(frozen=True, slots=True)
class Image:
    """
    A container image, by its address.
    """

    place: Place
    address: str

    @property
    def parts(self) -> dict[str, str]:
        """
        Account, region, repository, tag and digest; empty for none of ECR's.
        """
        found = _REGISTRY.match(self.address)
        return {k: v or "" for k, v in found.groupdict().items()} if found else {}


@dataclass(frozen=True, slots=True)
class Data:
    """
    An object in S3, what keys start with, or a bucket that is written to.
    """

    place: Place
    bucket: str
    key: str
    kind: DataKind

    def __str__(self) -> str:
        """
        Write its address.
        """
        return f"s3://{self.bucket}/{self.key}"


@dataclass(frozen=True, slots=True)
class Secret:
    """
    A secret of Secrets Manager.

    Args:
        name: Its name or ARN.

        key: Which value of its JSON is meant; empty for the whole text.

        is_token: Whether a container has it as its Hugging Face token.
    """

    place: Place
    name: str
    key: str = ""
    is_token: bool = False

    def __str__(self) -> str:
        """
        Write its name, without what an ARN has before it.
        """
        return self.name.rpartition(":secret:")[2]


@dataclass(frozen=True, slots=True)
class HubModel:
    """
    A model that is downloaded from the Hugging Face Hub.

    Args:
        revision: Which; empty for the newest.

        token: What holds the token; ``None`` if none is sent.
    """

    place: Place
    model: str
    revision: str = ""
    token: Secret | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    A parameter of Systems Manager.

    Args:
        least: The least version of the CDK's bootstrap that it must hold; 0 for a
            parameter of the user's own.
    """

    place: Place
    name: str
    least: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """
    A key or a role by its name or ARN, a subnet or a security group by its id.
    """

    place: Place
    name: str


@dataclass(frozen=True, slots=True)
class NewName:
    """
    A name that the app chooses for what it makes.
    """

    place: Place
    kind: NameKind
    name: str


@dataclass(slots=True)
class Needs:
    """
    What all stacks of an app need.

    Args:
        accounts: The account of each stack that names one, by the stack's place.

        scaled: What Application Auto Scaling scales by its service-linked role.
    """

    stacks: list[Place] = field(default_factory=list)
    accounts: dict[Place, str] = field(default_factory=dict)
    fleets: list[Fleet] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    data: list[Data] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)
    models: list[HubModel] = field(default_factory=list)
    keys: list[Named] = field(default_factory=list)
    roles: list[Named] = field(default_factory=list)
    subnets: list[Named] = field(default_factory=list)
    groups: list[Named] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    names: list[NewName] = field(default_factory=list)
    scaled: list[Place] = field(default_factory=list)

    def regions(self) -> Iterator[str]:
        """
        List where it is deployed, each region once.
        """
        yield from dict.fromkeys(place.region for place in self.stacks)
