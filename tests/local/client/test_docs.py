"""
What docs/client.md shows runs, in the order in which it shows it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm import Connection, client
from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.local.conftest import ROOT
from tests.local.hosting_requests import LMI_28, serve

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
# They need packages of their own: `make clients` tries what they do.
RECIPES = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_its_code_runs(
    embedded_aws: EmbeddedAws,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    On the embedded AWS.
    """
    for name, value in embedded_aws.environment.items():
        monkeypatch.setenv(name, value)
    endpoint = serve(embedded_aws, LMI_28)
    code = "\n".join(BLOCKS).replace("my-endpoint", endpoint)
    connection = Connection(endpoint_name=endpoint, region="us-east-1")
    ssm = embedded_aws.client("ssm")
    ssm.put_parameter(Name="/llm/chat", Value=connection.to_json(), Type="String")

    exec(compile(code, "docs/client.md", "exec"), {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    ssm.delete_parameter(Name="/llm/chat")
    assert len(BLOCKS) == 7
    assert continue_prompt("Who are you?", 10_000).text in printed
    assert "['Hi']\nHi\n" in printed


def test_it_lists_every_error() -> None:
    """
    A new one gets its line.
    """
    listed = set(re.findall(r"^\| `(\w+Error)` \|", PAGE, re.MULTILINE))
    known = {name for name in client.__all__ if name.endswith("Error")}

    assert listed == known - {"LlmError"}


def test_its_recipes_read_what_a_stack_stores() -> None:
    """
    They are Python, and take of the connection what is in it.
    """
    whole = Connection(endpoint_name="a", region="us-east-1", takes_chats=True)
    stored = json.loads(whole.to_json())
    code = "\n".join(RECIPES)
    compile(code, "docs/client.md", "exec")
    read = set(re.findall(r'connection\["(\w+)"\]', code))

    assert len(RECIPES) == 8
    assert read == {"openai_base_url", "region", "langchain", "litellm"} <= {*stored}
    assert "content_handler=" in code
