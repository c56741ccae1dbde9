"""
Arguments that an engine's configuration refuses together: conditions that were read in
each release's own code, and what they come to for an environment.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import find_argument, refusals_of
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    CONFIGURATION,
    EngineSubject,
)

# What these set is not seen among the arguments.
_BY_ENVIRONMENT = ("VLLM_DP_", "VLLM_USE_V1")
# What brings further arguments, or starts several engines with their own.
_ELSEWHERE = ("config", "data-parallel-multi-port-external-lb")
# What SGLang calls the model's class.
_ARCHITECTURE = "model_arch"
_MOST_NAMES = 6
_LONGEST_WORDS = 240


class _Unknown:
    """
    What nothing here tells: a model, a file or the machine decides it.
    """

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()
Names = Callable[[str], object]

REFUSED_TOGETHER = Rule(
    "LLM543",
    "arguments that the engine's parser takes, and its configuration refuses together",
    CONFIGURATION,
)


def refusal_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine's own conditions for an end at its start do not hold.
    """
    if subject.table is None or subject.image.engine != subject.table:
        return
    if any(map(subject.has_argument, _ELSEWHERE)) or any(
        name.startswith(_BY_ENVIRONMENT)
        for name in (*subject.environment, *subject.hidden)
    ):
        return
    reported: set[tuple[str, ...]] = set()
    for condition, row in refusals_of(subject.table, subject.release).items():
        # What nobody wrote stands at defaults, with which the engine starts.
        written = tuple(
            dict.fromkeys(
                name.partition(".")[0]
                for name in row["with"]
                if _setting(subject, name) is not None
            )
        )
        if not written or written in reported:
            continue
        if holds(condition, functools.partial(_named, subject, row)) is True:
            reported.add(written)
            yield REFUSED_TOGETHER.finding(_message(subject, row["says"], written))


def _message(subject: EngineSubject, says: str, written: tuple[str, ...]) -> str:
    words = []
    for name in written[:_MOST_NAMES]:
        setting = _setting(subject, name)
        if setting is not None:
            value = ",".join(setting.taken)
            word = subject.word(setting.variable)
            words.append(f"{word}={value}" if value else word)
    reason = says if len(says) <= _LONGEST_WORDS else f"{says[:_LONGEST_WORDS]}..."
    together = " and ".join(words)
    return f"{subject.title} does not start with {together}: {reason}".rstrip(" :.")


def _setting(subject: EngineSubject, name: str) -> Any:  # noqa: ANN401 - a setting or None
    return subject.find(name.partition(".")[0].replace("_", "-"))


def _named(subject: EngineSubject, row: Mapping[str, Any], name: str) -> object:
    inner = row.get("where", {}).get(name)
    if inner is not None:
        return holds(inner, functools.partial(_named, subject, row))
    if name == _ARCHITECTURE:
        return subject.architecture or UNKNOWN
    return _value(subject, row["with"], name)


def _value(subject: EngineSubject, defaults: Mapping[str, Any], name: str) -> object:
    """
    Return what an argument, or a key of its JSON, comes to.
    """
    first, _, key = name.partition(".")
    argument = first.replace("_", "-")
    setting = subject.find(argument)
    if setting is None:
        return UNKNOWN if subject.has_argument(argument) else defaults.get(name)
    described = find_argument(subject.table or "vllm", argument, subject.release)
    if described is not None and described.takes_several:
        return list(setting.taken if setting.is_intact else setting.arrived) or UNKNOWN
    if not setting.is_intact or described is None:
        return UNKNOWN
    value = subject.value(argument)
    if value is None and not (described.allows_none and setting.taken):
        return UNKNOWN
    if not key:
        return value
    return value.get(key, defaults.get(name)) if isinstance(value, Mapping) else UNKNOWN


def holds(condition: str, names: Names) -> object:
    """
    Return what a condition comes to, ``UNKNOWN`` where it cannot be told.
    """
    return _of(_tree(condition), names)


@functools.lru_cache(maxsize=1024)
def _tree(condition: str) -> ast.expr:
    return ast.parse(condition, mode="eval").body


def _of(node: ast.expr, names: Names) -> object:  # noqa: PLR0911, C901 - a case each
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name | ast.Attribute):
        return names(ast.unparse(node))
    if isinstance(node, ast.BoolOp):
        return _joined(node, names)
    if isinstance(node, ast.UnaryOp):
        value = _of(node.operand, names)
        if value is UNKNOWN:
            return UNKNOWN
        return (
            not value if isinstance(node.op, ast.Not) else _tried(operator.neg, value)
        )
    if isinstance(node, ast.IfExp):
        test = _of(node.test, names)
        if test is not UNKNOWN:
            return _of(node.body if test else node.orelse, names)
        one, two = _of(node.body, names), _of(node.orelse, names)
        # Where both ways lead to the same, it does not matter which is taken.
        return one if type(one) is type(two) and one == two else UNKNOWN
    if isinstance(node, ast.Tuple):
        parts = [_of(one, names) for one in node.elts]
        return UNKNOWN if UNKNOWN in parts else tuple(parts)
    if isinstance(node, ast.BinOp):
        left, right = _of(node.left, names), _of(node.right, names)
        return _tried(_SUMS[type(node.op)], left, right)
    if isinstance(node, ast.Compare):
        return _compared(node, names)
    if isinstance(node, ast.Subscript):
        return _tried(operator.getitem, _of(node.value, names), _of(node.slice, names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        parts = [_of(one, names) for one in node.args]
        call = _CALLS.get(node.func.id)
        return UNKNOWN if call is None else _tried(call, *parts)
    return UNKNOWN


def _joined(node: ast.BoolOp, names: Names) -> object:
    stops = isinstance(node.op, ast.Or)
    last: object = not stops
    is_known = True
    for one in node.values:
        value = _of(one, names)
        if value is UNKNOWN:
            is_known = False
        elif bool(value) == stops:
            # What is certain of one is certain of all.
            return value
        last = value
    return last if is_known else UNKNOWN


def _compared(node: ast.Compare, names: Names) -> object:
    left = _of(node.left, names)
    for op, one in zip(node.ops, node.comparators, strict=True):
        right = _of(one, names)
        result = _tried(_COMPARED[type(op)], left, right)
        if result is UNKNOWN or not result:
            return result
        left = right
    return True


def _tried(call: Callable[..., object], *values: object) -> object:
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    try:
        return call(*values)
    except (TypeError, ValueError, LookupError, ArithmeticError):
        return UNKNOWN


def _like(value: object, pattern: str) -> bool:
    """
    Whether a text, or one of several, has a form.
    """
    several = value if isinstance(value, list) else [value]
    return any(re.fullmatch(pattern, str(one)) for one in several if one is not None)


def _kind(value: object) -> str:
    """
    Return what JSON says, as refusals call it.
    """
    if isinstance(value, Mapping) and value:
        inner = [_kind(one) for one in value.values()]
        return f"object of {inner[0]}s" if len(set(inner)) == 1 else "object"
    if isinstance(value, str):
        return "word" if value.isalpha() else "text"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__


def _outside(value: object, keys: tuple[str, ...]) -> bool:
    return isinstance(value, Mapping) and any(key not in keys for key in value)


_CALLS: Mapping[str, Callable[..., object]] = {
    "kind": _kind,
    "len": len,
    "like": _like,
    "lower": str.lower,
    "max": max,
    "min": min,
    "outside": _outside,
    "upper": str.upper,
}
_SUMS: Mapping[type, Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: Mapping[type, Callable[..., object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, all_of_it: one in all_of_it,
    ast.NotIn: lambda one, all_of_it: one not in all_of_it,
}
