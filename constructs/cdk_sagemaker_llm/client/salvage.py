"""
What can be saved of JSON that is broken: cut off, or spoilt by its container.
"""

from __future__ import annotations

import json
import re

from cdk_sagemaker_llm.client.wire.failures import failure_in
from cdk_sagemaker_llm.client.wire.step import Record

# The error that LMI up to 0.27 appends to whatever it has written by then.
_APPENDED = re.compile(r'\{\s*"(?:code|type|message|error)"\s*:[^{}]*\}\s*\]?\s*$')
# The prompt that LMI 0.27 and 0.28 write with its quotes as they are.
_UNESCAPED = re.compile(
    r'\s*\[?\{"generated_text": "(.*?)"'
    r'(?:, "details": (\{"finish_reason".*\}))?\}\]?\s*',
    re.DOTALL,
)
_DETAILS = '", "details": {'
# Loops that never go back: others keep a mark for every character.
_TEXT = re.compile(
    r'"(?:generated_text|content|text)"\s*:\s*"((?:[^"\\]++|\\.)*+)', re.DOTALL
)
_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_PAIRS = {"}": "{", "]": "["}
_WHOLE_ESCAPES = re.compile(r"(?:[^\\]++|\\[^u]|\\u[0-9a-fA-F]{4})*+", re.DOTALL)


def mended(text: str) -> Record:
    """
    Return the record that broken JSON stands for; ``None`` if that cannot be told.

    An error that was appended comes with the text before it as ``generated_text``.
    """
    appended = _APPENDED.search(text)
    if appended:
        error = _loads(appended.group().rstrip("] \r\n"))
        if failure_in(error):
            return error | {"generated_text": begun(text[: appended.start()])}
    unescaped = _UNESCAPED.fullmatch(text)
    if unescaped is None or _DETAILS in unescaped[1]:
        return None
    details = _loads(unescaped[2]) if unescaped[2] else None
    if unescaped[2] and details is None:
        return None
    return {"generated_text": _plain(unescaped[1]), "details": details}


def begun(text: str) -> str:
    """
    Return the answer in JSON that is cut off; empty if none has begun.

    Half a line of a single token tells none: it may be a special one.
    """
    found = _TEXT.search(text)
    if found is None or '"token"' in text[: found.start()]:
        return ""
    return _plain(found[1])


def is_cut(text: str) -> bool:
    """
    Tell whether JSON ends before its end, rather than being none.
    """
    opened: list[str] = []
    for found in _MARKS.finditer(text):
        mark = found.group()
        if mark in _PAIRS:
            if not opened or opened.pop() != _PAIRS[mark]:
                return False
        elif mark in _PAIRS.values():
            opened.append(mark)
    return bool(opened)


def _plain(escaped: str) -> str:
    """
    Undo the escapes of a text that may end in the middle of one.
    """
    found = _WHOLE_ESCAPES.match(escaped)
    whole = found.group() if found else ""
    read = _loads(f'"{whole}"')
    text = read if isinstance(read, str) else whole
    # Half of a pair of surrogates is no text.
    return text.encode(errors="ignore").decode()


def _loads(text: str) -> Record:
    try:
        return json.JSONDecoder(strict=False).decode(text)
    except (ValueError, RecursionError):
        return None
