"""
aioboto3: many streams at once from one event loop.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.local.hosting_requests import LMI_28, serve

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Program


def test_fifty_streams_are_open_at_once(aws: EmbeddedAws, program: Program) -> None:
    """
    Each is whole, and none has another's text.
    """
    endpoint = serve(aws, LMI_28)

    bodies = program("aioboto3", "aioboto3_streams", endpoint)["bodies"]
    told = [[json.loads(line) for line in body.splitlines()] for body in bodies]
    texts = [lines[-1]["generated_text"] for lines in told]
    joined = ["".join(line["token"]["text"] for line in lines) for lines in told]
    assert len(texts) == 50
    assert joined == texts
    assert len(set(texts)) > 1
