"""
The wheel beside boto3 and nothing else, as a Lambda has it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.local.client.misbehaving import Misbehaving
from tests.local.client.test_misbehaving import answer
from tests.package.conftest import constraints, run

pytestmark = pytest.mark.timeout(600)

RUN = """
import json, runpy, sys
found = runpy.run_path(sys.argv[1])
print(json.dumps(found["handler"]({"prompt": "Who?"}, None)))
"""
READ = """
from cdk_sagemaker_llm.client import read_stream
print([t.text for t in read_stream([b'[{"generated_text": "The cat"}]'])])
from cdk_sagemaker_llm.client import LlmClient
LlmClient("endpoint")
"""


@pytest.fixture(name="bare", scope="module")
def _bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Install the wheel alone, where nothing else is.
    """
    folder = tmp_path_factory.mktemp("bare") / "venv"
    make = ("uv", "venv", "--quiet", "--python", sys.executable, folder)
    install = ("uv", "pip", "install", "--quiet", "--python", folder, "--no-deps")
    for command in (make, (*install, wheel)):
        done = run(*command)
        assert done.returncode == 0, done.stderr
    return folder / "bin" / "python"


def test_the_reader_needs_nothing_and_the_client_says_what_it_needs(
    bare: Path, tmp_path: Path
) -> None:
    """
    Before boto3 is there.
    """
    done = run(bare, "-c", READ, PYTHONPATH=str(tmp_path))

    assert done.stdout.strip() == "['The cat']"
    assert "pip install 'cdk-sagemaker-llm[client]'" in done.stderr.splitlines()[-1]


def test_with_boto3_the_lambda_of_the_example_answers(
    bare: Path, root: Path, tmp_path: Path
) -> None:
    """
    No CDK, no Node.
    """
    pins = constraints(root, tmp_path)
    install = ("uv", "pip", "install", "--quiet", "--python", bare)
    installed = run(*install, "--constraint", pins, "boto3")
    assert installed.returncode == 0, installed.stderr
    listed = run("uv", "pip", "list", "--format", "json", "--python", bare)
    names = {package["name"] for package in json.loads(listed.stdout)}
    handler = root / "examples" / "lambda_client" / "handler.py"

    with Misbehaving(answer) as server:
        done = run(
            *(bare, "-c", RUN, handler),
            PYTHONPATH=str(tmp_path),
            ENDPOINT="chat",
            AWS_ENDPOINT_URL=server.url,
            AWS_ACCESS_KEY_ID="test",
            AWS_SECRET_ACCESS_KEY="test",  # noqa: S106 - no secret: any value does
            AWS_REGION="us-east-1",
            AWS_DEFAULT_REGION="us-east-1",
            NO_PROXY="127.0.0.1",
        )

    assert names.isdisjoint({"aws-cdk-lib", "constructs", "jsii", "moto"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["text"] == "The cat"


def test_the_command_needs_rich_and_typer_beside_it(
    bare: Path, root: Path, tmp_path: Path
) -> None:
    """
    No CDK and no Node for it either; also where help lists every subcommand.
    """
    pins = constraints(root, tmp_path)
    install = ("uv", "pip", "install", "--quiet", "--python", bare)
    installed = run(*install, "--constraint", pins, "boto3", "rich", "typer")
    assert installed.returncode == 0, installed.stderr
    command = bare.parent / "sagemaker-llm"

    shown = run(command, "--help", PYTHONPATH=str(tmp_path))
    with Misbehaving(answer) as server:
        done = run(
            *(command, "invoke", "chat", "Who?", "--endpoint-url", server.url),
            PYTHONPATH=str(tmp_path),
        )

    assert shown.returncode == 0, shown.stderr
    assert (done.returncode, done.stdout) == (0, "The cat\n"), done.stderr
