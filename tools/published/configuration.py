"""
One deployment as it is published, and what is said of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """
    A deployment of a model.

    Args:
        place: Where it stands in its repository.

        name: The model as its author names it.

        model: The model's name on the Hub; ``None`` where that is not known.

        container: The family of the image; ``None`` where nothing names one.

        version: Its version there.

        engine: As the check of support calls it, where no image tells.

        releases: The engine's, from the one that it was published for on.

        properties: The file's, where it is one of LMI.

        arguments: The engine's own, where it is started with them.

        since: The engine's release that brought the model, where its author says it.
    """

    place: str
    name: str
    model: str | None
    container: str | None = None
    version: str = ""
    engine: str | None = None
    releases: tuple[str, ...] = ()
    instance_type: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    is_isolated: bool = False
    since: str = ""

    def published(self) -> dict[str, object]:
        """
        Return what of it is its author's word, which no catalogue changes.
        """
        return {
            "place": self.place,
            "name": self.name,
            "container": self.container,
            "version": self.version,
            "engine": self.engine,
            "instance_type": self.instance_type,
            "properties": dict(self.properties),
            "arguments": dict(self.arguments),
            "environment": dict(self.environment),
        }


def hash_of(configurations: Iterable[Configuration]) -> str:
    """
    Return the hash of what is published, in whichever order it was read.
    """
    rows = sorted(json.dumps(one.published(), sort_keys=True) for one in configurations)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
