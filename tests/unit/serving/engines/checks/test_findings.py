"""
What is found of an engine's environment, and what is not, on both sides of each rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, Sglang
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.fit.checking import fit_findings, plan_of
from cdk_sagemaker_llm.serving import check_environment
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.families import added_findings, container_findings
from cdk_sagemaker_llm.serving.images import gpu_findings

SERVER = ("vllm-server", "2.6")
SGLANG = ("sglang-server", "1.4")
BEFORE_LISTS = ("vllm-server", "2.2")
OLD = ("vllm", "0.15.1")
OPEN = "${Token[TOKEN.12]}"
HEADS = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 28}


def found(
    image: tuple[str, str],
    environment: Mapping[str, str],
    accelerators: int | None = None,
    **given: Any,  # noqa: ANN401 - what the checks take by keyword
) -> list[Finding]:
    """
    Return what is found.
    """
    return engine_findings(
        environment,
        family=image[0],
        version=image[1],
        accelerators=accelerators,
        **given,
    )


def codes(*arguments: Any, **given: Any) -> list[str]:  # noqa: ANN401 - as above
    """
    Return the codes of what is found.
    """
    return [finding.code for finding in found(*arguments, **given)]


@pytest.mark.parametrize(
    ("image", "environment", "expected"),
    [
        (SERVER, {"SM_VLLM_MAX_MODEL_LEN": "8K"}, []),
        (SERVER, {"SM_VLLM_MAX_MODEL_LEN": "auto"}, []),
        (SERVER, {"SM_VLLM_MAX_MODEL_LEN": "8Ki"}, ["LLM504"]),
        (SGLANG, {"SM_SGLANG_MAX_RUNNING_REQUESTS": "8"}, []),
        (SERVER, {"SM_VLLM_ENFORCE_EAGER": "True"}, []),
        (SERVER, {"SM_VLLM_ENFORCE_EAGER": " true "}, []),
        (BEFORE_LISTS, {"SM_VLLM_ENFORCE_EAGER": " true "}, ["LLM604"]),
        (SERVER, {"SM_VLLM_ENFORCE_EAGER": ""}, []),
        (SERVER, {"SM_VLLM_ENFORCE_EAGER": "false"}, []),
        (SERVER, {"SM_VLLM_ENFORCE_EAGER": "no"}, ["LLM604"]),
        (OLD, {"SM_VLLM_ENFORCE_EAGER": ""}, []),
        (OLD, {"SM_VLLM_ENFORCE_EAGER": "true"}, ["LLM604"]),
        (
            OLD,
            {"SM_VLLM_ENFORCE_EAGER": "true", "SM_VLLM_TRUST_REMOTE_CODE": "true"},
            ["LLM506", "LLM506"],
        ),
        (SGLANG, {"SM_SGLANG_TRUST_REMOTE_CODE": "true"}, []),
        (("sglang", "0.5.8"), {"SM_SGLANG_TRUST_REMOTE_CODE": "true"}, ["LLM506"]),
        (("sglang", "0.5.8"), {"SM_SGLANG_TRUST_REMOTE_CODE": ""}, []),
        # Which entry point 0.5.9 has depends on the day of its build.
        (("sglang", "0.5.9"), {"SM_SGLANG_TRUST_REMOTE_CODE": "true"}, ["LLM609"]),
        (SERVER, {"SM_VLLM_NO_ENABLE_PREFIX_CACHING": "true"}, []),
        (SERVER, {"SM_VLLM_ENABLE_PREFIX_CACHING": "false"}, ["LLM608"]),
        (SERVER, {"SM_VLLM_NO_SUCH_THING": "false"}, ["LLM608"]),
        (SERVER, {"SM_VLLM_SERVED_MODEL_NAME": '["a","b"]'}, []),
        (BEFORE_LISTS, {"SM_VLLM_SERVED_MODEL_NAME": '["a","b"]'}, ["LLM607"]),
        (BEFORE_LISTS, {"SM_VLLM_LORA_MODULES": "a=/x", "SM_VLLM_ENABLE_LORA": ""}, []),
        (
            BEFORE_LISTS,
            {"SM_VLLM_LORA_MODULES": "a=/x b=/y", "SM_VLLM_ENABLE_LORA": ""},
            ["LLM504"],
        ),
        (
            SERVER,
            {"SM_VLLM_LORA_MODULES": '["a=/x","b=/y"]', "SM_VLLM_ENABLE_LORA": ""},
            [],
        ),
        (SERVER, {"SM_VLLM_HF_OVERRIDES": '{"a": "b c"}'}, []),
        (("vllm", "0.20.2"), {"SM_VLLM_POOLER_CONFIG": '{"a": 1}'}, ["LLM508"]),
        (
            ("vllm", "0.20.2"),
            {"SM_VLLM_POOLER_CONFIG": "{}", "PROCESS_AUTO_RECOVERY": "false"},
            [],
        ),
        # Which supervisor 0.23.0 has depends on the day of its build.
        (("vllm", "0.23.0"), {"SM_VLLM_SPECULATIVE_CONFIG": '{"a": 1}'}, ["LLM609"]),
        (SERVER, {"SM_VLLM_SERVED_MODEL_NAME": "50%"}, ["LLM508"]),
        (SERVER, {"SM_VLLM_SERVED_MODEL_NAME": "50%%"}, []),
        (
            SERVER,
            {"SM_VLLM_SERVED_MODEL_NAME": "50%", "PROCESS_AUTO_RECOVERY": "false"},
            [],
        ),
        (SERVER, {"SM_VLLM_SERVED_MODEL_NAME": "a\nb"}, []),
        (BEFORE_LISTS, {"SM_VLLM_SERVED_MODEL_NAME": "a\nb"}, ["LLM606"]),
        (BEFORE_LISTS, {"SM_VLLM_REVISION": "a="}, ["LLM606"]),
        (BEFORE_LISTS, {"SM_VLLM_REVISION": "a=="}, []),
        (SERVER, {"SM_VLLM_REVISION": "a="}, []),
        (SERVER, {"SM_VLLM_GPU_MEMORY_UTILIZATION": "1"}, []),
        (SERVER, {"SM_VLLM_GPU_MEMORY_UTILIZATION": "0"}, ["LLM507"]),
        (SERVER, {"SM_VLLM_GPU_MEMORY_UTILIZATION": "1.01"}, ["LLM507"]),
        (SERVER, {"SM_VLLM_MAX_NUM_SEQS": "0"}, ["LLM507"]),
        # Nobody looks at bounds of adapters where there are none.
        (SERVER, {"SM_VLLM_MAX_LORAS": "0"}, ["LLM621"]),
        (
            SERVER,
            {"SM_VLLM_MAX_LORAS": "0", "SM_VLLM_NO_ENABLE_LORA": "true"},
            ["LLM621"],
        ),
        (
            SERVER,
            {"SM_VLLM_MAX_LORAS": "0", "SM_VLLM_ENABLE_LORA": "true"},
            ["LLM507"],
        ),
        (SERVER, {"SM_VLLM_MAX_NUM_SEQS": "1"}, []),
        (SERVER, {"SM_VLLM_QUANTIZATION": "FP8"}, []),
        (SERVER, {"SM_VLLM_TOOL_CALL_PARSER": "mine"}, ["LLM605"]),
        (
            SERVER,
            {"SM_VLLM_TOOL_CALL_PARSER": "mine", "SM_VLLM_TOOL_PARSER_PLUGIN": "/p.py"},
            [],
        ),
        (SERVER, {"SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true"}, ["LLM510"]),
        (
            SERVER,
            {
                "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true",
                "SM_VLLM_TOOL_CALL_PARSER": OPEN,
            },
            [],
        ),
        (
            SERVER,
            {
                "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true",
                "SM_VLLM_CONFIG": "/opt/ml/model/settings.yaml",
            },
            [],
        ),
        (SERVER, {"SM_VLLM_DTYPE": OPEN, "SM_VLLM_PORT": OPEN}, []),
        (SERVER, {"SM_VLLM_CHAT_TEMPLATE": "examples/tool_chat.jinja"}, []),
        (SERVER, {"SM_VLLM_CHAT_TEMPLATE": "mine/tool_chat.jinja"}, ["LLM509"]),
        (SERVER, {"SM_VLLM_HELP": "true"}, ["LLM501"]),
        (SGLANG, {"SM_SGLANG_PORT": "8080"}, []),
        (SGLANG, {"SM_SGLANG_PORT": "8000"}, ["LLM512"]),
        (SERVER, {"SM_VLLM_HOST": "::"}, []),
        (SERVER, {"LOG_LEVEL": "WARN"}, []),
        (SERVER, {"LOG_LEVEL": "warning"}, ["LLM511"]),
        (SERVER, {"LOG_LEVEL": "warning", "PROCESS_AUTO_RECOVERY": "false"}, []),
        (OLD, {"LOG_LEVEL": "warning"}, []),
        (OLD, {"PROCESS_AUTO_RECOVERY": "false"}, ["LLM623"]),
        (SERVER, {"PROCESS_MAX_START_RETRIES": "100"}, []),
        (SERVER, {"PROCESS_MAX_START_RETRIES": "101"}, ["LLM623"]),
        (SERVER, {"SM_VLLM_MAX_LORA_RANK": "8", "SM_VLLM_ENABLE_LORA": OPEN}, []),
        (SERVER, {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true"}, ["LLM621"]),
        (SERVER, {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "false"}, []),
    ],
)
def test_arguments(
    image: tuple[str, str], environment: dict[str, str], expected: list[str]
) -> None:
    """
    What the engine would do otherwise than it is told is found, and nothing else.
    """
    assert codes(image, environment) == expected


@pytest.mark.parametrize(
    ("environment", "remedy"),
    [
        ({"SM_VLLM_ROPE_SCALING": "{}"}, "use hf-overrides"),
        (
            {"SM_VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"},
            "write VLLM_ALLOW_RUNTIME_LORA_UPDATING, which vLLM reads itself",
        ),
        ({"SM_VLLM_MAX_MODEL_LENGTH": "1"}, "did you mean SM_VLLM_MAX_MODEL_LEN?"),
        ({"SM_VLLM_ENABLE_PREFIX_CACHING": "0", "SM_VLLM_SEED": "x"}, None),
    ],
)
def test_a_way_out_is_named(environment: dict[str, str], remedy: str | None) -> None:
    """
    Of what is gone, misspelt or meant for the process.
    """
    first = found(SERVER, environment)[0]

    if remedy is not None:
        assert first.remedy == remedy


def test_what_came_later_and_what_is_gone_say_so() -> None:
    """
    With the release.
    """
    (gone,) = found(SERVER, {"SM_VLLM_SWAP_SPACE": "4"})
    (young,) = found(("vllm", "0.13.0"), {"SM_VLLM_SPEC_TOKENS": "4"})

    assert "last known in 0.17.1" in gone.message
    assert "it came with" in young.message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SM_VLMM_DTYPE", "LLM228"),
        ("VLLM_TENSOR_PARALLEL_SIZE", "LLM228"),
        ("TENSOR_PARALLEL_SIZE", "LLM228"),
        ("sm_vllm_dtype", "LLM228"),
        ("HF_MODEL", "LLM228"),
        ("OPTION_DTYPE", "LLM610"),
        ("SM_SGLANG_DTYPE", "LLM610"),
    ],
)
def test_a_name_that_the_image_does_not_read(name: str, expected: str) -> None:
    """
    Is ignored, and said so.
    """
    assert codes(SERVER, {name: "auto"}) == [expected]


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "VLLM_USE_V1",
        "VLLM_LOGGING_LEVEL",
        "VLLM_ATTENTION_BACKEND",
        "VLLM_API_KEY",
        "NCCL_DEBUG",
        "SM_NUM_GPUS",
        "SAGEMAKER_ENABLE_LOAD_AWARE",
        "PYTORCH_CUDA_ALLOC_CONF",
    ],
)
def test_variables_of_the_process_are_left_alone(name: str) -> None:
    """
    The entry point passes them by, and something else reads them.
    """
    assert codes(SERVER, {name: "1"}) == []


def test_devices() -> None:
    """
    The product of the sizes is held to the accelerators.
    """
    tensor = {"SM_VLLM_TENSOR_PARALLEL_SIZE": "2"}
    both = {**tensor, "SM_VLLM_DATA_PARALLEL_SIZE": "2"}

    assert codes(SERVER, tensor, 2) == []
    assert codes(SERVER, tensor, 1) == ["LLM516"]
    assert codes(SERVER, tensor, 4) == ["LLM618"]
    assert codes(SERVER, {}, 4) == ["LLM618"]
    assert codes(SERVER, {}, 1) == []
    assert codes(SERVER, {}, -1) == ["LLM516"]
    assert codes(SERVER, both, 4) == []
    assert codes(SERVER, both, 2) == ["LLM516"]
    assert codes(SERVER, {"SM_VLLM_TENSOR_PARALLEL_SIZE": OPEN}, 4) == []
    # It is alone, whatever its size.
    assert codes(SERVER, {**tensor, "SM_VLLM_NNODES": "2"}, 1) == ["LLM535"]
    within = {
        "SM_SGLANG_TP_SIZE": "8",
        "SM_SGLANG_DP_SIZE": "8",
        "SM_SGLANG_ENABLE_DP_ATTENTION": "true",
    }
    assert codes(SGLANG, within, 8) == []
    assert codes(SGLANG, {"SM_SGLANG_TP": "8"}, 8) == ["LLM601"]


def test_devices_are_told_with_what_was_said() -> None:
    """
    With the sizes that are, and with the default of the one that is not.
    """
    (said,) = found(SERVER, {"SM_VLLM_TENSOR_PARALLEL_SIZE": "2"}, 4)
    (silent,) = found(SERVER, {}, 4)

    assert said.message == (
        "SM_VLLM_TENSOR_PARALLEL_SIZE=2 takes 2 of 4 accelerators: the others stay idle"
    )
    assert silent.message == (
        "SM_VLLM_TENSOR_PARALLEL_SIZE left out is 1 of 4 accelerators: the others stay "
        "idle"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DISTRIBUTED_EXECUTOR_BACKEND", "ray"),
        ("DATA_PARALLEL_SIZE_LOCAL", "1"),
        ("DATA_PARALLEL_BACKEND", "ray"),
        ("CONFIG", "/opt/ml/model/config.yaml"),
    ],
)
def test_devices_that_are_elsewhere_are_not_counted(name: str, value: str) -> None:
    """
    Neither as too few, nor as idle.
    """
    for size in ("8", "1"):
        told = {"SM_VLLM_TENSOR_PARALLEL_SIZE": size, f"SM_VLLM_{name}": value}
        assert not {"LLM516", "LLM618"} & {*codes(SERVER, told, 4)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LORA_MODULES", "a=/opt/ml/model/a"),
        ("MAX_LORAS", "2"),
        ("MAX_LORA_RANK", "64"),
        ("MAX_CPU_LORAS", "4"),
        ("FULLY_SHARDED_LORAS", "true"),
        ("DEFAULT_MM_LORAS", '{"image":"/opt/ml/model/a"}'),
    ],
)
def test_adapters_are_switched_on_for_what_is_said_of_them(
    name: str, value: str
) -> None:
    """
    Otherwise it has no effect, or fails.
    """
    told = {f"SM_VLLM_{name}": value}

    (only,) = found(SERVER, told)
    assert (only.code, only.message, only.remedy) == (
        "LLM621",
        f"SM_VLLM_{name} has no effect, or fails, without SM_VLLM_ENABLE_LORA",
        "set SM_VLLM_ENABLE_LORA",
    )
    assert codes(SERVER, {**told, "SM_VLLM_ENABLE_LORA": "true"}) == []


@pytest.mark.parametrize("value", ["1", "true", " True ", "0", "no"])
def test_loading_adapters_is_switched_on_by_one_or_true(value: str) -> None:
    """
    And has no effect where the engine takes none.
    """
    told = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": value}
    is_on = value.strip().lower() in {"1", "true"}

    assert codes(SERVER, told) == (["LLM621"] if is_on else [])


@pytest.mark.parametrize(
    ("sizes", "way_out"),
    [
        ({"TENSOR": 4}, "write SM_VLLM_TENSOR_PARALLEL_SIZE=2"),
        ({"DATA": 4}, "write SM_VLLM_DATA_PARALLEL_SIZE=2"),
        ({"PIPELINE": 3}, "write SM_VLLM_PIPELINE_PARALLEL_SIZE=2"),
        ({"TENSOR": 2, "DATA": 2}, "lower one of them, to 2 together"),
    ],
)
def test_what_is_too_much_is_what_to_lower(
    sizes: Mapping[str, int], way_out: str
) -> None:
    """
    Not another size, which nobody set.
    """
    environment = {
        f"SM_VLLM_{name}_PARALLEL_SIZE": str(size) for name, size in sizes.items()
    }
    (told,) = found(SERVER, environment, 2)

    assert (told.code, told.remedy) == ("LLM516", way_out)


def test_heads() -> None:
    """
    Both engines end with a size that does not divide them, whoever is asked; of
    attention in parallel each part is one.
    """
    eight = {"SM_VLLM_TENSOR_PARALLEL_SIZE": "8"}
    assert codes(SERVER, eight, 8, architecture=HEADS) == ["LLM517"]
    known = {**eight, "SM_VLLM_MODEL": "Qwen/Qwen2.5-7B-Instruct"}
    assert codes(SERVER, known, 8) == ["LLM517"]
    seven = {"SM_VLLM_TENSOR_PARALLEL_SIZE": "7"}
    assert codes(SERVER, seven, 7, architecture=HEADS) == []
    sglang = {"SM_SGLANG_TP_SIZE": "8"}
    assert codes(SGLANG, sglang, 8, architecture=HEADS) == ["LLM517"]
    seven = {"SM_SGLANG_TP_SIZE": "7"}
    assert codes(SGLANG, seven, 7, architecture=HEADS) == []
    shared = {"SM_SGLANG_ENABLE_DP_ATTENTION": "true", "SM_SGLANG_DP_SIZE": "2"}
    assert codes(SGLANG, {**sglang, **shared}, 8, architecture=HEADS) == []
    of_one = {**shared, "SM_SGLANG_DP_SIZE": "1"}
    assert codes(SGLANG, {**sglang, **of_one}, 8, architecture=HEADS) == ["LLM517"]
    other = {"SM_SGLANG_JSON_MODEL_OVERRIDE_ARGS": '{"num_attention_heads": 32}'}
    assert codes(SGLANG, {**sglang, **other}, 8, architecture=HEADS) == []


def test_the_heads_of_sglang_are_judged_once() -> None:
    """
    By the class, by the plan and by the check of variables alike.
    """
    model = HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct")
    prepared = Sglang(tp_size=8).prepare(model, 8)
    found = plan_of(prepared.demand, find_instance_type("ml.p4d.24xlarge"), 8)

    assert [one.code for one in prepared.findings] == ["LLM517"]
    assert fit_findings(found, prepared.demand, prepared.findings) == []
    environment = {
        "SM_SGLANG_MODEL_PATH": "Qwen/Qwen2.5-7B-Instruct",
        "SM_SGLANG_TP_SIZE": "8",
    }
    told = check_environment(
        environment, container="sglang-server", version="1.4", accelerators=8
    )
    assert [(one.code, one.severity) for one in told] == [("LLM517", "error")]


def test_models() -> None:
    """
    A model is named where the entry point looks for it.
    """
    hub, own = {"HF_MODEL_ID": "a/b"}, {"SM_VLLM_MODEL": "a/b"}

    assert codes(SERVER, hub) == []
    assert codes(SERVER, hub, model_data=()) == []
    assert codes(SERVER, {}, model_data=()) == ["LLM614"]
    assert codes(SERVER, {}, model_data=["config.json"]) == []
    assert codes(SERVER, hub, model_data=["config.json"]) == ["LLM616"]
    assert codes(SERVER, {**hub, **own}, model_data=["model.py"]) == []
    assert codes(OLD, hub) == ["LLM615"]
    assert codes(SGLANG, hub) == ["LLM615"]
    assert codes(SGLANG, hub, model_data=()) == ["LLM513"]
    # Of Hugging Face's own image it is not known for certain.
    assert codes(("huggingface-sglang", "0.5.8"), hub, model_data=()) == ["LLM615"]
    assert codes(SGLANG, {"SM_SGLANG_MODEL": "a/b"}) == ["LLM615"]
    neuron = ("huggingface-vllm-neuronx", "0.4.5")
    assert codes(neuron, hub) == ["LLM615"]
    assert codes(neuron, {**hub, "SM_ON_MODEL": "a/b"}) == []
    assert codes(SGLANG, {"SM_SGLANG_MODEL": "a/b"}, model_data=()) == ["LLM513"]
    assert codes(SGLANG, {"SM_SGLANG_MODEL_PATH": "a/b"}, model_data=()) == []
    gated = {"SM_VLLM_MODEL": "meta-llama/Llama-3.1-8B"}
    assert codes(SERVER, gated) == ["LLM214"]
    assert codes(SERVER, {**gated, "HF_TOKEN": OPEN}) == []


def test_isolation() -> None:
    """
    Without network nothing is fetched.
    """
    offline = {"HF_HUB_OFFLINE": "1"}

    def isolated(environment: dict[str, str], *files: str) -> list[str]:
        given = {**offline, **environment}
        return codes(SERVER, given, model_data=files, network_isolation=True)

    assert isolated({"SM_VLLM_MODEL": "/opt/ml/model"}, "config.json") == []
    assert isolated({"SM_VLLM_MODEL": "a/b"}) == ["LLM514"]
    assert isolated({"SM_VLLM_MODEL": "s3://bucket/a/"}) == ["LLM514"]
    assert isolated({"HF_MODEL_ID": "a/b"}) == ["LLM514"]
    cached = {"SM_VLLM_MODEL": "a/b", "HF_HOME": "/opt/ml/model/cache"}
    assert isolated(cached, "cache/hub") == []
    needs = ("config.json", "requirements.txt")
    assert isolated({}, *needs) == ["LLM515"]
    assert isolated({}, "config.json", "inner/requirements.txt") == []
    assert isolated({"STANDARD_AUTO_INSTALL_REQ": "1"}, *needs) == ["LLM515"]
    assert isolated({"PROCESS_AUTO_RECOVERY": "false"}, *needs) == []
    assert isolated({"STANDARD_AUTO_INSTALL_REQ": "false"}, *needs) == []
    assert isolated({"STANDARD_PIP_ARGS": "--no-index"}, *needs) == []
    hub = {"HF_MODEL_ID": "a/b"}
    assert codes(("tei", "1.8.2"), hub, network_isolation=True) == ["LLM514"]
    repo = {"SM_LLAMA_CPP_HF_REPO": "a/b-GGUF"}
    assert codes(("llama-cpp", "1.0.1"), repo, network_isolation=True) == ["LLM514"]


@pytest.mark.parametrize("value", ["true", "1", "false", "0", "TRUE", "False"])
def test_the_supervisor_is_switched_by_a_truth(value: str) -> None:
    """
    Or by its number.
    """
    assert codes(SERVER, {"PROCESS_AUTO_RECOVERY": value}) == []


@pytest.mark.parametrize("value", ["yes", "on", "", "2"])
def test_the_supervisor_is_off_with_anything_else(value: str) -> None:
    """
    Which may not be what was meant.
    """
    (only,) = found(SERVER, {"PROCESS_AUTO_RECOVERY": value})

    assert (only.code, only.remedy) == ("LLM623", "write true or false")
    assert only.message == (
        f"PROCESS_AUTO_RECOVERY={value} switches the supervisor off, as anything but "
        "true and 1 does"
    )


def test_an_image_without_a_supervisor_has_no_settings_of_one() -> None:
    """
    It is said of each.
    """
    told = {"PROCESS_AUTO_RECOVERY": "yes", "PROCESS_MAX_START_RETRIES": "x"}

    assert [(one.code, one.message, one.remedy) for one in found(OLD, told)] == [
        (
            "LLM623",
            f"{name} has no effect: this image has no supervisor",
            "leave it out",
        )
        for name in told
    ]


@pytest.mark.parametrize(
    "name",
    [
        "HF_HOME",
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "TRANSFORMERS_CACHE",
        "LLAMA_CACHE",
    ],
)
def test_a_cache_among_the_model_data_needs_no_network(name: str) -> None:
    """
    Elsewhere there is nothing in it yet.
    """
    told = {"SM_VLLM_MODEL": "a/b", "HF_HUB_OFFLINE": "1"}
    inside, outside = {name: "/opt/ml/model/cache"}, {name: "/tmp/cache"}  # noqa: S108 - what a user may write

    def isolated(more: dict[str, str]) -> list[str]:
        return codes(SERVER, {**told, **more}, network_isolation=True)

    assert "LLM514" not in isolated(inside)
    assert "LLM514" in isolated(outside)


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("a/b", "the Hugging Face Hub"),
        ("s3://bucket/a/", "an address"),
        ("gs://bucket/a/", "an address"),
        ("az://bucket/a/", "an address"),
        ("https://example.com/a", "an address"),
    ],
)
def test_where_a_model_is_fetched_from_is_said(model: str, where: str) -> None:
    """
    With the way out.
    """
    told = {"SM_VLLM_MODEL": model, "HF_HUB_OFFLINE": "1"}
    (only,) = found(SERVER, told, network_isolation=True)

    assert only.code == "LLM514"
    assert only.message == (
        f"SM_VLLM_MODEL={model} is fetched from {where}, which a container with "
        "network isolation cannot reach"
    )
    assert only.remedy == "let SageMaker bring the weights into /opt/ml/model"


@pytest.mark.parametrize(
    "name", ["JSON_MODEL_OVERRIDE_ARGS", "MODEL_LOADER_EXTRA_CONFIG"]
)
def test_json_that_is_read_later_is_json(name: str) -> None:
    """
    What deployment decides is not known.
    """
    variable = f"SM_SGLANG_{name}"

    assert codes(SGLANG, {variable: '{"rope_scaling": null}'}) == []
    assert codes(SGLANG, {variable: OPEN}) == []
    (only,) = found(SGLANG, {variable: "{x}"})
    assert only.code == "LLM654"
    assert only.message.startswith(f"{variable} must be JSON (Expecting property name")
    assert only.message.endswith(", got '{x}'")
    assert only.remedy == "write an object, or leave it out"


def test_engines_without_a_table() -> None:
    """
    Names that are known pass, others with a warning.
    """
    amazon, huggingface = ("llama-cpp", "1.0.1"), ("huggingface-llamacpp", "b9522")
    file = {"SM_LLAMA_CPP_MODEL": "/opt/ml/model/a.gguf"}

    assert codes(amazon, {**file, "SM_LLAMA_CPP_CTX_SIZE": "1"}) == []
    assert codes(amazon, {**file, "SM_LLAMA_CPP_NO_WARMUP": "true"}) == []
    assert codes(amazon, {**file, "SM_LLAMA_CPP_CONTEXT": "1"}) == ["LLM624"]
    assert codes(amazon, {**file, "SM_LLAMA_CPP_MLOCK": "true"}) == ["LLM624"]
    assert codes(amazon, {}) == []
    assert codes(amazon, {}, model_data=["model.safetensors"]) == ["LLM625"]
    assert codes(huggingface, {"HF_MODEL_ID": "a/b"}) == ["LLM625"]
    # Where it is not known what lies in the folder, it may be a GGUF file.
    assert codes(amazon, {}) == []
    assert codes(amazon, {"HF_MODEL_ID": "a/b"}) == ["LLM625"]
    assert codes(amazon, {"HF_MODEL_ID": "a/b"}, model_data=["a.gguf"]) == []
    assert codes(huggingface, {"SM_LLAMACPP_HF_REPO": "a/b-GGUF"}) == []
    assert codes(huggingface, {"SM_LLAMACPP_HF_REPO": "a/b:Q4_K_M"}) == []
    assert codes(huggingface, {"SM_LLAMACPP_HF_REPO": "a/b"}) == ["LLM625"]
    neuron = ("huggingface-vllm-neuronx", "0.4.4")
    assert codes(neuron, {"SM_ON_MODEL": "a/b", "SM_ON_BATCH_SIZE": "4"}) == []
    assert codes(neuron, {"SM_ON_MODEL": "a/b", "SM_ON_FOO": "4"}) == ["LLM624"]
    tei = ("tei", "1.8.2")
    assert codes(tei, {}) == ["LLM112"]
    assert codes(tei, {"HF_MODEL_ID": "a/b", "MAX_BATCH_TOKENS": "1"}) == []
    assert codes(tei, {"HF_MODEL_ID": "a/b", "MAX_BATCH_TOKENS": "?"}) == ["LLM527"]
    assert codes(tei, {"HF_MODEL_ID": "a/b", "MAX_BATCH_TOKEN": "1"}) == ["LLM228"]


def test_graphics_processors() -> None:
    """
    TEI has a program for each architecture; other images may run on more than theirs.
    """
    hub, tei = {"HF_MODEL_ID": "a/b"}, ("tei", "1.9.3")

    assert codes(tei, hub, instance_type="ml.g5.xlarge") == []
    assert codes(tei, hub, instance_type="ml.p3.2xlarge") == ["LLM518"]
    assert codes(SGLANG, {}, instance_type="ml.p5.48xlarge") == []
    assert codes(SGLANG, {}, instance_type="ml.g5.xlarge") == ["LLM620"]
    assert codes(SERVER, {}, instance_type="ml.p2.xlarge") == ["LLM620"]
    assert codes(SGLANG, {}, instance_type="ml.unknown.xlarge") == []


def test_a_release_that_is_not_known_for_certain_refuses_nothing() -> None:
    """
    Of a tag that moves, and of an engine that adds arguments of its own.
    """
    for image in (("vllm-server", "2"), ("vllm-omni", "1.8")):
        given = {"SM_VLLM_FOO": "1", "SM_VLLM_MAX_NUM_SEQS": "0"}
        assert set(codes(image, given)) == {"LLM609"}


def test_what_is_not_to_be_checked_is_not() -> None:
    """
    And what it would have been taken for is not missed.
    """
    given = {"SM_VLLM_FOO": "1", "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true"}
    assert codes(SERVER, given, unchecked=list(given)) == []


def test_the_users_words_are_used() -> None:
    """
    Where a variable is written by a class.
    """
    (only,) = found(SERVER, {"SM_VLLM_DTYPE": "?"}, words={"SM_VLLM_DTYPE": "dtype"})

    assert only.message.startswith("dtype must be auto")


def test_what_ends_the_supervisors_command_takes_the_rest_along() -> None:
    """
    As a comment does.
    """
    (only,) = found(("vllm", "0.20.2"), {"SM_VLLM_SERVED_MODEL_NAME": "a #b"})

    assert only.code == "LLM606"
    assert only.message.endswith("gets 'a', and no argument behind it arrives")


def test_an_image_without_such_an_engine() -> None:
    """
    Is nobody's business here.
    """
    assert codes(("djl-lmi", "0.36.0"), {"SM_VLLM_FOO": "1"}) == []


def test_through_the_front_door() -> None:
    """
    Containers and versions are those of the catalogue, aliases included.
    """

    def check(container: str, version: str, **variables: str) -> list[str]:
        given = check_environment(
            variables,
            container=container,
            version=version,
            accelerators=1,
            instance_type="ml.g6.xlarge",
        )
        return [finding.code for finding in given]

    assert check("vllm-server", "2.6", SM_VLLM_DTYPE="auto") == []
    assert check("vllm", "0.28.0", SM_VLLM_DTYPE="fp16") == ["LLM504"]
    assert check("sglang-server", "1.4", SM_SGLANG_TP_SIZE="1") == ["LLM620"]
    assert check("tei-cpu", "1.8.2", HF_MODEL_ID="a/b") == []
    assert check("vllm-server", "9.9") == ["LLM102"]


def test_a_container_with_its_files() -> None:
    """
    The files stand for what is in the folder, and a tag that moves is told of.
    """
    image = find_image("vllm-server", "2.6")
    named = {"HF_MODEL_ID": "a/b"}

    def of(container: Container, **given: Any) -> list[str]:  # noqa: ANN401 - as above
        found = container_findings(container, accelerators=1, **given)
        return [finding.code for finding in found]

    with_files = Container(image=image, environment=named, files={"model.py": b""})
    assert of(Container(image=image, environment=named)) == []
    assert of(with_files) == ["LLM616"]
    assert of(Container(image=image), has_model_data=False) == ["LLM614"]
    rolling = Container(image=find_image("vllm-server", "2"), environment=named)
    assert of(rolling) == ["LLM627"]
    aws = "763104351884.dkr.ecr.eu-west-1.amazonaws.com/vllm"
    for tag, codes in {
        "server-sagemaker-cuda-v2-soci": ["LLM224", "LLM627"],
        "server-sagemaker-cuda-v2.6-soci": ["LLM224"],
        "0.28-gpu-py312-soci": ["LLM224", "LLM627"],
    }.items():
        beside = ImageRelease.from_uri(f"{aws}:{tag}")
        assert of(Container(image=beside, environment=named)) == codes
    address = f"111111111111.dkr.ecr.eu-west-1.amazonaws.com/{image.repository}"
    copied = ImageRelease.from_uri(f"{address}:{image.tag}")
    bad = {"SM_VLLM_FOO": "1"}
    assert of(Container(image=copied, environment=bad)) == ["LLM501"]
    added = added_findings(bad, Container(image=image), accelerators=1)
    assert [finding.code for finding in added] == ["LLM501"]


# Shapes that public notebooks deploy with, at the release that they name.
IN_USE = [
    (
        ("vllm", "0.20.1"),
        {
            "SM_VLLM_NO_ENABLE_FLASHINFER_AUTOTUNE": "true",
            "SM_VLLM_TRUST_REMOTE_CODE": "true",
            "SM_VLLM_BLOCK_SIZE": "256",
            "SM_VLLM_SPECULATIVE_CONFIG": '{"method": "mtp", "draft_tokens": 3}',
        },
    ),
    (
        ("vllm", "0.16.0"),
        {"SM_VLLM_MODEL": "/opt/ml/model", "SM_VLLM_ENFORCE_EAGER": "true"},
    ),
    (
        ("vllm", "0.15.1"),
        {"SM_VLLM_ENABLE_PREFIX_CACHING": "", "SM_VLLM_ENABLE_CHUNKED_PREFILL": ""},
    ),
    (
        ("vllm", "0.17.1"),
        {
            "SM_VLLM_COMPILATION_CONFIG": '{"cudagraph_mode": "PIECEWISE"}',
            "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true",
            "SM_VLLM_TOOL_CALL_PARSER": "qwen3_coder",
        },
    ),
    (
        ("sglang", "0.5.13"),
        {
            "SM_SGLANG_TP": "8",
            "SM_SGLANG_SPECULATIVE_ALGO": "EAGLE",
            "SM_SGLANG_CUDA_GRAPH_MAX_BS": "32",
        },
    ),
    (
        ("sglang", "0.5.9"),
        {
            "SGLANG_DISABLE_CUDNN_CHECK": "1",
            "SM_SGLANG_TENSOR_PARALLEL_SIZE": "8",
            "SM_SGLANG_ENABLE_FLASHINFER_ALLREDUCE_FUSION": "true",
        },
    ),
    (
        ("vllm", "0.20.2"),
        {"HF_MODEL_ID": OPEN, "SM_VLLM_MAX_NUM_SEQS": "4"},
    ),
]


@pytest.mark.parametrize(("image", "environment"), IN_USE)
def test_what_runs_is_not_refused(
    image: tuple[str, str], environment: dict[str, str]
) -> None:
    """
    However it is written.
    """
    assert errors_of(found(image, environment)) == []


@pytest.mark.parametrize(
    ("gpu", "capability"),
    [
        ("V100", "7.0"),
        ("T4", "7.5"),
        ("A100-40GB", "8.0"),
        ("A100-80GB", "8.0"),
        ("A10G", "8.6"),
        ("L4", "8.9"),
        ("L40S", "8.9"),
        ("H100", None),
        ("H200", None),
        ("B200", None),
        ("B200(GB200)", None),
        ("B300", None),
        ("RTX-PRO-4500", "12.0"),
        ("RTX-PRO-6000-Server", "12.0"),
        ("another", None),
    ],
)
def test_the_image_has_kernels_for_the_gpu(gpu: str, capability: str | None) -> None:
    """
    AWS's SGLang is built for Hopper and Blackwell's data center GPUs.
    """
    image = find_engine_release(*SGLANG)
    assert image is not None
    found = gpu_findings(image, gpu)

    assert [one.code for one in found] == (["LLM620"] if capability else [])
    for one in found:
        assert one.message.endswith(f", and {gpu} has {capability}")


@pytest.mark.parametrize(
    ("host", "is_told"),
    [("10.0.0.1", True), ("127.0.0.1", False), ("0.0.0.0", False), ("", False)],  # noqa: S104 - what users write
)
def test_llama_cpp_stays_where_it_is_called(host: str, *, is_told: bool) -> None:
    """
    The nginx of AWS's image calls it; Hugging Face's drops the host.
    """
    model = {"SM_LLAMA_CPP_HF_REPO": "a/b-GGUF", "SM_LLAMA_CPP_HOST": host}
    assert codes(("llama-cpp", "1.0.1"), model, 1) == (["LLM612"] if is_told else [])
    other = {"SM_LLAMACPP_HF_REPO": "a/b-GGUF", "SM_LLAMACPP_HOST": host}
    assert codes(("huggingface-llamacpp", "b9522"), other, 1) == []


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("Qwen/Qwen3-8B-GGUF", ["LLM636"]),
        ("Qwen/Qwen3-8B", ["LLM638"]),
        ("Qwen/Qwen3-Embedding-0.6B", []),
        ("BAAI/bge-m3", []),
        ("Alibaba-NLP/gte-Qwen2-7B-instruct", []),
        ("org/unknown-chat", []),
        ("/opt/ml/model", []),
    ],
)
def test_tei_makes_vectors_of_what_it_reads(model: str, found: list[str]) -> None:
    """
    By the model's name and class, as far as they are known.
    """
    image, named = ("tei", "1.9.3"), {"HF_MODEL_ID": model}

    assert codes(image, named, 1) == found
    pooled = {**named, "POOLING": "mean"}
    assert codes(image, pooled, 1) == [one for one in found if one != "LLM638"]


def test_the_class_of_tei_models_may_be_given() -> None:
    """
    Where it stands in for what the name does not tell.
    """
    image, named = ("tei", "1.9.3"), {"HF_MODEL_ID": "org/own"}

    assert codes(image, named, 1, architecture="LlamaForCausalLM") == ["LLM638"]
    assert codes(image, named, 1, architecture="BertModel") == []
    local = {"HF_MODEL_ID": "/opt/ml/model"}
    assert codes(image, local, 1, architecture="LlamaForCausalLM") == []


@pytest.mark.parametrize(
    ("level", "way_out"), [("Warning", "write LOG_LEVEL=warn"), ("loud", "")]
)
def test_the_usual_name_of_a_level_is_turned_into_the_supervisors(
    level: str, way_out: str
) -> None:
    """
    Whoever means warnings writes them as Python does; of another word nobody knows.
    """
    (one,) = found(SERVER, {"LOG_LEVEL": level})

    assert (one.code, one.remedy) == ("LLM511", way_out)


def test_a_size_in_powers_of_two_is_whole() -> None:
    """
    vLLM reads 1.5k as 1500, and takes no part of 1024.
    """
    name = "SM_VLLM_MAX_MODEL_LEN"

    assert codes(SERVER, {name: "1.5k"}) == []
    assert codes(SERVER, {name: "1.5K"}) == ["LLM504"]
