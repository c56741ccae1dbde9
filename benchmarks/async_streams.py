"""
Streams in asyncio, by this library's client or by aioboto3, as a process of its own: it
prints the microseconds of its CPU that a token takes.

It runs in either environment, and imports what is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

ENDPOINT = "chat"
_Read = Callable[[], Awaitable[int]]


async def ours(url: str, streams: int, stack: AsyncExitStack) -> _Read:
    """
    Read a stream as tokens; return how many.
    """
    import boto3  # noqa: PLC0415 - of one environment
    from botocore.config import Config  # noqa: PLC0415 - as above

    from cdk_sagemaker_llm.client import AsyncLlmClient  # noqa: PLC0415 - as above

    client = await stack.enter_async_context(
        AsyncLlmClient(
            ENDPOINT,
            session=boto3.Session("test", "test", region_name="us-east-1"),
            endpoint_url=url,
            max_connections=streams,
            config=Config(proxies={"http": ""}),
        )
    )

    async def read() -> int:
        count = 0
        async for _ in client.stream("Who?"):
            count += 1
        return count

    return read


async def theirs(url: str, streams: int, stack: AsyncExitStack) -> _Read:
    """
    Read a stream as the objects of its lines; return how many.
    """
    import aioboto3  # noqa: PLC0415 - of the other environment
    from botocore.config import Config  # noqa: PLC0415 - as above

    session = aioboto3.Session("test", "test", region_name="us-east-1")
    direct = Config(proxies={"http": ""}, max_pool_connections=streams)
    runtime: Any = await stack.enter_async_context(
        session.client("sagemaker-runtime", endpoint_url=url, config=direct)
    )

    async def read() -> int:
        response = await runtime.invoke_endpoint_with_response_stream(
            EndpointName=ENDPOINT, Body=b"{}", ContentType="application/json"
        )
        count, rest = 0, b""
        async for event in response["Body"]:
            *lines, rest = (rest + event["PayloadPart"]["Bytes"]).split(b"\n")
            for line in lines:
                data = line.removeprefix(b"data:").strip()
                if data and data != b"[DONE]":
                    json.loads(data)
                    count += 1
        return count

    return read


async def main() -> None:
    """
    Read once so many streams at a time, which does not count, and then count.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=["ours", "theirs"])
    parser.add_argument("url")
    parser.add_argument("--streams", type=int, required=True, help="at a time")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    opened = ours if options.reader == "ours" else theirs
    async with AsyncExitStack() as stack:
        read = await opened(options.url, options.streams, stack)

        async def together() -> int:
            return sum(await asyncio.gather(*(read() for _ in range(options.streams))))

        await together()
        began, cpu = time.perf_counter(), time.process_time()
        tokens = 0
        for _ in range(options.rounds):
            tokens += await together()
        cpu = time.process_time() - cpu
        took = time.perf_counter() - began
    print(json.dumps({"cpu": 1e6 * cpu / tokens, "wall": 1e6 * took / tokens}))


if __name__ == "__main__":
    asyncio.run(main())
