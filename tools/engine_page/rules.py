"""
How entry points read variables, and what each cannot be told.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.engine_arguments import EngineArgument
from cdk_sagemaker_llm.catalog.engine_releases import (
    engine_families,
    find_engine_release,
)
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    UntellableError,
    write,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, EntryPoint
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
