"""
Large Model Inference (LMI): the versions of its images and how they compare, and which
options and variables each version and backend knows.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cdk_sagemaker_llm.catalog._data import load

# From this version on vLLM's own arguments pass through (VllmRbProperties).
ARGUMENTS_SINCE = "0.32"
_FIRST_DOCUMENTED = "0.26"
# Arguments of vLLM 0.8 were read from its source, which LMI 0.33 ships; the newer
# list is from a fork, and says of no name for certain that it is missing.
_VERIFIED_ARGUMENTS = {"0.32", "0.33"}

_FORM = re.compile(r"0\.(\d+)(?:\.(\d+))?(?:-lmi(\d+)(?:\.\d+)*)?\Z")
# The SageMaker SDK's 0.36.0 is this tag; the releases before share the number.
_LMI_OF_0_36 = 27


@functools.lru_cache(maxsize=4096)
def option_type(backend: str, key: str, version: LmiVersion) -> OptionType | None:
    """
    Return how a backend reads an option; ``None`` where its property model has none.
    """
    for row in reversed(version.rows):
        found = _model_type(backend, key, row) or _documented_type(backend, key, row)
        if found is not None:
            return found
    return None


@functools.lru_cache(maxsize=4096)
def front_end_type(key: str) -> OptionType | None:
    """
    Return how the Java server itself reads a key; ``None`` where it does not.
    """
    row = _tables()["server"].get(key) or _tables()["front_end"].get(key)
    return OptionType(kind=row["type"]) if row else None


class OptionType(NamedTuple):
    """
    How one version reads an option's value.

    Args:
        kind: ``int``, ``float``, ``bool``, ``str``, ``enum``, ``int-enum``,
            ``int-or-max``, ``int-list``, ``counts``, ``floats``, ``dict``, ``any``,
            or ``none`` and ``callable``, which no text can be.

        documented_only: Whether this is the documentation's word alone, because the
            reader's source is closed.

        above: The number that a value must exceed, by the documentation.

        range: The least and the largest value, by the documentation.
    """

    kind: str
    choices: tuple[str, ...] = ()
    documented_only: bool = False
    above: float | None = None
    range: tuple[float, float] | None = None


def is_known(key: str, backends: Iterable[str], version: LmiVersion) -> bool:
    """
    Whether one of the backends, or the server, reads a key at a version.
    """
    return _is_known(key, frozenset(backends), version)


@functools.lru_cache(maxsize=4096)
def option_spans(key: str) -> tuple[Span, ...]:
    """
    Return where a key is known, or was, oldest first; empty for an unknown key.
    """
    tables = _tables()
    found = []
    row = tables["server"].get(key) or tables["front_end"].get(key)
    if row:
        first = row.get("since", row_versions()[0])
        found.append(Span("server", first, row.get("until")))
    entry = tables["trtllm_documented"].get(key)
    if entry:
        found.append(Span("trtllm", entry["since"], entry.get("until")))
    for backend, rows in tables["backends"].items():
        row = rows.get(key, {})
        spans, documented = row.get("history"), row.get("documented")
        if spans is None and documented:
            # The documentation that was read begins with 0.26, which does not say that
            # the option did.
            first = documented["from"]
            first = row_versions()[0] if first == _FIRST_DOCUMENTED else first
            spans = [{"from": first, "to": documented["to"]}]
        spans = [*(spans or ()), *_aliases(backend, key)]
        found += [Span(backend, one["from"], one["to"]) for one in spans]
    return tuple(sorted(found, key=lambda span: row_versions().index(span.first)))


class Span(NamedTuple):
    """
    The versions in which a backend knows an option; ``last`` is open when ``None``.
    """

    backend: str
    first: str
    last: str | None

    def covers(self, version: str) -> bool:
        """
        Whether a version of the tables lies within.
        """
        order = row_versions()
        last = order[-1] if self.last not in order else self.last
        at = order.index(version)
        return order.index(self.first) <= at <= order.index(str(last))


@functools.cache
def option_names() -> tuple[str, ...]:
    """
    Return every key that some version reads.
    """
    tables = _tables()
    names = {*tables["server"], *tables["front_end"], *tables["trtllm_documented"]}
    for rows in tables["backends"].values():
        names |= set(rows)
    return tuple(sorted(names))


@functools.lru_cache(maxsize=4096)
def deprecated_since(key: str) -> str | None:
    """
    Return the version that deprecated a key, by the documentation.
    """
    for rows in _tables()["backends"].values():
        since: str | None = rows.get(key, {}).get("deprecated")
        if since:
            return since
    return None


def engine_argument_state(name: str, version: LmiVersion) -> str:
    """
    Say whether vLLM takes an argument: ``known``, ``doubtful`` or ``unknown``.

    Doubtful is what the older list has and the newer, unverified one has not, where
    the table of the release inside does not have it either.
    """
    if version.vllm is not None:
        from cdk_sagemaker_llm.catalog.engine_arguments import find_argument  # noqa: PLC0415 - reads a table

        if find_argument("vllm", name.replace("_", "-"), version.vllm):
            return "known"
    old, new = _arguments("0.8"), _arguments("0.23")
    if version.rows[0] in _VERIFIED_ARGUMENTS:
        return "known" if name in old else "unknown"
    if name in new:
        return "known"
    return "doubtful" if name in old else "unknown"


@functools.cache
def engine_arguments() -> frozenset[str]:
    """
    Return the names of vLLM's arguments in all versions.
    """
    return _arguments("0.8") | _arguments("0.23")


class LmiVersion(NamedTuple):
    """
    A version such as ``0.26.0``, or ``0.36.0-lmi27`` where a number has several.

    Compare with another one, or ask ``at_least("0.28")``.
    """

    minor: int
    lmi: int = 0

    @classmethod
    def parse(cls, text: str) -> LmiVersion:
        """
        Read a version as the image catalogue writes it, or raise ``ValueError``.
        """
        match = _FORM.match(text)
        if match is None:
            raise ValueError(
                f"version must be an LMI version such as '0.26.0' or '0.36.0-lmi27', "
                f"got {text!r}"
            )
        minor = int(match[1])
        unnamed = _LMI_OF_0_36 if minor == 36 and match[2] else 0  # noqa: PLR2004 - 0.36
        return cls(minor, int(match[3]) if match[3] else unnamed)

    def at_least(self, text: str) -> bool:
        """
        Whether this is that minor version, such as ``0.28``, or a later one.
        """
        return self.minor >= int(text.split(".")[1])

    def before(self, text: str) -> bool:
        """
        Whether this is older than that minor version.
        """
        return not self.at_least(text)

    @property
    def is_described(self) -> bool:
        """
        Whether the option tables reach as far as this version.
        """
        return self.minor <= int(row_versions()[-1].split("-")[0].split(".")[1])

    @property
    def rows(self) -> tuple[str, ...]:
        """
        The versions of the option tables that describe this one, oldest first.

        Two where the tables describe only the ends of a range of releases; none
        where they say nothing. A release after the last of them is read by it.
        """
        versions = row_versions()
        if not self.is_described:
            return (versions[-1],)
        if self.minor == 36:  # noqa: PLR2004 - the one number with several releases
            if self.lmi >= _LMI_OF_0_36:
                return (versions[-1],)
            return (versions[-2],) if self.lmi <= 18 else versions[-2:]  # noqa: PLR2004
        name = f"0.{self.minor}"
        return (name,) if name in versions else ()

    @property
    def vllm(self) -> str | None:
        """
        The vLLM release inside, such as ``0.10.2``; ``None`` before there was one.
        """
        releases = load("lmi_engines.json")["vllm"]
        inside = [
            vllm
            for name, vllm in releases.items()
            if LmiVersion.parse(_full(name)) <= self
        ]
        return inside[-1] if inside else None

    @property
    def lmi_dist(self) -> str | None:
        """
        The LMI-Dist release inside, such as ``13.0.0``; ``None`` where there is none.
        """
        found: str | None = load("lmi_engines.json")["lmi_dist"].get(f"0.{self.minor}")
        return found

    def __str__(self) -> str:
        """
        Render as the option tables and the documentation do.
        """
        return f"0.{self.minor}" + (f"-lmi{self.lmi}" if self.lmi else "")


class LmiVariable(NamedTuple):
    """
    A variable by name: which property it sets, if any, and which minor versions read
    it, the last one empty if the newest does.

    Args:
        for_gpus: Whether only the images for GPUs read it.

        instead: What to write where it is not read.
    """

    name: str
    key: str = ""
    first: str = "0.25"
    last: str = ""
    for_gpus: bool = False
    instead: str = ""

    def is_read(self, container: str, version: LmiVersion) -> bool:
        """
        Whether an image of that version reads it.
        """
        if self.for_gpus and container == "djl-neuronx":
            return False
        return version.at_least(self.first) and not self.is_past(version)

    def is_past(self, version: LmiVersion) -> bool:
        """
        Whether the last version that read it is over.
        """
        return bool(self.last) and version > LmiVersion.parse(f"{self.last}.0")


@functools.cache
def lmi_variables(*groups: str) -> tuple[LmiVariable, ...]:
    """
    Return the variables that LMI images read beside ``OPTION_...``: of some groups, as
    the table explains them, or all.
    """
    table = load("lmi_variables.json")["variables"]
    return tuple(
        LmiVariable(**row) for group in groups or table for row in table[group]
    )


@functools.cache
def server_numbers() -> tuple[str, ...]:
    """
    Return the variables that the LMI server reads as numbers when it starts.
    """
    return tuple(load("lmi_variables.json")["numbers"])


@functools.cache
def server_settings() -> frozenset[str]:
    """
    Return the variables that the LMI server, its plugins and its start script read.
    """
    names = load("lmi_variables.json")["settings"]
    return frozenset(f"SERVING_{name}" for name in names).union(server_numbers())


def lmi_models() -> Mapping[str, Any]:
    """
    Return which models LMI's backends are known to take; the table explains its keys.
    """
    return load("lmi_models.json")


def row_versions() -> tuple[str, ...]:
    """
    Return the versions that the option tables describe, oldest first.
    """
    return tuple(load("lmi_options.json")["versions"])


def _model_type(backend: str, key: str, row: str) -> OptionType | None:
    rows = _tables()["backends"].get(backend, {})
    entries = [*rows.get(key, {}).get("history", ()), *_aliases(backend, key)]
    for entry in entries:
        if Span(backend, entry["from"], entry["to"]).covers(row):
            choices = tuple(str(choice) for choice in entry.get("choices", ()))
            return OptionType(kind=entry["type"], choices=choices)
    return None


def _documented_type(backend: str, key: str, row: str) -> OptionType | None:
    if backend != "trtllm":
        return None
    entry = _tables()["trtllm_documented"].get(key)
    if not entry or not Span(backend, entry["since"], entry.get("until")).covers(row):
        return None
    return OptionType(
        kind=entry["type"],
        choices=tuple(entry.get("choices", ())),
        documented_only=True,
        above=entry.get("above"),
        range=tuple(entry["range"]) if "range" in entry else None,
    )


def _tables() -> Mapping[str, Any]:
    return load("lmi_options.json")


@functools.lru_cache(maxsize=4096)
def _is_known(key: str, backends: frozenset[str], version: LmiVersion) -> bool:
    names = {*backends, "common", "server"}
    spans = [span for span in option_spans(key) if span.backend in names]
    return any(span.covers(row) for span in spans for row in version.rows)


def _aliases(backend: str, key: str) -> Sequence[Mapping[str, Any]]:
    return _all_aliases(backend).get(key, ())


@functools.cache
def _arguments(release: str) -> frozenset[str]:
    return frozenset(load("vllm_engine_args.json")[release])


def _full(name: str) -> str:
    minor, dash, lmi = name.partition("-")
    return f"{minor}.0{dash}{lmi}"


@functools.cache
def _all_aliases(backend: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    # By name: names that nobody knows are looked up by the thousand.
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in _tables()["backends"].get(backend, {}).values():
        for entry in row.get("history", ()):
            if "alias" in entry:
                found.setdefault(entry["alias"], []).append(entry)
    return found
