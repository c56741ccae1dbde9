"""
The tool and reasoning parsers of an engine's releases.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans, release_key


def has_parser(engine: str, kind: str, name: str, release: str) -> bool | None:
    """
    Whether a release has a parser; ``None`` where nobody read the releases around it.
    """
    table = load("parsers.json")
    known = tuple(table["releases"][engine])
    if release_key(release) < release_key(known[0]):
        return None
    return in_spans(release, parser_spans(engine, kind, name), known)


def parser_spans(engine: str, kind: str, name: str) -> str:
    """
    Return the releases that have a parser, as spans; empty for none.
    """
    spans: str = load("parsers.json")[kind][engine].get(name, "")
    return spans


def parser_names(engine: str, kind: str, release: str) -> tuple[str, ...]:
    """
    Return the parsers of a release.
    """
    names = load("parsers.json")[kind][engine]
    return tuple(one for one in names if has_parser(engine, kind, one, release))
