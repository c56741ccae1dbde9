"""
``docs/engines.md``: the page is what the catalogue and the code make.
"""

from __future__ import annotations

import pytest

import cdk_sagemaker_llm as library
from tools.engine_page import TARGET, images, page

PAGE = TARGET.read_text(encoding="utf-8")
WRITTEN = [
    (family, call.format(images.newest(family)))
    for family, (_, call) in images.DESCRIBED.items()
    if call.startswith(("Vllm(", "Sglang("))
]


def test_the_page_is_the_one_the_code_makes() -> None:
    """
    ``make docs`` writes it anew.
    """
    assert page() == PAGE


def test_each_family_is_described() -> None:
    """
    A new one gets its words.
    """
    assert images.undescribed() == set()


@pytest.mark.parametrize(("family", "call"), WRITTEN)
def test_the_class_of_a_family(family: str, call: str) -> None:
    """
    What the page says to write takes an image of that family, the newest.
    """
    serving = eval(call, {"Vllm": library.Vllm, "Sglang": library.Sglang})  # noqa: S307 - the page's own

    assert serving.container_family == family
    assert serving.version == images.newest(family)


# One of each table, written out: regions are those that the SageMaker SDK lists, what
# arrives was seen with the supervisors, arguments were read in the engines' packages,
# and drivers are in the SageMaker guide.
LINES = """\
| `tei` | embeddings and ranking by Hugging Face on GPUs | `TextEmbeddings()` \
| 1.9.3 | 35 | the European Sovereign Cloud, `ap-east-2`, `ap-southeast-5`, \
`ap-southeast-6`, `ap-southeast-7`, `eu-isoe-west-1`, `me-west-1`, `mx-central-1`, \
`us-isof-east-1`, `us-isof-south-1` | `tei`, in accounts of its own |
| 2.4 | `server-sagemaker-cuda-v2.4` | 0.27.1 | 13.0 | amzn2023 | `vllm-C` | yes \
| 7.0, 7.5, 8.0, 8.6, 8.9, 9.0, 10.0, 10.3, 12.0 | 45 |
| 2, moves | `server-sagemaker-cuda-v2` |  | 13.0 | amzn2023 | `vllm-C` | yes |  \
| 45 |
| `vllm-B1` | no | no | no | unsupervised | unsupervised | unsupervised \
| unsupervised | `%%` | no | no |
| `vllm-C` | as it is | as it is | as it is | as it is | as it is | as it is \
| unsupervised | `%%` | as it is | as it is |
| `enable-log-deltas` | 0.14.0 and later | `SM_VLLM_NO_ENABLE_LOG_DELTAS=true` |
| `use-v2-block-manager` | 0.7.1 to 0.9.2 | nothing |
| 0.13.0 | `cuda-graph-sizes` | use cudagraph-capture-sizes |
| 0.5.20 | `stream-output` | use `--incremental-streaming-output` |
| 0.20.0 | `gpu-memory-utilization` | `0.9` | `0.92` |
| `ml.p5e`, `ml.p5en` | `al2-ami-sagemaker-inference-gpu-3-1` | the default \
| the default | `al2023-ami-sagemaker-inference-gpu-4-1` |
"""


@pytest.mark.parametrize("line", LINES.splitlines())
def test_a_line_of_the_page(line: str) -> None:
    """
    What it says is so.
    """
    assert line in PAGE.splitlines()


def test_a_sentence_is_a_line() -> None:
    """
    So that a change shows which sentence it was.
    """
    prose = [line for line in PAGE.splitlines() if line and line[0] not in "#|"]

    assert prose
    assert [line for line in prose if not line.endswith(".") or ". " in line] == []
