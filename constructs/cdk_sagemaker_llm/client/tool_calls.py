"""
Tool calls, put together from the parts that a stream brings.
"""

from __future__ import annotations

import json

from cdk_sagemaker_llm.client.tokens import ToolCall
from cdk_sagemaker_llm.client.wire.step import Record, as_count, as_text

# What a part takes beside its text.
_PART_SIZE = 64


class _Call:
    """
    One call on its way.
    """

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class ToolCalls:
    """
    The calls of one answer, or of several side by side.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int], _Call] = {}

    def add(self, answer: int, part: Record) -> int:
        """
        Add a part as it came; return how much it takes, about.

        A whole call of a document has no number: it stands after those before it.
        """
        if not isinstance(part, dict):
            return 0
        number = as_count(part.get("index"))
        if number is None:
            number = sum(1 for of, _ in self._calls if of == answer)
        call = self._calls.setdefault((answer, number), _Call())
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments", "")
        # TGI before 3 writes an object, not its JSON.
        if not isinstance(arguments, str) and arguments is not None:
            arguments = json.dumps(arguments, ensure_ascii=False)
        call.id = call.id or as_text(part.get("id"))
        call.name = call.name or as_text(function.get("name"))
        call.arguments.append(arguments or "")
        return _PART_SIZE + len(arguments or "")

    def whole(self, answer: int) -> tuple[ToolCall, ...]:
        """
        Return the calls of an answer as far as they came.
        """
        return tuple(
            ToolCall(call.name, "".join(call.arguments), call.id)
            for (of, _), call in sorted(self._calls.items(), key=lambda item: item[0])
            if of == answer
        )
