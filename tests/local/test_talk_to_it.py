"""
The guide's way from a clone to a streamed answer.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer, example
from tests.local.client import commands
from tests.local.client.commands import run_line
from tests.local.conftest import ROOT

GUIDE = (ROOT / "docs/how-to/talk-to-it.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"# Ask a model.*?```sh\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.timeout(300)


def block() -> list[str]:
    """
    Return the set-up, the path, and the command that runs with them.
    """
    found = BLOCK.search(GUIDE)
    assert found is not None
    return found[1].split("\n", 2)


def test_its_way_names_what_is_there() -> None:
    """
    The example that it deploys makes the endpoint that it asks.
    """
    set_up, path, command = block()
    app = re.search(r'--app "python (\S+)"', command)
    asked = re.search(r"sagemaker-llm stream (\w+) ", command)

    assert (set_up, path[:12]) == ("make setup", "export PATH=")
    assert app is not None
    assert asked is not None
    code = (ROOT / app[1]).read_text(encoding="utf-8")
    assert f'endpoint_name="{asked[1]}"' in code


def without_times(line: str) -> str:
    """
    Leave out what depends on the machine.
    """
    return re.sub(r"[\d.]+ tokens/s, the first after [\d.]+ s", "", line)


def test_the_answer_that_it_shows_is_what_comes(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    Its beginning, its length and its confidence.
    """
    _, _, command = block()
    shown = GUIDE.split(command, 1)[1].split("```text\n", 1)[1].split("```", 1)[0]
    asked = re.search(r'stream (\w+) "(.+)" --max-new-tokens (\d+) --details', command)
    assert asked is not None
    endpoint, prompt, length = asked.groups()
    environment = embedded_aws.process_environment
    app = example("canary_with_rollback", tmp_path)
    deployer.deploy(app).checked()
    options = ("--max-new-tokens", length, "--details")
    done = commands.run(environment, "stream", endpoint, prompt, *options)
    told = commands.run(environment, "invoke", endpoint, prompt, "--details", "--json")
    deployer.destroy(app).checked()
    text, reason = shown.splitlines()

    assert done.stdout.startswith(text.removesuffix("..."))
    assert without_times(done.stderr.strip()) == without_times(reason)
    assert json.loads(told.stdout)["confidence"] > 0


@pytest.mark.whole
def test_its_last_command_streams_an_answer(tmp_path: Path) -> None:
    """
    What `make setup` brings is there already.
    """
    _, _, command = block()

    done = run_line(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n").endswith("It came in waves, as it does, and the")
    assert "finish reason length (cut off at its length)" in done.stderr
    assert (tmp_path / "cdk.out").is_dir()
