"""
Load generators of the field at SageMaker's own route: aiperf and guidellm, unchanged.

Both count tokens by themselves, with a tokenizer of single bytes in place of one of the
Hugging Face Hub.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.local.bearer import address, make_token
from tests.local.hosting_requests import (
    REGISTRY,
    make_config,
    make_endpoint,
    make_model,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Program, Run

# guidellm imports PyTorch.
pytestmark = pytest.mark.timeout(900)

VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
MODEL = "Qwen/Qwen3-4B"
REQUESTS, STREAMS, TOKENS = 40, 8, 12


@pytest.fixture(name="base_url", scope="module")
def _base_url(aws: EmbeddedAws) -> str:
    environment = {"SM_VLLM_MODEL": MODEL}
    model = make_model(aws, image=VLLM, container={"Environment": environment})
    variant = {"ModelName": model, "InstanceType": "ml.g6.2xlarge"}
    return aws.url + address(make_endpoint(aws, make_config(aws, variant=variant)))


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(program: Program, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("tokenizer"))
    program("aiperf", "tiny_tokenizer", folder)
    return folder


def test_aiperf(run: Run, tmp_path: Path, base_url: str, tokenizer: str) -> None:
    """
    With the base address, the token as its key, and streams: no request fails.
    """
    done = run(
        *("aiperf", "aiperf", "profile"),
        *("--url", base_url, "--api-key", make_token(), "--endpoint-type", "chat"),
        *("--model", MODEL, "--tokenizer", tokenizer, "--streaming"),
        *("--request-count", str(REQUESTS), "--concurrency", str(STREAMS)),
        *("--isl", "32", "--osl", str(TOKENS), "--use-server-token-count"),
        *("--ui", "none", "--artifact-dir", str(tmp_path)),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "profile_export_aiperf.json").read_text())
    assert report["request_count"]["avg"] == REQUESTS
    assert report["error_summary"] == []
    assert report["output_sequence_length"]["avg"] == TOKENS
    assert report["time_to_first_token"]["avg"] > 0


def test_guidellm(run: Run, tmp_path: Path, base_url: str, tokenizer: str) -> None:
    """
    With the same; its question for the server's health is one that the route does not
    answer.
    """
    backend = f"kind=openai_http,target={base_url},model={MODEL}"

    done = run(
        *("guidellm", "guidellm", "run", "--disable-console-interactive"),
        *("--backend", f"{backend},api_key={make_token()},validate_backend=false"),
        *("--profile", f"kind=concurrent,streams={STREAMS}"),
        *("--constraint", f"kind=max_requests,count={REQUESTS}"),
        *("--data", f"kind=synthetic_text,prompt_tokens=32,output_tokens={TOKENS}"),
        *("--tokenizer", f"kind=huggingface_auto,model={tokenizer}"),
        *("--output", f"kind=json,path={tmp_path / 'report.json'}"),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    (measured,) = json.loads((tmp_path / "report.json").read_text())["benchmarks"]
    counts = measured["metrics"]["request_totals"]
    assert (counts["successful"], counts["errored"]) == (REQUESTS, 0)
    tokens = measured["metrics"]["output_token_count"]["successful"]
    assert tokens["mean"] == TOKENS
    firsts = measured["metrics"]["time_to_first_token_ms"]["successful"]
    assert firsts["mean"] > 0
