"""
What an account shows of an endpoint, an inference component or a stack, without
secrets, and the bundle that keeps it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from cdk_sagemaker_llm.text import redacted

Answer = Mapping[str, Any]

_FORMAT = 1
_SECRET_NAME = re.compile(
    r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE
)
_SECRET_IN_TEXT = re.compile(
    r"(?i)((?:(?:api[_-]?key|access[_-]?key|[\w-]{0,60}token|password|secret)[\"']?"
    r"\s?[=:]\s?|--[\w-]{0,60}(?:key|token|password|secret)\s|bearer\s)[\"']?)"
    r"(?!(?:none|null|true|false|[\d.]{1,15})\b)([^\s\"',;)}\]]{6,})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    What was gathered, as the services answered, without secrets.

    Args:
        name: What was asked about.

        kind: ``endpoint``, ``component`` or ``stack``.

        time: When it was asked.

        logs: The last lines of containers: ``group``, ``stream`` and ``lines``.

        metrics: Their ``name``, ``of`` whom they are, and ``values``, oldest first.

        not_asked: What could not be asked: ``what`` and ``why``.
    """

    name: str
    kind: str
    region: str
    time: str
    endpoints: tuple[Answer, ...] = ()
    configs: tuple[Answer, ...] = ()
    models: tuple[Answer, ...] = ()
    components: tuple[Answer, ...] = ()
    stacks: tuple[Answer, ...] = ()
    events: tuple[Answer, ...] = ()
    targets: tuple[Answer, ...] = ()
    policies: tuple[Answer, ...] = ()
    activities: tuple[Answer, ...] = ()
    alarms: tuple[Answer, ...] = ()
    metrics: tuple[Answer, ...] = ()
    logs: tuple[Answer, ...] = ()
    quotas: tuple[Answer, ...] = ()
    not_asked: tuple[Answer, ...] = ()

    def bundle(self) -> str:
        """
        Return it as the text of one JSON file.
        """
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def of_bundle(cls, text: str) -> Evidence:
        """
        Read what ``bundle`` wrote.

        Args:
            text: The file's text.

        Raises:
            ValueError: If it is no bundle.
        """
        found = json.loads(text)
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise ValueError(f"it is no bundle of format {_FORMAT}")
        names = {each.name for each in fields(cls)}
        lists = names - {"name", "kind", "region", "time"}
        values = {name: found.get(name) for name in names}
        for name in lists:
            rows = values[name] or []
            if not isinstance(rows, list) or any(not isinstance(r, dict) for r in rows):
                raise ValueError(f"its {name} must be a list of objects")
            values[name] = tuple(rows)
        if not all(isinstance(values[name], str) for name in names - lists):
            raise ValueError("it must have a name, a kind, a region and a time")
        return cls(**masked(values))


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever boto3 answers
    """
    Return an answer as JSON has it.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)


def masked(value: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON
    """
    Return JSON with stars in the place of what may be a secret.
    """
    if isinstance(value, dict):
        return {
            key: _masked_variables(each)
            if key == "Environment" and isinstance(each, dict)
            else masked(each, key)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(masked(each, name) for each in value)
    if isinstance(value, str):
        return _SECRET_IN_TEXT.sub(r"\1***", redacted(value))
    return value


def _masked_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: "***" if _SECRET_NAME.search(name) else masked(value)
        for name, value in variables.items()
    }
