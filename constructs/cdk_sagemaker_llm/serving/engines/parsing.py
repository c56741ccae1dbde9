"""
The engines' own parsers, put together again from the tables of their arguments.

Python's argparse is what they use: its abbreviations, stray values and refusals are
theirs.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NoReturn

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    argument_names,
    find_argument,
    is_release_between,
)
from cdk_sagemaker_llm.serving.engines.values import ValueFaultError, read_value

# From here on one stray value is taken for the model, and left unread (argparse of
# vllm serve, which has it as an optional positional argument).
STRAY_SINCE = "0.10.2"
_DOTTED_SINCE = "0.9.2"
_LOGGED_REQUESTS_SINCE = "0.11.0"
# What a path to a template cannot have, and a template in one line must.
_TEMPLATE_MARKS = "{}\n"


class ParserError(ValueError):
    """
    The engine's parser refuses its arguments; the message is what it says.
    """


def parse(engine: Engine, release: str, arguments: Sequence[str]) -> argparse.Namespace:
    """
    Read arguments as a release of an engine does.

    Returns:
        The values, by their fields: ``tensor_parallel_size``.

    Raises:
        ParserError: If the engine does not start with them.
    """
    parser = _parser(engine, release)
    if engine != "vllm":
        return parser.parse_args(list(arguments))
    spelt = [_with_dashes(argument) for argument in arguments]
    if is_release_between(release, _DOTTED_SINCE):
        spelt = list(_undotted(spelt))
    found = parser.parse_args(spelt)
    _hold_together(parser, found, release)
    return found


@functools.lru_cache(maxsize=8)
def _parser(engine: Engine, release: str) -> _Parser:
    prog = "api_server.py" if engine == "vllm" else "launch_server.py"
    parser = _Parser(prog=prog)
    if engine == "vllm" and is_release_between(release, STRAY_SINCE):
        parser.add_argument("model_tag", nargs="?")
    for name in argument_names(engine, release):
        argument = find_argument(engine, name, release)
        if argument is not None:
            _add(parser, argument, engine, release)
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ParserError(f"{self.prog}: error: {message}")

    def print_help(self, file: object = None) -> NoReturn:
        del file
        raise ParserError(f"{self.prog} prints its help and ends")


def _add(
    parser: _Parser, argument: EngineArgument, engine: Engine, release: str
) -> None:
    flags = [f"--{argument.name}", *argument.aliases]
    field = argument.name.replace("-", "_")
    if argument.is_switch:
        action: Any = (
            argparse.BooleanOptionalAction if argument.has_negative else "store_true"
        )
        parser.add_argument(*flags, dest=field, action=action, default=None)
        return

    def read(text: str) -> object:
        try:
            return read_value(argument, text, engine=engine, release=release)
        except ValueFaultError as fault:
            raise argparse.ArgumentTypeError(f"{text!r} must be {fault}") from None

    options: dict[str, Any] = {"nargs": argument.nargs}
    if argument.takes_truth:
        options = {"nargs": "?", "const": True}
    if argument.action == "append":
        options = {"action": "append"}
    parser.add_argument(
        *flags,
        dest=field,
        type=read,
        default=None,
        required=argument.is_required,
        **options,
    )


def _with_dashes(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    first, dot, rest = name.partition(".")
    return first.replace("_", "-") + dot + rest + equals + value


def _undotted(arguments: Sequence[str]) -> Iterator[str]:
    """
    Merge ``--json-arg.key value`` into the JSON of its argument.
    """
    merged: dict[str, dict[str, Any]] = {}
    rest = iter(arguments)
    for argument in rest:
        name, dot, path = argument.partition(".")
        if not (name.startswith("--") and dot):
            yield argument
            continue
        path, equals, value = path.partition("=")
        text = value if equals else next(rest, "true")
        at = merged.setdefault(name, {})
        *above, last = path.split(".")
        for key in above:
            at = at.setdefault(key, {})
        at[last] = _plain(text)
    for name, parts in merged.items():
        yield from (name, json.dumps(parts))


def _plain(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _hold_together(parser: _Parser, found: argparse.Namespace, release: str) -> None:
    """
    Refuse what vLLM refuses once it has read all of them.
    """
    if getattr(found, "enable_auto_tool_choice", None) and not found.tool_call_parser:
        raise ParserError(
            "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser"
        )
    if (
        is_release_between(release, _LOGGED_REQUESTS_SINCE)
        and getattr(found, "enable_log_outputs", None)
        and not getattr(found, "enable_log_requests", None)
    ):
        raise ParserError(
            "TypeError: Error: --enable-log-outputs requires --enable-log-requests"
        )
    template = getattr(found, "chat_template", None)
    if template and not _may_be_template(template):
        parser.error(
            f"The supplied chat template string ({template}) appears path-like, but "
            "doesn't exist!"
        )


def _may_be_template(template: str) -> bool:
    # A path is known only in the container; a bare word may be built in.
    is_path = PurePosixPath(template).is_absolute()
    return (
        is_path
        or any(mark in template for mark in _TEMPLATE_MARKS)
        or ("/" not in template)
    )
