"""
What the checks of a TGI environment look at.
"""

from __future__ import annotations

from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject

ENVIRONMENT = {
    "SM_NUM_GPUS": "2",
    "QUANTIZE": "awq",
    "HF_MODEL_QUANTIZE": "",
    "MAX_BEST_OF": "x",
    "PORT": "${Token[TOKEN.1]}",
    "MAX_INPUT_TOKENS": "8",
    "HF_MODEL_REVISION": "main",
}
SUBJECT = TgiSubject(
    ENVIRONMENT,
    "1.4.5",
    words={"SM_NUM_GPUS": "num_gpus"},
    unchecked=["HF_MODEL_REVISION"],
)


def test_left_out_nothing_is_renamed_and_everything_checked() -> None:
    """
    Nor is it known how many devices there are.
    """
    plain = TgiSubject(ENVIRONMENT, "1.4.5")

    assert (plain.accelerators, plain.words, plain.unchecked) == (None, {}, ())


def test_a_variable_is_set_under_either_name() -> None:
    """
    SageMaker's, unless it is empty; and called as the user calls it.
    """
    names = ["NUM_SHARD", "QUANTIZE", "REVISION", "MAX_TOTAL_TOKENS"]

    assert [SUBJECT.written(name) for name in names] == [
        "SM_NUM_GPUS",
        "QUANTIZE",
        "HF_MODEL_REVISION",
        "MAX_TOTAL_TOKENS",
    ]
    assert [SUBJECT.word(name) for name in names] == [
        "num_gpus",
        "QUANTIZE",
        "HF_MODEL_REVISION",
        "MAX_TOTAL_TOKENS",
    ]
    assert [SUBJECT.is_left_out(name) for name in names] == [False, False, False, True]


def test_a_value_is_what_this_version_reads_of_it() -> None:
    """
    Nothing of what it does not know, what is no number, or is not to be checked.
    """
    names = ["NUM_SHARD", "QUANTIZE", "MAX_BEST_OF", "PORT", "MAX_INPUT_TOKENS"]

    assert [SUBJECT.value(name) for name in names] == ["2", "awq", "x", None, None]
    assert [SUBJECT.count(name) for name in names] == [2, None, None, None, None]
    assert SUBJECT.value("REVISION") is None
    assert SUBJECT.raw("MAX_INPUT_TOKENS") == "8"
    assert SUBJECT.raw("nothing") is None


def test_left_out_a_count_is_the_versions_default() -> None:
    """
    Where it has one.
    """
    names = ["MAX_TOTAL_TOKENS", "NUM_SHARD", "MAX_BATCH_SIZE", "MAX_INPUT_TOKENS"]

    assert [SUBJECT.count_or_default(name) for name in names] == [2048, 2, None, None]
    assert TgiSubject({}, "1.4.5").count_or_default("MAX_INPUT_TOKENS") is None


def test_a_version_is_between_two() -> None:
    """
    Both of them included.
    """
    assert SUBJECT.is_between("1.4.5")
    assert SUBJECT.is_between("1.4.5", "1.4.5")
    assert not SUBJECT.is_between("1.4.6")
    assert not SUBJECT.is_between("1.0.0", "1.4.4")
    assert SUBJECT.knows("MAX_BEST_OF")
    assert not SUBJECT.knows("MAX_INPUT_TOKENS")
