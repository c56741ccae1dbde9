"""
Write ``docs/troubleshooting.md`` from the catalogue: ``python -m
tools.troubleshooting_page``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from cdk_sagemaker_llm.catalog.symptoms import Symptom, symptoms
from cdk_sagemaker_llm.codes import rules

TARGET = Path(__file__).parents[1] / "docs" / "troubleshooting.md"
_HEAD = """\
# Troubleshooting by symptom

Look up what you see: words of an endpoint's failure, of CloudFormation, of a \
container's log, of a client, or a metric.
Each entry tells the cause, the way out, and which rule or command of this library \
would have caught it.
Rules stop the synthesis, or warn; [checks.md](checks.md) lists them, and \
`sagemaker-llm check` prints their findings for an app.
Commands that ask a model (`chat`, `invoke`, `stream`, `load-test`) show it on an \
endpoint that runs.
A container's log may hold many errors: look up the first ones, for what is marked as \
general mostly follows from another.
In the words, names, accounts and addresses are made up.

[`sagemaker-llm doctor`](how-to/doctor.md) reads an account and does the looking up.
`cdk_sagemaker_llm.catalog.symptoms` has the same as data, and its `explain(text)` \
finds the entries for a log, the most specific first.
This page is generated from the catalogue by `make docs`, and a test holds it.
"""
# What each group is called.
_TITLES = {
    "failure_reason": "Failure reasons",
    "event": "Events and refusals",
    "log": "Logs of containers",
    "client": "Errors of clients",
    "metric": "Metrics, alarms and scaling",
}
# And where its words are found.
_PLACES = {
    "failure_reason": "`aws sagemaker describe-endpoint` has them as `FailureReason`, "
    "and `describe-inference-component` for a component.",
    "event": "CloudFormation's events repeat what a service refused: `aws "
    "cloudformation describe-stack-events`.\nTools without CloudFormation show the "
    "same words.",
    "log": "They are in the log group `/aws/sagemaker/Endpoints/<endpoint>`, or "
    "`/aws/sagemaker/InferenceComponents/<component>`.",
    "client": "What those who ask a model are told.",
    "metric": "`aws application-autoscaling describe-scaling-activities "
    "--service-namespace sagemaker --include-not-scaled-activities` says why nothing "
    "scales.",
}
# The page that tells of each command.
_PAGES = {
    "chat": "client.md",
    "check": "checks.md",
    "invoke": "client.md",
    "load-test": "load.md",
    "local": "local.md",
    "permissions": "security.md",
    "plan": "memory.md",
    "simulate": "simulate.md",
    "stream": "client.md",
    "support": "support.md",
}
_GITHUB = "github.com"


def page() -> str:
    """
    Return the page's text.
    """
    return "\n".join([_HEAD, *_contents(), *_entries()]) + "\n"


def _contents() -> Iterator[str]:
    for seen, title in _TITLES.items():
        yield f"- [{title}](#{title.lower().replace(',', '').replace(' ', '-')})"
        for each in _group(seen):
            yield f"  - [{_title(each)}](#{each.anchor})"
    yield ""


def _entries() -> Iterator[str]:
    for seen, title in _TITLES.items():
        yield f"## {title}\n"
        yield f"{_PLACES[seen]}\n"
        for each in _group(seen):
            yield from _entry(each)


def _group(seen: str) -> list[Symptom]:
    return [each for each in symptoms() if each.seen == seen]


def _entry(symptom: Symptom) -> Iterator[str]:
    releases = f" ({symptom.releases})" if symptom.releases else ""
    general = "; general" if symptom.is_general else ""
    yield f"### {_title(symptom)}\n"
    yield f"```text\n{symptom.example}\n```\n"
    yield f"- Words of: {symptom.of}{releases}{general}"
    yield f"- Cause: {symptom.cause}"
    yield f"- Way out: {symptom.remedy}"
    yield f"- Caught by: {', '.join(_catchers(symptom)) or 'nothing here'}"
    yield f"- Read in: {', '.join(map(_source, symptom.sources))}\n"


def _title(symptom: Symptom) -> str:
    return symptom.name[0].upper() + symptom.name[1:]


def _catchers(symptom: Symptom) -> Iterator[str]:
    known = rules()
    for code in symptom.rules:
        rule = known[code]
        yield f"[{code}](checks.md#{rule.severity.value}s) ({rule.finds})"
    for command in symptom.commands:
        yield f"[`sagemaker-llm {command}`]({_PAGES[command]})"


def _source(source: str) -> str:
    parts = urlsplit(source)
    if not parts.scheme:
        return source
    if parts.netloc == _GITHUB:
        owner, repository, kind, *rest = parts.path.strip("/").split("/")
        mark = f": {rest[-1]}" if kind == "blob" else f"#{rest[-1]}"
        return f"[{owner}/{repository}{mark}]({source})"
    return f"[{Path(parts.path).stem}]({source})"


def main() -> None:
    """
    Write the page.
    """
    TARGET.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
