"""
How many requests a second the embedded AWS answers, for one client and for sixteen.

``--against PATH`` pairs it with another checkout of this project, in turns: is it as
fast as it was? Without it, moto's answer to STS on the same server is the other half.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import boto3

ROOT = Path(__file__).parent.parent
REGION = "us-east-1"
IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:"
    "0.26.0-tensorrtllm0.7.1-cu122"
)
ROLE = "arn:aws:iam::123456789012:role/Serving"
# Each server is a process of its own tree; it says where it answers and ends with us.
_SERVER = textwrap.dedent("""\
    import sys
    from cdk_sagemaker_llm.local import EmbeddedAws
    with EmbeddedAws() as aws:
        print(aws.port, flush=True)
        sys.stdin.read()
""")
_BODY = json.dumps({"inputs": "Who?", "parameters": {"max_new_tokens": 20}})
_SIGNED = "AWS4-HMAC-SHA256 Credential=test/20261121/us-east-1/{}/aws4_request"
REQUESTS = {
    "InvokeEndpoint": (
        "/endpoints/chat/invocations",
        {"Content-Type": "application/json", "Authorization": _SIGNED},
        _BODY,
        "sagemaker",
    ),
    "InvokeEndpointWithResponseStream": (
        "/endpoints/chat/invocations-response-stream",
        {"Content-Type": "application/json", "Authorization": _SIGNED},
        _BODY,
        "sagemaker",
    ),
    "DescribeEndpoint": (
        "/",
        {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "SageMaker.DescribeEndpoint",
            "Authorization": _SIGNED,
        },
        json.dumps({"EndpointName": "chat"}),
        "sagemaker",
    ),
}
_STS = (
    "/",
    {
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": _SIGNED,
    },
    "Action=GetCallerIdentity&Version=2011-06-15",
    "sts",
)
Request = tuple[str, dict[str, str], str, str]


@contextmanager
def server(tree: Path) -> Iterator[int]:
    """
    Run the embedded AWS of a checkout, with one endpoint; give its port.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        env={**os.environ, "PYTHONPATH": str(tree / "constructs")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tree,
    )
    with process:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the server has no pipes")
        port = int(process.stdout.readline())
        _deploy(port)
        yield port
        process.stdin.close()


def _deploy(port: int) -> None:
    def client(name: str) -> object:
        return boto3.client(  # type: ignore[call-overload]  # any service by name
            name,
            endpoint_url=f"http://localhost:{port}",
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        )

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        text = b"engine=MPI\noption.rolling_batch=auto\n"
        member = tarfile.TarInfo("serving.properties")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    s3, hosting = client("s3"), client("sagemaker")
    s3.create_bucket(Bucket="models")  # type: ignore[attr-defined]  # see above
    s3.put_object(Bucket="models", Key="a.tar.gz", Body=archive.getvalue())  # type: ignore[attr-defined]  # see above
    container = {"Image": IMAGE, "ModelDataUrl": "s3://models/a.tar.gz"}
    hosting.create_model(  # type: ignore[attr-defined]  # see above
        ModelName="chat", ExecutionRoleArn=ROLE, PrimaryContainer=container
    )
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": "chat",
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
    }
    hosting.create_endpoint_config(  # type: ignore[attr-defined]  # see above
        EndpointConfigName="chat", ProductionVariants=[variant]
    )
    hosting.create_endpoint(EndpointName="chat", EndpointConfigName="chat")  # type: ignore[attr-defined]  # see above


def rate(port: int, request: Request, clients: int, seconds: float) -> float:
    """
    Send one request over and over; return how many were answered a second.
    """
    path, headers, body, service = request
    sent = {name: value.format(service) for name, value in headers.items()}
    end = time.perf_counter() + seconds

    def one_client() -> int:
        answered = 0
        while time.perf_counter() < end:
            connection = http.client.HTTPConnection("localhost", port)
            connection.request("POST", path, body, sent)
            response = connection.getresponse()
            response.read()
            connection.close()
            if response.status != http.client.OK:
                raise RuntimeError(f"{path}: status {response.status}")
            answered += 1
        return answered

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        total = sum(pool.map(lambda _: one_client(), range(clients)))
    return total / (time.perf_counter() - began)


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds a line")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="of each measurement"
    )
    parser.add_argument("--against", type=Path, help="another checkout to pair with")
    options = parser.parse_args()
    other = "the other checkout" if options.against else "moto's STS"
    print(f"Requests a second, medians of {options.rounds} pairs after one.\n")
    print(f"| request | clients | here | {other} | ratio |")
    print("| --- | --- | --- | --- | --- |")
    with ExitStack() as stack:
        here = stack.enter_context(server(ROOT))
        there = (
            stack.enter_context(server(options.against)) if options.against else here
        )
        for name, request in REQUESTS.items():
            for clients in (1, 16):
                paired = request if options.against else _STS
                pairs = [
                    (
                        rate(here, request, clients, options.seconds),
                        rate(there, paired, clients, options.seconds),
                    )
                    for _ in range(options.rounds + 1)
                ][1:]
                ours, theirs = (
                    statistics.median(side) for side in zip(*pairs, strict=True)
                )
                ratios = [a / b for a, b in pairs]
                print(
                    f"| {name} | {clients} | {ours:.0f} | {theirs:.0f} | "
                    f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to "
                    f"{max(ratios):.2f}) |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
