"""
Diagnoses for people and as JSON.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from cdk_sagemaker_llm.account.diagnosis import Cause, Diagnosis
from cdk_sagemaker_llm.account.evidence import Evidence
from cdk_sagemaker_llm.account.progress import Step, minutes, steps, usual_words
from cdk_sagemaker_llm.catalog.symptoms import Symptom
from cdk_sagemaker_llm.cli.output.answers import harmless
from cdk_sagemaker_llm.codes import rules

_WIDTH = 88
_MOST_STATES = 12
_MOST_OTHERS = 5
_PAGE = "docs/troubleshooting.md"
_VERDICTS = {"fine": "ok", "going": "..", "failed": "!!"}


def diagnosis_lines(evidence: Evidence, diagnosis: Diagnosis) -> Iterator[str]:
    """
    Write a diagnosis for a reader: the state of things, the likeliest cause, the
    others, and what was not asked.
    """
    yield f"{evidence.kind} {evidence.name} in {evidence.region}, {evidence.time}"
    yield from _states(diagnosis)
    for step in steps(evidence):
        yield from _wrapped(step_line(step), "      ", first="      ")
    yield ""
    if diagnosis.causes:
        first, *others = diagnosis.causes
        yield f"Likeliest cause: {first.symptom.name}"
        yield from _cause(first)
        if others:
            yield ""
            yield "Also seen, and less likely or following from it:"
        for one in others[:_MOST_OTHERS]:
            yield from _wrapped(f"- {one.symptom.name}: {one.line}", "    ", first="  ")
        if len(others) > _MOST_OTHERS:
            yield f"  and {len(others) - _MOST_OTHERS} more; --json has them all"
    elif diagnosis.is_healthy:
        going = "" if diagnosis.is_settled else " so far"
        yield f"Nothing is wrong{going} in what was looked at."
    else:
        yield "The cause is not known: nothing that was looked at matches a known one."
    yield ""
    yield from _wrapped(f"Looked at: {', '.join(diagnosis.looked_at)}.", "  ")
    if evidence.not_asked:
        yield "Not asked:"
    for note in evidence.not_asked:
        yield from _wrapped(
            f"- {note.get('what')}: {note.get('why')}", "    ", first="  "
        )


def step_line(step: Step) -> str:
    """
    Write what is under way in a line.
    """
    usual = f"; {usual_words(step.usual)}" if step.usual else ""
    since = f"for {minutes(step.seconds)}{usual}"
    return harmless(f"{step.what} is {step.status} {since}: {step.now}")


def diagnosis_facts(evidence: Evidence, diagnosis: Diagnosis) -> dict[str, Any]:
    """
    Return a diagnosis as JSON.
    """
    return {
        "name": evidence.name,
        "kind": evidence.kind,
        "region": evidence.region,
        "time": evidence.time,
        "healthy": diagnosis.is_healthy,
        "causes": [_facts(one) for one in diagnosis.causes],
        "states": [
            {"what": one.what, "status": one.status, "verdict": one.verdict}
            for one in diagnosis.states
        ],
        "under_way": [
            {
                "what": step.what,
                "status": step.status,
                "now": step.now,
                "seconds": step.seconds,
                "usual_seconds": [step.usual.least, step.usual.most]
                if step.usual
                else None,
            }
            for step in steps(evidence)
        ],
        "looked_at": list(diagnosis.looked_at),
        "not_asked": [dict(note) for note in evidence.not_asked],
    }


def _states(diagnosis: Diagnosis) -> Iterator[str]:
    # Of many, what is not fine is what is looked for.
    states = sorted(diagnosis.states, key=lambda one: one.verdict == "fine")
    for one in states[:_MOST_STATES]:
        yield f"  {_VERDICTS[one.verdict]}  {one.what}: {one.status}"
    rest = states[_MOST_STATES:]
    if rest:
        fine = sum(one.verdict == "fine" for one in rest)
        yield f"      and {len(rest)} more, of which {fine} are fine"


def _cause(cause: Cause) -> Iterator[str]:
    symptom = cause.symptom
    yield from _wrapped(f"Evidence: {cause.line}", "    ", first="  ")
    yield f"    in the {harmless(cause.where)}"
    yield from _wrapped(f"Why: {symptom.cause}", "    ", first="  ")
    yield from _wrapped(f"Way out: {symptom.remedy}", "    ", first="  ")
    catchers = list(_catchers(symptom))
    if catchers:
        yield "  Before deploying it would have been caught by:"
    for one in catchers:
        yield from _wrapped(f"- {one}", "      ", first="    ")
    yield f"  More: {_PAGE}#{symptom.anchor}"


def _catchers(symptom: Symptom) -> Iterator[str]:
    all_rules = rules()
    for code in symptom.rules:
        yield f"{code}: {all_rules[code].finds}"
    for command in symptom.commands:
        yield f"sagemaker-llm {command}"


def _facts(cause: Cause) -> dict[str, Any]:
    symptom = cause.symptom
    return {
        "cause": symptom.name,
        "evidence": cause.line,
        "where": cause.where,
        "why": symptom.cause,
        "way_out": symptom.remedy,
        "general": symptom.is_general,
        "rules": list(symptom.rules),
        "commands": [f"sagemaker-llm {one}" for one in symptom.commands],
        "sources": list(symptom.sources),
        "page": f"{_PAGE}#{symptom.anchor}",
    }


def _wrapped(text: str, indent: str, *, first: str = "") -> Sequence[str]:
    return textwrap.wrap(
        " ".join(harmless(text).split()),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
