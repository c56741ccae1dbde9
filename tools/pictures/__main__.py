"""
Draw ``docs/chat.png``, ``docs/load-test.png`` and ``docs/benchmark.png``:
``python -m tools.pictures``.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cdk_sagemaker_llm.local import Latency
from tools.pictures.deployed import ENDPOINT, deployed
from tools.pictures.model_server import model_server
from tools.pictures.screen import draw
from tools.pictures.terminal import shown_by

DOCS = Path(__file__).parents[2] / "docs"
COMMAND = str(Path(sys.executable).parent / "sagemaker-llm")
_COLUMNS = 100
# On a clock that runs 60 times as fast: 0.1 s to the first token, 20 ms to the others.
_LATENCY = Latency(first_token=6.0, per_token=1.2)
# What is run on a terminal, and typed there.
_SESSIONS: Mapping[str, Sequence[str]] = {
    f'stream {ENDPOINT} "Who is Roger Federer?" --max-new-tokens 48 --details': (),
    f"chat {ENDPOINT} --max-new-tokens 32": ("Where was he born?", "/exit"),
}
# Eight answers of 50 tokens at a time, half a second each: 16 a second at most.
_SLOTS, _PAUSE = 8, 0.01
_LOAD_TEST = f"load-test {ENDPOINT} --arrival-rate 12 --run-time 30s --png"
_BENCHMARK = f"benchmark {ENDPOINT} --users 2,4,6,8,12,16,24 --run-time 10s --png"


def main() -> None:
    """
    Draw the pictures of the documentation.
    """
    with deployed(latency=_LATENCY) as variables:
        said = "".join(
            f"$ sagemaker-llm {words}\r\n"
            + shown_by([COMMAND, *shlex.split(words)], variables, typed, _COLUMNS)
            for words, typed in _SESSIONS.items()
        )
    draw(said, _COLUMNS, DOCS / "chat.png")
    with (
        model_server(_SLOTS, _PAUSE) as url,
        deployed(forward={ENDPOINT: url}) as variables,
    ):
        for words, name in ((_LOAD_TEST, "load-test"), (_BENCHMARK, "benchmark")):
            command = [COMMAND, *words.split(), str(DOCS / f"{name}.png")]
            subprocess.run(
                command, env=variables, stdout=subprocess.DEVNULL, check=True
            )


if __name__ == "__main__":
    main()
