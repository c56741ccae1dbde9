"""
The variables of TGI, as its launcher and its entry point read them, and the checks of
each by itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.catalog.tgi import (
    TgiOption,
    find_tgi_option,
    is_between,
    tgi_aliases,
    tgi_flags,
    tgi_option_names,
    tgi_option_span,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.parameters import (
    FORWARDED_TOKEN,
    HUB_TOKEN,
    NO_WEIGHTS,
    ROUTER_TOKEN,
    TOKEN_VARIABLES,
    gated_findings,
    repository_findings,
)
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

OPTIONS = "launcher/src/main.rs of TGI"
LAUNCHER = f"ArgumentValidation in {OPTIONS}"
ENTRY_POINT = "sagemaker-entrypoint.sh of TGI"
MODELS = "server/text_generation_server/models of TGI"
_LARGEST = {"usize": 2**64 - 1, "u64": 2**64 - 1, "u32": 2**32 - 1, "u16": 2**16 - 1}
# ASCII alone: Python's own \d and int() take digits of every script.
_INTEGER = re.compile(r"(?:\+?[0-9]+|-0+)\Z")
_FLOAT = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\Z",
    re.IGNORECASE,
)
# More digits than 64 bits can have, leading zeros aside.
_LONGEST = 40


def value_fault(option: TgiOption, value: str) -> str | None:
    """
    Say what a value must be and is not; ``None`` if the launcher can read it.
    """
    if option.kind in _LARGEST:
        return _integer_fault(value, _LARGEST[option.kind])
    if option.kind == "choice":
        return None if value in option.choices else any_of(option.choices)
    if option.kind == "usize-list":
        wrong = any(_integer_fault(v, _LARGEST["usize"]) for v in value.split(","))
        return "whole numbers joined by commas, such as 1,2,4" if wrong else None
    if option.kind == "bool":
        return None if value in ("true", "false") else "true or false"
    if option.kind == "f32":
        return None if _FLOAT.match(value) else "a number"
    return None


def as_count(value: str | None) -> int | None:
    """
    Read a whole number; ``None`` if it is left out or the launcher cannot read it.
    """
    if value is None or _integer_fault(value, _LARGEST["usize"]):
        return None
    return int(value)


def as_number(value: str | None) -> float | None:
    """
    Read a floating-point number; ``None`` if it is left out or cannot be read.
    """
    return float(value) if value is not None and _FLOAT.match(value) else None


def _integer_fault(value: str, largest: int) -> str | None:
    if not _INTEGER.match(value):
        return "a whole number of at least 0"
    fits = len(value) <= _LONGEST and int(value) <= largest
    return None if fits else f"at most {largest}"


@dataclass(frozen=True, slots=True)
class TgiSubject:
    """
    A container's environment, and which version of TGI reads it.

    Args:
        accelerators: Devices that each copy of the model has; ``None`` if not known.

        words: What the user calls a variable, where that is not its name.

        unchecked: Variables that the user wants no check of.
    """

    environment: Mapping[str, str]
    version: str
    accelerators: int | None
    words: Mapping[str, str] = field(default_factory=dict)
    unchecked: Collection[str] = ()
    attention_heads: int | None = None

    def word(self, variable: str) -> str:
        """
        Return what the user calls a variable of the launcher.
        """
        written = self.written(variable)
        return self.words.get(written, written)

    def written(self, variable: str) -> str:
        """
        Return under which name a variable of the launcher is set.

        SageMaker's entry point copies its own name over the launcher's.
        """
        for alias, native in tgi_aliases().items():
            # The entry point tests for a text that is not empty.
            if native == variable and self.environment.get(alias):
                return alias
        return variable

    def value(self, variable: str) -> str | None:
        """
        Return what the launcher reads; ``None`` if it is left out, not for this
        version, or known only at deployment.
        """
        return self.raw(self.written(variable)) if self.knows(variable) else None

    def raw(self, name: str) -> str | None:
        """
        Return a variable as written; ``None`` if it is left out or a placeholder.
        """
        value = self.environment.get(name)
        hidden = value is None or name in self.unchecked or is_unresolved(value)
        return None if hidden else value

    def count(self, variable: str) -> int | None:
        """
        Return a variable as a whole number; ``None`` if it is left out or none.
        """
        return as_count(self.value(variable))

    def count_or_default(self, variable: str) -> int | None:
        """
        Return a variable, or else the number this version itself starts with.
        """
        if self.is_left_out(variable):
            option = find_tgi_option(variable, self.version)
            return as_count(option.default) if option else None
        return self.count(variable)

    def is_left_out(self, variable: str) -> bool:
        """
        Whether nothing sets a variable, under either name.
        """
        return self.written(variable) not in self.environment

    def knows(self, variable: str) -> bool:
        """
        Whether this version reads a variable of the launcher.
        """
        return find_tgi_option(variable, self.version) is not None

    def is_between(self, first: str, last: str | None = None) -> bool:
        """
        Whether a rule of these versions is one of this version.
        """
        return is_between(self.version, first, last)


_TOKENS = (*TOKEN_VARIABLES, FORWARDED_TOKEN)
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

WEIGHTS_ON_S3 = Rule("LLM173", "TGI is given weights on S3 as its model", ENTRY_POINT)
UNEVEN_SHARDS = Rule(
    "LLM177", "TGI's shards do not divide the model's attention heads", MODELS
)
UNREAD_TOKEN = Rule(
    "LLM263",
    "the token stands where TGI up to 2.0.2 does not read it",
    "router/src/main.rs of TGI",
)
TWO_TOKENS = Rule(
    "LLM264",
    "two token variables of TGI hold different tokens",
    "launcher and router of TGI, which read one or the other",
)
UNKNOWN_OPTION = Rule("LLM160", "an option is none of TGI's launcher", OPTIONS)
NOT_AT_THIS_VERSION = Rule(
    "LLM161", "an option is not yet known to this version of TGI", OPTIONS
)
NO_MORE_KNOWN = Rule(
    "LLM222", "a variable that an older version of TGI knew is ignored", OPTIONS
)
UNREADABLE_VALUE = Rule(
    "LLM162",
    "TGI's launcher cannot read a value, by type, range or choices",
    "the parsers of clap 4",
)
OVERRIDDEN = Rule(
    "LLM260", "SageMaker's name of a setting overrides TGI's own", ENTRY_POINT
)
MISSPELT = Rule(
    "LLM261", "a variable is almost one of TGI's, which ignores it", OPTIONS
)
OTHER_PORT = Rule("LLM262", "TGI is given another port than SageMaker's", ENTRY_POINT)


def model_id_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    HF_MODEL_ID is set; the entry point exits without it.
    """
    if not subject.environment.get("HF_MODEL_ID"):
        yield NO_WEIGHTS.finding("model is missing: TGI needs HF_MODEL_ID")


def model_address_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    HF_MODEL_ID is a Hub id or a local path (the launcher's help).
    """
    model = subject.raw("HF_MODEL_ID") or ""
    if model.startswith("s3://"):
        yield WEIGHTS_ON_S3.finding(
            f"HF_MODEL_ID must be a Hugging Face repository or a path, got {model!r}",
            "let SageMaker bring the weights: S3Model puts them into /opt/ml/model",
        )


def hub_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The Hub can have what HF_MODEL_ID and HF_MODEL_REVISION name.
    """
    names = ("HF_MODEL_ID", "HF_MODEL_REVISION")
    model, revision = ({subject.word(name): subject.raw(name)} for name in names)
    yield from repository_findings(model, revision)


def head_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The shards divide the attention heads (num_heads and num_shards in TGI's models).
    """
    heads, shards = subject.attention_heads, subject.count("NUM_SHARD")
    if subject.is_left_out("NUM_SHARD") and subject.value("SHARDED") != "false":
        # The launcher takes all that it sees.
        shards = subject.accelerators
    if not heads or not shards or heads % shards == 0:
        return
    yield uneven_heads(UNEVEN_SHARDS, subject.word("NUM_SHARD"), heads, shards)


def token_name_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    Up to 2.0.2 the router reads HUGGING_FACEHUB_TOKEN alone.
    """
    present = _present(subject)
    if subject.is_between("0.6.0", "2.0.2") and present == {HUB_TOKEN}:
        yield UNREAD_TOKEN.finding(
            f"the router of TGI {subject.version} does not read {HUB_TOKEN}: it "
            "cannot fetch the tokenizer of a gated model",
            f"set {ROUTER_TOKEN} as well",
        )


def two_tokens_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    Two token variables hold one token, for parts read different ones.
    """
    first, second = subject.raw(HUB_TOKEN), subject.raw(ROUTER_TOKEN)
    if first and second and first != second:
        yield TWO_TOKENS.finding(
            f"{HUB_TOKEN} and {ROUTER_TOKEN} differ, and parts of TGI read one or "
            "the other",
            "set both to the same token",
        )


def gated_model_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    A model that is known to be gated comes with a token.
    """
    model = subject.raw("HF_MODEL_ID") or ""
    yield from gated_findings(model, has_token=bool(_present(subject)))


def _present(subject: TgiSubject) -> set[str]:
    values = {name: subject.environment.get(name) for name in _TOKENS}
    return {name for name, value in values.items() if value or is_unresolved(value)}


def launcher_variables() -> tuple[str, ...]:
    """
    Return every variable that the image reads at some version, under either name.
    """
    return (*tgi_option_names(), *tgi_aliases())


def option_name_findings(names: Iterable[str], options: Iterable[str]) -> list[Finding]:
    """
    A name given as an option is one of the launcher's.
    """
    there, found = tuple(options), []
    for name in names:
        if name in there:
            continue
        if name in tgi_flags():
            message = f"{name} has no variable, and the image passes no arguments"
            remedy = "leave it out"
        else:
            near = nearest(name.upper(), there, count=1)
            message = f"{name} is no option of TGI's launcher"
            meant = f"write {near[0]}, or " if near else ""
            remedy = f"{meant}pass it in unchecked_options if something else reads it"
        found.append(UNKNOWN_OPTION.finding(message, remedy))
    return found


def version_findings(subject: TgiSubject) -> Iterator[Finding]:
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


def value_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The launcher can read each value (clap's parsers).
    """
    for name in _checked(subject):
        option = find_tgi_option(tgi_aliases().get(name, name), subject.version)
        value = subject.raw(name)
        # The entry point copies no empty text.
        if option is None or value is None or (name in tgi_aliases() and not value):
            continue
        fault = value_fault(option, value)
        if fault:
            near = nearest(value, option.choices, count=1)
            yield UNREADABLE_VALUE.finding(
                f"{_word(subject, name)} must be {fault}, got {value!r}",
                f"did you mean {near[0]}?" if near else "",
            )


def overriding_findings(subject: TgiSubject) -> Iterator[Finding]:
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


def spelling_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    A variable that is almost a known one is ignored.
    """
    names = launcher_variables()
    for name in _checked(subject):
        if name not in names:
            near = _like_known(name)
            if near:
                yield MISSPELT.finding(
                    f"{name} is no variable of TGI's launcher: it is ignored",
                    f"did you mean {near[0]}?",
                )


@functools.cache
def _like_known(name: str) -> list[str]:
    import difflib  # noqa: PLC0415 - few names are wrong

    return difflib.get_close_matches(name.upper(), launcher_variables(), 1, _MISTYPED)


def port_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The image always listens on SageMaker's port (sagemaker-entrypoint.sh).
    """
    port = subject.value("PORT")
    if as_count(port) is not None and port != _PORT:
        yield OTHER_PORT.finding(
            f"PORT={port} has no effect: the image listens on {_PORT}"
        )


def _checked(subject: TgiSubject) -> Iterator[str]:
    for name in subject.environment:
        if name not in subject.unchecked:
            yield name


def _word(subject: TgiSubject, name: str) -> str:
    return subject.words.get(name, name)
