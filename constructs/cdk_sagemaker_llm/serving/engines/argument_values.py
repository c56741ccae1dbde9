"""
Values of arguments, as the engines' parsers read them, and the JSON that some hold.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    VLLM_CONFIGURATION,
    Engine,
    EngineArgument,
    SchemaKind,
    is_release_between,
    schema_keys,
    schema_kinds,
)
from cdk_sagemaker_llm.text import any_of, nearest

# From here on one stray value is taken for the model, and left unread (argparse of
# vllm serve, which has it as an optional positional argument).
STRAY_SINCE = "0.10.2"
# From here on 80k may stand in JSON for 80000 (vLLM, engine/arg_utils.py).
_SIZES_SINCE = "0.20.0"
_STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")')
_SIZE = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_TRUTH = ("0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true")
_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "object": "an object",
    "list of int": "a list of whole numbers",
    "list of str": "a list of texts",
}
# vLLM: small letters are powers of a thousand, capitals of 1,024; trillions came late.
_VLLM_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_TRILLIONS_SINCE = "0.20.0"
# SGLang: powers of 1,024 have an i behind them, and a capital K.
_SGLANG_SIZE = re.compile(r"(\d+(?:\.\d+)?)(k|M|G|T|Ki|Mi|Gi|Ti)")
_BRACED = re.compile(r"\{.*\}", re.DOTALL)
# A path of an adapter may have = in it since then (entrypoints, cli_args.py).
_LORA_PATHS_SINCE = "0.30.0"
# Names of Python's logging, which SGLang looks its level up in; a check of its start
# leaves those that uvicorn knows as well.
_GOOD_LEVELS = ("critical", "error", "warning", "info", "debug")
_LOG_LEVELS = (
    "critical",
    "fatal",
    "error",
    "warning",
    "warn",
    "info",
    "debug",
    "notset",
)
_PHASES = ("decode", "prefill")
_LIMITS = {
    "ge": ("at least", operator.ge),
    "gt": ("above", operator.gt),
    "le": ("at most", operator.le),
    "lt": ("below", operator.lt),
}
# JSON that the parser takes as it is, and that a class is made of at the start.
_READ_LATER = {"speculative-config": "SpeculativeConfig"}
_POWERS = {letter: power for power, letter in enumerate("kmgt", 1)}
Read = Callable[[str], Any]


def object_fault(value: object, schema: str, release: str) -> str:
    """
    Return what a configuration class asks for instead of a value; empty if it takes it.
    """
    if not isinstance(value, Mapping):
        return "a JSON object"
    kinds = schema_kinds(schema, release)
    own_ways = VLLM_CONFIGURATION["own_ways"].get(schema, ())
    for key, inner in value.items():
        kind = kinds.get(key)
        if kind is None or inner is None or key in own_ways:
            continue
        fault = _fault(key if schema == "CompilationConfig" else "", inner, kind)
        if fault:
            return f"JSON whose {key!r} is {fault}"
        fault = _inner_fault(inner, kind, release)
        if fault:
            return f"JSON whose {key!r} is {fault}"
    connector, role = VLLM_CONFIGURATION["roles"].get(schema, ("", ""))
    if value.get(connector) is not None and value.get(role) is None:
        return f"JSON with {role!r} beside {connector!r}"
    return ""


def bound_faults(argument: EngineArgument, value: object) -> str:
    """
    Return the bounds of vLLM's configuration that a number is outside of; empty if it
    is within.
    """
    return " and ".join(_broken(argument.bounds, value))


def _broken(bounds: Mapping[str, float], value: object) -> list[str]:
    return [
        f"{_LIMITS[kind][0]} {limit:g}"
        for kind, limit in bounds.items()
        if isinstance(value, int | float) and not _LIMITS[kind][1](value, limit)
    ]


def later_fault(argument: EngineArgument, value: object, release: str) -> str:
    """
    Return what the class that JSON is read into asks for, once all arguments are read;
    empty if it takes the value.
    """
    schema = _READ_LATER.get(argument.name)
    if schema is None or value is None:
        return ""
    if not isinstance(value, Mapping):
        return "a JSON object"
    kinds = schema_kinds(schema, release)
    # vLLM takes dashes in these for underscores since 0.25; older ones do not.
    plain = {str(key).replace("-", "_"): inner for key, inner in value.items()}
    unknown = [key for key in plain if kinds and key not in kinds]
    if unknown:
        return _without(unknown[0], tuple(kinds))
    return object_fault(plain, schema, release)


def unknown_name(argument: EngineArgument, value: object) -> bool:
    """
    Whether a value is none of the names that the engine knows, and its parser does not
    check; a dotted name is that of a class.
    """
    names = argument.known_values
    if not names or not isinstance(value, str) or value == "" or "." in value:
        return False
    return value.casefold() not in {str(name).casefold() for name in names}


def instead_of(value: str, names: Sequence[str]) -> str:
    """
    Propose one of the names that there are: the nearest, or else the first few.
    """
    near = nearest(value, names, count=1)
    return f"did you mean {near[0]}?" if near else f"it has {any_of(names[:8])}"


def _without(key: str, keys: Sequence[str]) -> str:
    near = nearest(key, keys, count=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"JSON without the key {key!r}, which this release does not know{meant}"


def _inner_fault(value: object, kind: SchemaKind, release: str) -> str:
    """
    Return what a configuration inside of another asks for.
    """
    schema = kind.kind.partition("object:")[2]
    if not schema or not isinstance(value, Mapping):
        return ""
    keys = schema_keys(schema, release)
    unknown = [] if keys is None else [key for key in value if key not in keys]
    if unknown:
        return _without(unknown[0], keys or ())
    return object_fault(value, schema, release)


def _fault(key: str, value: object, kind: SchemaKind) -> str:
    members = VLLM_CONFIGURATION["members"].get(key)
    if members is not None:
        is_member = not isinstance(value, str) or value.upper() in members
        is_plain = not isinstance(value, Mapping | list)
        return "" if is_member and is_plain else any_of(members)
    if kind.choices:
        is_one = any(type(one) is type(value) and one == value for one in kind.choices)
        return "" if is_one else any_of(list(map(str, kind.choices)))
    if not _is_read(value, kind.kind):
        return _WORDS.get(kind.kind, "an object")
    is_number = kind.kind in {"int", "float"} and isinstance(value, str)
    return " and ".join(_broken(kind.bounds, float(str(value)) if is_number else value))


def _is_read(value: Any, kind: str) -> bool:  # noqa: ANN401 - whatever JSON says
    if kind.startswith("list of "):
        inner = kind.removeprefix("list of ")
        return isinstance(value, list) and all(_is_read(one, inner) for one in value)
    if kind.startswith("object"):
        return isinstance(value, Mapping)
    if kind == "str":
        return isinstance(value, str)
    if kind in {"int", "float"}:
        return _is_number(value, is_whole=kind == "int")
    if kind == "bool" and isinstance(value, str):
        return value.lower() in _TRUTH
    return kind != "bool" or (isinstance(value, int | float) and value in {0, 1})


def _is_number(value: object, *, is_whole: bool) -> bool:
    if not isinstance(value, str | int | float):
        return False
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return False
    return not is_whole or number.is_integer()


class ValueFaultError(ValueError):
    """
    A value that the parser does not take; the message says what it must be.
    """


def read_value(
    argument: EngineArgument, text: str, *, engine: Engine, release: str
) -> object:
    """
    Read one value as the parser does, or raise what it must be.
    """
    if argument.allows_none and text in {"", "None"}:
        if argument.choices:
            # None is left of it, and is none of them.
            raise ValueFaultError(_one_of(argument.choices, text))
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
        return lambda text: _lora_module(text, release)
    if argument.kind == "json" and argument.schema:
        schema = argument.schema
        return lambda text: _object(text, schema, release)
    if engine == "sglang" and argument.name in _OF_SGLANG:
        return _OF_SGLANG[argument.name]
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


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ValueFaultError(f"JSON ({fault})") from None


def _object(text: str, schema: str, release: str) -> object:
    if is_release_between(release, _SIZES_SINCE):
        # Sizes such as 80k stand between the strings, which are at the odd places.
        parts = _STRINGS.split(text)
        parts[::2] = [_SIZE.sub("1", part) for part in parts[::2]]
        text = "".join(parts)
    value = _json(text)
    keys = schema_keys(schema, release)
    if keys is not None and isinstance(value, Mapping):
        unknown = [key for key in value if key not in keys]
        if unknown:
            raise ValueFaultError(_without(unknown[0], keys))
    fault = object_fault(value, schema, release)
    if fault:
        raise ValueFaultError(fault)
    return value


def _json_or_text(text: str) -> object:
    # What looks like an object has to be one.
    return _json(text) if _BRACED.fullmatch(text.strip()) else text


def _pairs(text: str) -> dict[str, int]:
    try:
        pairs = [item.split("=", 1) for item in text.split(",")]
        return {key.strip(): int(value) for key, value in pairs}
    except ValueError:
        raise ValueFaultError("pairs such as image=4,video=1") from None


def _lora_module(text: str, release: str) -> str:
    """
    Read ``name=path``, or the same as JSON, as vLLM does.
    """
    if "=" in text and "," not in text:
        # With two of them older releases fail to take it apart.
        is_late = is_release_between(release, _LORA_PATHS_SINCE)
        is_one = is_late or text.count("=") == 1
    else:
        try:
            module = json.loads(text)
        except (ValueError, RecursionError):
            module = None
        is_one = isinstance(module, Mapping) and {"name", "path"} <= module.keys()
    if text and not is_one:
        raise ValueFaultError('name=path, or JSON such as {"name": "a", "path": "/b"}')
    return text


def _log_level(text: str) -> str:
    if text.lower() not in _LOG_LEVELS:
        raise ValueFaultError(_one_of(_GOOD_LEVELS, text))
    return text


def _cuda_graphs(text: str) -> object:
    value = _json(text)
    is_known = isinstance(value, Mapping) and all(
        phase in _PHASES and isinstance(settings, Mapping)
        for phase, settings in value.items()
    )
    if not is_known:
        raise ValueFaultError('a JSON object such as {"decode": {"max_bs": 64}}')
    return value


def _size(text: str, engine: Engine, release: str, *, is_auto: bool) -> int:
    trimmed = text.strip() if is_release_between(release, _TRILLIONS_SINCE) else text
    if is_auto and trimmed.lower() in {"auto", "-1"}:
        return -1
    found = (_VLLM_SIZE if engine == "vllm" else _SGLANG_SIZE).fullmatch(text.strip())
    if found is None:
        try:
            return int(text)
        except ValueError:
            raise ValueFaultError(_size_words(engine, is_auto=is_auto)) from None
    number, letter = float(found[1]), found[2][0]
    is_binary = letter.isupper() if engine == "vllm" else found[2].endswith("i")
    late = letter in "tT" and engine == "vllm"
    broken = is_binary and "." in found[1]
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


# What SGLang reads by functions of its own.
_OF_SGLANG: Mapping[str, Read] = {
    "cuda-graph-config": _cuda_graphs,
    "log-level": _log_level,
}


_READERS: Mapping[str, Read] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "json": _json,
    "json_or_str": _json_or_text,
    "kvs": _pairs,
}
