"""
``sagemaker-llm choose cdk.out``: what an app costs, and which lines to change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.running import run
from tests.unit.cli.app.templates import (
    COPIES,
    Resources,
    components,
    resource,
    target,
    template,
    variant,
)

VLLM = "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:server-sagemaker-cuda-v2.6"
MODEL = "Qwen/Qwen3-8B"
QUICK = (
    *("--rate", "1/s", "--duration", "10m", "--as-published"),
    *("--instance-type", "ml.g6e.xlarge", "--instance-type", "ml.g5.12xlarge"),
)
PRICES = {"ml.g6e.xlarge": 2.0, "ml.g5.12xlarge": 5.0, "ml.g6e.12xlarge": 11.0}


def serving(resources: Resources, name: str = "Model", **variables: str) -> Resources:
    """
    Let a model of a template be served by vLLM.
    """
    resources[name] = resource(
        "SageMaker::Model",
        PrimaryContainer={
            "Image": VLLM,
            "Environment": {
                "SM_VLLM_MODEL": MODEL,
                "SM_VLLM_MAX_MODEL_LEN": "8192",
                **variables,
            },
        },
    )
    paths = {"Model": "Chat/Endpoint/Model/Resource", "Config": "Chat/Endpoint/Config"}
    for each in paths.keys() & resources.keys():
        resources[each]["Metadata"] = {"aws:cdk:path": paths[each]}
    return resources


def dear() -> Resources:
    """
    Write two instances of four GPUs for what one of one GPU does.
    """
    return serving(
        variant(InstanceType="ml.g5.12xlarge", InitialInstanceCount=2),
        SM_VLLM_TENSOR_PARALLEL_SIZE="4",
    )


def chosen(folder: Path, resources: Resources, *more: str | Path) -> dict[str, Any]:
    """
    Run the command, and return its JSON with how it ended.
    """
    prices = folder / "prices.json"
    prices.write_text(json.dumps(PRICES), encoding="utf-8")
    path = template(folder, resources)
    done = run("choose", path, *QUICK, "--prices", prices, "--json", *more)
    assert done.stderr == ""
    return {**json.loads(done.stdout), "status": done.returncode}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """
    Return what is said of the dear one, with its page.
    """
    folder = tmp_path_factory.mktemp("app")
    found = chosen(folder, dear(), "--html", folder / "page.html")
    return {**found, "page": (folder / "page.html").read_text(encoding="utf-8")}


def test_it_says_what_runs_costs(facts: dict[str, Any]) -> None:
    """
    Two instances of 5 dollars an hour are 2 * 5 * 730 = 7,300 a month.
    """
    (one,) = facts["endpoints"]

    assert facts["status"] == 0
    assert one["today"]["usd_per_month"] == pytest.approx(7300)
    assert one["today"]["keeps"] is True
    assert one["today"]["models"]["AllTraffic"]["kept"] == 1.0
    assert one["verdict"] == "it keeps the objective"


def test_it_says_which_lines_to_change(facts: dict[str, Any]) -> None:
    """
    One instance of 2 dollars an hour is 1,460 a month, which saves 5,840; the context
    stays as long as it is.
    """
    (one,) = facts["endpoints"]
    same = one["same_engine"]
    config, model = "Chat/Endpoint/Config", "Chat/Endpoint/Model/Resource"

    assert same["usd_saved_per_month"] == pytest.approx(5840)
    assert same["is_worth_a_change"]
    assert [
        (each["construct"], each["line"], each["before"], each["after"])
        for each in same["changes"]
    ] == [
        (config, "instance_type", "ml.g5.12xlarge", "ml.g6e.xlarge"),
        (model, "accelerators of a copy", "4", "1"),
        (config, "instance_count", "2", "1"),
    ]
    assert "max_model_len=8192" in same["construct_call"]
    # The same again is not worth a change once more.
    assert one["any_engine"] is None or not one["any_engine"]["is_worth_a_change"]


def test_its_page_has_the_same(facts: dict[str, Any]) -> None:
    """
    The lines, the costs, and the picture of each answer.
    """
    page = facts["page"]

    assert "<td>ml.g5.12xlarge</td><td>ml.g6e.xlarge</td>" in page
    assert "which saves 5,840 $." in page
    assert page.count("<h1>") == 1
    assert page.count("<figure") == 4


def test_what_is_cheapest_already_is_left(tmp_path: Path) -> None:
    """
    As it is; and the text says so.
    """
    path = template(tmp_path, serving(variant(InstanceType="ml.g6e.xlarge")))
    done = run("choose", path, *QUICK, "--serving", "vllm")

    assert done.returncode == 0
    assert "nothing that was found is cheaper: leave it as it is" in done.stdout
    assert "LlmEndpoint(" not in done.stdout


def test_what_is_assumed_is_said(tmp_path: Path) -> None:
    """
    Of what is worth a change.
    """
    path = template(tmp_path, dear())
    done = run("choose", path, *QUICK, "--shared-prefix", "0.25")

    assert "Chat/Endpoint/Config: instance_count from 2 to 1" in done.stdout
    assert "assumed: 25% of the prompts' tokens are in the cache" in done.stdout


def test_what_fails_is_mended_for_more(tmp_path: Path) -> None:
    """
    A token of 20 ms takes four GPUs, where one runs.
    """
    found = chosen(
        tmp_path,
        {**serving(variant(InstanceType="ml.g6e.xlarge")), **target()},
        *("--tpot", "20ms"),
    )
    (one,) = found["endpoints"]
    lines = {each["line"]: each for each in one["same_engine"]["changes"]}

    assert found["status"] == 0
    assert one["today"]["keeps"] is False
    assert one["verdict"] == "it fails the objective"
    assert one["same_engine"]["usd_saved_per_month"] < 0
    assert lines["accelerators of a copy"]["after"] == "4"
    assert lines["scaling"]["before"] == "1 to 4"
    assert lines["scaling"]["construct"] == "Host/Target"


def test_nothing_that_keeps_it_ends_with_1(tmp_path: Path) -> None:
    """
    A token in a tenth of a millisecond.
    """
    found = chosen(tmp_path, dear(), "--tpot", "0.1ms")

    assert found["status"] == 1
    (one,) = found["endpoints"]
    assert one["same_engine"]["best"] is None
    assert one["verdict"] == (
        "it fails the objective; nothing that was looked at does better"
    )


def test_what_no_budget_allows_ends_with_1(tmp_path: Path) -> None:
    """
    A dollar below the 1,460 of the cheapest; that much is enough.
    """
    found = chosen(tmp_path, dear(), "--budget", "1459")
    (one,) = found["endpoints"]

    assert found["status"] == 1
    assert one["today"]["is_over_budget"]
    assert one["verdict"] == (
        "it keeps the objective, over the budget of 1,459 $ a month; nothing that was "
        "looked at does better"
    )
    assert chosen(tmp_path, dear(), "--budget", "1460")["status"] == 0


def test_a_model_that_is_not_known_has_its_cost_alone(tmp_path: Path) -> None:
    """
    One instance of 5 dollars an hour; what keeps the objective cannot be said.
    """
    unknown = variant(InstanceType="ml.g5.12xlarge")
    found = chosen(tmp_path, unknown)
    (one,) = found["endpoints"]

    assert found["status"] == 1
    assert one["today"]["usd_per_month"] == pytest.approx(3650)
    assert one["today"]["keeps"] is None
    assert one["same_engine"] is one["any_engine"] is None
    assert one["not_known"] == [
        "of AllTraffic, the app does not say which model it serves"
    ]


def test_two_models_on_one_host_are_looked_at_together(tmp_path: Path) -> None:
    """
    With a host of four GPUs for 11 dollars against two of one GPU for 2 each.
    """
    hosts = serving(components(InstanceType="ml.g6e.12xlarge"))
    hosts["Other"] = json.loads(json.dumps(hosts["Llama"]))
    found = chosen(tmp_path, hosts, "--serving", "vllm")
    (one,) = found["endpoints"]

    assert one["today"]["usd_per_month"] == pytest.approx(11 * 730)
    assert one["today"]["keeps"] is True
    assert one["same_engine"]["is_shared"] is False
    assert one["same_engine"]["usd_saved_per_month"] == pytest.approx(7 * 730)
    assert [each["line"] for each in one["same_engine"]["changes"]] == ["hosting"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cdk.out",), "cdk.out is neither a cloud assembly, such as cdk.out, nor"),
        (("config.json",), "config.json is neither a cloud assembly"),
        (("app.json", MODEL), "app.json is an app; give it alone, got 2 arguments"),
        (("empty.json",), "empty.json hosts no endpoint that can be played out"),
        (
            ("app.json", "--endpoint", "other"),
            "--endpoint must be in one of these names",
        ),
        (("app.json", "--write", "new.py"), "--write writes an app for a model"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_misuse_ends_with_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    """
    In one's own words.
    """
    monkeypatch.chdir(tmp_path)
    Path("cdk.out").mkdir()
    Path("config.json").write_text('{"architectures": ["Qwen3ForCausalLM"]}')
    Path("empty.json").write_text('{"Resources": {}}')
    Path("app.json").write_text(json.dumps({"Resources": dear()}))
    rates = ("--rate", "1/s") if MODEL in arguments else ()
    done = run("choose", *arguments, *QUICK, *rates)

    assert done.returncode == 2
    assert said in done.stderr


def test_what_may_go_to_zero_may_go_on_doing_so(tmp_path: Path) -> None:
    """
    Where requests come for ten minutes of twelve hours, without being asked for.
    """
    hosts = serving(components(InstanceType="ml.g6e.xlarge"))
    zero = target("inference-component/${Llama.InferenceComponentName}", COPIES)
    zero["Target"]["Properties"]["MinCapacity"] = 0
    trace = tmp_path / "trace.csv"
    rows = [f"{30 * minute},100,10" for minute in range(20)]
    trace.write_text("\n".join(["time,prompt_tokens,output_tokens", *rows]))
    path = template(tmp_path, {**hosts, **zero})
    more = ("--trace", trace, "--duration", "12h", *QUICK[4:])
    done = run("choose", path, *more, "--serving", "vllm", "--json")
    (one,) = json.loads(done.stdout)["endpoints"]

    found = one["same_engine"]["choices"]
    assert {each["copies"]["least"] for each in found} >= {0, 1}
