"""
Checks of the values: what follows an argument and what arrives at the engine, whether
its parser takes it, and the JSON that is read after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    is_release_between,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.argument_values import (
    STRAY_SINCE,
    ValueFaultError,
    read_value,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ENTRY_POINTS,
    PARSERS,
    SUPERVISOR,
    ArgumentSetting,
    EngineSubject,
    arrival,
    find_option,
    looks_like_argument,
)
from cdk_sagemaker_llm.serving.engines.entry_points import (
    LOG_LEVELS,
    EntryPoint,
    StartError,
    command_line,
)

_LONGEST_EXCERPT = 120
_DASHED = "written without a dash in front, which makes it another argument"
_OFF = ("0", "no", "off", "n", "f", "none", "false", "disabled")
UNREADABLE_VALUE = Rule(
    "LLM504", "the engine's parser does not take an argument's value", PARSERS
)
MISSING_VALUE = Rule("LLM505", "an argument that asks for a value has none", PARSERS)


def value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each value is of the argument's kind, and one of its choices.
    """
    for setting in intact(subject):
        argument = setting.option.argument
        if argument is None or argument.is_switch:
            continue
        needs_value = not argument.takes_truth and argument.nargs not in {"?", "*"}
        if needs_value and not setting.values:
            yield MISSING_VALUE.finding(
                f"{subject.word(setting.variable)}="
                f"{subject.environment.get(setting.variable, '')} leaves "
                f"--{argument.name} without its value: {subject.title} does not start",
                "write the value, or leave the variable out",
            )
        for text in setting.taken:
            fault = read(subject, argument, text)
            if looks_like_argument(text):
                fault = _DASHED
            elif not isinstance(fault, ValueFaultError):
                continue
            yield UNREADABLE_VALUE.finding(
                f"{subject.word(setting.variable)} must be {fault}, got {excerpt(text)}"
            )


STRAY_VALUES = Rule(
    "LLM506", "values that no argument takes, and that the engine refuses", PARSERS
)
ONE_STRAY_VALUE = Rule(
    "LLM604", "a value that no argument takes: the switch before it is on", PARSERS
)


def stray_value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    No value is left over.

    A switch is on whatever stands behind it; vLLM takes one such value for the name
    of a model that it does not look at, and refuses a second one.
    """
    with_strays = [setting for setting in intact(subject) if setting.strays]
    number = sum(len(setting.strays) for setting in with_strays)
    is_swallowed = (
        number == 1
        and subject.table == "vllm"
        and is_release_between(subject.release, STRAY_SINCE)
    )
    for setting in with_strays:
        argument, value = setting.option.argument, setting.strays[0]
        word = subject.word(setting.variable)
        message = f"{word} becomes {len(setting.values)} values, and takes one"
        remedy = "write one value"
        is_switch = argument is not None and argument.is_switch
        if argument is not None and is_switch:
            message = (
                f"{word}={excerpt(value)} is a switch with a value behind it, which "
                "no argument takes"
            )
            remedy = _switch_remedy(subject, argument, value)
        if is_swallowed:
            yield ONE_STRAY_VALUE.finding(
                f"{message}: {'the switch is on' if is_switch else 'lost'}, and with a "
                f"second such value {subject.title} does not start",
                remedy,
            )
        else:
            yield STRAY_VALUES.finding(
                f"{message}: {subject.title} does not start", remedy
            )


def intact(subject: EngineSubject) -> Iterator[ArgumentSetting]:
    """
    Yield what arrives as it is written; what a supervisor makes something else of is
    told of by itself.
    """
    return (setting for setting in subject.settings if setting.is_intact)


def read(subject: EngineSubject, argument: EngineArgument, text: str) -> object:
    """
    Return what a text is read as, or else the fault.
    """
    if subject.table is None:
        return None
    try:
        return read_value(argument, text, engine=subject.table, release=subject.release)
    except ValueFaultError as fault:
        return fault


def _switch_remedy(subject: EngineSubject, argument: EngineArgument, value: str) -> str:
    rule = subject.rule
    bare = "true" if rule is None or rule.reads_truth else "an empty value"
    if value.strip().lower() not in _OFF:
        return f"write {bare}"
    if argument.has_negative and argument.default is not False:
        return f"write {subject.variable(f'no-{argument.name}')} with {bare}"
    return "leave it out"


def excerpt(text: str) -> str:
    """
    Return a value as messages show it.
    """
    return repr(
        text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}..."
    )


_LONGEST_MESSAGE = 160
# supervisord ends the command there.
_COMMENTS = (" #", " ;")
# What is refused once all arguments are read, and may be mended by one that is not
# seen here.
_AFTERWARDS = ("TypeError", "ValueError: Error:")
_READ_LATER = ("json-model-override-args", "model-loader-extra-config")
_SOURCE = "SGLang, configs/model_config.py and configs/load_config.py"

LOST = Rule(
    "LLM508",
    "the image's supervisor makes of a value what the engine refuses",
    SUPERVISOR,
)
ALTERED = Rule(
    "LLM606",
    "a value does not arrive at the engine as it is written",
    f"{ENTRY_POINTS}; {SUPERVISOR}",
)
LIST_AS_TEXT = Rule(
    "LLM607",
    "a JSON list arrives as one text at an image that spreads none",
    ENTRY_POINTS,
)
NOT_SWITCHED_OFF = Rule(
    "LLM608",
    "false leaves an argument out that is on, or that the engine lacks",
    ENTRY_POINTS,
)
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
NO_TOOL_PARSER = Rule(
    "LLM510", "vLLM is to choose tools without a parser of their calls", PARSERS
)
UNKNOWN_LEVEL = Rule(
    "LLM511",
    "the supervisor is given a level of logging that it does not know",
    SUPERVISOR,
)
NO_JSON = Rule(
    "LLM558", "a parameter of SGLang that it reads as JSON, and that is none", _SOURCE
)
READ_AS_JSON = Rule(
    "LLM654",
    "a variable that SGLang's parser takes as it is, and reads as JSON later",
    _SOURCE,
)


def supervisor_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The supervisor hands each value on as it is.
    """
    rule, table = subject.rule, subject.table
    if rule is None or table is None:
        return
    for setting in subject.settings:
        if setting.is_intact:
            continue
        tokens = [setting.option.flag, *setting.values]
        got = arrival(subject.environment, rule, tokens)
        word = subject.word(setting.variable)
        remedy = "set PROCESS_AUTO_RECOVERY=false, which starts the engine without it"
        if any("%" in value for value in setting.values):
            remedy = f"write %% for each %, or {remedy}"
        elif rule.supervisor == "joins":
            remedy += ", or take an image from 2.1 (vllm-server) or 0.24.0 (vllm) on"
        if isinstance(got, str):
            yield LOST.finding(
                f"{word} stops the supervisor: {got[:_LONGEST_MESSAGE]}", remedy
            )
            continue
        arrives = f"{word} does not arrive as it is written: the engine gets "
        message = arrives + " and ".join(map(repr, got[1:]))[:_LONGEST_MESSAGE]
        if any(mark in value for value in setting.values for mark in _COMMENTS):
            message += ", and no argument behind it arrives"
        is_refused = _parser_fault(table, subject.release, got)
        yield (LOST if is_refused else ALTERED).finding(message, remedy)


def line_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A shell that reads line by line takes nothing off a value.
    """
    rule = subject.rule
    if rule is None or not rule.reads_lines:
        return
    for name, value in subject.environment.items():
        if not name.startswith(rule.prefix):
            continue
        if "\n" in value:
            yield ALTERED.finding(
                f"{subject.word(name)} has more than one line, and only the first "
                "arrives",
                "write it in one line, or in a file of the model's folder",
            )
        elif value.find("=") == len(value) - 1 and value:
            yield ALTERED.finding(
                f"{subject.word(name)} ends in its only '=', which is lost on the way",
                "write it so that it does not end so, or in a file",
            )


def list_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Several values are written only where the entry point spreads a list.
    """
    rule = subject.rule
    if rule is None or rule.spreads_lists:
        return
    for setting in subject.settings:
        argument = setting.option.argument
        if argument is not None and argument.takes_several and _is_list(setting.values):
            yield LIST_AS_TEXT.finding(
                f"{subject.word(setting.variable)} arrives as one value, the list's "
                "text: this image passes each variable on as one",
                "write one value, or take an image from 2.4 (vllm-server) or 0.28.0 "
                "(vllm) on",
            )


def false_value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    What is on without being asked for is switched off by an argument of its own.
    """
    rule, table = subject.rule, subject.table
    if rule is None or table is None or not rule.reads_truth:
        return
    for name, value in subject.environment.items():
        truth = (value.strip() if rule.trims else value).lower()
        if not name.startswith(rule.prefix) or truth != "false":
            continue
        option = find_option(table, subject.release, rule.flag(name))
        word, argument = subject.word(name), option.argument
        if argument is None:
            yield NOT_SWITCHED_OFF.finding(
                f"{word}={value} is left out, and {subject.title} has no {option.flag}",
                "leave it out",
            )
        elif argument.kind == "bool" and not option.is_negative:
            is_own = argument.has_negative or argument.takes_truth
            if argument.default is True or (argument.default is None and is_own):
                yield NOT_SWITCHED_OFF.finding(
                    f"{word}={value} leaves --{argument.name} out, which does not "
                    "switch it off: the engine may have it on by itself",
                    f"write {subject.variable(f'no-{argument.name}')}=true"
                    if argument.has_negative
                    else "this image has no way to say so",
                )


def _is_list(values: tuple[str, ...]) -> bool:
    try:
        return len(values) == 1 and isinstance(json.loads(values[0]), list)
    except (ValueError, RecursionError):
        return False


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

    ``is_whole`` where all variables are seen, and no file holds further arguments.
    """
    # The level is a check of its own.
    variables = {k: v for k, v in environment.items() if k != "LOG_LEVEL"}
    try:
        fault = _parser_fault(table, release, command_line(variables, rule))
    except StartError as start_fault:
        fault = str(start_fault)
    return "" if fault.startswith(_AFTERWARDS) and not is_whole else fault


def _parser_fault(table: Engine, release: str, arguments: list[str]) -> str:
    from cdk_sagemaker_llm.serving.engines.parsing import (  # noqa: PLC0415 - argparse is loaded only where it is used
        ParserError,
        parse,
    )

    try:
        parse(table, release, arguments)
    except ParserError as fault:
        return str(fault)
    return ""


def tool_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    What chooses tools knows how the model calls them.
    """
    chooses = subject.value("enable-auto-tool-choice") is True
    if subject.table != "vllm" or not chooses or subject.has_argument("config"):
        return
    parser = subject.find("tool-call-parser")
    is_hidden = parser is None and subject.has_argument("tool-call-parser")
    if not is_hidden and (parser is None or parser.values in {("None",), ("",)}):
        parser_variable = subject.variable("tool-call-parser")
        yield NO_TOOL_PARSER.finding(
            f"{subject.variable('enable-auto-tool-choice')} needs {parser_variable}: "
            f"{subject.title} does not start without",
            f"set {parser_variable}, such as hermes",
        )


def level_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    LOG_LEVEL is one of the supervisor's, which ends at once otherwise.
    """
    level = subject.environment.get("LOG_LEVEL")
    if subject.is_supervised and level is not None and level.lower() not in LOG_LEVELS:
        yield UNKNOWN_LEVEL.finding(
            f"LOG_LEVEL must be {', '.join(LOG_LEVELS[:-1])} or {LOG_LEVELS[-1]}, got "
            f"{level!r}: the container ends at once",
            "write LOG_LEVEL=warn" if level.lower() == "warning" else "",
        )


def json_text_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The parser takes any text; what loads the model does not.
    """
    if subject.table != "sglang":
        return
    for name in _READ_LATER:
        setting = subject.find(name)
        if setting is None or not setting.taken or not setting.is_intact:
            continue
        try:
            json.loads(setting.taken[0])
        except (ValueError, RecursionError) as fault:
            yield READ_AS_JSON.finding(
                f"{subject.word(setting.variable)} must be JSON ({fault}), got "
                f"{setting.taken[0][:60]!r}",
                "write an object, or leave it out",
            )
