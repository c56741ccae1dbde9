"""
How the entry points of the engines' images read variables: each image's rule, what
becomes of a variable on the command line, and what the supervisor does to it.
"""

from __future__ import annotations

import configparser
import functools
import io
import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cdk_sagemaker_llm.catalog.engine_releases import entry_point_rows

RECOVERY = "PROCESS_AUTO_RECOVERY"
LOG_LEVELS = ("debug", "info", "warn", "error", "critical")
_SECTION = "program:app"
_KEY = "command"
# supervisord's own parser has these, as Python 2's had.
_COMMENTS = (";", "#")
VLLM_PREFIX = "SM_VLLM_"
SGLANG_PREFIX = "SM_SGLANG_"
LLAMA_CPP_PREFIX = "SM_LLAMA_CPP_"
HF_LLAMA_CPP_PREFIX = "SM_LLAMACPP_"
NEURON_PREFIX = "SM_ON_"
MODEL_DIR = "/opt/ml/model"
PORT = "8080"
# The translator's own list: these take JSON themselves.
_KEPT_WHOLE = (
    "--allowed-origins",
    "--allowed-methods",
    "--allowed-headers",
    "--middleware",
)


class EntryPoint(NamedTuple):
    """
    One rule by which variables become arguments.

    Args:
        name: What the rule is called here, such as ``vllm-C``.

        prefix: What the variables that become arguments begin with.

        reads_truth: Whether ``true`` becomes a bare argument and ``false`` none.
            Where it does not, both are passed on as values.

        trims: Whether blanks around ``true`` and ``false`` do not matter.

        spreads_lists: Whether a JSON list becomes one value for each of its elements.

        reads_lines: Whether a shell reads the variables line by line: a value ends
            with its first line, and loses its last ``=`` if it has no other.

        keeps_underscores: Whether names keep their underscores.

        model_flag: The argument that names the model, with its dashes; empty where
            the entry point never writes it.

        finds_model: Whether the model is sought in ``/opt/ml/model``, and then in
            ``HF_MODEL_ID``, where its variable is left out.

        insists_on_model: Whether the model's argument is written in any case, with
            ``/opt/ml/model`` for a model that nothing names.

        supervisor: Which supervisor starts the engine: ``None``; ``joins`` for one
            that puts blanks between its arguments and takes them apart at blanks;
            ``keeps`` for one that quotes them.

        consumed: Names behind the prefix that are not passed on.

        first: Arguments that come before all others.
    """

    name: str
    prefix: str
    reads_truth: bool = True
    trims: bool = False
    spreads_lists: bool = False
    reads_lines: bool = True
    keeps_underscores: bool = False
    model_flag: str = "--model"
    finds_model: bool = True
    insists_on_model: bool = False
    supervisor: str | None = None
    consumed: tuple[str, ...] = ()
    first: tuple[str, ...] = ()

    def variable(self, argument: str) -> str:
        """
        Return the variable of an argument's long name.
        """
        return self.prefix + argument.replace("-", "_").upper()

    def flag(self, variable: str) -> str:
        """
        Return the argument that a variable becomes, with its dashes.
        """
        name = variable.removeprefix(self.prefix).lower()
        return "--" + (name if self.keeps_underscores else name.replace("_", "-"))


def _entry_point(name: str, row: Mapping[str, Any]) -> EntryPoint:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
    }
    return EntryPoint(name=name, **values)


ENTRY_POINTS: Mapping[str, EntryPoint] = {
    name: _entry_point(name, row) for name, row in entry_point_rows().items()
}


class Passed(NamedTuple):
    """
    What a variable becomes: an argument with its dashes, and what follows it.

    What was cut off from another variable's value may look like one.
    """

    variable: str
    flag: str
    values: tuple[str, ...] = ()


def command_line(
    environment: Mapping[str, str],
    rule: EntryPoint,
    *,
    model_data: Collection[str] = (),
) -> list[str]:
    """
    Return the arguments that the engine is started with.
    """
    arguments = [*rule.first]
    arguments += _model(environment, rule, model_data)
    for passed in passed_on(environment, rule):
        arguments += [passed.flag, *passed.values]
    arguments += _fallbacks(environment, rule, f" {' '.join(arguments)} ")
    if not is_supervised(environment, rule):
        return arguments
    is_joined = rule.supervisor == "joins"
    return supervised(arguments, environment, is_joined=is_joined)


def passed_on(environment: Mapping[str, str], rule: EntryPoint) -> Iterator[Passed]:
    """
    Yield what each variable becomes, in the order of their names.

    A shell takes them in whatever order they stand in; only where two set the same
    argument does that matter.
    """
    for variable, value in sorted(_read(environment, rule)):
        if variable.removeprefix(rule.prefix) in rule.consumed:
            continue
        values = _values(rule.flag(variable), value, rule)
        if values is not None:
            yield Passed(variable, rule.flag(variable), values)


def is_supervised(environment: Mapping[str, str], rule: EntryPoint) -> bool:
    """
    Whether a supervisor starts the engine, and starts it again when it ends.
    """
    return rule.supervisor is not None and recovers(environment)


def _read(
    environment: Mapping[str, str], rule: EntryPoint
) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if not rule.reads_lines:
            if name.startswith(rule.prefix):
                yield name, value
            continue
        # `env | grep "^PREFIX"`, and `IFS='=' read -r key value` of each line.
        for line in f"{name}={value}".split("\n"):
            if line.startswith(rule.prefix):
                key, _, rest = line.partition("=")
                yield key, rest[:-1] if rest.find("=") == len(rest) - 1 else rest


def _values(flag: str, value: str, rule: EntryPoint) -> tuple[str, ...] | None:
    truth = (value.strip() if rule.trims else value).lower()
    if rule.reads_truth and truth in {"true", "false"}:
        return () if truth == "true" else None
    if value == "":
        return ()
    if rule.spreads_lists and flag not in _KEPT_WHOLE:
        return _spread(value)
    return (value,)


def _spread(value: str) -> tuple[str, ...] | None:
    text = value.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            elements = json.loads(text)
        except (ValueError, RecursionError):
            return (value,)
        # An empty list leaves the argument out.
        return tuple(map(_element, elements)) or None
    if text.startswith("{") and text.endswith("}"):
        objects = _objects(text)
        if len(objects) > 1:
            return tuple(objects)
    return (value,)


def _element(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"))


def _objects(text: str) -> list[str]:
    decoder, found = json.JSONDecoder(), []
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            return []
        if not isinstance(value, dict):
            return []
        found.append(_element(value))
        text = text[end:].lstrip()
    return found


def _model(
    environment: Mapping[str, str], rule: EntryPoint, model_data: Collection[str]
) -> list[str]:
    if rule.name == "llama-cpp":
        return _gguf(environment, rule, model_data)
    if not rule.finds_model or environment.get(rule.prefix + "MODEL"):
        return []
    if model_data:
        return [rule.model_flag, MODEL_DIR]
    named = environment.get("HF_MODEL_ID")
    return [rule.model_flag, named] if named else []


def _gguf(
    environment: Mapping[str, str], rule: EntryPoint, model_data: Collection[str]
) -> list[str]:
    named = environment.get(f"{rule.prefix}MODEL")
    if named:
        return [rule.model_flag, named]
    folder = environment.get(f"{rule.prefix}MODEL_DIR") or MODEL_DIR
    files = [path for path in model_data if path.endswith(".gguf")]
    # The shell's order: by name, and the files at the root before those one down.
    found = sorted(files, key=lambda path: (path.count("/"), path))
    near = [path for path in found if path.count("/") <= 1]
    inside = folder.rstrip("/") == MODEL_DIR
    return [rule.model_flag, f"{MODEL_DIR}/{near[0]}"] if inside and near else []


def _fallbacks(
    environment: Mapping[str, str], rule: EntryPoint, written: str
) -> list[str]:
    """
    Return what SGLang's entry point adds, unless the text of the others holds it.
    """
    if not rule.insists_on_model:
        return []
    chosen = {
        "--port": environment.get(f"{rule.prefix}PORT") or PORT,
        "--host": environment.get(f"{rule.prefix}HOST") or "0.0.0.0",  # noqa: S104 - what the container does
        rule.model_flag: environment.get(f"{rule.prefix}MODEL_PATH") or MODEL_DIR,
    }
    return [
        token
        for flag, value in chosen.items()
        if f" {flag} " not in written
        for token in (flag, value)
    ]


class StartError(ValueError):
    """
    The container cannot start the engine; the message is what its log says.
    """


def recovers(environment: Mapping[str, str]) -> bool:
    """
    Whether the supervisor is on, as it is if nothing is said.
    """
    return environment.get(RECOVERY, "true").lower() in {"true", "1"}


def supervised(
    arguments: Sequence[str], environment: Mapping[str, str], *, is_joined: bool
) -> list[str]:
    """
    Return the arguments that the engine gets from the supervisor, or raise what its log
    says; ``is_joined`` where it puts nothing but blanks between them, as
    model-hosting-container-standards did up to 0.1.15.
    """
    level = environment.get("LOG_LEVEL", "info")
    if level.lower() not in LOG_LEVELS:
        raise StartError(
            f"Invalid LOG_LEVEL: {level!r}; it must be one of {', '.join(LOG_LEVELS)}"
        )
    join = " ".join if is_joined else shlex.join
    command = _through_a_file(join(arguments))
    expansions = {f"ENV_{name}": value for name, value in environment.items()}
    try:
        return shlex.split(command % expansions)
    except (KeyError, TypeError, ValueError) as fault:
        raise StartError(
            f"Error: Format string {command!r} for 'program:app.command' contains "
            f"names or quotes that cannot be read: {fault}"
        ) from fault


# A check asks of each argument, and of all of them, more than once.
@functools.lru_cache(maxsize=1024)
def _through_a_file(command: str) -> str:
    """
    Write the supervisor's configuration, and read it as supervisord does.
    """
    written = configparser.ConfigParser()
    written.add_section(_SECTION)
    try:
        written.set(_SECTION, _KEY, command)
    except ValueError as fault:
        raise StartError(
            f"Failed to generate supervisord configuration: {fault}"
        ) from fault
    text = io.StringIO()
    written.write(text)
    read = configparser.RawConfigParser(inline_comment_prefixes=_COMMENTS, strict=False)
    try:
        read.read_string(text.getvalue())
    except configparser.Error as fault:
        raise StartError(f"supervisord cannot read the command: {fault}") from fault
    return read.get(_SECTION, _KEY)
