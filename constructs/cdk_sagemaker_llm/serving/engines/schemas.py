"""
How vLLM's configuration classes read the values of the JSON that they are made of.

They are Pydantic's data classes, which convert what can mean nothing else: ``"8"`` is
a number, and ``1`` is true. What the parsers of vLLM 0.11.1, 0.13.0, 0.20.2, 0.24.0
and 0.30.0 refuse of each key was seen by running them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    SchemaKind,
    is_release_between,
    schema_kinds,
)
from cdk_sagemaker_llm.text import any_of

# From here on 80k may stand in JSON for 80000 (vLLM, engine/arg_utils.py).
_SIZES_SINCE = "0.20.0"
_STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")')
_SIZE = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_TRUTH = ("0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true")
# Members of enumerations, which are read by their numbers as well.
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "cudagraph_mode": (
        "NONE",
        "PIECEWISE",
        "FULL",
        "FULL_DECODE_ONLY",
        "FULL_AND_PIECEWISE",
    ),
    "mode": ("NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"),
}
# What these take beside their kind is read by validators of their own.
_OWN_WAYS = frozenset(
    {
        ("CompilationConfig", "compile_sizes"),
        ("KernelConfig", "linear_backend"),
        ("KernelConfig", "moe_backend"),
        ("KernelConfig", "sparse_indexer_topk_backend"),
        ("IrOpPriorityConfig", "fused_add_rms_norm"),
        ("IrOpPriorityConfig", "gelu_and_mul_sparse"),
        ("IrOpPriorityConfig", "rms_norm"),
    }
)
# A connector has a part in the transfer (their __post_init__).
_ROLES = {
    "KVTransferConfig": ("kv_connector", "kv_role"),
    "ECTransferConfig": ("ec_connector", "ec_role"),
}
_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "object": "an object",
    "list of int": "a list of whole numbers",
    "list of str": "a list of texts",
}


def plain_json(text: str, release: str) -> str:
    """
    Return JSON in which sizes such as ``80k`` are whole, where a release reads them.
    """
    if not is_release_between(release, _SIZES_SINCE):
        return text
    parts = _STRINGS.split(text)
    # Between the strings, which stand at the odd places.
    parts[::2] = [_SIZE.sub("1", part) for part in parts[::2]]
    return "".join(parts)


def object_fault(value: object, schema: str, release: str) -> str:
    """
    Return what a configuration class asks for instead of a value; empty if it takes it.

    Args:
        value: What was read of the JSON.

        schema: The name of the class.

        release: The release of vLLM.
    """
    if not isinstance(value, Mapping):
        return "a JSON object"
    kinds = schema_kinds(schema, release)
    for key, inner in value.items():
        kind = kinds.get(key)
        if kind is None or inner is None or (schema, key) in _OWN_WAYS:
            continue
        asked = _fault(key if schema == "CompilationConfig" else "", inner, kind)
        if asked:
            return f"JSON whose {key!r} is {asked}"
    connector, role = _ROLES.get(schema, ("", ""))
    if value.get(connector) is not None and value.get(role) is None:
        return f"JSON with {role!r} beside {connector!r}"
    return ""


def _fault(key: str, value: object, kind: SchemaKind) -> str:
    members = _MEMBERS.get(key)
    if members is not None:
        is_member = not isinstance(value, str) or value.upper() in members
        return "" if is_member and not _is_nested(value) else any_of(members)
    if kind.choices:
        is_one = any(type(one) is type(value) and one == value for one in kind.choices)
        return "" if is_one else any_of(list(map(str, kind.choices)))
    return "" if _is_read(value, kind.kind) else _WORDS.get(kind.kind, "an object")


def _is_read(value: Any, kind: str) -> bool:  # noqa: ANN401 - whatever JSON says
    if kind.startswith("list of "):
        inner = kind.removeprefix("list of ")
        return isinstance(value, list) and all(_is_read(one, inner) for one in value)
    if kind.startswith("object"):
        return isinstance(value, Mapping)
    if kind == "str":
        return isinstance(value, str)
    if kind == "bool":
        return _is_truth(value)
    if kind in {"int", "float"}:
        return _is_number(value, is_whole=kind == "int")
    return True


def _is_truth(value: object) -> bool:
    if isinstance(value, str):
        return value.lower() in _TRUTH
    return isinstance(value, bool | int | float) and value in {0, 1}


def _is_number(value: object, *, is_whole: bool) -> bool:
    if isinstance(value, str | bool | int | float):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return False
        return not is_whole or number.is_integer()
    return False


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)
