"""
The command that says where a model fits.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from cdk_sagemaker_llm import (
    CustomContainer,
    InferenceComponentEndpoint,
    InstanceType,
    ResourceRequirements,
)
from cdk_sagemaker_llm.catalog.architectures import model_names
from cdk_sagemaker_llm.cli.commands.plan import _demand
from tests import running
from tests.deployments import ROOT, synthesised

MISTRAL = "mistralai/Mistral-7B-v0.1"
LLAMA_13B = "meta-llama/Llama-2-13b-hf"
IMAGE = "111111111111.dkr.ecr.us-east-1.amazonaws.com/model:1"


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """
    Run the command as a user does.
    """
    return running.run("plan", *arguments, environment={**os.environ, **environment})


def run_json(*arguments: str | Path, **environment: str) -> Any:  # noqa: ANN401 - JSON
    """
    Run the command and read what it prints.
    """
    return json.loads(run(*arguments, "--json", **environment).stdout)


def test_instance_types_are_ranked_by_accelerators_used() -> None:
    """
    One A10G is enough for 7B in 16 bits; what takes more comes after.
    """
    answer = run_json(MISTRAL)
    used = [choice["accelerators"] for choice in answer]

    assert answer[0]["accelerators"] == 1
    assert used == sorted(used)
    assert all(choice["fits"] for choice in answer)


def test_prices_decide_between_equals(tmp_path: Path) -> None:
    """
    Of two types that take one accelerator, the cheaper is first.
    """
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"ml.g6e.xlarge": 2.0, "ml.g5.xlarge": 3.0}))

    answer = run_json(MISTRAL, "--prices", prices, "--copies", "2")

    assert [choice["instance_type"] for choice in answer[:2]] == [
        "ml.g6e.xlarge",
        "ml.g5.xlarge",
    ]
    assert answer[0]["usd_per_hour"] == 4.0


def test_one_type_is_explained_with_a_bar() -> None:
    """
    The arithmetic, and what nine copies of 13B take.
    """
    done = run(LLAMA_13B, "--instance-type", "ml.p4d.24xlarge", "--copies", "9")

    assert done.returncode == 0
    assert "weights                      24.24     24.29     24.39" in done.stdout
    assert "[WWWWWWWWWWWWWWWWWWWWWWWWWWWWW" in done.stdout
    assert "9 copies: 2 instances, 9 accelerators" in done.stdout


def test_a_draft_model_is_counted() -> None:
    """
    In its own line, and in the bar.
    """
    given = ("Qwen/Qwen3-8B", "--instance-type", "ml.g5.2xlarge")
    draft = ("--draft-model", "Qwen/Qwen3-0.6B")
    shown = run(*given, *draft)
    (found,) = run_json(*given, *draft)
    (alone,) = run_json(*given)

    assert shown.returncode == 0
    assert "draft model                   1.11" in shown.stdout
    assert "D" in shown.stdout.splitlines()[-3]
    assert found["draft_model"] == "Qwen/Qwen3-0.6B"
    assert found["draft_model_is_counted"]
    assert found["bytes_per_accelerator"]["draft"] > 1_192_099_840
    assert "draft_model" not in alone
    assert "draft" not in alone["bytes_per_accelerator"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--draft-model", "Qwen/Qwen3-0.7B"],
            "no model 'Qwen/Qwen3-0.7B' in the",
        ),
        (
            ["--draft-model", "Qwen/Qwen3-0.6B", "--serving", "sglang"],
            "--draft-model is counted with vLLM alone, and --serving is that of SGLang",
        ),
    ],
)
def test_a_draft_model_that_cannot_be_counted_is_refused(
    given: list[str], said: str
) -> None:
    """
    A name that is mistyped is not left out in silence.
    """
    answer = run("Qwen/Qwen3-8B", *given)

    assert answer.returncode == 2
    assert said in answer.stderr


def test_the_guide_shows_the_plan_that_is_printed() -> None:
    """
    But for the bar below it.
    """
    text = (ROOT / "docs/how-to/size-a-model.md").read_text(encoding="utf-8")
    printed = run(LLAMA_13B, "--instance-type", "ml.g5.2xlarge").stdout

    plan, _, _ = printed.partition("\n\n[")
    assert f"```text\n{plan}\n```" in text


def test_what_does_not_fit_ends_with_1() -> None:
    """
    With the term that decides.
    """
    done = run(LLAMA_13B, "--instance-type", "ml.g5.2xlarge")

    assert done.returncode == 1
    assert "does not load" in done.stdout
    assert "limit: weights" in done.stdout


def test_the_range_is_printed_for_machines_too() -> None:
    """
    Three cases, of which the cautious one is what is promised.
    """
    (answer,) = run_json(LLAMA_13B, "--instance-type", "ml.p4d.24xlarge")
    cases = answer["range"]
    tokens = [cases[name]["kv_cache_tokens"] for name in ("best", "expected")]

    assert (answer["engine"], answer["engine_version"]) == ("vllm", "0.30.0")
    assert list(cases) == ["best", "expected", "cautious"]
    assert tokens[0] > tokens[1] > cases["cautious"]["kv_cache_tokens"]
    assert cases["cautious"]["concurrent_sequences"] == answer["concurrent_sequences"]
    assert cases["best"]["fits"]


def test_a_release_can_be_named() -> None:
    """
    0.16 takes more for the logits than 0.17 does.
    """
    where = ("--instance-type", "ml.p4d.24xlarge", "--engine-version")
    (older,) = run_json("Qwen/Qwen3-8B", *where, "0.16.0")
    (newer,) = run_json("Qwen/Qwen3-8B", *where, "0.17.0")
    wrong = run("Qwen/Qwen3-8B", *where, "nightly")

    assert older["engine_version"] == "0.16.0"
    assert older["concurrent_sequences"] < newer["concurrent_sequences"]
    assert (wrong.returncode, "such as '0.10.2'" in wrong.stderr) == (2, True)


def test_what_may_fit_is_shown_and_no_failure() -> None:
    """
    Falcon 7B on a T4 fits in the best case alone: it is promised nothing.
    """
    done = run(
        "tiiuae/falcon-7b", "--instance-type", "ml.g4dn.xlarge", "--context", "512"
    )

    assert done.returncode == 0
    assert "may fit: in the best case" in done.stdout


def test_weights_are_planned_as_they_are_published() -> None:
    """
    DeepSeek R1 in fp8, unless other bits are asked for.
    """
    model, where = "deepseek-ai/DeepSeek-R1", ("--instance-type", "ml.p5en.48xlarge")
    published, wide = run(model, *where), run(model, *where, "--weight-bits", "16")

    assert (published.returncode, wide.returncode) == (0, 1)
    assert "671,026,404,352 parameters in 8 bits" in published.stdout


def test_quantization_and_engine_change_the_answer() -> None:
    """
    Four bits fit one A10G; TensorRT-LLM records no CUDA graphs.
    """
    instance = ("--instance-type", "ml.g5.2xlarge")
    (four,) = run_json(LLAMA_13B, *instance, "--weight-bits", "4")
    (trt,) = run_json(MISTRAL, *instance, "--serving", "trtllm")

    assert four["fits"]
    assert trt["bytes_per_accelerator"]["cuda_graphs"] == 0


def test_a_config_json_is_planned(tmp_path: Path) -> None:
    """
    A model that the catalogue does not have.
    """
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "architectures": ["LlamaForCausalLM"],
                "hidden_size": 2048,
                "intermediate_size": 5632,
                "num_hidden_layers": 22,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "vocab_size": 32000,
                "max_position_embeddings": 2048,
            }
        )
    )
    (answer,) = run_json(config, "--instance-type", "ml.g4dn.xlarge")

    assert answer["fits"]
    assert answer["context_length"] == 2048


def test_a_synthesised_app_says_what_it_takes(tmp_path: Path) -> None:
    """
    Per endpoint the accelerators and copies, and all quotas by name.
    """
    synthesised(ROOT / "app.py", tmp_path)

    answer = run_json(tmp_path)
    text = running.run_installed("plan", tmp_path).stdout

    assert answer["quotas"] == {
        "ml.g5.12xlarge for endpoint usage": 4,
        "ml.p4d.24xlarge for endpoint usage": 3,
    }
    shared = next(e for e in answer["endpoints"] if "Llama13BX8" in e["endpoint"])
    assert (shared["accelerators_used"], shared["accelerators_free"]) == (8, 0)
    assert list(shared["copies"].values()) == [8]
    assert "1 x ml.g5.12xlarge, at most 4" in text
    assert "ml.p4d.24xlarge for endpoint usage: 3" in text


def define_host(stack: Stack, instance_type: str | InstanceType) -> None:
    """
    Define models of 5 and of 1 accelerators that need two p4d, and start on one.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type=instance_type, max_instance_count=3
    )
    for name, copies, accelerators, cpus in (("Large", 2, 5, 40), ("Small", 4, 1, 2.5)):
        host.add_model(
            name,
            serving=CustomContainer.from_uri(IMAGE),
            resources=ResourceRequirements(
                copies=copies, accelerators=accelerators, cpus=cpus, memory_mib=2048
            ),
        )
    host.add_model(
        "Reranker",
        serving=CustomContainer.from_uri(IMAGE),
        resources=ResourceRequirements(copies=0, memory_mib=1536),
    )


def named(copies: dict[str, int]) -> dict[str, int]:
    """
    Call components as they were defined, without the hashes of their ids.
    """
    return {name[4 : name.index("Component")]: n for name, n in copies.items()}


def test_copies_of_an_app_have_their_places(app: App, stack: Stack) -> None:
    """
    On the instances that they need, which scaling may add.
    """
    define_host(stack, "ml.p4d.24xlarge")
    folder = app.synth().directory
    (answer,) = run_json(folder)["endpoints"]
    lines = [line.strip() for line in run(folder).stdout.splitlines()]

    assert named(answer["copies"]) == {"Large": 2, "Small": 4, "Reranker": 0}
    assert (answer["accelerators_used"], answer["accelerators_free"]) == (14, 2)
    assert (answer["instances"], answer["instances_running"]) == (1, 2)
    assert [named(one) for one in answer["placement"]] == [
        {"Large": 1, "Small": 3},
        {"Large": 1, "Small": 1},
    ]
    assert (answer["left_over"], answer["reasons"]) == ({}, [])
    assert answer["fewest_instances"] == 2
    assert lines[0].endswith("(AllTraffic): 1 x ml.p4d.24xlarge, at most 3")
    assert lines[1] == (
        "accelerators: 14 used, 2 free, on the 2 instances that the copies need"
    )
    assert lines[2].startswith("2 x HostLarge")
    assert lines[2].endswith(": 5 accelerators, 40 CPU cores, 2,048 MiB each")
    assert lines[3].endswith(": 1 accelerator, 2.5 CPU cores, 2,048 MiB each")
    assert lines[4].startswith("0 x HostReranker")
    assert lines[4].endswith(": 0 accelerators, 0 CPU cores, 1,536 MiB each")
    assert lines[5].startswith("instance 1: 1 x HostLarge")
    assert lines[5].endswith("; free 0 accelerators, 48.5 CPU cores, 1144 GiB")
    assert lines[6].startswith("instance 2: 1 x HostLarge")
    assert lines[7] == "fewest instances for all copies: 2"
    assert lines[8].startswith("costs: ")
    assert lines[9] == ""


def test_costs_are_of_the_instances_that_the_copies_need(
    app: App, stack: Stack, tmp_path: Path
) -> None:
    """
    Two of three, though the endpoint begins with one.
    """
    define_host(stack, "ml.p4d.24xlarge")
    prices = tmp_path / "prices.json"
    prices.write_text('{"ml.p4d.24xlarge": 30}')
    arguments = (app.synth().directory, "--prices", prices)
    (answer,) = run_json(*arguments)["endpoints"]

    assert (answer["usd_per_hour"], answer["most_usd_per_hour"]) == (60.0, 90.0)
    assert answer["usd_per_month"] == 43800.0
    shown = run(*arguments).stdout
    assert (
        "  costs: 60.00 $/h, 43,800 $ a month; at most 90.00 $/h, 65,700 $ a month\n"
        "\n"
        "in all: 60.00 $/h, 43,800 $ a month\n"
        f"prices: {prices}\n"
    ) in shown


def test_without_a_model_those_of_the_catalogue_are_listed() -> None:
    """
    A name a line, or as JSON; what belongs to one model is refused.
    """
    names = run().stdout.splitlines()
    refused = run("--copies", "2")

    assert "Qwen/Qwen3-8B" in names
    assert names == sorted(model_names(), key=str.lower) == run_json()
    assert refused.returncode == 2
    assert refused.stderr == (
        "sagemaker-llm plan: --copies cannot be given without a model; name one\n"
    )


def test_a_template_is_no_model(tmp_path: Path) -> None:
    """
    It is said what to name instead.
    """
    template = tmp_path / "Chat.template.json"
    template.write_text("{}")
    done = run(template)

    assert done.returncode == 2
    assert done.stderr == (
        f"sagemaker-llm plan: {template} is a template, and no config.json; name the "
        f"cloud assembly that it is in, {tmp_path}\n"
    )


def test_a_file_is_called_by_its_own_name(tmp_path: Path) -> None:
    """
    It need not be a config.json.
    """
    file = tmp_path / "prices.json"
    file.write_text("{}")

    assert run(file).stderr.startswith(
        f"sagemaker-llm plan: {file} has neither architectures nor model_type; "
    )


def test_an_instance_type_that_is_not_known_has_copies_and_no_places(
    app: App, stack: Stack
) -> None:
    """
    What each copy reserves is in the template, what an instance has is not.
    """
    newer = InstanceType.of("ml.p9.24xlarge", accelerators=8, vcpus=96, memory_gib=99)
    define_host(stack, newer)
    folder = app.synth().directory
    (answer,) = run_json(folder)["endpoints"]
    text = run(folder).stdout

    assert named(answer["copies"]) == {"Large": 2, "Small": 4, "Reranker": 0}
    assert answer["accelerators_used"] == 14
    for name in (
        "accelerators_free",
        "placement",
        "left_over",
        "reasons",
        "fewest_instances",
    ):
        assert answer[name] is None
    assert "accelerators: 14 used, unknown free" in text
    assert "5 accelerators, 40 CPU cores, 2,048 MiB each" in text
    assert "instance 1" not in text
    assert "ml.p9.24xlarge for endpoint usage: 3" in text


@pytest.mark.parametrize(
    ("serving", "release"), [("vllm", "0.30.0"), ("lmi-vllm", "0.23.1")]
)
def test_each_vllm_is_planned_with_the_release_in_its_image(
    serving: str, release: str
) -> None:
    """
    AWS's own image, or LMI's newest.
    """
    (answer,) = run_json(
        LLAMA_13B, "--instance-type", "ml.p4d.24xlarge", "--serving", serving
    )

    assert (answer["engine"], answer["engine_version"]) == ("vllm", release)


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    """
    The ending of the file chooses the format.
    """
    picture = tmp_path / "memory.png"
    done = run(MISTRAL, "--instance-type", "ml.g5.xlarge", "--png", picture)

    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["org/unknown"], "no model 'org/unknown' in the catalogue"),
        (["no/config.json"], "is neither a config.json nor a cloud assembly"),
        ([MISTRAL, "--instance-type", "ml.g5.huge"], "unknown instance type"),
        ([MISTRAL, "--serving", "ollama"], "--serving must be one of"),
        (
            [MISTRAL, "--serving", "tgi", "--engine-version", "3.0"],
            "--engine-version is that of vLLM or SGLang, and --serving is tgi",
        ),
        ([MISTRAL, "--context", "99999999"], "context_length must be 1 to"),
        ([MISTRAL, "--prices", "none.json"], "--prices must be a JSON file"),
        ([MISTRAL, "--png", "picture.none"], "is not supported"),
    ],
)
def test_misuse_ends_with_2_and_says_why(arguments: list[str], message: str) -> None:
    """
    One line, no traceback.
    """
    done = run(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


class PriceList(BaseHTTPRequestHandler):
    """
    Answers as the Price List's API does, with two pages.
    """

    def do_POST(self) -> None:
        """
        Return one product a page.
        """
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        first = "NextToken" not in body
        name, price = ("ml.g6.xlarge", "1.5") if first else ("ml.g5.xlarge", "1.25")
        product = {
            "product": {"attributes": {"instanceName": name, "component": "Hosting"}},
            "terms": {
                "OnDemand": {
                    "A.B": {
                        "priceDimensions": {
                            "A.B.C": {"unit": "Hrs", "pricePerUnit": {"USD": price}}
                        }
                    }
                }
            },
        }
        more = {"NextToken": "more"} if first else {}
        text = json.dumps({"PriceList": [json.dumps(product)], **more}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments: object) -> None:
        """
        Keep the test's output clean.
        """


@pytest.fixture(name="price_list")
def _price_list() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), PriceList)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_prices_come_from_the_price_list(price_list: str) -> None:
    """
    Through boto3, page by page.
    """
    answer = run_json(
        MISTRAL,
        "--prices",
        "aws",
        AWS_ENDPOINT_URL_PRICING=price_list,
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",  # noqa: S106 - no credential: a stand-in answers
    )
    costs = {choice["instance_type"]: choice["usd_per_hour"] for choice in answer}

    assert [choice["instance_type"] for choice in answer[:2]] == [
        "ml.g5.xlarge",
        "ml.g6.xlarge",
    ]
    assert (costs["ml.g5.xlarge"], costs["ml.g6.xlarge"]) == (1.25, 1.5)
    assert costs["ml.g5.2xlarge"] is None


def test_prices_are_known_without_an_account() -> None:
    """
    From the list of the package, with their regions and dates.
    """
    done = run("Qwen/Qwen3-8B", "--copies", "2", COLUMNS="200")
    lines = done.stdout.splitlines()
    rows = {line.split()[0]: line.split()[6] for line in lines[2:17]}

    assert done.returncode == 0
    assert lines[1].split()[-5:] == ["$/h", "memory", "of", "an", "accelerator"]
    # us-east-1 has no figure of its own of the first, and has one of the second.
    assert (rows["ml.g6.xlarge"], rows["ml.g6e.xlarge"]) == ("2.25*", "5.22")
    assert lines[-1] == (
        "prices: us-east-1 (2026), * us-west-2 (2026); this package's "
        "list of 2026-11-23, --prices aws asks AWS"
    )


def test_a_type_without_a_price_says_so() -> None:
    """
    Where it is ranked, where it is explained, and in JSON; a region is said there too.
    """
    ranked = run("Qwen/Qwen3-235B-A22B", COLUMNS="200").stdout.splitlines()
    given = ("Qwen/Qwen3-8B", "--instance-type", "ml.p5en.48xlarge")
    (found,) = run_json(*given)

    (row,) = [line for line in ranked if line.startswith("ml.p5en.48xlarge")]
    assert row.split()[6:9] == ["no", "price", "known"]
    assert ranked[-1] == (
        "prices: us-east-1 (none), * us-west-2 (2026 to 2026-03-11); this package's "
        "list of 2026-11-23, --prices aws asks AWS"
    )
    assert run(*given).stdout.splitlines()[-2:] == [
        "1 copy: 1 instance, 1 accelerator, no price known",
        (
            "prices: us-east-1 (none); this package's list of 2026-11-23, --prices aws "
            "asks AWS"
        ),
    ]
    assert (found["usd_per_hour"], found["price"]) == (None, None)


def test_an_unreachable_price_list_is_told() -> None:
    """
    No traceback, and no ranking without the prices that were asked for.
    """
    done = run(
        MISTRAL,
        "--prices",
        "aws",
        AWS_ENDPOINT_URL_PRICING="http://127.0.0.1:9",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",  # noqa: S106 - no credential: nothing answers
        AWS_MAX_ATTEMPTS="1",
    )

    assert done.returncode == 2
    assert "the AWS Price List gave no answer" in done.stderr


@pytest.mark.parametrize(
    ("serving", "engine", "release", "sequences"),
    [
        ("vllm", "vllm", "0.30.0", None),
        ("lmi-vllm", "vllm", "0.23.1", 32),
        ("lmi-dist", "vllm", "0.7.1", 256),
        ("trtllm", "tensorrt-llm", None, None),
        ("tgi", "tgi", "3.3.6", None),
        ("sglang", "sglang", "0.5.19", None),
        ("llama.cpp", "llama.cpp", None, None),
        ("tei", "tei", None, None),
    ],
)
def test_each_engine_is_planned_as_it_is_served(
    serving: str, engine: str, release: str | None, sequences: int | None
) -> None:
    """
    By the newest release that this library serves, with its own defaults.
    """
    found = _demand(serving, None)

    assert (found.engine, found.engine_version) == (engine, release)
    assert found.assumptions.max_num_seqs == sequences


def test_a_release_counts_before_the_usual_one() -> None:
    """
    Where an engine is planned by its release.
    """
    assert _demand("sglang", "0.5.5").engine_version == "0.5.5"
    assert _demand("lmi-dist", "0.8.0").engine_version == "0.8.0"
    for serving in ("tgi", "trtllm", "llama.cpp", "tei"):
        with pytest.raises(ValueError, match=".") as raised:
            _demand(serving, "1.0")
        assert str(raised.value) == (
            "--engine-version is that of vLLM or SGLang, and --serving is "
            f"{serving}; leave it out"
        )
    with pytest.raises(ValueError, match=".") as raised:
        _demand("ollama", None)
    assert str(raised.value) == (
        "--serving must be one of vllm, lmi-vllm, lmi-dist, trtllm, tgi, sglang, "
        "llama.cpp, tei, got 'ollama'"
    )


def test_types_on_which_the_engine_does_not_load_it_are_left_out() -> None:
    """
    T4 would have the memory, and lacks kernels for the weights.
    """
    answer = run("openai/gpt-oss-20b", "--instance-type", "ml.g4dn.12xlarge")

    assert answer.returncode == 1
    assert answer.stderr == (
        "sagemaker-llm plan: not on any type: vLLM 0.30.0 needs a compute capability "
        "of 8.0 for the quantization method gpt_oss_mxfp4, got T4 (compute capability "
        "7.5)\n"
    )
    ranked = run("openai/gpt-oss-20b")
    assert "ml.g4dn" not in ranked.stdout
    assert "not on ml.g4dn: vLLM 0.30.0 needs" in ranked.stderr


def test_a_class_that_no_release_of_the_engine_has() -> None:
    """
    Then nothing is ranked.
    """
    answer = run("google/gemma-3-4b-it", "--serving", "lmi-dist")

    assert answer.returncode == 1
    assert answer.stderr == (
        "sagemaker-llm plan: not on any type: vLLM 0.7.1 does not load "
        "Gemma3ForConditionalGeneration\n"
    )


def test_what_is_described_alone_is_ranked_as_before(tmp_path: Path) -> None:
    """
    A config.json of a class that every release has.
    """
    file = tmp_path / "config.json"
    file.write_text(
        json.dumps(
            {
                "architectures": ["LlamaForCausalLM"],
                "model_type": "llama",
                "hidden_size": 2048,
                "intermediate_size": 5632,
                "num_attention_heads": 32,
                "num_hidden_layers": 22,
                "num_key_value_heads": 4,
                "vocab_size": 32000,
                "max_position_embeddings": 2048,
            }
        )
    )
    answer = run(file, "--instance-type", "ml.g5.xlarge")

    assert (answer.returncode, answer.stderr) == (0, "")
