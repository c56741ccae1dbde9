"""
How each engine is told what to do: entry points, and arguments from release to release.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    all_argument_names,
    argument_names,
    engine_releases,
    find_argument,
)
from cdk_sagemaker_llm.catalog.engine_releases import (
    engine_families,
    find_engine_release,
)
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    UntellableError,
    argument_fields,
    write,
)
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    SGLANG_PREFIX,
    VLLM_PREFIX,
    EntryPoint,
)
from cdk_sagemaker_llm.serving.engines.sglang import Sglang
from cdk_sagemaker_llm.serving.engines.telling import way_out
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from tools.engine_page.tables import code, codes, table

_ENTRY_POINTS = """\
## How variables become arguments

A variable that begins with the prefix becomes an argument: what is behind the prefix, \
in small letters, with dashes in place of underscores unless the table says otherwise.
Its value becomes the argument's value, and an empty one becomes an argument alone.
Any other variable is one of the process, and no argument.
A name that the engine does not know becomes an argument all the same, which the \
engine refuses when it starts.
TEI has no such rule: it reads its own variables, and no argument.
"""
_LIMITS = """\
## What a rule cannot be told

Each column is a value that a rule may make something else of; each was tried with the \
code that the classes write variables with.
`as it is` arrives, and `%%` with each per cent sign doubled.
`unsupervised` arrives with `PROCESS_AUTO_RECOVERY=false`, which the classes then set, \
and say so.
`no` is refused with the reason.
"""
_SUPERVISORS = {
    None: "none: the container ends with the engine",
    "joins": "one that takes its arguments apart at blanks and quotes",
    "keeps": "one that keeps its arguments whole",
}
_TEXT = EngineArgument(name="x")
_LIST = EngineArgument(name="x", nargs="+")
# What is tried, by what it is called.
_TRIED: dict[str, tuple[EngineArgument, ArgumentValue]] = {
    "two values": (_LIST, ["a", "b"]),
    "the text `true`": (_TEXT, "true"),
    "an empty text": (_TEXT, ""),
    'JSON: `{"a": "b"}`': (_TEXT, '{"a": "b"}'),
    'a list: `["a"]`': (_TEXT, '["a"]'),
    "a blank: `a b`": (_TEXT, "a b"),
    "a comment sign: `a #b`": (_TEXT, "a #b"),
    "a per cent sign: `50%`": (_TEXT, "50%"),
    "two lines": (_TEXT, "a\nb"),
    "an `=` at the end: `a=`": (_TEXT, "a="),
}
TITLES: dict[Engine, str] = {"vllm": "vLLM", "sglang": "SGLang"}
_PREFIXES: dict[Engine, str] = {"vllm": VLLM_PREFIX, "sglang": SGLANG_PREFIX}
_SWITCHES = """\
## {}: what is on unless it is switched off

`false` leaves an argument out, which switches nothing off.
A class writes the variable below for `False`; where there is none, it refuses `False`.
"""
_GONE = """\
## {}: what is gone

The release is the first that does not have it, of those that are described.
Nothing is named where nothing takes its place, or nothing is known to.
"""
_DEFAULTS = """\
## {}: defaults that changed

Of the arguments that the class has a parameter for.
"""


def entry_points() -> str:
    """
    Return the section that says how each rule reads variables.
    """
    head = [
        *("rule", "prefix", "`true` and `false`", "a JSON list", "read by", "names"),
        *("the model, if its argument is left out", "supervisor", "images"),
    ]
    rows = (_rule(rule) for rule in ENTRY_POINTS.values())
    return f"{_ENTRY_POINTS}\n{table(head, rows)}"


def limits() -> str:
    """
    Return the section that says what arrives by each rule.
    """
    rows = [
        [code(rule.name), *(_fate(*tried, rule) for tried in _TRIED.values())]
        for rule in ENTRY_POINTS.values()
    ]
    return f"{_LIMITS}\n{table(('rule', *_TRIED), rows)}"


def _rule(rule: EntryPoint) -> list[str]:
    return [
        code(rule.name),
        code(rule.prefix),
        _truth(rule),
        "one value for each element" if rule.spreads_lists else "one value",
        "a shell, line by line" if rule.reads_lines else "a program, whole",
        _names(rule),
        _model(rule),
        _SUPERVISORS[rule.supervisor],
        ", ".join(_images(rule)),
    ]


def _truth(rule: EntryPoint) -> str:
    if not rule.reads_truth:
        return "values like any other: leave a switch's value empty"
    blanks = ", whatever blanks are around them" if rule.trims else ""
    return f"the argument alone, and none{blanks}"


def _names(rule: EntryPoint) -> str:
    kept = ["underscores stay"] if rule.keeps_underscores else []
    consumed = [f"{codes(rule.consumed)} are not passed on"] if rule.consumed else []
    return "; ".join([*kept, *consumed])


def _model(rule: EntryPoint) -> str:
    if rule.finds_model:
        return "what is in `/opt/ml/model`, or else `HF_MODEL_ID`"
    if rule.insists_on_model:
        return "`/opt/ml/model`, never `HF_MODEL_ID`"
    if "MODEL_DIR" in rule.consumed:
        return "the first `.gguf` in `/opt/ml/model`, never `HF_MODEL_ID`"
    return "none, not `HF_MODEL_ID` either"


def _images(rule: EntryPoint) -> list[str]:
    """
    Return where a rule is: families, with their first and last version that has it.
    """
    found = []
    for family in engine_families():
        having = [
            version
            for version in image_versions(family)
            if rule.name in _rules_of(family, version)
        ]
        if having:
            span = having[0] if len(having) == 1 else f"{having[0]} to {having[-1]}"
            found.append(f"{code(family)} {span}")
    return found


def _rules_of(family: str, version: str) -> tuple[str, ...]:
    release = find_engine_release(family, version)
    # What moves is what it stands for today.
    return () if release is None or release.is_rolling else release.rules


def _fate(argument: EngineArgument, value: ArgumentValue, rule: EntryPoint) -> str:
    try:
        written = write(argument, value, rule)
    except UntellableError:
        return "no"
    if written.needs_no_supervisor:
        return "unsupervised"
    return "`%%`" if "%%" in "".join(written.variables.values()) else "as it is"


def switches(engine: Engine) -> str:
    """
    Return the section on switches that are on by default.
    """
    rows = _switches(engine)
    head = ("argument", "on by default in", "switched off by")
    return f"{_SWITCHES.format(TITLES[engine])}\n{table(head, rows)}"


def gone(engine: Engine) -> str:
    """
    Return the section on arguments that later releases do not have.
    """
    rows = _gone(engine)
    head = ("release", "argument", "in its place")
    return f"{_GONE.format(TITLES[engine])}\n{table(head, rows)}"


def defaults(engine: Engine) -> str:
    """
    Return the section on defaults that changed.
    """
    rows = list(_defaults(engine))
    head = ("release", "argument", "before", "from then on")
    found = table(head, rows) if rows else "None did.\n"
    return f"{_DEFAULTS.format(TITLES[engine])}\n{found}"


def _switches(engine: Engine) -> Iterator[tuple[str, ...]]:
    for name in all_argument_names(engine):
        for can_be_off in (True, False):
            found = [
                release
                for release in engine_releases(engine)
                if _is_on(engine, name, release, can_be_off=can_be_off)
            ]
            if found:
                off = f"{_PREFIXES[engine]}NO_{name.replace('-', '_').upper()}=true"
                way = code(off) if can_be_off else "nothing"
                yield code(name), _spans(engine, found), way


def _is_on(engine: Engine, name: str, release: str, *, can_be_off: bool) -> bool:
    argument = find_argument(engine, name, release)
    if argument is None or not argument.is_switch:
        return False
    return argument.default is True and argument.has_negative is can_be_off


def _spans(engine: Engine, found: list[str]) -> str:
    """
    Return releases with the first and the last of those that follow each other.
    """
    known = engine_releases(engine)
    spans: list[list[str]] = []
    for release in found:
        before = known[known.index(release) - 1]
        if spans and spans[-1][-1] == before:
            spans[-1].append(release)
        else:
            spans.append([release])
    return ", ".join(_span(one, known[-1]) for one in spans)


def _span(releases: list[str], newest: str) -> str:
    first, last = releases[0], releases[-1]
    if last == newest:
        return f"{first} and later"
    return first if first == last else f"{first} to {last}"


def _gone(engine: Engine) -> Iterator[tuple[str, ...]]:
    known = engine_releases(engine)
    for before, release in reversed(list(itertools.pairwise(known))):
        now = set(argument_names(engine, release))
        for name in sorted(set(argument_names(engine, before)) - now):
            yield release, code(name), _instead(engine, name, release)


def _instead(engine: Engine, name: str, release: str) -> str:
    words = way_out(engine, name, release, code)
    # A name that is merely alike is a guess, which a page does not make.
    return words if words.startswith("use ") else ""


def _defaults(engine: Engine) -> Iterator[tuple[str, ...]]:
    known = engine_releases(engine)
    serving = Vllm() if engine == "vllm" else Sglang()
    names = sorted(name for _, name in argument_fields(serving))
    for before, release in reversed(list(itertools.pairwise(known))):
        for name in names:
            old, new = (find_argument(engine, name, one) for one in (before, release))
            if old is None or new is None or old.default == new.default:
                continue
            if not _is_made(old.default) and not _is_made(new.default):
                yield release, code(name), _value(old.default), _value(new.default)


def _is_made(value: object) -> bool:
    """
    Whether a default is a call in the engine's code, which says nothing to a user.
    """
    return isinstance(value, str) and value.endswith("()")


def _value(value: object) -> str:
    return "the engine decides" if value is None else codes([json.dumps(value)])
