"""
How messages name things: ``a, b or c``, the known name that was likely meant, what
looks like a credential and must not be repeated, and the names that S3 takes.

What belongs here is text alone; it knows nothing of the field. The forms of credentials
are those that issuers publish, and what only looks like one.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator

from cdk_sagemaker_llm.tokens import is_unresolved, told_apart

_LIKELY = 12
_LIKENESS = 0.6
# A name that is longer than this times another is less like it than that.
_LONGEST = 2 / _LIKENESS - 1

# Compiled when first needed: that takes milliseconds, and most runs need none of them.
# The forms are published by the issuers; each with what is in every one of its kind, so
# that a large file is searched for that first. A group is the part that is secret.
_FORMS = {
    "a Hugging Face token": (
        ("hf_", "api_org_"),
        r"\b(?:hf_|api_org_)[A-Za-z0-9]{20,}",
    ),
    "an AWS access key": (("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "an AWS secret key": (
        ("aws_se", "AWS_SE", "awsSe", "AwsSe", "AWSSe"),
        (
            r"(?i:aws_?(?:secret_?access_?key|session_?token))[\"']?\s*[=:,]\s*[\"']?"
            r"(?P<key>[A-Za-z0-9/+=]{40,})"
        ),
    ),
    "a GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}",
    ),
    "a GitLab token": (("glpat-",), r"\bglpat-[A-Za-z0-9_\-]{20,}"),
    "an OpenAI key": (("sk-",), r"\bsk-[A-Za-z0-9_\-]{20,}"),
    "a Google API key": (("AIza",), r"\bAIza[A-Za-z0-9_\-]{35}"),
    "an NVIDIA key": (("nvapi-",), r"\bnvapi-[A-Za-z0-9_\-]{20,}"),
    "a Slack token": (("xox",), r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}"),
    "a PyPI token": (("pypi-AgE",), r"\bpypi-AgE[A-Za-z0-9_\-]{20,}"),
    "a private key": (
        ("PRIVATE KEY",),
        (
            r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?![\"'`])"
            r"(?:(?!-----END)[\s\S])*"
        ),
    ),
    "a password in an address": (
        ("://",),
        r"://[^\s:/@\"']{0,200}:(?P<password>[^\s/?#,\"']{1,2000})@",
    ),
}
# Documentation's stand-ins, and references that something fills in later.
_STAND_IN = (
    r"(?i)your|example|placeholder|changeme|redacted|x{8}|\*{3}|\.{3}|^[$<{]|\$\{|%[(s]"
)
_WORDS = r"[a-z]{1,15}(?:[-_][a-z]{1,15}){2,}"
_PASSWORDS = ("password", "pass", "passwd", "pwd", "token", "secret", "key")
# What no address may hold, and a pattern that looks for one does.
_IN_PATTERNS = r"[\[\]^\\|]"
_REFERENCE = r"\{\{resolve:[^}]*\}\}"

_LONGEST_NAME = 63
# S3 user guide, "General purpose bucket naming rules". Aliases of access points go in
# their place, so that the reserved endings of names are not held here.
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.))*[a-z0-9]\Z|[a-z0-9]\Z")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+\Z")


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """
    Return the known names most like the given one, best first.
    """
    names = tuple(names)
    if len(name) > _LONGEST * max(map(len, names), default=0):
        return []
    return list(_nearest(name, names, count))


def any_of(names: Iterable[str]) -> str:
    """
    Join names as a sentence does: ``a, b or c``.
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}" if rest else last


def counted(count: float, one: str, many: str | None = None) -> str:
    """
    Write how many there are: ``1 copy``, ``2 copies``.
    """
    number = f"{count:g}" if isinstance(count, float) else count
    return f"{number} {one if count == 1 else many or f'{one}s'}"


def kind_of(text: str) -> str | None:
    """
    Return what kind of credential is in a text; ``None`` if there is none.
    """
    return next((kind for kind, _, _ in credentials_in(text)), None)


def redacted(text: str) -> str:
    """
    Return a text with three stars in the place of each credential, and words in that of
    the CDK's placeholders.
    """
    text = told_apart(text)
    kept, read = "", 0
    for _, start, end in sorted(credentials_in(text), key=lambda one: one[1:]):
        if start >= read:
            kept += f"{text[read:start]}***"
        read = max(read, end)
    return kept + text[read:]


def credentials_in(text: str) -> Iterator[tuple[str, int, int]]:
    """
    Return what looks like a credential: its kind, where it begins and where it ends.
    """
    if not _hinted().search(text):
        return
    bare = re.sub(_REFERENCE, lambda found: " " * len(found[0]), text)
    for kind, (hints, form) in _FORMS.items():
        if not any(hint in bare for hint in hints):
            continue
        for found in re.finditer(form, bare):
            group = found.lastgroup or 0
            if not _is_stand_in(found[group], named=bool(found.lastgroup)):
                yield kind, found.start(group), found.end(group)


def without_references(text: str) -> str:
    """
    Return a text without CloudFormation's dynamic references.
    """
    return re.sub(_REFERENCE, "", text)


def bucket_fault(name: str) -> str | None:
    """
    Return the rule that a bucket's name breaks; ``None`` if S3 takes it.
    """
    if is_unresolved(name):
        return None
    if len(name) <= _LONGEST_NAME and _NAME.match(name) and not _ADDRESS.match(name):
        return None
    return (
        f"at most {_LONGEST_NAME} lower-case letters, digits, hyphens and single dots, "
        "with a letter or digit at both ends, and no IP address"
    )


@functools.lru_cache(maxsize=4096)
def _nearest(name: str, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    import difflib  # noqa: PLC0415 - few names are wrong

    # The exact measure takes milliseconds for some hundred names: pairs of letters
    # in common leave it a handful.
    pairs = _pairs(name)
    likely = sorted(names, key=lambda other: -len(pairs & _pairs(other)))[:_LIKELY]
    return tuple(difflib.get_close_matches(name, likely, n=count, cutoff=_LIKENESS))


@functools.cache
def _hinted() -> re.Pattern[str]:
    hints = (hint for hints, _ in _FORMS.values() for hint in hints)
    return re.compile("|".join(map(re.escape, hints)))


def _is_stand_in(value: str, *, named: bool) -> bool:
    if re.search(_STAND_IN, value) or re.fullmatch(_WORDS, value):
        return True
    return named and (
        value.lower() in _PASSWORDS or bool(re.search(_IN_PATTERNS, value))
    )


@functools.lru_cache(maxsize=4096)
def _pairs(name: str) -> frozenset[str]:
    return frozenset(map("".join, itertools.pairwise(name)))
