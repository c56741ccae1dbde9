"""
Checks of single variables of TGI: is the name known, can the value be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cdk_sagemaker_llm.catalog.tgi import (
    find_tgi_option,
    tgi_aliases,
    tgi_flags,
    tgi_option_names,
    tgi_option_span,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.tgi.checks.sources import ENTRY_POINT, OPTIONS
from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject
from cdk_sagemaker_llm.serving.tgi.values import as_count, value_fault
from cdk_sagemaker_llm.text import nearest

# The entry point starts the launcher with --port, which wins over the variable.
_PORT = "8080"
# So like a known name that it can hardly mean something else: one or two letters.
_MISTYPED = 0.9
_INSTEAD = {
    "MAX_INPUT_TOKENS": "use MAX_INPUT_LENGTH",
    "ENABLE_CUDA_GRAPHS": "leave it out: they are on, CUDA_GRAPHS names their sizes",
    "MESSAGES_API_ENABLED": (
        "leave it out: from 2.4.0 on /invocations tells a chat by its body"
    ),
    "DISABLE_USAGE_STATS": "use USAGE_STATS=off",
    "DISABLE_CRASH_REPORTS": "use USAGE_STATS=no-stack",
}


def known_variables() -> tuple[str, ...]:
    """
    Return every variable that the image reads at some version, under either name.
    """
    return (*tgi_option_names(), *tgi_aliases())


UNKNOWN_OPTION = Rule("LLM160", "an option is none of TGI's launcher", OPTIONS)


def option_name_findings(names: Iterable[str], known: Iterable[str]) -> list[Finding]:
    """
    A name given as an option is one of the launcher's.

    Args:
        names: The names given.

        known: The names there are.
    """
    there = tuple(known)
    return [_unknown(name, there) for name in names if name not in there]


NOT_AT_THIS_VERSION = Rule(
    "LLM161", "an option is not yet known to this version of TGI", OPTIONS
)
NO_MORE_KNOWN = Rule(
    "LLM222", "a variable that an older version of TGI knew is ignored", OPTIONS
)


def check_versions(subject: TgiSubject) -> Iterator[Finding]:
    """
    This version knows each variable of the launcher (launcher/src/main.rs).

    What an older one knew does no harm: deployments carry it along from image to image.
    """
    for name in _checked(subject):
        native = tgi_aliases().get(name, name)
        if native in tgi_option_names() and not subject.knows(native):
            first, last = tgi_option_span(native)
            young = not subject.is_between(first)
            rule = NOT_AT_THIS_VERSION if young else NO_MORE_KNOWN
            when = f"it came with {first}" if young else f"it was last known in {last}"
            yield rule.finding(
                f"{_word(subject, name)} has no effect in TGI {subject.version}: "
                f"{when}",
                _INSTEAD.get(native, "leave it out"),
            )


UNREADABLE_VALUE = Rule(
    "LLM162",
    "TGI's launcher cannot read a value, by type, range or choices",
    "the parsers of clap 4",
)


def check_values(subject: TgiSubject) -> Iterator[Finding]:
    """
    The launcher can read each value (clap's parsers).
    """
    for name in _checked(subject):
        option = find_tgi_option(tgi_aliases().get(name, name), subject.version)
        value = subject.raw(name)
        if option is None or value is None or _is_unset(name, value):
            continue
        fault = value_fault(option, value)
        if fault:
            near = nearest(value, option.choices, count=1)
            yield UNREADABLE_VALUE.finding(
                f"{_word(subject, name)} must be {fault}, got {value!r}",
                f"did you mean {near[0]}?" if near else "",
            )


OVERRIDDEN = Rule(
    "LLM260", "SageMaker's name of a setting overrides TGI's own", ENTRY_POINT
)


def check_overridden(subject: TgiSubject) -> Iterator[Finding]:
    """
    SageMaker's name of a setting and the launcher's agree.

    The entry point copies the former over the latter.
    """
    for alias, native in tgi_aliases().items():
        theirs, own = subject.raw(alias), subject.raw(native)
        if theirs and own and theirs != own:
            yield OVERRIDDEN.finding(
                f"{native}={own} has no effect: {alias}={theirs} wins over it",
                "set one of them",
            )


MISSPELT = Rule(
    "LLM261", "a variable is almost one of TGI's, which ignores it", OPTIONS
)


def check_spelling(subject: TgiSubject) -> Iterator[Finding]:
    """
    A variable that is almost a known one is ignored.
    """
    known = known_variables()
    for name in _checked(subject):
        if name not in known:
            import difflib  # noqa: PLC0415 - few names are wrong

            near = difflib.get_close_matches(name.upper(), known, 1, _MISTYPED)
            if near:
                yield MISSPELT.finding(
                    f"{name} is no variable of TGI's launcher: it is ignored",
                    f"did you mean {near[0]}?",
                )


OTHER_PORT = Rule("LLM262", "TGI is given another port than SageMaker's", ENTRY_POINT)


def check_port(subject: TgiSubject) -> Iterator[Finding]:
    """
    The image always listens on SageMaker's port (sagemaker-entrypoint.sh).
    """
    port = subject.value("PORT")
    if as_count(port) is not None and port != _PORT:
        yield OTHER_PORT.finding(
            f"PORT={port} has no effect: the image listens on {_PORT}"
        )


def _unknown(name: str, known: tuple[str, ...]) -> Finding:
    if name in tgi_flags():
        message = f"{name} has no variable, and the image passes no arguments"
        return UNKNOWN_OPTION.finding(message, "leave it out")
    near = nearest(name.upper(), known, count=1)
    meant = f"write {near[0]}, or " if near else ""
    return UNKNOWN_OPTION.finding(
        f"{name} is no option of TGI's launcher",
        f"{meant}pass it in unchecked_options if something else reads it",
    )


def _checked(subject: TgiSubject) -> Iterator[str]:
    for name in subject.environment:
        if name not in subject.unchecked:
            yield name


def _is_unset(name: str, value: str) -> bool:
    # The entry point copies no empty text.
    return name in tgi_aliases() and not value


def _word(subject: TgiSubject, name: str) -> str:
    return subject.words.get(name, name)
