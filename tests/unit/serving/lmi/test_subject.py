"""
What the checks of a serving.properties look at.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.serving.lmi.launch import Launch, Subject


def launched(container: str, *backends: str) -> Launch:
    """
    Return what a container runs.
    """
    return Launch(container, LmiVersion(30), "Python", None, backends)


SUBJECT = Subject(
    {"option.on": "YES", "option.off": "0", "option.n": " 7 ", "on": "x"},
    launched("djl-lmi", "vllm", "lmi-dist"),
)


def test_nothing_is_known_but_the_file_and_what_runs_it() -> None:
    """
    And an option without effect may be read by something else.
    """
    assert SUBJECT.accelerators is None
    assert SUBJECT.architecture is None
    assert SUBJECT.attention_heads is None
    assert SUBJECT.strict is False
    assert SUBJECT.version == LmiVersion(30)
    assert SUBJECT.devices() is None


def test_an_option_is_read_as_text_as_a_switch_and_as_a_number() -> None:
    """
    Left out, it is nothing, off, and none.
    """
    names = ["on", "off", "n", "none"]

    assert [SUBJECT.option(name) for name in names] == ["YES", "0", " 7 ", None]
    assert [SUBJECT.flag(name) for name in names] == [True, False, False, False]
    assert [SUBJECT.number(name) for name in names] == [None, 0, 7, None]


@pytest.mark.parametrize(
    ("backends", "runs"),
    [
        (["vllm", "lmi-dist"], True),
        (["lmi-dist", "trtllm", "vllm"], True),
        (["vllm"], False),
        ([], False),
    ],
)
def test_nothing_but_these_backends_can_come_of_it(
    backends: list[str], *, runs: bool
) -> None:
    """
    All that may are among them.
    """
    assert SUBJECT.runs(*backends) is runs


def test_a_chip_of_inferentia_has_two_cores() -> None:
    """
    Any other device is one.
    """
    gpus = Subject({}, launched("djl-lmi", "vllm"), accelerators=3)
    chips = Subject({}, launched("djl-neuronx", "neuronx"), accelerators=3)

    assert gpus.devices() == 3
    assert chips.devices() == 6
