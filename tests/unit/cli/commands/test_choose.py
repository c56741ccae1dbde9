"""
``sagemaker-llm choose``: the table, JSON, the file, and how it ends.
"""

from __future__ import annotations

import ast
import json
import shlex
from pathlib import Path

import pytest

from tests.running import run

MODEL = "HuggingFaceH4/zephyr-7b-beta"
QUICK = (
    "choose",
    MODEL,
    *("--rate", "2/s", "--duration", "10m"),
    *("--instance-type", "ml.g6e.xlarge", "--instance-type", "ml.g5.12xlarge"),
)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """
    Return one answer in JSON, with the file that came along.
    """
    folder = tmp_path_factory.mktemp("choose")
    prices = folder / "prices.json"
    prices.write_text('{"ml.g6e.xlarge": 2.0}', encoding="utf-8")
    done = run(
        *QUICK, "--json", "--prices", str(prices), "--write", str(folder / "app.py")
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, object] = json.loads(done.stdout)
    found["file"] = (folder / "app.py").read_text(encoding="utf-8")
    return found


def test_the_first_is_the_cheapest_that_keeps_it(facts: dict[str, object]) -> None:
    """
    With what a month costs at the price of one's own: 730 hours of two dollars.
    """
    best = facts["best"]

    assert isinstance(best, dict)
    assert best["instance_type"] == "ml.g6e.xlarge"
    assert best["usd_per_month"] == pytest.approx(1460.0)
    assert best["kept"] == 1.0
    assert best["method"] == "requests"
    assert best["is_on_front"]
    assert not best["reason"]


def test_what_has_no_price_is_in_no_order(facts: dict[str, object]) -> None:
    """
    It is listed besides.
    """
    unpriced, choices = facts["without_price"], facts["choices"]

    assert isinstance(unpriced, list)
    assert isinstance(choices, list)
    assert {one["instance_type"] for one in unpriced} == {"ml.g5.12xlarge"}
    assert {one["instance_type"] for one in choices} == {"ml.g6e.xlarge"}
    assert all(one["usd_per_month"] is None for one in unpriced)


def test_the_file_is_an_app_with_the_call(facts: dict[str, object]) -> None:
    """
    The same lines as are printed.
    """
    file, call = str(facts["file"]), str(facts["construct_call"])

    ast.parse(file)
    assert all(line.strip() in file for line in call.splitlines())
    assert 'instance_type="ml.g6e.xlarge"' in call


def test_the_table_says_why_others_lost() -> None:
    """
    And how to play the first one out.
    """
    done = run(*QUICK)

    assert done.returncode == 0
    assert "$ a month more" in done.stdout
    assert "What would change it:" in done.stdout
    assert "endpoint = LlmEndpoint(" in done.stdout
    assert (
        "sagemaker-llm simulate cdk.out --traffic constant --rate 2/s --prompt-tokens "
        "500 --answer-tokens 150 --duration 10m" in done.stdout
    )


def test_the_weekend_is_played_out_too() -> None:
    """
    The command that plays it out has the same days.
    """
    done = run(*QUICK, "--peak", "3/s", "--weekend", "0.1")

    assert done.returncode == 0
    words = "--traffic day --rate 2/s --peak 3/s --weekend 0.1 --prompt-tokens 500"
    assert words in done.stdout.splitlines()[-1]


def test_what_nothing_keeps_ends_with_1() -> None:
    """
    A token in a millisecond: what comes nearest is the split over most GPUs, and what
    fails for another reason has a line of its own.
    """
    done = run(*QUICK, "--tpot", "1ms", "--instance-type", "ml.g4dn.xlarge")

    assert done.returncode == 1
    assert "nothing keeps the objective within the bounds" in done.stdout
    left_out = done.stdout.partition("Left out:\n")[2].partition("\n\n")[0]
    first, *reasons = (line.strip() for line in left_out.splitlines())
    assert first.endswith("setups, each with its reason in --json")
    slow = next(one for one in reasons if "a token takes" in one)
    nearest = f"setups, the nearest {MODEL} on ml.g5.12xlarge, vllm, split over 4: no "
    assert nearest in slow
    assert any(f"the nearest {MODEL} with vllm on ml.g4dn" in one for one in reasons)
    counts = [int(one.split()[0]) for one in reasons]
    assert counts == sorted(counts, reverse=True)


def test_of_several_models_each_says_why_it_has_none() -> None:
    """
    The one that something serves says nothing.
    """
    done = run(
        *("choose", MODEL, "Qwen/Qwen3-14B", "--rate", "1/s", "--rate", "1/s"),
        *("--duration", "10m", "--instance-type", "ml.g5.xlarge", "--as-published"),
    )

    assert done.returncode == 1
    assert "Left out of Qwen/Qwen3-14B by itself:\n" in done.stdout
    assert "Qwen/Qwen3-14B with vllm on ml.g5.xlarge: it does not fit," in done.stdout
    assert f"Left out of {MODEL}" not in done.stdout


@pytest.mark.parametrize(
    ("name", "rows", "duration"),
    [
        # The second minute begins with the last request.
        ("two calls.csv", ("60,500,150", "0,300,100"), "2m"),
        ("one.csv", ("2026-01-05T12:00:00,500,150",), "1m"),
        ("ünï.jsonl", ('{"timestamp": 0, "input_length": 9, "output_length": 9}',), ""),
    ],
    ids=["unsorted", "one row", "mooncake"],
)
def test_a_trace_is_played_for_as_long_as_it_is(
    tmp_path: Path, name: str, rows: tuple[str, ...], duration: str
) -> None:
    """
    The command that plays it out names the file so that a shell takes it.
    """
    file = tmp_path / name
    heads = ["time,prompt_tokens,output_tokens"] * (file.suffix == ".csv")
    file.write_text("\n".join([*heads, *rows]), encoding="utf-8")

    done = run("choose", MODEL, "--trace", file, *QUICK[6:])

    assert done.returncode == 0
    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[words.index("--traffic") + 1] == str(file)
    assert words[words.index("--duration") + 1] == (duration or "1m")


def test_a_trace_with_more_silence_than_requests_has_a_deployment(
    tmp_path: Path,
) -> None:
    """
    Nobody asks in 99 of 100 minutes, and one copy is there for who does.
    """
    file = tmp_path / "one.csv"
    file.write_text("time,prompt_tokens,output_tokens\n0,500,150\n", encoding="utf-8")

    done = run("choose", MODEL, "--trace", file, "--duration", "3h", *QUICK[6:])

    assert done.returncode == 0
    first = done.stdout.splitlines()[2].split()
    assert first[:5] == [">", "ml.g6e.xlarge,", "vllm", "1", "fixed"]


def test_of_what_is_free_as_little_as_will_do_is_chosen(tmp_path: Path) -> None:
    """
    One instance and two cost nothing.
    """
    file = tmp_path / "prices.json"
    file.write_text('{"ml.g6e.xlarge": 0}', encoding="utf-8")

    done = run(*QUICK, "--prices", file, "--json")

    best = json.loads(done.stdout)["best"]
    assert (best["usd_per_month"], best["copies"]["most"]) == (0.0, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--rate, --users or --trace must say what is asked of the model"),
        (
            ("--rate", "1/s", "--users", "3"),
            "--rate and --users are different loads; give one of them",
        ),
        (("--users", "3", "--peak", "1/s"), "--peak is that of a day"),
        (("--rate", "1/s", "--busiest", "3"), "--busiest shapes a day"),
        (("--rate", "1/s", "--weekend", "0.3"), "--weekend shapes a day"),
        (("--trace", "day"), "--trace must be a CSV file with the columns time"),
        (("--trace", "gone.csv"), "--trace gone.csv cannot be read: No such file"),
        (
            ("--trace", "any.csv", "--output-tokens", "9"),
            "--output-tokens has no effect on --trace, whose requests have their own",
        ),
        (("--trace", "any.csv", "--spread", "1"), "--spread has no effect on --trace"),
        (("--rate", "1/s", "--revision", "a b"), "revision must be a commit, branch"),
        (("--rate", "1/s", "--budget", "0"), "--budget must be a number above 0"),
        (("--rate", "1/s", "--budget", "nan"), "--budget must be a number above 0"),
        (("--rate", "1/s", "--ttft", "soon"), "--ttft must be a time with its unit"),
        (("--rate", "1/s", "--tpot", "0ms"), "--tpot must be a number above 0"),
        (("--rate", "1/s", "--share", "2"), "share must be above 0 and at most 1"),
        (
            ("--rate", "1/s", "--serving", "tgi"),
            "--serving must be one of vllm, lmi-vllm, sglang, got 'tgi'",
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) and value else None,
)
def test_misuse_ends_with_2(arguments: tuple[str, ...], said: str) -> None:
    """
    In one's own words.
    """
    done = run("choose", MODEL, *arguments)

    assert done.returncode == 2
    assert said in done.stderr
