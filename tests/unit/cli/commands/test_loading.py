"""
What ``load-test`` says to who joins it, and what ``benchmark`` prints and writes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer

from cdk_sagemaker_llm.cli.commands import benchmark as benchmarking
from cdk_sagemaker_llm.cli.commands.benchmark import Fitting, _fit
from cdk_sagemaker_llm.load.benchmark import compare
from cdk_sagemaker_llm.load.fitting import Probe
from cdk_sagemaker_llm.load.running import LoadError, MissingPackageError
from cdk_sagemaker_llm.load.settings import LoadSettings
from tests.running import run
from tests.unit.load.sweeps import published

SETTINGS = LoadSettings(endpoint="chat", users=1)
WARNING = (
    "warning: what goes over this port is not encrypted, and whoever reaches it can "
    "join, read the settings and send figures, or be this test to its workers; leave "
    "--bind out and join through ssh, or keep the network closed"
)


def announced(*options: str) -> list[str]:
    """
    Return what is said before a load test begins, which fails at once.
    """
    gone = LoadError("nobody came")
    with mock.patch(
        "cdk_sagemaker_llm.cli.commands.load_test.run_load", side_effect=gone
    ):
        done = run("load-test", "chat", *options)
    assert done.returncode == 1
    *said, last = [
        line.removeprefix("sagemaker-llm load-test: ")
        for line in done.stderr.splitlines()
        if line.startswith("sagemaker-llm ")
    ]
    assert last == "nobody came"
    return said


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], []),
        (
            ["--expect-workers", "1"],
            [
                (
                    "waiting for 1 worker; start it with: sagemaker-llm load-test "
                    "--join 127.0.0.1:5557"
                ),
                ("on other machines after: ssh -N -L 5557:127.0.0.1:5557 THIS-MACHINE"),
            ],
        ),
        (
            ["--expect-workers", "2", "--bind", "localhost:7"],
            [
                (
                    "waiting for 2 workers; start them with: sagemaker-llm load-test "
                    "--join localhost:7"
                ),
                "on other machines after: ssh -N -L 7:localhost:7 THIS-MACHINE",
            ],
        ),
        (
            ["--expect-workers", "2", "--bind", "0.0.0.0:7"],
            [
                (
                    "waiting for 2 workers; start them with: sagemaker-llm load-test "
                    "--join THIS-MACHINE:7"
                ),
                WARNING,
            ],
        ),
        (
            ["--expect-workers", "2", "--bind", "leader.test"],
            [
                (
                    "waiting for 2 workers; start them with: sagemaker-llm load-test "
                    "--join leader.test:5557"
                ),
                WARNING,
            ],
        ),
    ],
)
def test_who_joins_is_told_how(options: list[str], lines: list[str]) -> None:
    """
    And who opens a port to others, what that means.
    """
    assert announced(*options) == lines


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (None, 0),
        (LoadError("nobody leads\nthere"), 1),
        (MissingPackageError("locust is missing"), 2),
    ],
)
def test_a_worker_says_for_whom_it_looks(fault: LoadError | None, status: int) -> None:
    """
    And why it ended, a line each.
    """
    place = "cdk_sagemaker_llm.cli.commands.load_test.join_load"
    with mock.patch(place, side_effect=fault) as join:
        done = run(
            *("load-test", "--join", "leader:7", "--join-within", "90s"),
            *("--processes", "3"),
        )
    (call,) = join.call_args_list

    assert call.args == ("leader:7",)
    assert (call.kwargs["processes"], call.kwargs["within"]) == (3, 90.0)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.splitlines() == [
        "sagemaker-llm load-test: looking for the load test at leader:7, for up to 90s",
        *(
            f"sagemaker-llm load-test: {line}"
            for line in (str(fault).splitlines() if fault else [])
        ),
    ]


@pytest.fixture(name="saved")
def _saved(tmp_path: Path) -> Path:
    """
    Save a benchmark.
    """
    path = tmp_path / "old.json"
    path.write_text(published().to_json(), encoding="utf-8")
    return path


def test_two_saved_benchmarks_are_compared(saved: Path, tmp_path: Path) -> None:
    """
    Alone, or one beside what is read; without, there is nothing of it.
    """
    other = tmp_path / "new.json"
    new = replace(published(), copies=2)
    other.write_text(new.to_json(), encoding="utf-8")
    both = run("benchmark", "--compare", saved, "--compare", other)
    beside = run("benchmark", "--from", other, "--compare", saved)
    alone = run("benchmark", "--from", other)

    assert both.returncode == beside.returncode == alone.returncode == 0
    assert both.stdout == compare(published(), new)
    assert beside.stdout == f"{alone.stdout}\n{compare(published(), new)}"
    facts = json.loads(run("benchmark", "--from", other, "--json").stdout)
    assert "differences" not in facts
    three = run("benchmark", *("--compare", str(saved)) * 3)
    assert three.returncode == 2
    assert "give --compare twice to compare two files" in three.stderr
    one_more = run("benchmark", "chat", *("--compare", str(saved)) * 2)
    assert one_more.stderr == (
        "sagemaker-llm benchmark: --compare takes one file beside a benchmark\n"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file or directory"), (b"\xff", "this is no saved benchmark")],
)
def test_what_is_no_saved_benchmark_is_told_by_its_option(
    content: bytes | None, why: str, tmp_path: Path
) -> None:
    """
    Whichever reads it.
    """
    path = tmp_path / "it.json"
    if content is not None:
        path.write_bytes(content)
    for option in ("--from", "--compare"):
        done = run("benchmark", option, path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"sagemaker-llm benchmark: {option} {path}: {why}\n"


def test_a_saved_benchmark_has_the_copies_that_are_told(saved: Path) -> None:
    """
    Its own where nothing is.
    """
    told = json.loads(
        run("benchmark", "--from", saved, "--copies", "7", "--json").stdout
    )
    own = json.loads(run("benchmark", "--from", saved, "--json").stdout)

    assert (told["copies"], own["copies"]) == (7, published().copies)


def fitted(fitting: Fitting, copies: int | None) -> tuple[list[str], Any]:
    """
    Fit service times; return what is said, and what they are made of.
    """
    found = mock.Mock(found=["a pace"], warnings=["a guess"])
    with mock.patch.object(
        benchmarking, "save_service_times", return_value=found
    ) as save:
        lines = fitting.after(replace(published(), copies=copies))
    return lines, save.call_args


def test_service_times_are_told_of_one_copy(tmp_path: Path) -> None:
    """
    Of as many as are told, or as SageMaker says, or of one.
    """
    path, served = tmp_path / "times.json", mock.Mock()
    made = Fitting.of(path, None, 9, "20s", is_streamed=True)
    assert (made.path, made.copies, made.max_sequences, made.seconds) == (
        path,
        None,
        9,
        20.0,
    )
    made.served = served
    said = ["- a pace", "- not sure: a guess"]

    lines, call = fitted(made, 4)
    assert lines == [f"service times of one of 4 copies are in {path}:", *said]
    assert call.args[2] == Probe(copies=4, alone=(), max_sequences=9)
    assert (call.args[0], call.args[3]) == (path, served)
    told, call = fitted(replace(made, copies=2), 4)
    assert told[0] == f"service times of one of 2 copies are in {path}:"
    assert call.args[2].copies == 2
    unknown, call = fitted(made, None)
    assert call.args[2].copies == 1
    assert unknown == [
        f"service times of 1 copy are in {path}:",
        *said,
        (
            "- not sure: copies: SageMaker was not asked how many serve, or did not "
            "say; one is taken: give --copies"
        ),
    ]
    assert fitted(replace(made, copies=1), None)[0] == unknown[:-1]
    assert (
        Fitting.of(None, None, None, "0s", is_streamed=False).after(published()) == []
    )
    assert replace(made, served=None).after(published()) == []
    with pytest.raises(ValueError, match=".") as raised:
        Fitting.of(path, None, None, "0s", is_streamed=False)
    assert str(raised.value) == (
        "--service-times needs answers that are streamed; leave out --no-stream"
    )
    with pytest.raises(ValueError, match="^--probe must be a time"):
        Fitting.of(path, None, None, "20", is_streamed=True)


def test_one_user_asks_alone_before_the_sweep(tmp_path: Path) -> None:
    """
    Where service times are asked for, and for as long as is told.
    """
    show, served, rows = mock.Mock(), mock.Mock(), (mock.Mock(),)
    with (
        mock.patch.object(benchmarking, "deployed", return_value=served) as asked,
        mock.patch.object(benchmarking, "run_alone", return_value=rows) as alone,
    ):
        Fitting(None, None, None, 5.0).before(SETTINGS, show)
        assert (asked.call_count, alone.call_count) == (0, 0)
        short = Fitting(tmp_path, None, None, 0.0)
        short.before(SETTINGS, show)
        assert (short.served, short.alone, alone.call_count) == (served, (), 0)
        whole = Fitting(tmp_path, None, None, 5.0)
        whole.before(SETTINGS, show)
        assert (whole.served, whole.alone) == (served, rows)
        alone.assert_called_once_with(SETTINGS, 5.0, show)


def test_service_times_that_cannot_be_fitted_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    And end the command with 1; what is found is said beside JSON.
    """
    fitting = mock.Mock()
    fitting.after.side_effect = ValueError("too few rows")
    with pytest.raises(typer.Exit) as raised:
        _fit(fitting, published(), is_error=False)
    assert raised.value.exit_code == 1
    assert capsys.readouterr().err == (
        "sagemaker-llm benchmark: --service-times: too few rows\n"
    )
    fitting.after.side_effect = lambda _: ["a", "b"]
    _fit(fitting, published(), is_error=True)
    assert capsys.readouterr() == ("", "a\nb\n")
    _fit(fitting, published(), is_error=False)
    assert capsys.readouterr() == ("a\nb\n", "")
