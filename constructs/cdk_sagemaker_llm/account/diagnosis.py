"""
Why something does not run: evidence read against the catalogue of symptoms, the
likeliest cause first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.account.evidence import Answer, Evidence
from cdk_sagemaker_llm.account.passages import Passage, passages, subjects
from cdk_sagemaker_llm.catalog.symptoms import Symptom, symptoms
from cdk_sagemaker_llm.text import counted

# What is specific is said first by whoever is nearest to it.
_NEAREST = ("failure_reason", "log", "event", "scaling", "reading")
# Of what only says that something failed, the container's words are nearer to the cause
# than those of the service that waits for it.
_NEAREST_OF_GENERAL = ("log", "failure_reason", "event", "scaling", "reading")
_OURS = {"scaling", "reading"}
_WARNING = re.compile(r"\b(?:DEBUG|INFO|WARN|WARNING|[\w]{1,40}Warning)\b")
_ERROR = re.compile(r"\bERROR\b|(?:Error|Exception)\b|out of memory")
# What a server tells while all is well, unless it speaks of trouble.
_TALK = re.compile(r"\b(?:DEBUG|INFO)\b")
_TROUBLE = re.compile(
    r"\b[Ee]rror\b|(?:Error|Exception)\b|HTTP/1\.\d\"? [45]|\bexit|died|[Ff]atal|FATAL"
    r"|[Kk]illed|not expected|out of memory|Traceback|Retry worker|[Rr]estart"
    r"|WORKER_STOPPED|[Bb]ack-off|BACKOFF|gave up|recovery"
)
# What goes on without what it misses.
_GOES_ON = re.compile(
    r"[Ff]alling back|[Ww]ill be ignored|[Tt]rying to resume|Ignore above|Skipped\."
    r"|may cause OOM|You can consider"
)
# As terminals, and as CloudWatch writes them.
_COLOURS = re.compile(r"(?:\x1b|#033)\[[\d;]{0,12}m")
_FINE = {"InService"}
_GOING = {"Creating", "Updating", "SystemUpdating", "Deleting"}
_STACK_FINE = re.compile(r"(?:CREATE|UPDATE|IMPORT)_COMPLETE\Z")
_STACK_GOING = re.compile(r"_IN_PROGRESS\Z")
_LONGEST_LINE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """
    Why something does not run, and what shows it.

    Args:
        symptom: What is known of it.

        where: The place of the evidence.

        line: The evidence: the line that shows it.
    """

    symptom: Symptom
    where: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """
    The state of one thing.

    Args:
        what: The thing, such as ``endpoint chat``.

        status: In the service's words, with what belongs to it.

        verdict: ``fine``, ``going``, which may take a while, or ``failed``.
    """

    what: str
    status: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """
    What evidence comes to.

    Args:
        causes: The likeliest first.

        states: How each thing is.

        looked_at: What the evidence was.
    """

    causes: tuple[Cause, ...]
    states: tuple[State, ...]
    looked_at: tuple[str, ...]

    @property
    def is_healthy(self) -> bool:
        """
        Whether all runs or is under way, and nothing speaks against it.
        """
        return not self.causes and all(one.verdict != "failed" for one in self.states)

    @property
    def is_settled(self) -> bool:
        """
        Whether nothing is under way.
        """
        return all(one.verdict != "going" for one in self.states)


def diagnose(evidence: Evidence) -> Diagnosis:
    """
    Find the causes in evidence.
    """
    return Diagnosis(
        causes=tuple(causes_in(passages(evidence))),
        states=tuple(_states(evidence)),
        looked_at=tuple(_looked_at(evidence)),
    )


def causes_in(found: Iterable[Passage]) -> list[Cause]:
    """
    Find the causes in passages, the likeliest first, each once.

    What says more than that something failed comes before what does not, an error
    before a warning, and in one place what was said earlier: what follows an exception
    follows from it.
    """
    matches = [
        (rank, number, cause)
        for number, passage in enumerate(found)
        for rank, cause in _matches(passage)
    ]
    names = {cause.symptom.name for _, _, cause in matches}
    ranked = sorted(
        matches,
        # What finds another's words too says less than the other.
        key=lambda one: (
            one[2].symptom.is_general,
            not names.isdisjoint(one[2].symptom.beside),
            *one[:2],
        ),
    )
    seen: set[str] = set()
    causes = []
    for _, _, cause in ranked:
        if cause.symptom.name not in seen:
            seen.add(cause.symptom.name)
            causes.append(cause)
    return causes


_Rank = tuple[bool, int, int, int]


def _matches(passage: Passage) -> Iterator[tuple[_Rank, Cause]]:
    text = _COLOURS.sub("", "\n".join(passage.lines))
    for symptom in symptoms():
        # Names of metrics stand in many texts, and say something in few.
        if (symptom.seen == "metric") > (passage.kind in _OURS | {"failure_reason"}):
            continue
        match = _first_error(symptom, text)
        if match is None:
            continue
        line = _line_at(text, match.start())
        is_warning = _is_warning(line)
        if is_warning and passage.runs:
            continue
        nearest = _NEAREST_OF_GENERAL if symptom.is_general else _NEAREST
        rank = (
            is_warning,
            nearest.index(passage.kind),
            match.start(),
            -len(match.group()),
        )
        yield (
            rank,
            Cause(symptom=symptom, where=passage.where, line=_short(line, match)),
        )


def _first_error(symptom: Symptom, text: str) -> re.Match[str] | None:
    """
    Find where a symptom shows first; a warning only where no error has it.
    """
    found = [
        one
        for one in symptom.matches(text)
        if _is_talk(symptom.example) or not _is_talk(_line_at(text, one.start()))
    ]
    errors = (one for one in found if not _is_warning(_line_at(text, one.start())))
    return next(errors, found[0] if found else None)


def _line_at(text: str, position: int) -> str:
    begin = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[begin : end if end >= 0 else len(text)]


def _is_talk(line: str) -> bool:
    """
    Tell whether a line is what a server says while all is well.
    """
    if _GOES_ON.search(line):
        return True
    return bool(_TALK.search(line)) and not _TROUBLE.search(line)


def _is_warning(line: str) -> bool:
    return bool(_WARNING.search(line)) and not _ERROR.search(line)


def _short(line: str, match: re.Match[str]) -> str:
    """
    Return a line, cut down to what matters if it is very long.
    """
    line = line.strip()
    if len(line) <= _LONGEST_LINE:
        return line
    at = line.find(match.group()[:_LONGEST_LINE].splitlines()[0])
    begin = max(0, at - _LONGEST_LINE // 4)
    return f"… {line[begin : begin + _LONGEST_LINE]} …"


def _states(evidence: Evidence) -> Iterator[State]:
    for stack in evidence.stacks:
        status = str(stack.get("StackStatus"))
        verdict = (
            "fine"
            if _STACK_FINE.match(status)
            else "going"
            if _STACK_GOING.search(status) and "ROLLBACK" not in status
            else "failed"
        )
        what = f"stack {stack.get('StackName')}"
        yield State(what=what, status=status, verdict=verdict)
    for answer, what, name, status in subjects(evidence):
        verdict = (
            "fine" if status in _FINE else "going" if status in _GOING else "failed"
        )
        if what == "endpoint":
            counts = [
                f"{one.get('CurrentInstanceCount', 0)} of "
                f"{counted(int(one.get('DesiredInstanceCount') or 0), 'instance')} in "
                f"{one.get('VariantName')}"
                for one in answer.get("ProductionVariants") or ()
            ]
        else:
            runtime = answer.get("RuntimeConfig") or {}
            desired = int(runtime.get("DesiredCopyCount") or 0)
            words = counted(desired, "copy", "copies")
            counts = [f"{runtime.get('CurrentCopyCount', 0)} of {words}"]
        yield State(
            what=f"{what} {name}", status=", ".join([status, *counts]), verdict=verdict
        )


def _looked_at(evidence: Evidence) -> Iterator[str]:
    for rows, one, many in (
        (evidence.endpoints, "endpoint", None),
        (evidence.configs, "endpoint configuration", None),
        (evidence.models, "model", None),
        (evidence.components, "inference component", None),
        (evidence.stacks, "stack", None),
        (evidence.events, "event of CloudFormation", "events of CloudFormation"),
        (evidence.targets, "scalable target", None),
        (evidence.policies, "scaling policy", "scaling policies"),
        (evidence.activities, "scaling activity", "scaling activities"),
        (evidence.alarms, "alarm", None),
        (evidence.metrics, "metric", None),
        (evidence.quotas, "quota", None),
    ):
        if rows:
            yield counted(len(rows), one, many)
    yield _log_words(evidence.logs)


def _log_words(logs: Sequence[Answer]) -> str:
    lines = sum(len(log.get("lines", ())) for log in logs)
    if not logs:
        return "no log of a container"
    return f"{counted(lines, 'line')} of {counted(len(logs), 'log')}"
