"""
How engines start, what they say then, and what keeps them from it.
"""

from __future__ import annotations

import json

import pytest

from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import EngineError, StartedEngine
from cdk_sagemaker_llm.local.engines.vllm import load_adapter
from tests.unit.local.engine_requests import nested, refused, said, started

MODEL = {"SM_VLLM_MODEL": "Qwen/Qwen3-0.6B"}
LORA = {
    **MODEL,
    "SM_VLLM_ENABLE_LORA": "true",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
}
IMAGE = ("vllm-server", "2.6")


def test_the_log_shows_what_vllm_was_started_with() -> None:
    """
    Without what is secret.
    """
    engine = started(
        *IMAGE, **MODEL, SM_VLLM_MAX_NUM_SEQS="8", SM_VLLM_API_KEY="hidden"
    )
    shown, done = engine.log
    assert shown.startswith("INFO [utils.py] non-default args: {")
    assert "'max_num_seqs': 8" in shown
    assert "hidden" not in shown
    assert done == "INFO:     Application startup complete."


@pytest.mark.parametrize(
    ("variables", "has"),
    [
        ({}, True),
        ({"HF_ENABLE_OPTIMIZATIONS": "0"}, False),
        ({"HF_ENABLE_LMCACHE": "0"}, False),
    ],
)
def test_hugging_faces_image_turns_a_cache_on(
    variables: dict[str, str],
    has: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    Unless it is told not to.
    """
    engine = started("huggingface-vllm", "0.29.0", **MODEL, **variables)
    assert ("kv_transfer_config" in engine.settings) is has
    assert any("LMCacheConnectorV1" in line for line in engine.log) is has


def test_hugging_faces_defaults_give_way() -> None:
    """
    And the oldest images have none; nor has AWS's own.
    """
    own = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
    told = started(
        "huggingface-vllm", "0.29.0", **MODEL, SM_VLLM_KV_TRANSFER_CONFIG=own
    )
    assert "LMCache" not in str(told.settings["kv_transfer_config"])
    for family, version in (("huggingface-vllm", "0.21.0"), ("vllm", "0.29.0")):
        assert "kv_transfer_config" not in started(family, version, **MODEL).settings


@pytest.mark.parametrize(
    ("switch", "is_on"), [("1", True), ("", True), ("true", False), ("2", False)]
)
def test_hugging_faces_script_goes_by_1_alone(switch: str, *, is_on: bool) -> None:
    """
    An empty value is none, to the shell.
    """
    given = {**MODEL, "HF_ENABLE_OPTIMIZATIONS": switch}
    engine = started("huggingface-vllm", "0.29.0", **given)

    assert ("kv_transfer_config" in engine.settings) is is_on


@pytest.mark.parametrize(
    ("model", "switch", "streams"),
    [
        ("s3://bucket/model", "1", True),
        ("gs://bucket/model", "1", True),
        ("azure://bucket/model", "1", True),
        ("s3://bucket/model", "0", False),
        ("Qwen/Qwen3-0.6B", "1", False),
    ],
)
def test_a_bucket_is_streamed_where_it_is_asked_for(
    model: str,
    switch: str,
    streams: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    By Hugging Face's image.
    """
    engine = started(
        "huggingface-vllm",
        "0.29.0",
        SM_VLLM_MODEL=model,
        HF_ENABLE_RUNAI_STREAMER=switch,
    )
    assert (engine.settings.get("load_format") == "runai_streamer") is streams


@pytest.mark.parametrize(
    ("family", "version", "variables", "told"),
    [
        (
            "llama-cpp",
            "1.0.1",
            {"SM_LLAMA_CPP_MODEL_DIR": "/other"},
            "WARNING: no *.gguf found under /other; set SM_LLAMA_CPP_MODEL or mount",
        ),
        (
            "llama-cpp",
            "1.0.1",
            {"SM_LLAMA_CPP_HF_REPO": "a/b", "SM_LLAMA_CPP_PORT": "9000"},
            "Starting nginx SageMaker proxy on 0.0.0.0:9000",
        ),
        (*IMAGE, {**MODEL, "SM_VLLM_PORT": "9000"}, "http://0.0.0.0:9000"),
        (*IMAGE, {**MODEL, "SM_VLLM_HOST": "127.0.0.1"}, "http://127.0.0.1:8080"),
        (
            "sglang-server",
            "1.4",
            {"SM_SGLANG_MODEL_PATH": "a/b", "SM_SGLANG_PORT": "30000"},
            "http://0.0.0.0:30000",
        ),
        ("sglang-server", "1.4", {"HF_MODEL_ID": "a/b"}, "/opt/ml/model does not"),
        ("llama-cpp", "1.0.1", {}, "no *.gguf found under /opt/ml/model"),
        (
            "llama-cpp",
            "1.0.1",
            {"SM_LLAMA_CPP_MODEL": "/opt/ml/model/x.gguf"},
            "failed to open /opt/ml/model/x.gguf",
        ),
        (
            "huggingface-llamacpp",
            "b9522",
            {"SM_LLAMACPP_HF_REPO": "a/b", "LLAMACPP_SAGEMAKER_PORT": "9000"},
            ":9000",
        ),
        ("tei", "1.8.2", {}, "HF_MODEL_ID must be set"),
        (
            "tei",
            "1.9.3",
            {"HF_MODEL_ID": "BAAI/bge-m3", "POOLING": "nope"},
            (
                "error: POOLING must be cls, mean, splade or last-token, got 'nope': "
                "TEI 1.9.3 does not start"
            ),
        ),
    ],
)
def test_engines_that_never_answer(
    family: str, version: str, variables: dict[str, str], told: str
) -> None:
    """
    Their log says why.
    """
    with pytest.raises(EngineError) as caught:
        started(family, version, **variables)
    assert told in str(caught.value)


def test_a_folder_around_the_files_is_not_gone_into() -> None:
    """
    Unless the model is named there.
    """
    files = ("wrapped/config.json", "wrapped/model.safetensors")
    with pytest.raises(EngineError, match="a file named config.json"):
        started(*IMAGE, *files)
    assert started(*IMAGE, *files, SM_VLLM_MODEL="/opt/ml/model/wrapped")
    assert started(*IMAGE, "config.json").model.name == "/opt/ml/model"


def lora(**variables: str) -> StartedEngine:
    """
    Start vLLM for adapters.
    """
    return started(*IMAGE, **{**LORA, **variables})


def unloaded(engine: StartedEngine, config: object = None) -> tuple[int, str]:
    """
    Load an adapter that is refused.
    """
    with pytest.raises(RefusedError) as caught:
        load_adapter(
            engine, "one", None if config is None else json.dumps(config).encode()
        )
    return caught.value.status, caught.value.body


def test_adapters_need_two_switches() -> None:
    """
    Without both, nothing is at their path.
    """
    load_adapter(lora(), "one", b'{"r": 16}')
    missing = (404, '{"detail":"Not Found"}')
    off = lora(VLLM_ALLOW_RUNTIME_LORA_UPDATING="0")
    assert unloaded(off, {}) == missing
    assert unloaded(lora(SM_VLLM_ENABLE_LORA="false"), {}) == missing


def test_adapters_that_vllm_does_not_take() -> None:
    """
    Too large, of another kind, not there, or there already.
    """
    assert unloaded(lora(), {"r": 17}) == nested(
        "LoRA rank 17 is greater than max_lora_rank 16.",
        kind="InternalServerError",
        code=500,
    )
    load_adapter(lora(SM_VLLM_MAX_LORA_RANK="32"), "one", b'{"r": 32}')
    load_adapter(
        lora(), "one", b'{"r": "many", "modules_to_save": null, "bias": "none"}'
    )
    assert unloaded(lora(), {"modules_to_save": ["lm_head"], "bias": "all"}) == nested(
        "vLLM only supports modules_to_save being None. Adapter bias is not supported.",
        kind="InternalServerError",
        code=500,
    )
    assert "DoRA" in unloaded(lora(), {"r": 8, "use_dora": True})[1]
    assert unloaded(lora()) == nested(
        "Loading lora one failed: No adapter found for <path>",
        kind="NotFoundError",
        code=404,
    )
    static = lora(SM_VLLM_LORA_MODULES="one=/opt/ml/model/one")
    status, told = unloaded(static, {"r": 8})
    assert status == 400
    assert "The lora adapter 'one' has already been loaded. If you want" in told


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (b"{", "Expecting property name enclosed in double quotes"),
        (b"[" * 100_000, "maximum recursion depth exceeded"),
        (b'{"use_dora": true}', "vLLM does not yet support DoRA."),
        (b'{"bias": "all"}', "Adapter bias is not supported."),
        (
            b'{"modules_to_save": ["a"], "use_dora": true, "r": 17, "bias": "all"}',
            (
                "vLLM only supports modules_to_save being None. vLLM does not yet "
                "support "
                "DoRA. LoRA rank 17 is greater than max_lora_rank 16. Adapter bias is "
                "not "
                "supported."
            ),
        ),
    ],
)
def test_an_adapter_that_cannot_be_read_is_the_servers_fault(
    config: bytes, words: str
) -> None:
    """
    All that is wrong is told.
    """
    with pytest.raises(RefusedError) as caught:
        load_adapter(lora(), "one", config)
    told = json.loads(caught.value.body)["error"]
    assert told["message"].startswith(words)
    assert (caught.value.status, told["code"]) == (500, 500)
    assert (told["type"], told["param"]) == ("InternalServerError", None)


@pytest.mark.parametrize("config", [b"[]", b"{}", b'{"r": null}', b'{"r": 1}'])
def test_an_adapter_may_say_little(config: bytes) -> None:
    """
    What it does not say is no fault.
    """
    load_adapter(lora(), "one", config)


def test_an_adapter_answers_by_its_name() -> None:
    """
    Where adapters are off, there is no such model.
    """
    body = {"prompt": "Once", "model": "any"}
    assert said(lora(), body, adapter="one")["model"] == "one"
    assert refused(started(*IMAGE, **MODEL), body, adapter="one") == nested(
        "The model `one` does not exist.", "model", kind="NotFoundError", code=404
    )
    static = lora(
        SM_VLLM_LORA_MODULES='[{"name":"two","path":"/opt/ml/model/two"}]',
    )
    route = "route=/v1/completions"
    named = {**body, "model": "two"}
    assert said(static, named, attributes=route)["model"] == "two"
