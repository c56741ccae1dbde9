"""
From passages to causes, and the cases that others have published.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.account.diagnosis import causes_in
from cdk_sagemaker_llm.account.passages import Passage
from cdk_sagemaker_llm.catalog.symptoms import symptoms
from tests.unit.account.causes_of_cases import TELLING

_CASES = Path(__file__).parents[2] / "doctor_cases"
_KINDS = {
    "log": "log",
    "client": "log",
    "failure_reason": "failure_reason",
    "event": "event",
    "activity": "scaling",
    "alarm": "scaling",
    "metric": "reading",
    "describe": "reading",
}
_PING = "The container for x did not pass the ping health check."


def log(*lines: str, runs: bool = False) -> Passage:
    """
    Make the log of a container.
    """
    return Passage(kind="log", where="log", lines=lines, runs=runs)


def names(*found: Passage) -> list[str]:
    """
    Name the causes in passages.
    """
    return [each.symptom.name for each in causes_in(found)]


def test_the_exception_comes_before_what_follows_from_it() -> None:
    """
    And before the service's words, which say only that it failed.
    """
    reason = Passage(kind="failure_reason", where="it", lines=(_PING,))
    root = "ValueError: No available memory for the cache blocks."
    follower = "RuntimeError: Engine core initialization failed."

    assert names(reason, log(root, follower)) == [
        "no room for the KV cache",
        "engine does not start",
        "health check not passed",
    ]


@pytest.mark.parametrize(
    ("root", "lines"),
    [
        (
            "weights file is damaged",
            (
                "ERROR text_generation_launcher: Error when initializing model",
                "SafetensorError: Error while deserializing header: HeaderTooLarge",
                "Error: ShardCannotStart",
            ),
        ),
        (
            "heads cannot be split",
            (
                "pydantic_core.ValidationError: 1 validation error for VllmConfig",
                (
                    "  Value error, Total number of attention heads (14) must be "
                    "divisible by tensor parallel size (4)."
                ),
            ),
        ),
        (
            "Python package is missing in the image",
            (
                "ERROR Error in inspecting model architecture 'JambaForCausalLM'",
                "ModuleNotFoundError: No module named 'mamba_ssm'",
                (
                    "ValueError: Model architectures ['JambaForCausalLM'] failed to be "
                    "inspected. Please check the logs for more details."
                ),
            ),
        ),
        (
            "gated model without a token",
            (
                "401 Client Error: Unauthorized for url: https://huggingface.co/a/b",
                "Cannot access gated repo for url https://huggingface.co/a/b",
                "Error: DownloadError",
            ),
        ),
        (
            "disk is full",
            (
                "OSError: [Errno 28] No space left on device",
                "[ERROR] ModelServer - Failed register workflow",
                "ai.djl.engine.EngineException: Failed to start worker",
            ),
        ),
    ],
)
def test_the_root_comes_before_what_wraps_it(root: str, lines: tuple[str, ...]) -> None:
    """
    Whether that stands above it or below, and before the service's words.
    """
    reason = Passage(kind="failure_reason", where="it", lines=(_PING,))

    assert names(reason, log(*lines))[0] == root


def test_of_two_errors_the_earlier_one_is_the_likelier() -> None:
    """
    Whatever the catalogue's order is.
    """
    disk = "OSError: [Errno 28] No space left on device"
    port = "OSError: [Errno 98] Address already in use"

    assert names(log(disk, port)) == ["disk is full", "port is in use"]
    assert names(log(port, disk)) == ["port is in use", "disk is full"]


def test_a_warning_is_no_cause_where_the_container_runs() -> None:
    """
    And comes after every error where it does not.
    """
    warning = (
        "WARNING 11-21 [config.py] The quantization method fp_quant is deprecated and "
        "will be removed in future versions of vLLM."
    )
    disk = "OSError: [Errno 28] No space left on device"

    assert names(log(warning, runs=True)) == []
    assert names(log(warning, disk)) == [
        "disk is full",
        "quantization is being dropped",
    ]


def test_what_a_server_tells_while_all_is_well_is_no_cause() -> None:
    """
    The same words are one in an error, and where a server does not go on without.
    """
    words = "No available shared memory broadcast block found in 60 seconds."
    missing = "WARNING 04-24 [fp8.py] DeepGEMM is only supported on Hopper"

    assert names(log(f"INFO 11-21 [shm_broadcast.py:466] {words}")) == []
    assert names(log(f"ERROR 11-21 [shm_broadcast.py:466] {words}")) == [
        "engine died while serving"
    ]
    assert names(log(f"{missing}, falling back.")) == []
    assert "image has no kernels for the GPU" in names(log(missing))


def test_a_metric_s_name_in_a_log_is_no_cause() -> None:
    """
    It is one where the reading says so.
    """
    line = "sending ModelLatency and NoCapacityInvocationFailures"
    reading = Passage(kind="reading", where="metric", lines=("ModelLatency was 59 s",))

    assert names(log(line)) == []
    assert names(reading) == ["latency near a minute"]


def test_colours_do_not_hide_a_line() -> None:
    """
    As a terminal has them, and as CloudWatch writes them.
    """
    for begin, end in (("\x1b[31m", "\x1b[0m"), ("#033[31m", "#033[0m")):
        line = f"OSError: No space {begin}left{end} on device"
        assert names(log(line)) == ["disk is full"]


def test_every_cause_of_the_cases_is_told_by_symptoms_that_exist() -> None:
    """
    Those that the catalogue does not know are few.
    """
    known = {each.name for each in symptoms()}
    content = json.loads((_CASES / "causes.json").read_text(encoding="utf-8"))

    assert TELLING.keys() == {cause["name"] for cause in content["causes"]}
    assert {name for told in TELLING.values() for name in told} <= known


def _cases(half: str) -> Iterator[tuple[str, list[Passage]]]:
    content = json.loads((_CASES / f"{half}.json").read_text(encoding="utf-8"))
    for case in content["cases"]:
        yield case["cause"], [_passage(seen) for seen in case["evidence"]]


def _passage(seen: dict[str, Any]) -> Passage:
    lines = tuple(seen["text"].splitlines())
    return Passage(kind=_KINDS[seen["where"]], where=seen["where"], lines=lines)


def _measured(half: str) -> tuple[Counter[str], Counter[str]]:
    """
    Count the cases of each cause, and those whose right cause is the first.
    """
    every: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for cause, found in _cases(half):
        every[cause] += 1
        told = names(*found)
        if cause == "none":
            right[cause] += not told
        else:
            right[cause] += bool(told) and told[0] in TELLING[cause]
    return every, right


def test_the_cases_that_patterns_were_written_from_are_told() -> None:
    """
    And nothing is claimed of logs where nothing is wrong.
    """
    every, right = _measured("written_from")

    assert right["none"] == every["none"]
    assert right.total() >= 0.95 * every.total()


@pytest.mark.whole
def test_the_held_out_cases_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """
    At least 9 of 10 are told. Their texts are not printed: whoever writes patterns has
    not read them.
    """
    every, right = _measured("held_out")

    lines = [
        f"{cause}: {right[cause]} of {every[cause]}"
        for cause in sorted(every)
        if right[cause] < every[cause]
    ]
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *lines, ""]))
        sys.stdout.write(f"in all: {right.total()} of {every.total()}\n")
    assert right.total() >= 0.9 * every.total()
