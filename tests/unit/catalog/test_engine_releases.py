"""
What is inside the engines' images.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.engine_arguments import Engine, engine_releases
from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    cuda_inside,
    engine_families,
    find_engine_release,
    is_rolling,
    pinned_version,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS

FAMILIES = load("engine_releases.json")["families"]
ROWS = [(family, v) for family, row in FAMILIES.items() for v in row["versions"]]


def test_a_release_is_described_whole() -> None:
    """
    Without the part of its number that is the build's own.
    """
    assert find_engine_release("vllm-server", "2.6") == EngineRelease(
        family="vllm-server",
        version="2.6",
        engine="vllm",
        engine_version="0.30.0",
        cuda="13.0",
        rule="vllm-C",
        rules=("vllm-C",),
        routes=True,
        os="amzn2023",
        is_rolling=False,
        gpu_architectures=(
            "7.0",
            "7.5",
            "8.0",
            "8.6",
            "8.9",
            "9.0",
            "10.0",
            "10.3",
            "12.0",
        ),
    )


@pytest.mark.parametrize(
    ("family", "version", "engine", "release", "cuda", "rule", "os"),
    [
        ("vllm", "0.30.0", "vllm", "0.30.0", "13.0", "vllm-C", "ubuntu24.04"),
        ("vllm", "0.28.0", "vllm", "0.28.0", "13.0", "vllm-C", "ubuntu24.04"),
        ("vllm", "0.26.0", "vllm", "0.26.0", "13.0", "vllm-B2", "ubuntu22.04"),
        ("vllm", "0.19.1", "vllm", "0.19.1", "12.9", "vllm-B0", "ubuntu22.04"),
        ("vllm", "0.13.0", "vllm", "0.13.0", "12.9", "vllm-A", "ubuntu22.04"),
        ("vllm-server", "1.2", "vllm", "0.20.0.dev60", "12.9", "vllm-B0", "amzn2023"),
        ("vllm-server", "2.1", "vllm", "0.24.0", "13.0", "vllm-B2", "amzn2023"),
        ("vllm-server", "2", "vllm", None, "13.0", "vllm-C", "amzn2023"),
        (
            "huggingface-vllm",
            "0.21.0",
            "vllm",
            "0.21.0",
            "13.0",
            "hf-vllm-A",
            "ubuntu22.04",
        ),
        (
            "huggingface-vllm",
            "0.29.0",
            "vllm",
            "0.29.0",
            "13.0",
            "hf-vllm-B",
            "ubuntu24.04",
        ),
        ("sglang", "0.5.20", "sglang", "0.5.20", "13.0", "sglang-B", "ubuntu24.04"),
        ("sglang", "0.5.5", "sglang", "0.5.5", "12.9", "sglang-A", "ubuntu22.04"),
        ("sglang-server", "1.4", "sglang", "0.5.19", "13.0", "sglang-B", "amzn2023"),
        (
            "huggingface-sglang",
            "0.5.8",
            "sglang",
            "0.5.8",
            "12.9",
            "sglang-A",
            "ubuntu24.04",
        ),
        (
            "vllm-omni",
            "1.5",
            "vllm-omni",
            "0.26.0",
            "13.0",
            "vllm-B-nosup",
            "amzn2023",
        ),
        (
            "vllm-omni",
            "1.8",
            "vllm-omni",
            "0.29.0rc1",
            "13.0",
            "vllm-C-nosup",
            "amzn2023",
        ),
        ("llama-cpp", "1.0.1", "llama.cpp", None, "13.0", "llama-cpp", "amzn2023"),
        ("llama-cpp-cpu", "1.0.1", "llama.cpp", None, None, "llama-cpp", "amzn2023"),
        ("llama-cpp-arm64", "1.0", "llama.cpp", None, None, "llama-cpp", "amzn2023"),
        (
            "huggingface-llamacpp",
            "b9522",
            "llama.cpp",
            "b9522",
            "13.0",
            "hf-llama-cpp",
            "ubuntu24.04",
        ),
        (
            "huggingface-vllm-neuronx",
            "0.4.1",
            "vllm-neuron",
            "0.10.2",
            None,
            "neuron",
            "ubuntu22.04",
        ),
        ("tei", "1.8.2", "tei", "1.8.2", "12.2", None, "ubuntu22.04"),
        ("tei-cpu", "1.9.3", "tei", "1.9.3", None, None, "ubuntu24.04"),
    ],
)
def test_each_family(
    family: str,
    version: str,
    engine: str,
    release: str | None,
    cuda: str | None,
    rule: str | None,
    os: str,
) -> None:
    """
    One engine and one rule each, by its version.
    """
    found = find_engine_release(family, version)

    assert found is not None
    assert (found.engine, found.engine_version, found.cuda) == (engine, release, cuda)
    assert (found.rule, found.os) == (rule, os)


@pytest.mark.parametrize(("family", "version"), ROWS)
def test_every_rule_is_one_of_the_entry_points(family: str, version: str) -> None:
    """
    TEI has none, and Ray Serve is no engine.
    """
    found = find_engine_release(family, version)
    has_rules = family not in {"tei", "tei-cpu", "ray-serve", "ray-serve-cpu"}
    rules = found.rules if found else ()

    assert (found is None) == family.startswith("ray-serve")
    assert bool(rules) == has_rules
    assert set(rules) <= set(ENTRY_POINTS)


@pytest.mark.parametrize(
    ("family", "version", "rules"),
    [
        ("vllm", "0.17.1", ("vllm-A", "vllm-B0")),
        ("vllm", "0.18.0", ("vllm-B0",)),
        ("vllm", "0.20.1", ("vllm-B1", "vllm-B0")),
        ("vllm", "0.20.2", ("vllm-B1",)),
        ("vllm", "0.23.0", ("vllm-B1", "vllm-B2")),
        ("vllm", "0.27.1", ("vllm-B2", "vllm-C")),
        ("vllm-server", "2.0", ("vllm-B1", "vllm-B2")),
        ("sglang", "0.5.9", ("sglang-A", "sglang-B")),
        ("huggingface-vllm", "0.22.1", ("hf-vllm-B", "vllm-B1")),
        ("huggingface-vllm", "0.27.1", ("hf-vllm-B",)),
        ("huggingface-vllm", "0.28.0", ("hf-vllm-B", "vllm-C")),
    ],
)
def test_where_the_day_of_the_build_decides_both_rules_are_named(
    family: str, version: str, rules: tuple[str, ...]
) -> None:
    """
    The one to write for is the first.
    """
    found = find_engine_release(family, version)

    assert found is not None
    assert (found.rule, found.rules) == (rules[0], rules)


@pytest.mark.parametrize(
    ("family", "version"),
    [
        ("djl-lmi", "0.36.0"),
        ("huggingface-llm", "3.3.6"),
        ("custom", "1"),
        ("vllm", "0.1"),
        ("ray-serve", "1.2"),
    ],
)
def test_of_others_nothing_is_said(family: str, version: str) -> None:
    """
    Neither of LMI and TGI, which have tables of their own, nor of what is not there.
    """
    assert find_engine_release(family, version) is None
    assert not is_rolling(family, version)
    assert pinned_version(family, version) == version


def test_families_with_an_engine() -> None:
    """
    Ray Serve hosts applications: only its CUDA version is known.
    """
    assert engine_families() == (
        "vllm",
        "vllm-server",
        "huggingface-vllm",
        "sglang",
        "sglang-server",
        "huggingface-sglang",
        "vllm-omni",
        "huggingface-vllm-omni",
        "huggingface-llamacpp",
        "huggingface-llamacpp-cpu",
        "llama-cpp",
        "llama-cpp-cpu",
        "llama-cpp-arm64",
        "huggingface-vllm-neuronx",
        "tei",
        "tei-cpu",
    )
    assert cuda_inside("ray-serve", "1.4") == "12.9"
    assert cuda_inside("ray-serve-cpu", "1.4") is None
    assert cuda_inside("djl-lmi", "0.36.0") is None


@pytest.mark.parametrize(
    ("family", "version", "pinned"),
    [
        ("vllm-server", "2", "2.6"),
        ("vllm-server", "1", "1.4"),
        ("sglang-server", "1", "1.4"),
        ("vllm-omni", "1", "1.8"),
        ("llama-cpp", "1", "1.0.1"),
        ("llama-cpp-cpu", "1.0", "1.0.1"),
        ("llama-cpp-arm64", "1", "1.0.1"),
        ("ray-serve", "1", "1.4"),
    ],
)
def test_a_rolling_version_has_one_that_stays(
    family: str, version: str, pinned: str
) -> None:
    """
    The newest that it may stand for.
    """
    assert is_rolling(family, version)
    assert not is_rolling(family, pinned)
    assert pinned_version(family, version) == pinned
    assert pinned_version(family, pinned) == pinned


def test_no_other_version_rolls() -> None:
    """
    A minor version gets fixes under its tag, and no newer engine.
    """
    rolling = {row for row in ROWS if is_rolling(*row)}

    assert {version for _, version in rolling} == {"1", "1.0", "2"}
    assert {f for f, v in rolling if v == "1.0"} == {
        "llama-cpp",
        "llama-cpp-cpu",
        "llama-cpp-arm64",
    }


def test_architectures_are_those_the_image_is_built_for() -> None:
    """
    And not said where they are not known.
    """
    known = {
        (family, version): find_engine_release(family, version)
        for family, version in (
            ("sglang-server", "1.4"),
            ("vllm-server", "2.2"),
            ("tei", "1.9.3"),
            ("vllm-server", "2"),
            ("vllm", "0.30.0"),
        )
    }
    told = {row: found and found.gpu_architectures for row, found in known.items()}

    assert told == {
        ("sglang-server", "1.4"): ("9.0", "10.0", "10.3"),
        ("vllm-server", "2.2"): (
            "7.0",
            "7.5",
            "8.0",
            "8.6",
            "8.9",
            "9.0",
            "10.0",
            "12.0",
        ),
        ("tei", "1.9.3"): (
            "7.5",
            "8.0",
            "8.6",
            "8.7",
            "8.9",
            "9.0",
            "10.0",
            "12.0",
        ),
        ("vllm-server", "2"): None,
        ("vllm", "0.30.0"): None,
    }


@pytest.mark.parametrize(
    ("engine", "families"),
    [
        ("vllm", ["vllm", "vllm-server", "huggingface-vllm"]),
        ("sglang", ["sglang", "sglang-server", "huggingface-sglang"]),
    ],
)
def test_the_tables_of_arguments_describe_every_release(
    engine: Engine, families: list[str]
) -> None:
    """
    But three that AWS built before the release: the table has the release itself.
    """
    inside = {
        found.engine_version
        for family, version in ROWS
        if family in families and (found := find_engine_release(family, version))
    }
    before = {"0.20.0.dev60", "0.20.0.dev361", "0.22.1rc0"}

    assert inside - set(engine_releases(engine)) - {None} <= before
    assert {name[: len("0.20.0")] for name in before} <= set(engine_releases("vllm"))
