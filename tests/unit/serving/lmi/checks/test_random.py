"""
No input makes a check fail, and what the types allow survives the file.
"""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.images import image_families, image_versions
from cdk_sagemaker_llm.catalog.lmi import (
    LmiVersion,
    engine_arguments,
    option_names,
    option_type,
)
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving import check_properties
from cdk_sagemaker_llm.serving.lmi.launch import BACKENDS, CONTAINERS
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse, render
from tests.unit.serving.lmi.checks.canonical import cases

IMAGES = [(c, v) for c in CONTAINERS for v in image_versions(c)]
KEYS = [*option_names(), *(f"option.{name}" for name in engine_arguments())]
ALL_CASES = [
    (backend, *case)
    for backend in ("trtllm", "vllm", "lmi-dist", "deepspeed", "neuronx", "hf")
    for case in cases(backend)
]

printable = st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\")
texts = st.text(printable, max_size=30).map(str.strip)
# Beyond these the CDK keeps numbers that are known only at deployment.
numbers = st.floats(min_value=-1e280, max_value=1e280, allow_nan=False)
values = st.one_of(texts, st.integers(1 - 2**64, 2**64 - 1), numbers, st.booleans())
names = st.from_regex(r"[A-Za-z0-9_.\-]{1,20}", fullmatch=True)


@given(st.dictionaries(names, values))
def test_what_is_written_is_read_back(properties: dict[str, object]) -> None:
    """
    Render then parse is the identity, up to the text of numbers and switches.
    """
    texts = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in properties.items()
    }

    assert parse(render(properties)) == texts  # type: ignore[arg-type] # mixed values


@given(st.text())
def test_a_text_is_read_or_refused(text: str) -> None:
    """
    No text makes the reader raise anything but its own error.
    """
    with contextlib.suppress(PropertiesError):
        assert all(isinstance(value, str) for value in parse(text).values())


lines = st.one_of(
    st.text(),
    st.builds("{}={}".format, st.sampled_from(KEYS), st.text(max_size=20)),
    st.builds("{}={}".format, st.sampled_from(KEYS), st.integers()),
    st.builds("engine={}".format, st.sampled_from(["MPI", "Python", "DeepSpeed", ""])),
    st.builds(
        "option.rolling_batch={}".format,
        st.sampled_from(["auto", "vllm", "lmi-dist", "trtllm", "disable", "tnx", "x"]),
    ),
)


@given(
    st.lists(lines, max_size=8).map("\n".join),
    st.sampled_from(IMAGES),
    st.none() | st.integers(min_value=0, max_value=64),
    st.none() | st.sampled_from(["MistralForCausalLM", "X", ""]),
    st.none() | st.sampled_from(BACKENDS),
)
def test_no_file_makes_a_check_crash(
    text: str,
    image: tuple[str, str],
    accelerators: int | None,
    architecture: str | None,
    backend: str | None,
) -> None:
    """
    Whatever is written, the answer is a list of findings with codes.
    """
    container, version = image
    found = check_properties(
        text,
        container=container,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        backend=backend,
    )

    assert all(isinstance(finding, Finding) and finding.code for finding in found)


# Hypothesis also draws the texts of the code under test, where real versions stand.
unknown_versions = st.text(max_size=12).filter(
    lambda version: version not in image_versions("djl-lmi")
)


@given(st.text(max_size=20), st.text(max_size=12), unknown_versions)
def test_no_argument_makes_a_check_crash(text: str, name: str, version: str) -> None:
    """
    A container or a version that does not exist is one finding.
    """
    container = "djl-lmi" if name < "m" else name
    found = check_properties(text, container=container, version=version, accelerators=1)

    assert [finding.code for finding in found] == ["LLM102"]


GOOD = {
    "int": st.integers(1, 1).map(str),
    "float": st.sampled_from(["0.5", "1", "1.0"]),
    "bool": st.sampled_from(["true", "false", "True", "1", "no"]),
    "int-list": st.lists(st.integers(1, 4096), min_size=1).map(
        lambda numbers: ",".join(map(str, numbers))
    ),
    "counts": st.just("image=2,video=1"),
    "floats": st.sampled_from(["[1.0,2]", "4", "(1.0,)"]),
    "dict": st.just("{'a': 1}"),
    "any": st.just("x"),
    "str": st.just("text"),
}
# Rules between options, which have tests of their own; and types that hold text.
BETWEEN = {
    "option.async_mode",
    "option.batch_size",
    "option.checkpoint",
    "option.dtype",
    "option.enable_auto_tool_choice",
    "option.enable_lora",
    "option.enable_reasoning",
    "option.group_query_attention",
    "option.load_in_4bit",
    "option.load_in_8bit",
    "option.model_loader",
    "option.partition_schema",
    "option.quantization",
    "option.quantize",
    "option.reasoning_parser",
    "option.rolling_batch",
    "option.rotary_scaling_factor",
    "option.rotary_scaling_type",
    "option.speculative_draft_model",
    "option.speculative_model",
    "option.s3url",
}


@given(st.data())
def test_what_the_tables_allow_is_not_refused(data: st.DataObject) -> None:
    """
    Any set of a backend's options with values of their types passes without errors.
    """
    backend, container, version, launch = data.draw(st.sampled_from(ALL_CASES))
    parsed = LmiVersion.parse(version)
    text = launch
    for key in data.draw(st.sets(st.sampled_from(sorted(set(KEYS) - BETWEEN)))):
        declared = option_type(backend, key, parsed)
        declared = declared or option_type("common", key, parsed)
        if declared is None or declared.kind in ("none", "callable"):
            continue
        value = (
            data.draw(st.sampled_from(declared.choices))
            if declared.choices
            else data.draw(GOOD[declared.kind])
        )
        text += f"{key}={value}\n"
    found = check_properties(text, container=container, version=version, accelerators=8)

    assert [f for f in found if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_is_in_the_catalogue(container: str) -> None:
    """
    What the checks know is what the image catalogue calls it.
    """
    assert container in image_families()
