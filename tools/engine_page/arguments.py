"""
What changed from one release of an engine to the next.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    all_argument_names,
    argument_names,
    engine_releases,
    find_argument,
)
from cdk_sagemaker_llm.serving.engines.arguments import argument_fields
from cdk_sagemaker_llm.serving.engines.entry_points import (
    SGLANG_PREFIX,
    VLLM_PREFIX,
)
from cdk_sagemaker_llm.serving.engines.sglang import Sglang
from cdk_sagemaker_llm.serving.engines.telling import way_out
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from tools.engine_page.tables import code, codes, table

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
