"""
Checks of a TGI environment, version by version.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.tgi import (
    TgiOption,
    find_tgi_option,
    is_between,
    tgi_aliases,
    tgi_option_names,
    tgi_option_span,
    tgi_versions,
)
from cdk_sagemaker_llm.codes import rules
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.tgi.tgi_family import subject_findings, tgi_findings
from cdk_sagemaker_llm.serving.tgi.tgi_variables import TgiSubject, value_fault

MODEL = {"HF_MODEL_ID": "gpt2"}
# Variables whose every readable value, or the one here, breaks no rule by itself.
EXAMPLES = {
    "bool": "true",
    "f32": "0.5",
    "str": "text",
    "u16": "8080",
    "u32": "4096",
    "u64": "90",
    "usize": "4",
    "usize-list": "1,2,4",
}
FITTING = {"MODEL_ID": "gpt2", "MAX_INPUT_LENGTH": "512", "MAX_INPUT_TOKENS": "512"}
BATCH_OF_4049 = {"MAX_BATCH_TOTAL_TOKENS": "4049"}
NINE_OF_4049 = {"MAX_BATCH_SIZE": "9", **BATCH_OF_4049}
BATCH_OF_5000 = {"MAX_BATCH_TOTAL_TOKENS": "5000"}
COMPANIONS = {
    "MAX_TOTAL_TOKENS": {"MAX_INPUT_LENGTH": "3"},
    "SHARDED": {"NUM_SHARD": "2"},
    "ROPE_SCALING": {"ROPE_FACTOR": "2.0"},
}
# The smallest environment that breaks each rule, beside a model.
BROKEN: list[tuple[str, dict[str, str], str]] = [
    # A prompt below the total, with the defaults 1024 and 2048 up to 1.4.5.
    ("0.9.3", {"MAX_INPUT_LENGTH": "8", "MAX_TOTAL_TOKENS": "8"}, "LLM115"),
    ("1.4.0", {"MAX_INPUT_LENGTH": "2048"}, "LLM115"),
    ("1.4.0", {"MAX_TOTAL_TOKENS": "1024"}, "LLM115"),
    ("2.0.0", {"MAX_INPUT_TOKENS": "4096"}, "LLM115"),
    ("2.4.0", {"MAX_INPUT_LENGTH": "4096"}, "LLM115"),
    ("3.3.6", {"MAX_INPUT_TOKENS": "9", "MAX_TOTAL_TOKENS": "8"}, "LLM115"),
    # A request within a batch.
    ("0.9.3", {"MAX_TOTAL_TOKENS": "16001"}, "LLM116"),
    ("1.4.5", {"MAX_TOTAL_TOKENS": "5001", **BATCH_OF_5000}, "LLM116"),
    ("3.3.6", {"MAX_BATCH_TOTAL_TOKENS": "7", "MAX_TOTAL_TOKENS": "8"}, "LLM116"),
    # A prompt within a prefill step, 4096 by default up to 1.4.5.
    ("1.4.0", {"MAX_INPUT_LENGTH": "4097", "MAX_TOTAL_TOKENS": "8192"}, "LLM164"),
    ("0.9.3", {"MAX_BATCH_PREFILL_TOKENS": "1023"}, "LLM164"),
    ("2.3.1", {"MAX_INPUT_TOKENS": "9", "MAX_BATCH_PREFILL_TOKENS": "8"}, "LLM164"),
    # A prefill step within a batch.
    ("1.4.5", {"MAX_BATCH_TOTAL_TOKENS": "4095"}, "LLM165"),
    ("0.9.3", {"MAX_BATCH_PREFILL_TOKENS": "16001"}, "LLM165"),
    ("2.3.1", {"MAX_INPUT_TOKENS": "4000", **BATCH_OF_4049}, "LLM165"),
    ("2.0.0", {"MAX_INPUT_TOKENS": "450", **NINE_OF_4049}, "LLM165"),
    ("1.4.5", {"VALIDATION_WORKERS": "0"}, "LLM166"),
    ("0.6.0", {"SM_NUM_GPUS": "0"}, "LLM167"),
    ("1.4.5", {"SHARDED": "true", "NUM_SHARD": "1"}, "LLM168"),
    ("2.2.0", {"QUANTIZE": "exl2", "NUM_SHARD": "2"}, "LLM169"),
    ("1.4.5", {"DTYPE": "float16", "QUANTIZE": "gptq"}, "LLM170"),
    ("2.0.0", {"MAX_INPUT_LENGTH": "8", "MAX_INPUT_TOKENS": "8"}, "LLM171"),
    ("1.4.5", {"HF_MODEL_ID": "s3://bucket/weights/"}, "LLM173"),
    ("1.4.5", {"HF_MODEL_ID": ""}, "LLM112"),
    ("3.3.6", {"HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct", "NUM_SHARD": "8"}, "LLM177"),
    # What is no more, or not yet.
    ("2.4.0", {"MESSAGES_API_ENABLED": "true"}, "LLM222"),
    ("1.3.3", {"MESSAGES_API_ENABLED": "true"}, "LLM161"),
    ("2.0.0", {"ENABLE_CUDA_GRAPHS": "true"}, "LLM222"),
    ("1.4.5", {"MAX_INPUT_TOKENS": "8"}, "LLM161"),
    ("0.6.0", {"HF_MODEL_TRUST_REMOTE_CODE": "true"}, "LLM161"),
    # Doubts.
    ("1.4.5", {"SM_NUM_GPUS": "4", "NUM_SHARD": "2"}, "LLM260"),
    ("1.4.5", {"MAX_TOTAL_TOKEN": "8"}, "LLM261"),
    ("1.4.5", {"PORT": "80"}, "LLM262"),
    ("2.0.2", {"HF_TOKEN": "t"}, "LLM263"),
    ("2.3.1", {"HF_TOKEN": "t", "HUGGING_FACE_HUB_TOKEN": "u"}, "LLM264"),
    ("1.4.5", {"HF_MODEL_ID": "meta-llama/Llama-2-13b-chat-hf"}, "LLM214"),
    ("1.4.5", {"ROPE_SCALING": "linear"}, "LLM266"),
    ("1.4.5", {"CUDA_MEMORY_FRACTION": "90"}, "LLM267"),
    ("2.0.2", {"MAX_TOTAL_TOKENS": "2048"}, "LLM268"),
    ("2.3.1", {"MAX_BATCH_PREFILL_TOKENS": "2048"}, "LLM269"),
]  # fmt: skip


def codes(found: list[Finding]) -> list[str]:
    """
    Return the codes in order.
    """
    return [finding.code for finding in found]


def check(
    version: str, given: dict[str, str], accelerators: int | None = None
) -> list[str]:
    """
    Return what is found in an environment that names a model.
    """
    found = tgi_findings({**MODEL, **given}, version=version, accelerators=accelerators)
    return codes(found)


def example(option: TgiOption) -> str:
    """
    Return a value that the launcher reads.
    """
    if option.choices:
        return option.choices[0]
    return FITTING.get(option.name, EXAMPLES[option.kind])


@pytest.mark.parametrize("version", tgi_versions())
def test_each_variable_is_taken_at_the_versions_that_know_it(version: str) -> None:
    """
    60 variables at 24 versions: no finding where it is known, its span where not.
    """
    for name in tgi_option_names():
        option = find_tgi_option(name, version)
        value = example(option) if option else "1"
        beside = COMPANIONS.get(name, {}) if option else {}
        found = tgi_findings({**MODEL, **beside, name: value}, version=version)

        if option is not None:
            # What keeps it from being healthy is read all the same.
            read = [code for code in codes(found) if code != "LLM535"]
            assert read == [], (name, found)
        else:
            first, last = tgi_option_span(name)
            young = not is_between(version, first)
            assert codes(found) == ["LLM161" if young else "LLM222"], name
            assert any(v and v in found[0].message for v in (first, last))


@pytest.mark.parametrize("version", tgi_versions())
def test_each_variable_refuses_what_its_type_cannot_read(version: str) -> None:
    """
    Text for numbers, words for switches, and no choice there is.
    """
    for name in tgi_option_names():
        option = find_tgi_option(name, version)
        if option is not None and option.kind != "str":
            found = tgi_findings({**MODEL, name: "?"}, version=version)

            assert codes(found) == ["LLM162"], name
            assert "'?'" in found[0].message


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        ("usize", ["0", "+4", "007"], ["-1", "4.0", " 4", "4 ", "", "1_000"]),
        ("usize", ["18446744073709551615"], ["18446744073709551616", "\u0661"]),
        ("u64", ["90"], ["18446744073709551616"]),
        ("u32", ["4294967295"], ["4294967296", "1e3", "9" * 5000]),
        ("u16", ["65535"], ["65536"]),
        ("f32", ["1", ".5", "5.", "1e-3", "inf", "NaN"], ["", "1,5", "0.5 "]),
        ("bool", ["true", "false"], ["True", "1", "0", "yes", "on", ""]),
        ("usize-list", ["0", "1,2,4"], ["1, 2", "1,,2", "", "a"]),
        ("str", ["", "anything at all"], []),
    ],
)  # fmt: skip
def test_values_are_read_as_clap_reads_them(
    kind: str, taken: list[str], refused: list[str]
) -> None:
    """
    Rust's own parsers, without blanks, underscores or other scripts' digits.
    """
    option = TgiOption(name="X", kind=kind)

    assert [value for value in taken if value_fault(option, value)] == []
    assert [value for value in refused if not value_fault(option, value)] == []


def test_choices_are_told_apart_by_case() -> None:
    """
    The nearest one is named.
    """
    found = tgi_findings({**MODEL, "HF_MODEL_QUANTIZE": "AWQ"}, version="1.4.5")

    assert codes(found) == ["LLM162"]
    assert "HF_MODEL_QUANTIZE must be bitsandbytes" in found[0].message


@pytest.mark.parametrize(("version", "given", "code"), BROKEN)
def test_a_rule_is_broken_alone(version: str, given: dict[str, str], code: str) -> None:
    """
    Each case breaks one rule, and nothing else is said of it.
    """
    assert check(version, given) == [code]


@pytest.mark.parametrize(
    ("version", "given"),
    [
        # Up to 0.8.2 the launcher compares no lengths.
        ("0.6.0", {"MAX_INPUT_LENGTH": "9", "MAX_TOTAL_TOKENS": "8"}),
        ("0.8.2", {"MAX_INPUT_LENGTH": "9", "MAX_TOTAL_TOKENS": "8"}),
        ("0.8.2", {"MAX_BATCH_TOTAL_TOKENS": "7", "MAX_TOTAL_TOKENS": "8"}),
        ("1.4.5", {"MAX_INPUT_LENGTH": "2047"}),
        ("1.4.5", {"MAX_BATCH_TOTAL_TOKENS": "4096", "MAX_TOTAL_TOKENS": "4096"}),
        ("2.0.0", {"MAX_INPUT_TOKENS": "4095"}),
        ("2.3.1", {"MAX_INPUT_TOKENS": "9000", "MAX_TOTAL_TOKENS": "9001"}),
        ("2.3.1", {"MAX_INPUT_TOKENS": "4", "MAX_BATCH_TOTAL_TOKENS": "54"}),
        # Prompts are read in chunks from 2.4.0 on.
        ("2.4.0", {"MAX_INPUT_TOKENS": "9", "MAX_BATCH_PREFILL_TOKENS": "8"}),
        ("2.4.0", {"MAX_BATCH_PREFILL_TOKENS": "9", "MAX_BATCH_TOTAL_TOKENS": "8"}),
        ("3.3.6", {"MAX_INPUT_TOKENS": "100000"}),
        ("3.3.6", {"MAX_TOTAL_TOKENS": "8"}),
        ("3.3.7", {"MAX_BATCH_TOTAL_TOKENS": "7", "MAX_TOTAL_TOKENS": "8"}),
        # The server makes an exception of these.
        ("1.4.5", {"DTYPE": "float16", "QUANTIZE": "bitsandbytes-nf4"}),
        ("2.2.0", {"QUANTIZE": "exl2", "NUM_SHARD": "1"}),
        ("1.4.5", {"ROPE_FACTOR": "2.0"}),
        ("1.4.5", {"ROPE_SCALING": "dynamic"}),
        ("1.4.5", {"SM_NUM_GPUS": "2", "NUM_SHARD": "2"}),
        ("1.4.5", {"SM_NUM_GPUS": "", "NUM_SHARD": "2"}),
        ("1.4.5", {"PORT": "8080"}),
        ("2.3.1", {"HF_TOKEN": "t"}),
        ("2.0.2", {"HF_TOKEN": "t", "HUGGING_FACE_HUB_TOKEN": "t"}),
        ("2.0.2", {"HF_API_TOKEN": "t"}),
        ("3.3.6", {"HF_MODEL_ID": "meta-llama/Llama-3.1-8B", "HF_TOKEN": "t"}),
        ("1.4.5", {"HF_MODEL_ID": "/opt/ml/model"}),
        # What something else than the launcher reads.
        ("1.4.5", {"LOG_LEVEL": "debug", "PYTHONPATH": "/opt", "ATTENTION": "paged"}),
        # Known only at deployment.
        ("1.4.5", {"MAX_TOTAL_TOKENS": "${Token[TOKEN.12]}"}),
        ("2.0.0", {"MAX_INPUT_LENGTH": "${Token[a.1]}", "MAX_TOTAL_TOKENS": "8"}),
        ("1.4.5", {"HF_MODEL_ID": "${Token[TOKEN.12]}"}),
    ],
)  # fmt: skip
def test_what_the_launcher_takes_is_not_refused(
    version: str, given: dict[str, str]
) -> None:
    """
    The other side of each rule: other versions, and values just within.
    """
    assert check(version, given) == []


@pytest.mark.parametrize(
    ("given", "accelerators", "found"),
    [
        ({"NUM_SHARD": "4"}, 2, ["LLM174"]),
        ({"SM_NUM_GPUS": "2"}, 2, []),
        ({"NUM_SHARD": "4"}, None, []),
        ({"SHARDED": "true"}, 1, ["LLM168"]),
        ({"SHARDED": "true"}, 4, []),
    ],
)
def test_shards_are_counted_against_the_gpus_of_a_copy(
    given: dict[str, str], accelerators: int | None, found: list[str]
) -> None:
    """
    Each shard takes a GPU of its own.
    """
    assert check("1.4.5", given, accelerators) == found


def test_a_number_known_only_at_deployment_is_no_count_of_gpus() -> None:
    """
    The CDK encodes such numbers as huge negative ones.
    """
    placeholder = int(-1.8881545897087e289)

    assert check("1.4.5", {"NUM_SHARD": "4"}, placeholder) == []


def test_defaults_are_named_as_such() -> None:
    """
    The caller set one of the two numbers only.
    """
    found = tgi_findings({**MODEL, "MAX_INPUT_LENGTH": "5000"}, version="1.4.0")

    message = next(f.message for f in found if f.code == "LLM164")
    assert message.endswith("MAX_INPUT_LENGTH, got the default 4096 and 5000")


def test_a_model_is_missing_when_the_launchers_own_name_is_used() -> None:
    """
    The entry point tests SageMaker's name alone, and exits.
    """
    assert codes(tgi_findings({"MODEL_ID": "gpt2"}, version="1.4.5")) == ["LLM112"]


def test_tokens_are_never_repeated() -> None:
    """
    Neither of two that differ.
    """
    given = {**MODEL, "HF_TOKEN": "first", "HUGGING_FACE_HUB_TOKEN": "second"}
    found = tgi_findings(given, version="3.3.6")

    assert not any(word in str(f) for f in found for word in ("first", "second"))


def test_each_code_that_is_found_has_a_title() -> None:
    """
    Errors are LLM1.., warnings LLM2.., but for what all engines have in common.
    """
    given = dict.fromkeys((*tgi_option_names(), *tgi_aliases()), "?")
    found = [f for v in tgi_versions() for f in tgi_findings(given, version=v)]

    assert {finding.code for finding in found} <= set(rules())
    for finding in found:
        if finding.code in {"LLM535", "LLM640", "LLM791"}:
            continue
        expected = "LLM1" if finding.severity is Severity.ERROR else "LLM2"
        assert finding.code.startswith(expected)


NAMES = st.sampled_from((*tgi_option_names(), *tgi_aliases(), "HF_TOKEN")) | st.text()
VALUES = st.text() | st.integers().map(str) | st.floats().map(str)


@given(
    st.dictionaries(NAMES, VALUES),
    st.sampled_from(tgi_versions()) | st.text(),
    st.none() | st.integers(1 - 2**64, 2**64 - 1),
)
def test_no_environment_breaks_the_checks(
    environment: dict[str, str], version: str, accelerators: int | None
) -> None:
    """
    Whatever it is, there is a list of findings.
    """
    found = tgi_findings(environment, version=version, accelerators=accelerators)

    assert all(finding.message and finding.code in rules() for finding in found)


def test_what_is_unchecked_stays_so_where_accelerators_are_not_known() -> None:
    """
    A number that the deployment decides leaves all other checks as they are.
    """
    environment = {"HF_MODEL_ID": "a/b", "MAX_BEST_OF": "many"}
    token: Any = -1.8881545897087503e289
    checked = TgiSubject(environment, "1.4.5", token)
    passed_over = TgiSubject(environment, "1.4.5", token, unchecked={"MAX_BEST_OF"})

    assert [finding.code for finding in subject_findings(checked)] == ["LLM162"]
    assert subject_findings(passed_over) == []
