"""
The example of a Lambda, run on the embedded AWS as Lambda runs it.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.local.hosting_requests import (
    LMI_28,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

HANDLER = Path(__file__).parents[3] / "examples" / "lambda_client" / "handler.py"
PROMPT = "Who are you?"
RUN = """
import json, runpy, sys
found = runpy.run_path(sys.argv[1])
print(json.dumps(found["handler"]({"prompt": sys.argv[2]}, None)))
heavy = ("aws_cdk", "jsii", "constructs")
print([name for name in heavy if name in sys.modules])
"""


def test_it_answers(embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    To the end, with how sure the model was; an error is an answer too.
    """
    for name, value in embedded_aws.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ENDPOINT", serve(embedded_aws, LMI_28))
    specification = importlib.util.spec_from_file_location("handler", HANDLER)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    answer = module.handler({"prompt": PROMPT}, None)
    assert answer["text"] == continue_prompt(PROMPT, 10_000).text
    assert answer["finish_reason"] == "stop"
    assert answer["requests"] == 1
    assert 0 < answer["confidence"] < 1
    monkeypatch.setenv("ENDPOINT", "nobody")
    specification.loader.exec_module(module)
    failed = module.handler({"prompt": PROMPT}, None)
    assert failed["text"] == ""
    assert "nobody" in failed["error"]


def test_it_runs_without_the_cdk(embedded_aws: EmbeddedAws) -> None:
    """
    In an interpreter of its own, against an inference component.
    """
    endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
    model = make_model(embedded_aws, image=LMI_28)
    component = make_component(embedded_aws, endpoint, model=model)
    names = {"ENDPOINT": endpoint, "COMPONENT": component}

    done = subprocess.run(
        [sys.executable, "-c", RUN, HANDLER, PROMPT],
        capture_output=True,
        text=True,
        check=True,
        env={**embedded_aws.process_environment, **names},
    )
    answer, heavy = done.stdout.splitlines()
    assert json.loads(answer)["text"] == continue_prompt(PROMPT, 10_000).text
    assert heavy == "[]"
