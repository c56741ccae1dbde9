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
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, NoReturn

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    argument_names,
    find_argument,
    is_release_between,
)
from cdk_sagemaker_llm.serving.engines.argument_values import (
    STRAY_SINCE,
    ValueFaultError,
    read_value,
)

_DOTTED_SINCE = "0.9.2"
_LOGGED_REQUESTS_SINCE = "0.11.0"
_FILE = "--config"
_YAML = (".yaml", ".yml")
# Templates that vLLM brings along (transformers_utils/chat_templates).
_BUILT_IN = "template_"
# What is where the upstream image of vLLM starts.
_FOLDERS = (".", "..", "examples")
# What vLLM begins the words of such refusals with.
_LATE = "ValueError: Error: "
# What a path to a template cannot have, and a template in one line must.
_TEMPLATE_MARKS = "{}\n"


class ParserError(ValueError):
    """
    The engine's parser refuses its arguments; the message is what it says.
    """


def parse(engine: Engine, release: str, arguments: Sequence[str]) -> argparse.Namespace:
    """
    Read arguments as a release of an engine does.
    """
    parser = _parser(engine, release)
    for flag, path in pairwise(arguments):
        if flag == _FILE and not path.endswith(_YAML):
            parser.error(f"ValueError: the config file must be of YAML, got {path}")
    if engine != "vllm":
        return parser.parse_args(list(arguments))
    spelt = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        first, dot, rest = name.partition(".")
        dashed = first.replace("_", "-") + dot + rest + equals + value
        spelt.append(dashed if argument.startswith("--") else argument)
    if is_release_between(release, _DOTTED_SINCE):
        spelt = list(_undotted(parser, spelt))
    found = parser.parse_args(spelt)
    _check_together(parser, found, release)
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


def _undotted(parser: _Parser, arguments: Sequence[str]) -> Iterator[str]:
    """
    Merge ``--json-arg.key value`` into the JSON of its argument.

    Negative numbers with a point are taken for such as well.
    """
    merged: dict[str, dict[str, Any]] = {}
    rest = iter(arguments)
    for argument in rest:
        spelt, equals, value = argument.partition("=")
        name, dot, path = spelt.partition(".")
        if not (spelt.startswith("-") and dot):
            yield argument
            continue
        text = value if equals else next(rest, None)
        if text is None:
            parser.error(f"IndexError: list index out of range (behind {spelt})")
        at = merged.setdefault(name, {})
        *above, last = path.split(".")
        for key in above:
            at = at.setdefault(key, {})
        try:
            at[last] = json.loads(text)
        except (ValueError, RecursionError):
            at[last] = text
    for name, parts in merged.items():
        yield from (name, json.dumps(parts))


def _check_together(parser: _Parser, found: argparse.Namespace, release: str) -> None:
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
    late = _late_fault(found)
    if late:
        raise ParserError(f"{_LATE}{late}")
    template = getattr(found, "chat_template", None) or "."
    path = PurePosixPath(template)
    # A path is known only in the container.
    is_there = path.is_absolute() or template in _FOLDERS
    is_built_in = path.name == template and template.startswith(_BUILT_IN)
    is_text = any(mark in template for mark in _TEMPLATE_MARKS)
    if not (is_there or is_built_in or is_text):
        parser.error(
            f"The supplied chat template string ({template}) appears path-like, but "
            "doesn't exist!"
        )


def _late_fault(found: argparse.Namespace) -> str:
    """
    Return which further arguments do not go together (``validate_parsed_serve_args``
    of vLLM 0.24.0 and 0.30.0); a release without them has left them unset.
    """
    if (getattr(found, "sse_keep_alive_interval", None) or 0) < 0:
        return "--sse-keep-alive-interval must be a non-negative integer"
    if getattr(found, "enable_per_request_metrics", None) and found.disable_log_stats:
        return "--enable-per-request-metrics requires engine statistics logging"
    supervised = getattr(found, "data_parallel_multi_port_external_lb", None)
    if supervised and (found.data_parallel_size or 1) <= 1:
        return (
            "--data-parallel-multi-port-external-lb requires --data-parallel-size > 1"
        )
    return ""
