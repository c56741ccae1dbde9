"""
What the pictures are made with; the pictures themselves are looked at.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tools.pictures.__main__ import shrink
from tools.pictures.model_server import model_server
from tools.pictures.screen import draw, lines_of
from tools.pictures.terminal import shown_by

INK, DIM, RED = "#e6e6e6", "#9aa0ab", "#ff7b86"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("chat", "docs/how-to/talk-to-it.md"),
        ("load-test", "docs/load.md"),
        ("benchmark", "docs/load.md"),
        ("simulate", "README.md"),
    ],
)
def test_a_page_shows_it_in_words_too(root: Path, name: str, page: str) -> None:
    """
    Each is there, small, and said to whoever does not see it.
    """
    path = root / "docs" / f"{name}.png"
    text = (root / page).read_text(encoding="utf-8")
    (said,) = re.findall(rf"!\[([^\]]+)\]\([./]*(?:docs/)?{name}\.png\)", text)

    assert len(said) > 50
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < 150 * 1024


def test_lines_break_where_the_terminal_is_full() -> None:
    """
    In the middle of a word, and with the colours that go on.
    """
    shown = "$ run\r\n\x1b[31mabc\x1b[0mdef gh\r\n\r\n\x1b[2mend\x1b[0m"

    assert lines_of(shown, 5) == [
        [(0, "$ run", INK)],
        [(0, "abc", RED), (3, "de", INK)],
        [(0, "f gh", INK)],
        [],
        [(0, "end", DIM)],
    ]


def test_what_is_typed_waits_for_the_prompt() -> None:
    """
    The command believes itself on a terminal of that width.
    """
    program = (
        "import os, sys\n"
        "print(sys.stdin.isatty(), os.get_terminal_size().columns)\n"
        "while (line := input('> ')) != '/exit': print(line.upper())\n"
    )
    command = [sys.executable, "-c", program]
    shown = shown_by(command, os.environ, ("hello", "/exit"), 77)

    assert shown.startswith("True 77\r\n> ")
    assert "HELLO\r\n> " in shown


def test_fails_if_there_is_no_prompt() -> None:
    """
    With what was said instead.
    """
    command = [sys.executable, "-c", "print('no such endpoint')"]

    with pytest.raises(RuntimeError, match="never asked .* but said 'no such endpoint"):
        shown_by(command, os.environ, ("hello",), 80)


def test_a_picture_is_small(tmp_path: Path) -> None:
    """
    Eight pixels a letter, twenty a line, a margin around; and few colours.
    """
    path = tmp_path / "screen.png"
    draw("$ run\r\n\x1b[33mdone\x1b[0m", 40, path)
    before = path.stat().st_size
    shrink(path)

    with Image.open(path) as picture:
        assert picture.size == (44 * 8, 4 * 20)
        assert picture.mode == "P"
    assert path.stat().st_size < before


def ask(url: str, **body: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    """
    Return the choices of a stream.
    """
    data = json.dumps({"stream": True, **body}).encode()
    request = urllib.request.Request(f"{url}/v1/completions", data)  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback
        events = answer.read().decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [
        json.loads(event.removeprefix("data: "))["choices"][0] for event in events[:-2]
    ]


def test_the_model_server_answers_in_both_forms() -> None:
    """
    As many tokens as are asked for, and why it ended.
    """
    with model_server(1, 0.001) as url:
        told = ask(url, prompt="Hi", max_tokens=3)
        chatted = ask(url, messages=[], max_completion_tokens=2)

    assert [one["text"] for one in told] == ["a ", "model ", "that ", ""]
    assert [one["finish_reason"] for one in told] == [None, None, None, "length"]
    assert [one["delta"]["content"] for one in chatted] == ["a ", "model ", ""]


def test_requests_wait_where_all_slots_are_taken() -> None:
    """
    Three answers of a tenth of a second take three of them on one slot.
    """
    with model_server(1, 0.01) as url:
        began = time.monotonic()
        body = {"prompt": "Hi", "max_tokens": 10}
        askers = [
            threading.Thread(target=ask, args=(url,), kwargs=body) for _ in range(3)
        ]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()

        assert time.monotonic() - began >= 0.3
