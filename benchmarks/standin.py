"""
A model on one core: streams of tokens at an even pace, to as many as ask.

``python -m benchmarks.standin`` prints its port, answers until its input ends, and
prints how late it was itself: a stand-in that lags would be taken for a slow client.
A request may ask for another number of tokens, and ``--pace`` is how many seconds are
between two of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from functools import cache

from cdk_sagemaker_llm.local.aws import protocols
from cdk_sagemaker_llm.simulation.histogram import Histogram

TOKENS, PACE = 50, 0.1
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_ASKED = re.compile(rb'"max_new_tokens": (\d+)')
_HEAD = (
    "HTTP/1.1 200 OK\r\n"
    f"Content-Type: {protocols.EVENT_STREAM}\r\n"
    "X-Amzn-SageMaker-Content-Type: application/jsonlines\r\n"
    "Transfer-Encoding: chunked\r\n\r\n"
).encode()
_END = b"0\r\n\r\n"


@cache
def _chunk(number: int, tokens: int) -> bytes:
    line: dict[str, object] = {
        "token": {"id": number, "text": f" w{number}", "log_prob": -0.5}
    }
    if number == tokens - 1:
        line["generated_text"] = ""
        line["details"] = {"finish_reason": "length", "generated_tokens": tokens}
    part = protocols.payload_part((json.dumps(line) + "\n").encode())
    return b"%x\r\n%s\r\n" % (len(part), part)


class StandIn:
    """
    The server, and how late each token went out.

    Args:
        pace: How many seconds are between two tokens.
    """

    def __init__(self, pace: float) -> None:
        self.late = Histogram()
        self._pace = pace

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """
        Answer one request after another, until the client hangs up.
        """
        try:
            while True:
                await self._stream(writer, await _tokens_asked(reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, tokens: int) -> None:
        writer.write(_HEAD)
        began, pace = time.perf_counter(), self._pace
        for number in range(tokens):
            writer.write(_chunk(number, tokens))
            await writer.drain()
            self.late.add([time.perf_counter() - began - number * pace])
            # By the clock: a token that is late does not put off those behind it.
            await asyncio.sleep(began + (number + 1) * pace - time.perf_counter())
        writer.write(_END)
        await writer.drain()


async def _tokens_asked(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    body = await reader.readexactly(int(length[1])) if length else b""
    asked = _ASKED.search(body)
    return int(asked[1]) if asked else TOKENS


async def _serve(pace: float) -> None:
    stand_in = StandIn(pace)
    server = await asyncio.start_server(stand_in.answer, "127.0.0.1", 0, backlog=1000)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    late = [stand_in.late.at(share) for share in (0.5, 0.99, 1.0)]
    sys.stdout.write(json.dumps(late) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pace", type=float, default=PACE)
    asyncio.run(_serve(parser.parse_args().pace))
