"""
What an image's entry point makes of the variables: the engine's arguments.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.serving.engines.entry_points import MODEL_DIR, PORT, EntryPoint
from cdk_sagemaker_llm.serving.engines.supervision import recovers, supervised

# The translator's own list: these take JSON themselves.
_KEPT_WHOLE = (
    "--allowed-origins",
    "--allowed-methods",
    "--allowed-headers",
    "--middleware",
)


@dataclass(frozen=True, slots=True)
class Passed:
    """
    What a variable becomes.

    Args:
        variable: Its name; what was cut off from another one's value may look like one.

        flag: The argument, with its dashes.

        values: What follows it.
    """

    variable: str
    flag: str
    values: tuple[str, ...] = ()


def translate(
    environment: Mapping[str, str],
    rule: EntryPoint,
    *,
    model_data: Collection[str] = (),
) -> list[str]:
    """
    Return the arguments that the engine is started with.

    Args:
        environment: The container's variables.

        rule: How its entry point reads them.

        model_data: Paths of the files in ``/opt/ml/model``, relative to it.

    Raises:
        StartError: If the supervisor does not start it.
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
    told = (value.strip() if rule.trims else value).lower()
    if rule.reads_truth and told in {"true", "false"}:
        return () if told == "true" else None
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
    """
    Return the JSON objects that stand one after the other; none where it is not so.
    """
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
