"""
Fifty streams of one endpoint at once, by aioboto3.
"""

from __future__ import annotations

import asyncio
import json
import sys

import aioboto3
from botocore.config import Config

STREAMS = 50


async def main(endpoint: str) -> None:
    """
    Open all of them, read each to its end, and print how many were open together.
    """
    config = Config(max_pool_connections=STREAMS, retries={"max_attempts": 0})
    opened = asyncio.Barrier(STREAMS)
    session = aioboto3.Session()
    async with session.client("sagemaker-runtime", config=config) as runtime:

        async def read(number: int) -> str:
            answer = await runtime.invoke_endpoint_with_response_stream(
                EndpointName=endpoint,
                ContentType="application/json",
                Body=json.dumps({"inputs": f"Question {number}", "stream": True}),
            )
            # Nobody reads before everybody has an answer.
            await opened.wait()
            parts = [event["PayloadPart"]["Bytes"] async for event in answer["Body"]]
            return b"".join(parts).decode()

        bodies = await asyncio.gather(*map(read, range(STREAMS)))
    print(json.dumps({"bodies": bodies}))


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(sys.argv[1]), timeout=60))
