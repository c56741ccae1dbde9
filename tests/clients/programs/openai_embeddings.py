"""
Embeddings by OpenAI's SDK through ``InvokeEndpoint``, since SageMaker's own route is
not known to have them.
"""

from __future__ import annotations

import json
import sys

import boto3
import httpx
from openai import OpenAI


class Invocations(httpx.BaseTransport):  # type: ignore[misc]  # not installed here
    """
    Hands the SDK's requests to boto3.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._runtime = boto3.client("sagemaker-runtime")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """
        Answer one.
        """
        answer = self._runtime.invoke_endpoint(
            EndpointName=self._endpoint,
            ContentType="application/json",
            Body=request.read(),
        )
        return httpx.Response(200, content=answer["Body"].read())


def main(endpoint: str) -> None:
    """
    Ask for the vectors of two texts, and print how many numbers each has.
    """
    client = OpenAI(
        base_url="http://sagemaker",
        api_key="none",
        http_client=httpx.Client(transport=Invocations(endpoint)),
    )
    answer = client.embeddings.create(model="", input=["one", "two"])
    sizes = [len(each.embedding) for each in answer.data]
    print(json.dumps({"sizes": sizes, "counted": answer.usage.prompt_tokens}))


if __name__ == "__main__":
    main(*sys.argv[1:])
