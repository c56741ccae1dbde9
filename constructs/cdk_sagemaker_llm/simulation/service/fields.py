"""
Reading a JSON object field by field, with one message for what is not as it must be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

# Past any number that is meant; infinity is no JSON, but Python reads it.
_MOST = 1e300

_Check = Callable[[object], bool]


class Fields:
    """
    The fields of an object in a file; each is read once, and told of by its path.
    """

    def __init__(
        self, file: Path, content: object, way_out: str, path: str = ""
    ) -> None:
        self._file = file
        self._path = path
        self._way_out = way_out
        self._read: set[str] = set()
        if not isinstance(content, dict):
            name = path or "the file"
            raise ValueError(  # noqa: TRY004 - the file is at fault, not the caller
                f"{file}: {name} must be an object, got {_shown(content)}; {way_out}"
            )
        self.content: Mapping[str, Any] = content

    def refuse(self, field: str, must: str, way_out: str = "") -> NoReturn:
        """
        Refuse the file for one field.
        """
        where = f"{self._path}.{field}" if self._path else field
        got = _shown(self.content[field]) if field in self.content else "nothing"
        raise ValueError(
            f"{self._file}: {where} must {must}, got {got}; {way_out or self._way_out}"
        )

    def hold(self, field: str, value: object, must: str, way_out: str = "") -> None:
        """
        Refuse the file unless a field has one value.
        """
        self._read.add(field)
        if self.content.get(field) != value:
            self.refuse(field, must, way_out)

    def hold_known(self) -> None:
        """
        Refuse fields that mean nothing: a misspelt one would be left out unnoticed.
        """
        for field in self.content.keys() - self._read:
            known = ", ".join(sorted(self._read))
            self.refuse(field, f"not be there: the fields are {known}")

    def part(self, field: str) -> Fields:
        """
        Read an object.
        """
        self._read.add(field)
        path = f"{self._path}.{field}" if self._path else field
        return Fields(self._file, self.content.get(field), self._way_out, path)

    def rows(self, field: str) -> list[Fields]:
        """
        Read a list of objects.
        """
        rows = self._value(field, "be a list of rows", lambda v: isinstance(v, list))
        path = f"{self._path}.{field}"
        return [
            Fields(self._file, row, self._way_out, f"{path}[{index}]")
            for index, row in enumerate(rows)
        ]

    def text(self, field: str, *, is_needed: bool = True) -> str:
        """
        Read words.
        """
        if not is_needed and field not in self.content:
            return ""
        must = "be text that is not empty" if is_needed else "be text"

        def holds(value: object) -> bool:
            return isinstance(value, str) and (bool(value) or not is_needed)

        return str(self._value(field, must, holds))

    def whole(self, field: str, least: int) -> int:
        """
        Read a whole number.
        """

        def holds(value: object) -> bool:
            return _is_whole(value) and isinstance(value, int) and value >= least

        must = f"be a whole number of at least {least}"
        return int(self._value(field, must, holds))

    def whole_or_none(self, field: str, least: int) -> int | None:
        """
        Read a whole number, or null.
        """
        if field in self.content and self.content[field] is None:
            self._read.add(field)
            return None
        return self.whole(field, least)

    def number(self, field: str) -> float:
        """
        Read a number that is not negative, as it is written.
        """

        def holds(value: object) -> bool:
            is_number = _is_whole(value) or isinstance(value, float)
            # NaN is no JSON, but Python reads it; it is not below anything either.
            return is_number and isinstance(value, int | float) and 0 <= value < _MOST

        found: float = self._value(field, "be a number of at least 0", holds)
        return found

    def switch(self, field: str) -> bool:
        """
        Read true or false.
        """
        must = "be true or false"
        return bool(self._value(field, must, lambda v: isinstance(v, bool)))

    def day(self, field: str) -> date:
        """
        Read a date.
        """
        must = "be a date such as 2026-01-31"
        text = self._value(field, must, lambda v: isinstance(v, str))
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.refuse(field, must)

    def _value(self, field: str, must: str, holds: _Check) -> Any:  # noqa: ANN401 - as JSON has it
        self._read.add(field)
        value = self.content.get(field)
        if field not in self.content or not holds(value):
            self.refuse(field, must)
        return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    most = 60
    return text if len(text) <= most else f"{text[:most]}..."
