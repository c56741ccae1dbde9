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

from PIL import Image

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
# The embedded AWS tells one of three stories, whatever it is asked: these two answer.
_TOLD = f'stream {ENDPOINT} "Tell me a story of a deployment." --max-new-tokens 100'
# What is run on a terminal, and typed there.
_SESSIONS: Mapping[str, Sequence[str]] = {
    f"{_TOLD} --details": (),
    f"chat {ENDPOINT}": ("What if a model is too large?", "/exit"),
}
# Eight answers of 50 tokens at a time, half a second each: 16 a second at most.
_SLOTS, _PAUSE = 8, 0.01
_LOAD_TEST = f"load-test {ENDPOINT} --schema openai --rate 14 --duration 30s"
_BENCHMARK = (
    f"benchmark {ENDPOINT} --schema openai --users 2,4,8,12,16,24 --duration 8s"
)
# Enough for lines and their soft edges, in a third of the bytes.
_COLOURS = 64


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
            path = DOCS / f"{name}.png"
            subprocess.run(
                [COMMAND, *words.split(), "--png", path],
                env=variables,
                stdout=subprocess.DEVNULL,
                check=True,
            )
    for name in ("chat", "load-test", "benchmark"):
        shrink(DOCS / f"{name}.png")


def shrink(path: Path) -> None:
    """
    Write a picture anew with few colours.
    """
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(_COLOURS)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
