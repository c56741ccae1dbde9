"""
The tables of the engines' arguments.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import (
    ENGINES,
    Engine,
    all_argument_names,
    argument_names,
    argument_span,
    described_release,
    engine_releases,
    find_argument,
    is_release_between,
    schema_keys,
    spellings,
)

# Counted in the parsers themselves, by running them.
_COUNTED: dict[tuple[Engine, str], int] = {
    ("vllm", "0.11.1"): 200,
    ("vllm", "0.28.0"): 284,
    ("vllm", "0.30.0"): 300,
    ("sglang", "0.5.17"): 474,
}
# It went for one release, and came back.
_ABSENT = {("speculative-dflash-draft-window-size", "0.5.12")}


@pytest.mark.parametrize(("engine", "release"), _COUNTED)
def test_counts(engine: Engine, release: str) -> None:
    """
    A release has as many arguments as its parser.
    """
    assert len(argument_names(engine, release)) == _COUNTED[engine, release]


@pytest.mark.parametrize("engine", ENGINES)
def test_spans(engine: Engine) -> None:
    """
    An argument is known from its first release to its last, and not beside them.
    """
    releases = engine_releases(engine)
    for name in all_argument_names(engine):
        first, last = argument_span(engine, name)
        for release in releases:
            known = find_argument(engine, name, release)
            within = is_release_between(release, first, last)
            missing = (name, release) in _ABSENT
            assert (known is not None) == (within and not missing)


def test_history() -> None:
    """
    A later row changes what it names, and nothing else.
    """
    old = find_argument("vllm", "max-model-len", "0.7.1")
    middle = find_argument("vllm", "max-model-len", "0.13.0")
    new = find_argument("vllm", "max-model-len", "0.14.0")
    assert old is not None
    assert middle is not None
    assert new is not None
    assert (old.kind, middle.kind, new.kind) == (
        "int",
        "human_int",
        "human_int_or_auto",
    )
    assert (old.bounds, middle.bounds, new.bounds) == ({}, {"gt": 0}, {"ge": -1})


def test_choices_come_and_go() -> None:
    """
    Values are added and taken away; what the parser no longer checks is only known.
    """
    checked = find_argument("vllm", "quantization", "0.8.4")
    unchecked = find_argument("vllm", "quantization", "0.9.2")
    newest = find_argument("vllm", "quantization", "0.30.0")
    assert checked is not None
    assert unchecked is not None
    assert newest is not None
    assert "nvfp4" in checked.choices
    assert unchecked.choices == ()
    assert "bitsandbytes" in unchecked.known_values
    assert "bitsandbytes" not in newest.known_values
    assert "fp8_per_channel" in newest.known_values


@pytest.mark.parametrize("release", ["0.5.20", "0.5.21", "0.5.22", "0.5.23"])
def test_parsers_of_sglang(release: str) -> None:
    """
    From 0.5.21 on their names are in a module of their own, and still checked.
    """
    tools = find_argument("sglang", "tool-call-parser", release)
    reasoning = find_argument("sglang", "reasoning-parser", release)
    assert tools is not None
    assert reasoning is not None
    assert {"auto", "qwen25", "deepseekv3"} <= set(tools.choices)
    assert {"auto", "qwen3", "gpt-oss"} <= set(reasoning.choices)
    newer = release in {"0.5.21", "0.5.22", "0.5.23"}
    assert ("deepseekv41" in tools.choices) is newer
    assert ("beam" in reasoning.choices) is (release == "0.5.23")


def test_spellings() -> None:
    """
    Other spellings lead to the long name.
    """
    assert spellings("sglang", "0.5.19")["--tensor-parallel-size"] == "tp-size"
    assert spellings("vllm", "0.30.0")["-tp"] == "tensor-parallel-size"
    assert "--no-enforce-eager" not in spellings("vllm", "0.30.0")


@pytest.mark.parametrize(
    ("release", "described"),
    [
        ("0.23.1", "0.23.0"),
        ("0.30.0", "0.30.0"),
        ("0.99.0", "0.33.0"),
        ("0.1.0", "0.6.3.post1"),
        ("0.29.0rc1", "0.29.0"),
    ],
)
def test_described_release(release: str, described: str) -> None:
    """
    A release without rows of its own is read by the newest before it.
    """
    assert described_release("vllm", release) == described


def test_schema_keys() -> None:
    """
    A configuration's keys are checked from the release on that refuses others.
    """
    assert schema_keys("SpeculativeConfig", "0.15.1") is None
    known = schema_keys("SpeculativeConfig", "0.16.0")
    assert known is not None
    assert "parallel_drafting" in known
    assert "acceptance_method" not in known
    assert schema_keys("Unheard", "0.30.0") is None


@pytest.mark.parametrize("release", engine_releases("sglang"))
def test_what_a_deprecated_switch_does_takes_no_value(release: str) -> None:
    """
    Whatever it stands for: ``--monokernel-backend`` has a choice, and takes none.
    """
    names = argument_names("sglang", release)
    found = filter(None, (find_argument("sglang", name, release) for name in names))
    switches = [one for one in found if str(one.action).startswith("DeprecatedStore")]

    assert all(one.is_switch and not one.takes_several for one in switches)
