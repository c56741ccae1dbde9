"""
From a benchmark to a prediction: the published sweep, on a stand-in for its endpoint.

All of it is real but the endpoint, which keeps the published times at several times the
speed; all figures are scaled back.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aws_cdk import App

from cdk_sagemaker_llm.load.benchmark import Benchmark
from cdk_sagemaker_llm.simulation import read_service_times
from stacks.llama_13b_x8 import Llama13BX8Stack
from stacks.settings import Settings
from tests.local.loading.stand_in import stand_in

COMMAND = str(Path(sys.executable).parent / "sagemaker-llm")
SPEEDS = (4.0, 2.0)
HEADS = "| concurrent users | requests | requests/s | median latency s | success |"

pytestmark = [pytest.mark.timeout(600), pytest.mark.whole]


@dataclass(frozen=True)
class Measuring:
    """
    A stand-in that serves, and the command against it.

    Args:
        url: Its address.

        speed: How many times as fast as the published endpoint it is.

        folder: Where files go.
    """

    url: str
    speed: float
    folder: Path

    def benchmark(self, *arguments: str) -> tuple[str, Benchmark]:
        """
        Run a benchmark; return what it prints and what it saves.
        """
        saved = self.folder / "saved.json"
        text = run(
            *("benchmark", "llama", "--component", "llama-13b", *arguments),
            *("--endpoint-url", self.url, "--schema", "tgi", "--region", "us-east-1"),
            *(
                "--duration",
                f"{20 / self.speed:g}s",
                "--spawn-rate",
                f"{32 * self.speed:g}",
            ),
            *("--save", str(saved)),
        )
        return text, Benchmark.from_json(saved.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Swept:
    """
    What the sweep came to.

    Args:
        measuring: What measured it.

        text: What it printed.

        benchmark: What it saved.

        times: Its file of service times.
    """

    measuring: Measuring
    text: str
    benchmark: Benchmark
    times: Path


def run(*arguments: str) -> str:
    """
    Run the command with credentials of nobody; return what it prints.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    nobody = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    done = subprocess.run(
        [COMMAND, *arguments],
        env={**kept, **nobody},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(name="swept", scope="module")
def _swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    """
    Sweep, and more slowly where the generator had no room beside what else runs here.
    """
    folder = tmp_path_factory.mktemp("sweep")
    times = folder / "llama.json"
    for speed in SPEEDS:
        with stand_in(speed) as url:
            measuring = Measuring(url, speed, folder)
            text, found = measuring.benchmark(
                *("--users", "100,150,500", "--copies", "8", "--probe", "3s"),
                *("--max-sequences", "15", "--service-times", str(times)),
            )
            if speed == SPEEDS[-1] or "was the bottleneck" not in text:
                yield Swept(measuring, text, found, times)
                return


@pytest.fixture(name="app", scope="module")
def _app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    The reference deployment whose benchmark it is.
    """
    folder = tmp_path_factory.mktemp("app") / "cdk.out"
    app = App(outdir=str(folder))
    settings = Settings.from_context(app.node.try_get_context)
    Llama13BX8Stack(
        app,
        "Llama13BX8",
        instance_type=settings.llama_instance_type,
        instances=settings.llama_instances,
        max_instances=settings.llama_max_instances,
        copies=settings.llama_copies,
        token_secret=settings.hugging_face_token_secret,
    )
    app.synth()
    return folder


def simulated(app: Path, times: Path, users: int, prompt: int, answer: int) -> float:
    """
    Return the median latency that is predicted.
    """
    found = json.loads(
        run(
            *("simulate", str(app), "--service-times", str(times)),
            *(
                "--users",
                str(users),
                "--think-time",
                "0s",
                "--duration",
                "3m",
                "--json",
            ),
            *("--prompt-tokens", str(prompt), "--answer-tokens", str(answer)),
        )
    )
    (model,) = found["runs"][0]["variants"][0]["models"].values()
    return float(model["figures"]["p50 of all, s"])


def test_the_published_shape(swept: Swept) -> None:
    """
    26 requests a second from 150 users on, each of whom waits for all others.
    """
    lines = swept.text.splitlines()
    speed = swept.measuring.speed
    rows = {row.users: row for row in swept.benchmark.rows}
    rates = {users: row.rate.value / speed for users, row in rows.items()}
    latencies = [row.latency.value * speed for row in rows.values() if row.latency]

    assert lines[2:4] == [HEADS, "| --- | --- | --- | --- | --- |"]
    shape = re.compile(r"\| \d+ \| \d+ \| \d+\.\d\d \| \d+\.\d\d \| 100% \|")
    assert all(shape.fullmatch(line) for line in lines[4:7])
    assert rates[100] < rates[150] * 1.05
    assert rates[150] == pytest.approx(26, rel=0.1)
    assert rates[500] == pytest.approx(26, rel=0.1)
    # Where nobody waits in line, a machine that is busy itself shows in the latency.
    assert 3.4 < latencies[0] < latencies[1]
    assert latencies[1:] == pytest.approx([5.58, 16.90], rel=0.2)


def test_the_file_says_what_a_copy_takes(swept: Swept) -> None:
    """
    And the command says how each figure was found.
    """
    found = read_service_times(swept.times)
    times, speed = found.times, swept.measuring.speed

    assert (found.prompt_tokens, found.output_tokens) == (1000, 50)
    assert found.model == "llama-13b"
    assert times.prompt_seconds_per_token * speed == pytest.approx(0.00015, rel=0.3)
    assert times.pace(1) * speed == pytest.approx(0.022, rel=0.3)
    assert times.max_sequences == 15
    for name in ("overhead_seconds", "prompt_seconds_per_token", "decode"):
        assert f"- {name}: " in swept.text
    assert "- max_sequences: 15, as it was given" in swept.text


@pytest.mark.parametrize(
    ("users", "prompt", "answer"),
    [(250, 1000, 50), (200, 600, 60)],
    ids=["other users", "other lengths"],
)
def test_a_sweep_that_nobody_measured_is_predicted(
    swept: Swept, app: Path, users: int, prompt: int, answer: int
) -> None:
    """
    Within 15 %.
    """
    _, found = swept.measuring.benchmark(
        *("--users", str(users), "--prompt-words", str(prompt)),
        *("--max-new-tokens", str(answer)),
    )
    predicted = simulated(app, swept.times, users, prompt, answer)

    assert found.rows[0].latency is not None
    assert predicted == pytest.approx(found.rows[0].latency.value, rel=0.15)
