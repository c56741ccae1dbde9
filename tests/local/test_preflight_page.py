"""
The session of the guide is what the command prints.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdk_sagemaker_llm import cli
from cdk_sagemaker_llm.account import reader
from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import ROOT, example
from tests.local.near import NearAws
from tests.local.preflight_app import make_ready, write_app
from tests.secrecy import TOKEN

GUIDE = (ROOT / "docs/how-to/preflight.md").read_text(encoding="utf-8")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(name="aws")
def _aws() -> Iterator[EmbeddedAws]:
    with NearAws() as aws:
        yield aws
        aws.clear_faults()


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """
    Run the command in this process; give its exit status and both outputs.
    """

    def run(*arguments: str) -> tuple[int, str, str]:
        words = ["sagemaker-llm", "preflight", *arguments]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def test_the_session_is_what_comes(aws: EmbeddedAws, run: Run, tmp_path: Path) -> None:
    """
    Of the example and the fault that the guide names, but for the account.
    """
    fault = re.search(r"--fault quota,target=(\S+),available=(\d+) ", GUIDE)
    app = re.search(r"examples/(\w+)/app.py", GUIDE)
    shown = re.search(r"```text\n(Canary.*?)```", GUIDE, re.DOTALL)
    assert fault is not None
    assert app is not None
    assert shown is not None
    aws.fault("quota", fault[1], available=int(fault[2]))

    status, out, _ = run(str(example(app[1], tmp_path)))

    assert status == 1
    assert out.replace(aws.account, "123456789012") == shown[1]


def test_json_has_the_same(aws: EmbeddedAws, run: Run, tmp_path: Path) -> None:
    """
    For a pipeline, which reads nothing else on standard output.
    """
    aws.fault("quota", "ml.g5.2xlarge", available=4)

    status, out, err = run(str(example("canary_with_rollback", tmp_path)), "--json")

    answer = json.loads(out)
    assert status == 1
    assert (answer["account"], answer["errors"]) == (aws.account, 2)
    assert [one["code"] for one in answer["findings"]] == ["LLM575", "LLM561"]
    assert len(answer["not_asked"]) == 1
    assert "asking about images" in err


def test_a_secret_is_printed_nowhere(
    aws: EmbeddedAws, run: Run, tmp_path: Path
) -> None:
    """
    Whatever is wrong with it.
    """
    ready = make_ready(aws)
    path = str(write_app(ready, tmp_path))
    for value in (TOKEN, f"{TOKEN}\n", json.dumps({"token": TOKEN}), f"x{TOKEN}"):
        aws.client("secretsmanager").put_secret_value(
            SecretId="hub", SecretString=value
        )
        for options in ([], ["--json"]):
            _, out, err = run(path, *options)
            assert TOKEN not in out + err


def test_the_policy_is_printed_without_asking(
    aws: EmbeddedAws, run: Run, tmp_path: Path
) -> None:
    """
    For whoever grants it.
    """
    status, out, err = run(str(example("canary_with_rollback", tmp_path)), "--policy")

    document = json.loads(out)
    assert (status, err) == (0, "")
    assert aws.account not in out
    assert "servicequotas:ListServiceQuotas" in document["Statement"][0]["Action"]
    assert "s3:GetObject" not in out


def test_fails_if_nothing_can_be_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """
    It is told at once, and not question by question.
    """
    monkeypatch.setattr(reader, "_ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:9")
    status, _, err = run(str(tmp_path))
    assert status == 2
    assert "the account cannot be asked: Could not connect" in err


def test_fails_if_the_app_cannot_be_read(
    aws: EmbeddedAws, run: Run, tmp_path: Path
) -> None:
    """
    As ``check`` says it.
    """
    assert aws.is_running
    status, _, err = run(str(tmp_path))

    assert status == 2
    assert "holds no manifest.json" in err
    assert run(str(tmp_path / "cdk.out"), "--policy")[0] == 2
