"""
How an engine's parser reads the text of a value.

Sizes and the rest are read as by vLLM's and SGLang's own parsers, whose releases the
tables of the catalogue describe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    is_release_between,
    schema_keys,
)
from cdk_sagemaker_llm.wording import any_of, nearest

# vLLM: small letters are powers of a thousand, capitals of 1,024; trillions came late.
_VLLM_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_TRILLIONS_SINCE = "0.20.0"
_SGLANG_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kMGT])(i?)")
_POWERS = {letter: power for power, letter in enumerate("kmgt", 1)}

Read = Callable[[str], Any]


class ValueFaultError(ValueError):
    """
    A value that the parser does not take; the message says what it must be.
    """


def read_value(
    argument: EngineArgument, text: str, *, engine: Engine, release: str
) -> object:
    """
    Read one value as the parser does.

    Args:
        argument: How the release reads it.

        text: The value.

        engine: ``vllm`` or ``sglang``.

        release: The engine's release.

    Raises:
        ValueFaultError: If the parser refuses it.
    """
    if argument.allows_none and text in {"", "None"}:
        return None
    folded = text.lower().replace("-", "_") if argument.folds else text
    value = _reader(argument, engine, release)(folded)
    if argument.choices and value not in argument.choices:
        raise ValueFaultError(_one_of(argument.choices, folded))
    return value


def _one_of(choices: tuple[Any, ...], text: str) -> str:
    names = list(map(str, choices))
    near = nearest(text, names, count=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"{any_of(names)}{meant}"


def _reader(argument: EngineArgument, engine: Engine, release: str) -> Read:
    if argument.action == "LoRAParserAction":
        return _lora_module
    if argument.kind == "json" and argument.schema:
        keys = schema_keys(argument.schema, release)
        return lambda text: _json(text, keys)
    if argument.kind.startswith("human_int"):
        is_auto = argument.kind == "human_int_or_auto"
        return lambda text: _size(text, engine, release, is_auto=is_auto)
    return _READERS.get(argument.kind, str)


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueFaultError("a whole number") from None


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueFaultError("a number") from None


def _bool(text: str) -> bool:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    raise ValueFaultError("true or false")


def _json(text: str, keys: tuple[str, ...] | None = None) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ValueFaultError(f"JSON ({fault})") from None
    if keys is not None and isinstance(value, Mapping):
        unknown = [key for key in value if key not in keys]
        if unknown:
            near = nearest(unknown[0], keys, count=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise ValueFaultError(
                f"JSON without the key {unknown[0]!r}, which this release does not "
                f"know{meant}"
            )
    return value


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _pairs(text: str) -> dict[str, int]:
    try:
        pairs = [item.split("=", 1) for item in text.split(",")]
        return {key.strip(): int(value) for key, value in pairs}
    except ValueError:
        raise ValueFaultError("pairs such as image=4,video=1") from None


def _lora_module(text: str) -> str:
    """
    Read ``name=path``, or the same as JSON, as vLLM does.
    """
    if "=" in text and "," not in text:
        # With two of them vLLM fails to take it apart.
        is_one = text.count("=") == 1
    else:
        module = _json_or_text(text)
        is_one = isinstance(module, Mapping) and {"name", "path"} <= module.keys()
    if text and not is_one:
        raise ValueFaultError('name=path, or JSON such as {"name": "a", "path": "/b"}')
    return text


def _size(text: str, engine: Engine, release: str, *, is_auto: bool) -> int:
    if is_auto and text.lower() in {"auto", "-1"}:
        return -1
    found = (_VLLM_SIZE if engine == "vllm" else _SGLANG_SIZE).fullmatch(text.strip())
    if found is None:
        try:
            return int(text)
        except ValueError:
            raise ValueFaultError(_size_words(engine, is_auto=is_auto)) from None
    number, letter = float(found[1]), found[2]
    is_binary = letter.isupper() if engine == "vllm" else bool(found[3])
    late = letter in "tT" and engine == "vllm"
    broken = engine == "vllm" and is_binary and "." in found[1]
    if broken or (late and not is_release_between(release, _TRILLIONS_SINCE)):
        raise ValueFaultError(_size_words(engine, is_auto=is_auto))
    try:
        return int(number * (1024 if is_binary else 1000) ** _POWERS[letter.lower()])
    except OverflowError:
        raise ValueFaultError(_size_words(engine, is_auto=is_auto)) from None


def _size_words(engine: Engine, *, is_auto: bool) -> str:
    forms = "such as 8192, 8k (8000) or " + (
        "8K (8192)" if engine == "vllm" else "8Ki (8192)"
    )
    return f"a whole number {forms}" + (", or auto" if is_auto else "")


_READERS: Mapping[str, Read] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "json": _json,
    "json_or_str": _json_or_text,
    "kvs": _pairs,
}
