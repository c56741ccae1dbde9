"""
Holding the engines' argument tables against their packages: ``python -m
tools.catalog.engines``.

It tells what releases that no table describes yet add and drop, and with ``--check``
fails unless the newest described ones have exactly the spellings that the tables say.
The packages' sources are read by their syntax trees and never imported; of a wheel only
those files are fetched. Kinds, choices and defaults are not read again: what they are
computed of is spread over hundreds of files. A row is written by hand from what is told
here. Of some older releases less is found than there is, where a loop makes options:
four of vLLM 0.11.1, one of SGLang 0.5.13.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import (
    ENGINES,
    Engine,
    engine_releases,
    spellings,
)
from tools.catalog import wheels

_WANTED: Mapping[str, str] = {
    "vllm": r"vllm/(engine/arg_utils|entrypoints/(\w+/)*cli_args)\.py",
    "sglang": r"sglang/srt/(server_args|arg_groups/fields/\w+)\.py",
}
# What each engine declares arguments in, beside calls of add_argument.
_DECLARING = ("FrontendArgs", "BaseFrontendArgs")
# argparse's own.
_OF_THE_PARSER = {"--help", "-h"}
_NEWEST = 3


def main(arguments: list[str] | None = None) -> int:
    """
    Run the command and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.catalog.engines")
    parser.add_argument(
        "--check", action="store_true", help="fail if the newest tables differ"
    )
    parser.add_argument("--release", help="look at this release of the engine alone")
    parser.add_argument("--engine", choices=ENGINES, help="look at this one alone")
    options = parser.parse_args(arguments)
    differs = False
    for engine in [options.engine] if options.engine else ENGINES:
        for release in _releases(engine, options.release, check=options.check):
            lines = list(differences(engine, release))
            differs = differs or bool(lines)
            for line in lines or ["as the table says"]:
                sys.stdout.write(f"{engine} {release}: {line}\n")
    return int(options.check and differs)


def differences(engine: Engine, release: str) -> Iterator[str]:
    """
    Tell what a release has beyond the table, and what it has not.
    """
    texts = wheels.sources(engine, release, _WANTED[engine])
    found = options_in(texts.values())
    known = described(engine, release)
    yield from (f"has {one}, which the table has not" for one in sorted(found - known))
    yield from (f"has no {one}, which the table has" for one in sorted(known - found))


def described(engine: Engine, release: str) -> set[str]:
    """
    Return every spelling that the table has of a release, without ``--no-`` forms.
    """
    return set(spellings(engine, release))


def options_in(texts: Iterable[str]) -> set[str]:
    """
    Return the options that sources add to a parser, by call or by declaration.
    """
    found: set[str] = set()
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                found.update(_added(node))
            elif isinstance(node, ast.ClassDef):
                found.update(_declared(node))
    return found - _OF_THE_PARSER


def _added(call: ast.Call) -> Iterator[str]:
    if getattr(call.func, "attr", "") != "add_argument":
        return
    for one in call.args:
        if isinstance(one, ast.Constant) and str(one.value).startswith("-"):
            yield str(one.value)


def _declared(node: ast.ClassDef) -> Iterator[str]:
    is_frontend = node.name in _DECLARING
    for one in node.body:
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        if is_frontend and not _is_of_the_class(one.annotation):
            yield _option(one.target.id)
        elif _is_annotated(one.annotation):
            yield from _of_annotation(one.target.id, one.annotation)


def _is_of_the_class(annotation: ast.expr) -> bool:
    return "ClassVar" in ast.unparse(annotation)


def _is_annotated(annotation: ast.expr) -> bool:
    """
    Whether it is SGLang's ``A[type, "help"]`` or ``A[type, Arg(...)]``.
    """
    return isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in {
        "A",
        "Annotated",
    }


def _of_annotation(name: str, annotation: ast.expr) -> Iterator[str]:
    calls = [node for node in ast.walk(annotation) if isinstance(node, ast.Call)]
    if any(ast.unparse(call.func) == "Derived" for call in calls):
        return
    given = {
        word.arg: word.value
        for call in calls
        if ast.unparse(call.func) == "Arg"
        for word in call.keywords
    }
    if "no_cli" in given and ast.literal_eval(given["no_cli"]):
        return
    named = given.get("cli_name")
    shown = str(ast.literal_eval(named)) if named else _option(name)
    # A name without dashes is one of a positional argument.
    if shown.startswith("-"):
        yield shown
    aliases = given.get("aliases")
    yield from ast.literal_eval(aliases) if aliases else ()


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _releases(engine: Engine, only: str | None, *, check: bool) -> list[str]:
    if only is not None:
        return [only]
    known = list(engine_releases(engine))
    if check:
        return known[-_NEWEST:]
    listed = [one for one in wheels.published(engine) if re.fullmatch(r"[\d.]+", one)]
    return sorted((one for one in listed if _is_after(one, known[-1])), key=_numbers)


def _is_after(release: str, other: str) -> bool:
    return _numbers(release) > _numbers(other)


def _numbers(release: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", release)]


if __name__ == "__main__":
    sys.exit(main())
