"""
vLLM-Omni: vLLM's arguments and its own, as variables.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Token

from cdk_sagemaker_llm import HuggingFaceModel, S3Model, VllmOmni
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

MODEL = HuggingFaceModel("Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice", revision="0a1b")


def written(
    serving: VllmOmni, model: ModelSource = MODEL
) -> tuple[str, dict[str, str]]:
    """
    Return the image and the container's variables; there is nothing to find.
    """
    prepared = serving.prepare(model, 2)
    assert prepared.findings == ()
    assert prepared.container is not None
    return prepared.container.image.reference, dict(prepared.container.environment)


def codes(serving: VllmOmni) -> list[str]:
    """
    Return the codes of what is found.
    """
    return [one.code for one in serving.prepare(MODEL, 2).findings]


def test_the_least() -> None:
    """
    The newest image, and nothing that was not asked for: no degree is derived.
    """
    assert written(VllmOmni()) == (
        "vllm:omni-sagemaker-cuda-v1.8",
        {"SM_VLLM_MODEL": MODEL.model_id, "SM_VLLM_REVISION": "0a1b"},
    )
    assert written(VllmOmni(), S3Model("s3://bucket/model/"))[1] == {
        "SM_VLLM_MODEL": "/opt/ml/model"
    }


def test_every_own_parameter() -> None:
    """
    Each is vLLM's variable of its name, as this image's entry point reads it.
    """
    serving = VllmOmni(
        "1.8",
        num_gpus=2,
        deploy_config="/opt/ml/model/deploy.yaml",
        stage_init_timeout=900,
        ulysses_degree=2,
        ring_degree=1,
        cfg_parallel_size=2,
        cache_backend="tea_cache",
        cache_config={"rel_l1_thresh": 0.2},
        enable_cpu_offload=True,
        vae_use_slicing=True,
        vae_use_tiling=False,
        default_sampling_params={"0": {"seed": 1}},
        tensor_parallel_size=2,
        enforce_eager=True,
        options={"async-chunk": False, "lora_path": ["a", "b"], "flow_shift": 5.0},
    )

    assert written(serving)[1] == {
        "SM_VLLM_MODEL": MODEL.model_id,
        "SM_VLLM_REVISION": "0a1b",
        "SM_VLLM_TENSOR_PARALLEL_SIZE": "2",
        "SM_VLLM_ENFORCE_EAGER": "true",
        "SM_VLLM_NUM_GPUS": "2",
        "SM_VLLM_DEPLOY_CONFIG": "/opt/ml/model/deploy.yaml",
        "SM_VLLM_STAGE_INIT_TIMEOUT": "900",
        "SM_VLLM_ULYSSES_DEGREE": "2",
        "SM_VLLM_RING_DEGREE": "1",
        "SM_VLLM_CFG_PARALLEL_SIZE": "2",
        "SM_VLLM_CACHE_BACKEND": "tea_cache",
        "SM_VLLM_CACHE_CONFIG": '{"rel_l1_thresh":0.2}',
        "SM_VLLM_ENABLE_CPU_OFFLOAD": "true",
        "SM_VLLM_VAE_USE_SLICING": "true",
        "SM_VLLM_DEFAULT_SAMPLING_PARAMS": '{"0":{"seed":1}}',
        "SM_VLLM_NO_ASYNC_CHUNK": "true",
        "SM_VLLM_LORA_PATH": '["a","b"]',
        "SM_VLLM_FLOW_SHIFT": "5.0",
    }
    older = VllmOmni("1.6", stage_configs_path="/opt/ml/model/stages.yaml")
    assert written(older)[1]["SM_VLLM_STAGE_CONFIGS_PATH"] == (
        "/opt/ml/model/stages.yaml"
    )


def test_hugging_faces_image() -> None:
    """
    It goes by vLLM-Omni's own number.
    """
    image, _ = written(VllmOmni("0.20.0", distribution="huggingface"))
    assert image == (
        "huggingface-vllm-omni:0.20.0-transformers5.8.1-gpu-py312-cu130-amzn2023"
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"version": "1"}, ["LLM557"]),
        ({"version": "1.9"}, ["LLM102"]),
        ({"version": "1.0", "deploy_config": "x"}, ["LLM553"]),
        ({"version": "1.1", "deploy_config": "x"}, []),
        ({"version": "1.6", "stage_configs_path": "x"}, []),
        ({"version": "1.7", "stage_configs_path": "x"}, ["LLM553"]),
        ({"options": {"num_gpu": 1}}, ["LLM551"]),
        ({"options": {"swap_space": 1}}, ["LLM553"]),
        ({"num_gpus": 1, "options": {"num_gpus": 1}}, ["LLM113"]),
        ({"options": {"--num-gpus": 1}}, []),
        ({"options": {"vae_use_tiling": "yes"}}, ["LLM555"]),
        (
            {"version": "1.5", "options": {"default_sampling_params": "a\nb"}},
            ["LLM555"],
        ),
        ({"unchecked_options": {"anything": "1"}}, []),
        ({"environment": {"SM_VLLM_FLOW_SHIFT": "5"}}, []),
        ({"environment": {"SM_VLLM_FLOW_SHIFTS": "5"}}, ["LLM609"]),
    ],
)
def test_what_is_found(given: dict[str, Any], found: list[str]) -> None:
    """
    Both sides of each limit.
    """
    assert codes(VllmOmni(**given)) == found


def test_what_only_deployment_knows() -> None:
    """
    Numbers are refused.
    """
    number: Any = Token.as_number({"Ref": "Gpus"})
    assert codes(VllmOmni(num_gpus=number)) == ["LLM114"]
    with pytest.raises((TypeError, ValueError), match="num_gpus"):
        VllmOmni(num_gpus="2")  # type: ignore[arg-type]  # what is refused


def test_environments_of_others() -> None:
    """
    Its own arguments are no doubt in a release that has them.
    """

    def found(version: str, **variables: str) -> list[str]:
        told = engine_findings(
            {"SM_VLLM_MODEL": "a/b", **variables},
            family="vllm-omni",
            version=version,
            accelerators=1,
        )
        return [one.code for one in told]

    assert found("1.8", SM_VLLM_USP="2", SM_VLLM_NO_ASYNC_CHUNK="true") == []
    assert found("1.8", SM_VLLM_MAX_MODEL_LEN="4096") == []
    assert found("1.0", SM_VLLM_DEPLOY_CONFIG="x") == ["LLM609"]
    assert found("1.1", SM_VLLM_DEPLOY_CONFIG="x") == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"version": "1.7", "stage_configs_path": "x"},
            (
                "stage_configs_path is no argument of vLLM-Omni 0.28.0: it was last "
                "seen in 0.26.0"
            ),
        ),
        (
            {"version": "1.0", "deploy_config": "x"},
            "deploy_config is no argument of vLLM-Omni 0.18.0: it came by 0.20.0",
        ),
    ],
)
def test_an_argument_came_or_went(given: dict[str, Any], said: str) -> None:
    """
    Which of both is told.
    """
    (found,) = VllmOmni(**given).prepare(HuggingFaceModel("a/b"), 1).findings

    assert found.message == said
