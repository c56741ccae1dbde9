"""
Traces as they are published, and what is none.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cdk_sagemaker_llm.load import TracedRequest, read_trace
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation import Replay

# The first lines of AzureLLMInferenceTrace_conv.csv (2023), and as in that of 2024.
AZURE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
"""
AZURE_2024 = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:00.017335+00:00,2399,6
"""
MOONCAKE = """\
{"timestamp": 3000, "input_length": 600, "output_length": 52, "hash_ids": [0, 7]}

{"timestamp": 0, "input_length": 1000, "output_length": 1, "hash_ids": [0, "b"]}
{"timestamp": 1500.5, "input_length": 10, "output_length": 2}
"""


def written(folder: Path, text: str, name: str) -> Path:
    """
    Write a file.
    """
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "lengths", "apart"),
    [
        (AZURE, [(374, 44), (396, 109)], 4.314579),
        (AZURE_2024, [(2162, 5), (2399, 6)], 0.007405),
    ],
)
def test_azures(
    tmp_path: Path, text: str, lengths: list[tuple[int, int]], apart: float
) -> None:
    """
    Tenths of a microsecond are left out, and time zones taken in.
    """
    first, second = read_trace(written(tmp_path, text, "trace.csv"))

    assert [
        (one.prompt_tokens, one.output_tokens) for one in (first, second)
    ] == lengths
    assert second.at - first.at == pytest.approx(apart, abs=2e-6)
    assert first.blocks == ()


def test_mooncakes(tmp_path: Path) -> None:
    """
    Milliseconds become seconds, the order is that of time, and blocks may be missing.
    """
    path = written(tmp_path, MOONCAKE, "trace.JSONL")

    assert read_trace(str(path)) == (
        TracedRequest(0.0, 1000, 1, (0, "b")),
        TracedRequest(1.5005, 10, 2),
        TracedRequest(3.0, 600, 52, (0, 7)),
    )
    assert Replay.from_trace(path) == Replay(
        ((0.0, 1000, 1), (1.5005, 10, 2), (3.0, 600, 52))
    )


GOOD = '"timestamp": 1, "input_length": 1, "output_length": 1'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: it is no JSON: "),
        ("[1]", "it must be an object with timestamp, input_length, output_length"),
        ("{}", "timestamp must be milliseconds, got nothing"),
        ('{"timestamp": true}', "timestamp must be milliseconds, got True"),
        ('{"timestamp": NaN}', "timestamp must be milliseconds, got nan"),
        (
            '{"timestamp": 1, "input_length": 0}',
            "input_length must be a whole number of at least 1, got 0",
        ),
        (
            '{"timestamp": 1, "input_length": 1, "output_length": 1.5}',
            "output_length must be a whole number of at least 1, got 1.5",
        ),
        (f'{{{GOOD}, "hash_ids": 3}}', "hash_ids must be a list of numbers or texts"),
        (f'{{{GOOD}, "hash_ids": [null]}}', "hash_ids must be a list of numbers"),
    ],
)
def test_what_is_none_is_refused_by_its_line(
    tmp_path: Path, line: str, message: str
) -> None:
    """
    With what it must be.
    """
    path = written(tmp_path, f"{line}\n{{{GOOD}}}\n", "trace.jsonl")
    with pytest.raises(ValueError, match=r"trace.jsonl, line 1: ") as caught:
        read_trace(path)

    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "kind"), [("trace.jsonl", "JSON Lines"), ("trace.csv", "CSV")]
)
def test_text_is_utf_8(tmp_path: Path, name: str, kind: str) -> None:
    """
    Whatever else is no trace.
    """
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=f"is no {kind} file in UTF-8"):
        read_trace(path)


def test_an_empty_one_is_none(tmp_path: Path) -> None:
    """
    Nothing was seen.
    """
    with pytest.raises(ValueError, match="has no requests"):
        read_trace(written(tmp_path, "\n", "trace.jsonl"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((math.nan, 1, 1), "at must be a finite number, got nan"),
        ((0.0, 0, 1), "prompt_tokens must be at least 1, got 0"),
        ((0.0, 1, 0), "output_tokens must be at least 1, got 0"),
        ((0.0, 1.5, 1), "prompt_tokens must be a whole number, got 1.5"),
        ((0.0, 1, 1, 3), "blocks must be a list, got 3"),
    ],
)
def test_a_request_has_a_moment_and_lengths(
    values: tuple[Untyped, ...], message: str
) -> None:
    """
    Whoever makes it.
    """
    with pytest.raises(ValueError, match=message):
        TracedRequest(*values)


def test_lengths_and_moments_of_a_trace_are_numbers(tmp_path: Path) -> None:
    """
    An endless one is none either.
    """
    path = written(tmp_path, f"time,prompt_tokens,output_tokens\n{math.inf},1,1\n", "a")
    with pytest.raises(ValueError, match="time must be seconds, or ISO 8601"):
        read_trace(path)
