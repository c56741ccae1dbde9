"""
Kinds of values: what holds, what to write instead, and the message in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cdk_sagemaker_llm.text import any_of, redacted
from cdk_sagemaker_llm.tokens import AT_DEPLOYMENT, is_list_placeholder, is_unresolved

_LONGEST_SHOWN = 60
# No service, engine or template counts further.
_MOST = 2**64
# No engine's setting is as deep as this, and JSON's reader goes no deeper than 1000.
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """
    A value that is not of its kind: what it must be and what was got, and the way out,
    empty when the message says it all.
    """

    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """
        Render as one line.
        """
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


def _no_way_out(_: object) -> str:
    return ""


def _no_parts(_: str, __: object) -> Iterable[Fault]:
    return ()


class Kind(NamedTuple):
    """
    What an argument may be.

    Args:
        words: What it must be, as a sentence goes on after "must be".

        holds: Whether a value is of this kind, its parts aside.

        way_out: What to write in place of a value.

        parts: The faults of what a value consists of, under the argument's name.

        is_secret: Whether a value must not be repeated.
    """

    words: str
    holds: Callable[[object], bool]
    way_out: Callable[[object], str] = _no_way_out
    parts: Callable[[str, object], Iterable[Fault]] = _no_parts
    is_secret: bool = False

    def faults(self, name: str, value: object) -> Iterable[Fault]:
        """
        Say how a value is not of this kind, if it is not.
        """
        if self.holds(value):
            return self.parts(name, value)
        got = value_text(value, hidden=self.is_secret)
        message = f"{name} must be {self.words}, got {got}"
        return [Fault(redacted(message), redacted(self.way_out(value)))]


def value_text(value: object, *, hidden: bool = False) -> str:
    """
    Write what was got with its type; a placeholder never as the digits it is made of.
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if is_unresolved(value):
        return AT_DEPLOYMENT
    name = type(value).__name__
    is_plain = isinstance(value, str | int | float) and not _is_huge(value)
    text = repr(value) if is_plain else ""
    if hidden or not text or len(text) > _LONGEST_SHOWN:
        return f"a value of type {name}"
    return f"{text} ({name})"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    is_token = isinstance(value, float) and is_unresolved(value)
    return is_token or (isinstance(value, int) and not isinstance(value, bool))


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_huge(value: object) -> bool:
    if not isinstance(value, int) or is_unresolved(value):
        return False
    return abs(value) >= _MOST


def _huge_parts(name: str, value: object) -> Iterator[Fault]:
    if _is_huge(value):
        yield Fault(f"{name} must be a number of at most 64 bits, got a larger one")


def _number_written(value: object) -> str:
    if is_unresolved(value):
        return "write Token.as_number(...)"
    if not isinstance(value, str):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    return f"write {value.strip()}" if math.isfinite(number) else ""


def _text_written(value: object) -> str:
    if is_unresolved(value):
        return "write Token.as_string(...)"
    if isinstance(value, bool):
        return f"write {str(value).lower()!r}"
    if isinstance(value, Mapping | list | tuple):
        return "write it as text"
    is_plain = _is_number(value) and not _is_huge(value)
    return f"write {str(value)!r}" if is_plain else ""


NONE = Kind("None", lambda value: value is None)
TEXT = Kind("text", _is_text, _text_written)
WHOLE_NUMBER = Kind("a whole number", _is_whole, _number_written, _huge_parts)
NUMBER = Kind("a finite number", _is_number, _number_written, _huge_parts)
SWITCH = Kind("True or False", lambda value: isinstance(value, bool))
CONTENTS = Kind(
    "bytes",
    lambda value: isinstance(value, bytes),
    lambda value: "write b'...', or encode the text" if _is_text(value) else "",
    is_secret=True,
)


def _json_parts(name: str, value: object, depth: int = 0) -> Iterator[Fault]:
    if isinstance(value, float):
        yield from NUMBER.faults(name, value)
    elif isinstance(value, Mapping | list | tuple):
        if depth > _DEEPEST:
            yield Fault(
                f"{name.partition('[')[0]} is nested too deeply, or holds itself"
            )
            return
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in pairs:
            yield from _json_parts(f"{name}[{key!r}]", item, depth + 1)
    elif not (value is None or isinstance(value, str | int) or is_unresolved(value)):
        yield from _NO_JSON.faults(name, value)


# What is passed on as it is, but for what no JSON can hold.
_JSON_WORDS = "a value that JSON can hold"
JSON = Kind(_JSON_WORDS, lambda _: True, parts=_json_parts)
_NO_JSON = Kind(_JSON_WORDS, lambda _: False)


def one_of(*choices: object) -> Kind:
    """
    Return the kind of what is among choices.
    """

    def is_chosen(value: object) -> bool:
        return any(type(value) is type(one) and value == one for one in choices)

    return Kind(any_of(map(repr, choices)), is_chosen)


def either(*kinds: Kind) -> Kind:
    """
    Return the kind of what is of any of several kinds; that it may be omitted is not
    said.
    """
    unnamed = (NONE, WHOLE_NUMBER) if NUMBER in kinds else (NONE,)
    named = [kind for kind in kinds if kind not in unnamed]

    def way_out(value: object) -> str:
        return next(filter(None, (kind.way_out(value) for kind in named)), "")

    def parts(name: str, value: object) -> Iterator[Fault]:
        found = [list(k.parts(name, value)) for k in kinds if k.holds(value)]
        if all(found):
            yield from found[0]

    has_parts = any(kind.parts is not _no_parts for kind in kinds)
    return Kind(
        words=any_of(dict.fromkeys(kind.words for kind in named)),
        holds=lambda value: any(kind.holds(value) for kind in kinds),
        way_out=way_out,
        parts=parts if has_parts else _no_parts,
        is_secret=any(kind.is_secret for kind in kinds),
    )


def list_of(kind: Kind) -> Kind:
    """
    Return the kind of a list or tuple, each item of which is of a kind.
    """

    def holds(value: object) -> bool:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)

    def parts(name: str, value: object) -> Iterator[Fault]:
        if not isinstance(value, Sequence):
            return
        if not is_list_placeholder(value):
            for index, item in enumerate(value):
                # A name for each of a hundred thousand takes its time.
                if kind.parts is not _no_parts or not kind.holds(item):
                    yield from kind.faults(f"{name}[{index}]", item)
        # Text and numbers are passed on; of anything else, synth asks each item.
        elif not (kind.holds(value[0]) or kind.holds(1)):
            yield Fault(
                f"{name} is known only at deployment, and is needed at synth",
                f"write a list, each item {kind.words}",
            )

    def way_out(value: object) -> str:
        if value is None or not kind.holds(value):
            return ""
        is_short = isinstance(value, str | int | float) and not is_unresolved(value)
        return f"write [{value!r}]" if is_short else "write a list of it"

    return Kind("a list", holds, way_out, parts, kind.is_secret)


def map_of(kind: Kind) -> Kind:
    """
    Return the kind of a mapping from text to values of a kind.
    """

    def parts(name: str, value: object) -> Iterator[Fault]:
        if not isinstance(value, Mapping):
            return
        for key, item in value.items():
            yield from _KEY.faults(f"a name in {name}", key)
            if kind.holds(item):
                yield from kind.parts(f"{name}[{key!r}]", item)
                continue
            # What stands under a name may be a credential: only plain kinds are shown.
            seen = kind._replace(
                is_secret=not isinstance(item, int | float),
                way_out=lambda one: (
                    "leave it out" if one is None else kind.way_out(one)
                ),
            )
            yield from seen.faults(f"{name}[{key!r}]", item)

    return Kind("a mapping from text", lambda v: isinstance(v, Mapping), parts=parts)


_KEY = TEXT._replace(way_out=_no_way_out)
