"""
A page for each rule: what it means, what trips it, what it says, and the way out.
"""

from __future__ import annotations

import ast
import functools
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.symptoms import symptoms
from cdk_sagemaker_llm.codes import rules
from cdk_sagemaker_llm.findings import Rule, Severity
from cdk_sagemaker_llm.serving import Container
from tests.unit.account_rule_examples import ACCOUNT_RULES
from tests.unit.engine_support_rule_examples import OF_ENGINES
from tests.unit.rule_examples import FOLDERS, TEXTS
from tests.unit.support_rule_examples import SUPPORT
from tools.site.definitions import sources
from tools.site.links import RULES

_SNAPSHOTS = Path(__file__).parents[2] / "tests/unit/__snapshots__/test_codes.ambr"
_NAMED = re.compile(
    r"^# name: \w+\[(LLM\d{3})\]$(.*?)^# ---$", re.MULTILINE | re.DOTALL
)
_CUT = re.compile(r"^# (LLM\d{3})$", re.MULTILINE)
_ADDRESS = "https?://[^ ,;]+"
_ERROR = "It is an **error**: the synthesis stops, and nothing is deployed."
_OF_AN_ACCOUNT = {
    True: "It is an **error** of `sagemaker-llm preflight`, which then ends with "
    "status 1. Only an account can tell it, so that it does not stop the synthesis.",
    False: "It is a **warning** of `sagemaker-llm preflight`. Only an account can tell "
    "it, so that the synthesis does not.",
}
_WARNING = "It is a **warning**: the synthesis goes on."
_ACKNOWLEDGE = """\
If it is what you want, acknowledge it, with the reason:

```python
from aws_cdk import Annotations

Annotations.of(construct).acknowledge_warning("cdk-sagemaker-llm:{code}", "why")
```
"""
_NO_REMEDY = "Change what the message names, by the rule that it states."
# The words of a test for what is asked, and a reader's.
_FACTS = {
    "container": "image",
    "family": "image",
    "version": "version",
    "accelerators": "accelerators of a copy",
    "architecture": "the model's class or config.json",
    "network_isolation": "network isolation",
    "model_data": "files beside the weights",
    "backend": "what must run",
    "strict": "unknown options are errors",
    "has_model_data": "weights from a bucket",
    "file": "serving.properties",
    "config": "the model's config.json",
}


def pages() -> Iterator[tuple[str, str]]:
    """
    Yield each page: its path below the site's source, and its text.
    """
    for code in rules():
        yield f"{RULES}/{code.lower()}.md", page(code)


def page(code: str) -> str:
    """
    Return the page of a rule.
    """
    rule = rules()[code]
    is_error = rule.severity is Severity.ERROR
    remedies = list(_remedies(code))
    parts = [
        # Whoever looks for a task finds a guide first, and for a code its rule.
        "---\nsearch:\n  boost: 0.6\n---",
        f"# {code}: {rule.finds}",
        _severity(code, is_error=is_error),
        "## What trips it",
        example(code),
        "## What it says",
        "\n\n".join(f"```text\n{_wrapped(each)}\n```" for each in messages()[code]),
        "## The way out",
        "\n".join(f"- {each}" for each in remedies) if remedies else _NO_REMEDY,
        ""
        if is_error or code in ACCOUNT_RULES
        else _ACKNOWLEDGE.format(code=code).strip(),
        *_beside(code),
        *_seen(code),
        "## Where the rule is from",
        _source(rule),
        "[All checks](../../checks.md)",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _severity(code: str, *, is_error: bool) -> str:
    if code in ACCOUNT_RULES:
        return _OF_AN_ACCOUNT[is_error]
    return _ERROR if is_error else _WARNING


@functools.cache
def messages() -> Mapping[str, list[str]]:
    """
    Return what each rule says of its example, as the tests hold it.
    """
    found = {}
    for code, body in _NAMED.findall(_SNAPSHOTS.read_text(encoding="utf-8")):
        text = textwrap.dedent(body.strip("\n")).replace("list([", "[", 1)
        value = ast.literal_eval(text.replace("\n])", "\n]"))
        found[code] = [value] if isinstance(value, str) else list(value)
    return found


def example(code: str) -> str:
    """
    Return the input that trips a rule.
    """
    if code in FOLDERS:
        return _folder(FOLDERS[code])
    if code in ACCOUNT_RULES:
        return _account(ACCOUNT_RULES[code])
    if code not in TEXTS:
        return f"```python\n{definitions()[code]}\n```"
    return _call(TEXTS[code])


@functools.cache
def definitions() -> Mapping[str, str]:
    """
    Return the definitions that trip rules, formatted, by the rules' codes.
    """
    written = sources()
    text = "".join(f"# {code}\n{source}\n" for code, source in written.items())
    _, *rest = _CUT.split(formatted(text))
    return {
        code: source.strip() for code, source in zip(rest[::2], rest[1::2], strict=True)
    }


def formatted(source: str) -> str:
    """
    Return Python as the project's formatter writes it.
    """
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run(
        [ruff, "format", "--isolated", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _folder(files: Mapping[str, int]) -> str:
    if not files:
        return "A `ServingFolder` of a folder that is not there."
    lines = [
        f"{name}  {'a pipe' if size < 0 else _size(size)}"
        for name, size in files.items()
    ]
    return (
        "A `ServingFolder` of a folder with:\n\n```text\n" + "\n".join(lines) + "\n```"
    )


def _account(broken: Callable[[], object]) -> str:
    """
    Return what an account answers.
    """
    if not isinstance(broken, partial):
        raise TypeError(f"an example must be a partial call, got {broken!r}")
    needs, answers = broken.args[:2]
    parts = [
        f"the app needs of its account: {each.name} `{_need(one)}`"
        for each in fields(needs)
        if (found := getattr(needs, each.name))
        for one in (found.items() if isinstance(found, dict) else found)
    ]
    parts += [
        f"AWS answers `{name}` with `{answer}`" for name, answer in answers.items()
    ]
    return "\n".join(f"- {each}" for each in parts)


def _need(one: object) -> str:
    if not is_dataclass(one):
        return str(one[-1]) if isinstance(one, tuple) else str(one)
    values = {each.name: getattr(one, each.name) for each in fields(one)}
    shown = {name: each for name, each in values.items() if name != "place" and each}
    return ", ".join(
        f"{name}={_need(each) if is_dataclass(each) else each}"
        for name, each in shown.items()
    ) or str(one)


def _size(size: int) -> str:
    mebibytes = size // 2**20
    return f"{mebibytes} MiB" if mebibytes else f"{size} bytes"


def _call(broken: Callable[[], object]) -> str:
    """
    Return what a check is asked about: a file, variables, or a model.
    """
    if not isinstance(broken, partial):
        raise TypeError(f"an example must be a partial call, got {broken!r}")
    name = broken.func.__name__
    if name == "check_support":
        return _support(broken)
    given = dict(broken.keywords)
    first = broken.args[0] if broken.args else given.pop("environment", {})
    if isinstance(first, Container) and first.image:
        given |= {"container": first.image.family, "version": first.image.version}
        first = first.environment
    facts = _facts(given)
    if isinstance(first, str):
        file = f'```properties title="serving.properties"\n{first.rstrip()}\n```'
        return f"{file}{facts}{_check(given)}"
    lines = "\n".join(f"{key}={value}" for key, value in first.items())
    shown = lines or "# none"
    return f'```sh title="Environment of the container"\n{shown}\n```{facts}'


def _facts(given: Mapping[str, Any]) -> str:
    known = [*_FACTS, *(key for key in given if key not in _FACTS)]
    lines = [
        f"- {_FACTS.get(key, key.replace('_', ' '))}: {_fact(given[key])}"
        for key in known
        if given.get(key) is not None
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else repr(value)
    return f"`{text}`"


def _check(given: Mapping[str, Any]) -> str:
    words = ["sagemaker-llm", "check", "serving.properties"]
    options = {
        "container": "--container",
        "version": "--version",
        "accelerators": "--accelerators",
        "architecture": "--architecture",
        "backend": "--serving",
    }
    for key, value in given.items():
        if value is None:
            continue
        if key not in options or isinstance(value, dict):
            return ""
        words += [options[key], str(value)]
    return f"\n\n```sh\n{shlex.join(words)}\n```"


def _support(broken: partial[Any]) -> str:
    return f"```python\n{_formatted_support(_support_source(broken))}\n```"


@functools.cache
def _formatted_support(source: str) -> str:
    return _support_calls()[source]


@functools.cache
def _support_calls() -> Mapping[str, str]:
    # One call of the formatter for all of them.
    pairs = [*SUPPORT.values(), *OF_ENGINES.values()]
    written = [_support_source(each) for pair in pairs for each in pair]
    cut = "# ---\n"
    parts = formatted("".join(f"{cut}{source}\n" for source in written)).split(cut)[1:]
    return dict(zip(written, (part.strip() for part in parts), strict=True))


def _support_source(broken: partial[Any]) -> str:
    given = {key: value for key, value in broken.keywords.items() if value}
    model = broken.args[0] if broken.args else given.pop("model")
    words = [repr(model), *(f"{key}={value!r}" for key, value in given.items())]
    return (
        "from cdk_sagemaker_llm.serving import check_support\n\n"
        f"check_support({', '.join(words)})\n"
    )


def _beside(code: str) -> Iterator[str]:
    pair = {**SUPPORT, **OF_ENGINES}.get(code)
    if pair and isinstance(pair[1], partial):
        yield "## What passes"
        yield _support(pair[1])


def _remedies(code: str) -> Iterator[str]:
    found = []
    for message in messages()[code]:
        for line in message.split("\n"):
            # A warning has its code at the end.
            said, is_own, _ = line.partition(f" [ack: cdk-sagemaker-llm:{code}]")
            if not is_own:
                _, is_own, said = line.partition(f"{code} ")
            if is_own and "; " in said:
                found.append(said.partition("; ")[2])
    seen = [each for each in symptoms() if code in each.rules]
    found += [_from_here(each.remedy) for each in seen]
    for words in dict.fromkeys(found):
        end = "" if words.endswith((".", "?")) else "."
        yield f"{words[0].upper()}{words[1:]}{end}"


def _seen(code: str) -> Iterator[str]:
    found = [each for each in symptoms() if code in each.rules]
    if found:
        yield "## What is seen without the rule"
        yield "\n".join(
            f"- [{each.name[0].upper()}{each.name[1:]}]"
            f"(../../troubleshooting.md#{each.anchor}): {_from_here(each.cause)}"
            for each in found
        )


def _from_here(words: str) -> str:
    # Symptoms are written for a page at the top.
    return re.sub(r"\]\((?=[\w-]+\.md)", "](../../", words)


def _source(rule: Rule) -> str:
    words = rule.source or "The library's own: it follows from what the library does."
    return re.sub(_ADDRESS, lambda found: f"<{found[0]}>", words)


def _wrapped(message: str) -> str:
    lines = (
        textwrap.fill(
            line,
            88,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in message.split("\n")
    )
    return "\n".join(lines)
