"""
A SageMaker runtime on loopback whose endpoint does as the published benchmark says.

By hand, four times as fast as it was: ``python tests/local/loading/stand_in.py
--speed 4`` prints an address, and ``sagemaker-llm benchmark demo --endpoint-url
ADDRESS --schema tgi --copies 8 --region us-east-1`` measures it, with any credentials.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# A script by hand, and a module of the tests.
sys.path.insert(0, str(Path(__file__).parents[3]))

from cdk_sagemaker_llm.local.aws import protocols
from tests.local.loading.engine import COPIES, PUBLISHED, Copy, Sequence

_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
_STREAM = b"/invocations-response-stream"
_HEAD = b"HTTP/1.1 200 OK\r\n"
_STREAMED = (
    _HEAD
    + f"Content-Type: {protocols.EVENT_STREAM}\r\n".encode()
    + b"X-Amzn-SageMaker-Content-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def _token(number: int) -> dict[str, object]:
    return {"id": number, "text": " so", "logprob": -0.5, "special": False}


def _chunk(event: dict[str, object]) -> bytes:
    part = protocols.payload_part(f"data:{json.dumps(event)}\n\n".encode())
    return b"%x\r\n%s\r\n" % (len(part), part)


# All but the last are the same: the stand-in must leave time for who measures it.
_USUAL = _chunk({"token": _token(1), "generated_text": None, "details": None})


@dataclass(frozen=True)
class Asked:
    """
    What a request asks for: so many tokens of prompt, and of answer.
    """

    prompt: int
    answer: int

    @property
    def details(self) -> dict[str, object]:
        """
        What the engine says at the end.
        """
        return {
            "finish_reason": "length",
            "generated_tokens": self.answer,
            "input_length": self.prompt,
        }


class StandIn:
    """
    Copies behind one address; each request goes to the one with the fewest.

    Args:
        speed: How many times as fast it is.
    """

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._copies = [Copy(PUBLISHED, speed) for _ in range(COPIES)]

    async def run(self) -> None:
        """
        Print the address and serve without end.
        """
        server = await asyncio.start_server(self._connected, "127.0.0.1", backlog=1000)
        port = server.sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}", flush=True)  # noqa: T201 - the answer
        await asyncio.gather(
            server.serve_forever(), *(copy.serve() for copy in self._copies)
        )

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                found = _LENGTH.search(head)
                body = await reader.readexactly(int(found[1]) if found else 0)
                await self._answer(_asked(body), writer, is_streamed=_STREAM in head)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(
        self, asked: Asked, writer: asyncio.StreamWriter, *, is_streamed: bool
    ) -> None:
        await asyncio.sleep(PUBLISHED.network / self._speed)
        done = asyncio.Event()
        write = _streaming(asked, writer) if is_streamed else _whole(asked, writer)

        def wrote(left: int) -> None:
            write(left)
            if not left:
                done.set()

        emptiest = min(self._copies, key=lambda copy: copy.outstanding)
        emptiest.take(Sequence(asked.prompt, asked.answer, wrote))
        await done.wait()


def _streaming(asked: Asked, writer: asyncio.StreamWriter) -> Callable[[int], None]:
    writer.write(_STREAMED)

    def write(left: int) -> None:
        if left:
            writer.write(_USUAL)
            return
        last = {"generated_text": " so" * asked.answer, "details": asked.details}
        writer.write(_chunk({"token": _token(asked.answer), **last}) + b"0\r\n\r\n")

    return write


def _whole(asked: Asked, writer: asyncio.StreamWriter) -> Callable[[int], None]:
    def write(left: int) -> None:
        if left:
            return
        text = {"generated_text": " so" * asked.answer, "details": asked.details}
        body = json.dumps([text]).encode()
        kind = b"Content-Type: application/json\r\n"
        writer.write(_HEAD + kind + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    return write


def _asked(body: bytes) -> Asked:
    given = json.loads(body)
    return Asked(len(given["inputs"].split()), given["parameters"]["max_new_tokens"])


@contextmanager
def stand_in(speed: float) -> Iterator[str]:
    """
    Have one serve in a process of its own; give its address.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, "--speed", str(speed)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main() -> None:
    """
    Serve.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=1.0, help="how many times")
    asyncio.run(StandIn(parser.parse_args().speed).run())


if __name__ == "__main__":
    main()
