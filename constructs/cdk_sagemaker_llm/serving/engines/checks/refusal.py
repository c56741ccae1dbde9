"""
Whether the engine starts at all: its own parser and its supervisor have the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.sources import PARSERS, SUPERVISOR
from cdk_sagemaker_llm.serving.engines.checks.subject import EngineSubject
from cdk_sagemaker_llm.serving.engines.entry_points import EntryPoint
from cdk_sagemaker_llm.serving.engines.supervision import StartError
from cdk_sagemaker_llm.serving.engines.translation import translate

LEVELS = ("debug", "info", "warn", "error", "critical")
# What is refused once all arguments are read, and may be mended by one that is not
# seen here.
_AFTERWARDS = ("TypeError", "ValueError: Error:")

REFUSED = Rule(
    "LLM509",
    "the engine's parser refuses the arguments that come of the variables",
    PARSERS,
)
MAY_BE_REFUSED = Rule(
    "LLM609",
    "what some releases or builds of the image refuse, where which one it is, or what "
    "its parser takes, is not known",
    PARSERS,
)


def refusal(
    environment: Mapping[str, str],
    rule: EntryPoint,
    table: Engine,
    release: str,
    *,
    is_whole: bool,
) -> str:
    """
    Return what the engine, or what starts it, says when it refuses; empty if it starts.

    Args:
        environment: The variables.

        rule: How the entry point reads them.

        table: The engine whose parser it is.

        release: Its release.

        is_whole: Whether all variables are seen, and no file holds further arguments.
    """
    from cdk_sagemaker_llm.serving.engines.parsing import (  # noqa: PLC0415 - argparse is loaded only where it is used
        ParserError,
        parse,
    )

    # The level is a check of its own.
    variables = {k: v for k, v in environment.items() if k != "LOG_LEVEL"}
    try:
        parse(table, release, translate(variables, rule))
    except (ParserError, StartError) as fault:
        is_mended = str(fault).startswith(_AFTERWARDS) and not is_whole
        return "" if is_mended else str(fault)
    return ""


def is_refused(table: Engine, release: str, arguments: list[str]) -> bool:
    """
    Whether the engine's parser refuses some arguments by themselves.
    """
    from cdk_sagemaker_llm.serving.engines.parsing import (  # noqa: PLC0415 - argparse is loaded only where it is used
        ParserError,
        parse,
    )

    try:
        parse(table, release, arguments)
    except ParserError:
        return True
    return False


NO_TOOL_PARSER = Rule(
    "LLM510", "vLLM is to choose tools without a parser of their calls", PARSERS
)


def check_tools(subject: EngineSubject) -> Iterator[Finding]:
    """
    What chooses tools knows how the model calls them.
    """
    chooses = subject.value("enable-auto-tool-choice") is True
    if subject.table != "vllm" or not chooses or subject.is_told("config"):
        return
    parser = subject.find("tool-call-parser")
    is_hidden = parser is None and subject.is_told("tool-call-parser")
    if not is_hidden and (parser is None or parser.values in {("None",), ("",)}):
        known = subject.variable("tool-call-parser")
        yield NO_TOOL_PARSER.finding(
            f"{subject.variable('enable-auto-tool-choice')} needs {known}: "
            f"{subject.title} does not start without",
            f"set {known}, such as hermes",
        )


UNKNOWN_LEVEL = Rule(
    "LLM511",
    "the supervisor is given a level of logging that it does not know",
    SUPERVISOR,
)


def check_level(subject: EngineSubject) -> Iterator[Finding]:
    """
    LOG_LEVEL is one of the supervisor's, which ends at once otherwise.
    """
    level = subject.environment.get("LOG_LEVEL")
    if subject.is_supervised and level is not None and level.lower() not in LEVELS:
        yield UNKNOWN_LEVEL.finding(
            f"LOG_LEVEL must be {', '.join(LEVELS[:-1])} or {LEVELS[-1]}, got "
            f"{level!r}: the container ends at once",
            "write LOG_LEVEL=warn" if level.lower() == "warning" else "",
        )
