"""
llama.cpp in AWS's own images, and in Hugging Face's.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlamaCpp,
    LlmEndpoint,
    ResourceRequirements,
    S3Model,
)
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, command_line
from tests.unit.serving.answers import container_of, findings_of

HUB = HuggingFaceModel("Qwen/Qwen3-4B-GGUF:Q4_K_M")
WEIGHTS = S3Model("s3://bucket/prefix/")
AWS, HF = "SM_LLAMA_CPP_", "SM_LLAMACPP_"


@pytest.mark.parametrize(
    ("serving", "accelerators", "family", "tag"),
    [
        (LlamaCpp(), 0, "llama-cpp-cpu", "server-sagemaker-cpu-v1.0.1"),
        (LlamaCpp(), 1, "llama-cpp", "server-sagemaker-cuda-v1.0.1"),
        (LlamaCpp(), None, "llama-cpp", "server-sagemaker-cuda-v1.0.1"),
        (LlamaCpp("1.0.0"), 4, "llama-cpp", "server-sagemaker-cuda-v1.0.0"),
        (
            LlamaCpp(processor="arm64"),
            0,
            "llama-cpp-arm64",
            "server-sagemaker-cpu-v1.0.1",
        ),
        (
            LlamaCpp(processor="arm64"),
            None,
            "llama-cpp-arm64",
            "server-sagemaker-cpu-v1.0.1",
        ),
        (
            LlamaCpp(distribution="huggingface"),
            0,
            "huggingface-llamacpp-cpu",
            "b9522-cpu-ubuntu24.04",
        ),
        (
            LlamaCpp("b9522", distribution="huggingface"),
            1,
            "huggingface-llamacpp",
            "b9522-gpu-cu130-ubuntu24.04",
        ),
    ],
)
def test_the_image_follows_the_accelerators(
    serving: LlamaCpp, accelerators: int | None, family: str, tag: str
) -> None:
    """
    And the processor; what is not known is taken to have a GPU.
    """
    image = container_of(serving, HUB, accelerators).image

    assert (image.family, image.tag) == (family, tag)


def test_a_model_on_the_hub_is_named_with_its_type() -> None:
    """
    Each image has its own prefix; layers go to a GPU where there is one.
    """
    of_hugging_face = LlamaCpp(distribution="huggingface")
    named = "Qwen/Qwen3-4B-GGUF:Q4_K_M"

    assert container_of(LlamaCpp(), HUB, 0).environment == {f"{AWS}HF_REPO": named}
    assert container_of(LlamaCpp(), HUB, 2).environment == {
        f"{AWS}HF_REPO": named,
        f"{AWS}N_GPU_LAYERS": "999",
    }
    # How many there are may be known at deployment alone; without any it has no effect.
    assert container_of(LlamaCpp(), HUB, None).environment == {
        f"{AWS}HF_REPO": named,
        f"{AWS}N_GPU_LAYERS": "999",
    }
    assert container_of(LlamaCpp(processor="arm64"), HUB, None).environment == {
        f"{AWS}HF_REPO": named
    }
    assert container_of(of_hugging_face, HUB, 1).environment == {
        f"{HF}HF_REPO": named,
        f"{HF}N_GPU_LAYERS": "999",
    }


def test_the_token_reaches_the_container() -> None:
    """
    By the Hub's own name, which llama.cpp reads.
    """
    assert "HF_TOKEN" in container_of(LlamaCpp(), HUB, 0).token_variables


def test_weights_on_s3_are_found_or_named() -> None:
    """
    AWS's image looks for a file itself; paths are within the prefix.
    """
    container = container_of(
        LlamaCpp(model="q4/model.gguf", mmproj="mmproj.gguf"), WEIGHTS, 0
    )

    assert container.weights_uri == "s3://bucket/prefix/"
    assert container.environment == {
        f"{AWS}MODEL": "/opt/ml/model/q4/model.gguf",
        f"{AWS}MMPROJ": "/opt/ml/model/mmproj.gguf",
    }
    assert container_of(LlamaCpp(), WEIGHTS, 0).environment == {}
    whole = LlamaCpp(model="/opt/ml/model/a.gguf", distribution="huggingface")
    assert container_of(whole, WEIGHTS, 0).environment == {
        f"{HF}MODEL": "/opt/ml/model/a.gguf"
    }


@pytest.mark.parametrize(
    ("given", "argument", "value"),
    [
        ({"hf_file": "a.gguf"}, "HF_FILE", "a.gguf"),
        ({"mmproj": "/tmp/m.gguf"}, "MMPROJ", "/tmp/m.gguf"),  # noqa: S108 - a path in the container
        ({"ctx_size": 8192}, "CTX_SIZE", "8192"),
        ({"n_gpu_layers": 12}, "N_GPU_LAYERS", "12"),
        ({"n_gpu_layers": 0}, "N_GPU_LAYERS", "0"),
        ({"parallel": 4}, "PARALLEL", "4"),
        ({"threads": 16}, "THREADS", "16"),
        ({"threads": -1}, "THREADS", "-1"),
        ({"batch_size": 2048}, "BATCH_SIZE", "2048"),
        ({"ubatch_size": 512}, "UBATCH_SIZE", "512"),
        ({"cache_type_k": "q8_0"}, "CACHE_TYPE_K", "q8_0"),
        ({"cache_type_v": "q4_0"}, "CACHE_TYPE_V", "q4_0"),
        ({"flash_attn": "off"}, "FLASH_ATTN", "off"),
        ({"alias": "qwen"}, "ALIAS", "qwen"),
        ({"jinja": True}, "JINJA", "true"),
        ({"jinja": False}, "NO_JINJA", "true"),
        ({"chat_template": "chatml"}, "CHAT_TEMPLATE", "chatml"),
        ({"reasoning_format": "deepseek"}, "REASONING_FORMAT", "deepseek"),
        ({"embeddings": True}, "EMBEDDINGS", "true"),
        ({"embeddings": False}, None, None),
        ({"reranking": True}, "RERANKING", "true"),
        ({"reranking": False}, None, None),
        ({"pooling": "mean"}, "POOLING", "mean"),
        ({"options": {"temp": 0.2}}, "TEMP", "0.2"),
        ({"options": {"--n_predict": 64}}, "N_PREDICT", "64"),
        ({"options": {"tensor_split": [3, 1]}}, "TENSOR_SPLIT", "3,1"),
        ({"options": {"warmup": False}}, "NO_WARMUP", "true"),
        ({"options": {"swa_full": False}}, None, None),
        (
            {"options": {"chat_template_kwargs": {"enable_thinking": False}}},
            "CHAT_TEMPLATE_KWARGS",
            '{"enable_thinking":false}',
        ),
        ({"unchecked_options": {"new-thing": "1"}}, "NEW_THING", "1"),
    ],
)
def test_each_parameter_becomes_its_variable(
    given: dict[str, Any], argument: str | None, value: str | None
) -> None:
    """
    As llama-server calls it; what it does anyway is not written.
    """
    written = dict(container_of(LlamaCpp(**given), HUB, 0).environment)
    del written[f"{AWS}HF_REPO"]

    assert written == ({} if argument is None else {f"{AWS}{argument}": value})


def test_hugging_faces_image_takes_bare_arguments_as_empty_values() -> None:
    """
    The text ``true`` would be a value there.
    """
    serving = LlamaCpp(
        distribution="huggingface", embeddings=True, jinja=False, pooling="mean"
    )
    written = container_of(serving, HUB, 0).environment

    assert written == {
        f"{HF}HF_REPO": "Qwen/Qwen3-4B-GGUF:Q4_K_M",
        f"{HF}EMBEDDINGS": "",
        f"{HF}NO_JINJA": "",
        f"{HF}POOLING": "mean",
    }
    assert command_line(written, ENTRY_POINTS["hf-llama-cpp"]) == [
        *("--embeddings",),
        *("--hf-repo", "Qwen/Qwen3-4B-GGUF:Q4_K_M"),
        *("--no-jinja",),
        *("--pooling", "mean"),
    ]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (("b.gguf", "a.gguf"), "a.gguf"),
        (("a/a.gguf", "z.gguf"), "z.gguf"),
        (("b/a.gguf", "a/z.gguf"), "a/z.gguf"),
        (("B.gguf", "a.gguf"), "B.gguf"),
        (("mmproj.gguf", "model.gguf"), "mmproj.gguf"),
        (("config.json", "m-2-of-2.gguf", "m-1-of-2.gguf"), "m-1-of-2.gguf"),
    ],
    ids=str,
)
def test_the_first_file_is_served_where_none_is_named(
    files: tuple[str, ...], found: str
) -> None:
    """
    As AWS's entry point looks for it: by name, and those at the root before those in
    a folder, in whatever order they lie on S3.
    """
    written = command_line({}, ENTRY_POINTS["llama-cpp"], model_data=files)

    assert written[written.index("--model") + 1] == f"/opt/ml/model/{found}"


@pytest.mark.parametrize("files", [(), ("config.json",), ("a/b/c.gguf",)], ids=str)
def test_a_file_that_is_not_found_is_not_named(files: tuple[str, ...]) -> None:
    """
    Two folders down it does not look.
    """
    written = command_line({}, ENTRY_POINTS["llama-cpp"], model_data=files)

    assert "--model" not in written


def test_a_long_template_travels_in_a_file() -> None:
    """
    Of one line it is told.
    """
    container = container_of(LlamaCpp(chat_template="{{ a }}\n{{ b }}"), HUB, 0)

    assert container.files == {"chat_template.jinja": b"{{ a }}\n{{ b }}"}
    assert container.environment == {
        f"{AWS}HF_REPO": "Qwen/Qwen3-4B-GGUF:Q4_K_M",
        f"{AWS}CHAT_TEMPLATE_FILE": "/opt/ml/model/chat_template.jinja",
    }


@pytest.mark.parametrize(
    ("given", "model", "told"),
    [
        ({}, None, "LLM112 model is missing: nothing names the weights"),
        (
            {"version": "1"},
            HUB,
            (
                "LLM557 version 1 of llama-cpp-cpu is a tag that AWS moves: the next "
                "instance may start another engine; name 1.0.1, or the image's digest "
                "in image="
            ),
        ),
        (
            {"version": "1.0"},
            HUB,
            (
                "LLM557 version 1.0 of llama-cpp-cpu is a tag that AWS moves: the next "
                "instance may start another engine; name 1.0.1, or the image's digest "
                "in image="
            ),
        ),
        (
            {"version": "9"},
            HUB,
            "LLM102 image llama-cpp-cpu has no version '9'; use 1.0.1 or 1.0.0",
        ),
        (
            {"distribution": "huggingface"},
            WEIGHTS,
            (
                "LLM112 model is missing: Hugging Face's image does not look for a "
                ".gguf file in /opt/ml/model itself; name the file within the prefix"
            ),
        ),
        (
            {"mmproj": "mmproj.gguf"},
            WEIGHTS,
            (
                "LLM112 model is missing beside mmproj: the image takes the first "
                ".gguf file by name, which may be the projector; name the file within "
                "the prefix"
            ),
        ),
        (
            {"hf_file": "a.gguf"},
            WEIGHTS,
            (
                "LLM113 hf_file names a file on the Hub, and the weights are on S3; "
                "name the file with model"
            ),
        ),
        (
            {"model": "a.gguf"},
            HUB,
            (
                "LLM113 model names a file of weights on S3, and "
                "Qwen/Qwen3-4B-GGUF:Q4_K_M is on the Hub; name its file with hf_file"
            ),
        ),
        (
            {"chat_template": "a\nb"},
            WEIGHTS,
            (
                "LLM113 files cannot stand beside weights on S3, which fill "
                "/opt/ml/model alone; put them among the weights"
            ),
        ),
        (
            {"options": {"api-key": ""}},
            HUB,
            (
                "LLM555 api-key cannot be told to this image: an empty value cannot be "
                "told: the argument would stand alone"
            ),
        ),
        (
            {"alias": "true"},
            HUB,
            (
                "LLM555 alias cannot be told to this image: the text 'true' cannot be "
                "told: it is read as a switch"
            ),
        ),
        (
            {"options": {"grammar": "a\nb"}},
            HUB,
            (
                "LLM555 grammar cannot be told to this image: it has more than one "
                "line, and only the first would be read"
            ),
        ),
        (
            {"ctx_size": 1, "options": {"ctx-size": 2}},
            HUB,
            "LLM113 options repeats ctx-size, which has a parameter of its own",
        ),
        (
            {"options": {"HF_REPO": "a/b"}},
            HUB,
            "LLM113 options repeats HF_REPO, which has a parameter of its own",
        ),
        (
            {"ctx_size": 1, "environment": {f"{AWS}CTX_SIZE": "2"}},
            HUB,
            "LLM113 environment repeats SM_LLAMA_CPP_CTX_SIZE, which is an argument",
        ),
        (
            {"options": {"alias_of_mine": "${Token[TOKEN.1]}"}},
            HUB,
            None,
        ),
    ],
)
def test_what_cannot_be_is_refused(
    given: dict[str, Any], model: HuggingFaceModel | S3Model | None, told: str | None
) -> None:
    """
    One clear message, and nothing written.
    """
    prepared = LlamaCpp(**given).prepare(model, 0)

    if told is None:
        assert prepared.container is not None or prepared.findings
        return
    assert prepared.container is None
    assert [str(each) for each in prepared.findings] == [told]


@pytest.mark.parametrize(
    ("given", "model", "told"),
    [
        (
            {"options": {"n_predic": 5}},
            HUB,
            (
                "LLM624 n_predic becomes --n-predic, which llama.cpp is "
                "not known to have; did you mean n-predict?"
            ),
        ),
        (
            {"options": {"mlock": True}},
            HUB,
            (
                "LLM624 mlock is gone from llama.cpp v0.4.1, which AWS "
                "has put under older tags; use load-mode"
            ),
        ),
        (
            {},
            HuggingFaceModel("a/b-GGUF", revision="c"),
            (
                "LLM631 revision c is not passed on: llama.cpp downloads the newest "
                "files; copy the file to S3, and serve it as an S3Model"
            ),
        ),
        (
            {"reranking": True},
            HUB,
            (
                "LLM630 reranking makes llama.cpp embed or rank, and AWS's image "
                "passes /invocations on to chat completions alone; take "
                'distribution="huggingface", whose image has routes for them, or '
                "TextEmbeddings"
            ),
        ),
    ],
)
def test_what_is_doubtful_is_told(
    given: dict[str, Any], model: HuggingFaceModel, told: str
) -> None:
    """
    A container is made nevertheless.
    """
    prepared = LlamaCpp(**given).prepare(model, 0)

    assert prepared.container is not None
    assert [str(each) for each in prepared.findings] == [told]


def test_hugging_faces_image_has_routes_for_embeddings() -> None:
    """
    And is told of nothing.
    """
    serving = LlamaCpp(distribution="huggingface", embeddings=True)

    assert findings_of(serving, HUB, 0) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"processor": "arm64", "distribution": "huggingface"},
            "processor must be 'x86_64' of Hugging Face's images, got 'arm64'",
        ),
        ({"processor": "graviton"}, "processor must be 'x86_64' or 'arm64'"),
        ({"distribution": "ggml"}, "distribution must be 'aws' or 'huggingface'"),
        ({"flash_attn": True}, "flash_attn must be 'on', 'off' or 'auto'"),
        ({"ctx_size": "8k"}, "ctx_size must be a whole number"),
    ],
)
def test_fails_for_a_value_of_another_kind(given: dict[str, Any], message: str) -> None:
    """
    Where it is written.
    """
    with pytest.raises(ValueError, match=message):
        LlamaCpp(**given)


def test_what_it_asks_of_the_memory() -> None:
    """
    Zeros and less leave it to llama.cpp, and ask for nothing.
    """
    serving = LlamaCpp(
        ctx_size=8192, parallel=2, ubatch_size=256, cache_type_k="q8_0", batch_size=512
    )
    left = LlamaCpp(ctx_size=0, parallel=-1, ubatch_size=0)

    asked = serving.prepare(HUB, 1).demand
    assert asked == Demand(
        architecture=None,
        engine="llama.cpp",
        engine_version=None,
        gguf_type="Q4_K_M",
        context_length=8192,
        assumptions=Assumptions(
            max_num_seqs=2, max_num_batched_tokens=256, kv_cache_dtype_bytes=1.53125
        ),
    )
    assert left.prepare(HUB, 1).demand == LlamaCpp().prepare(HUB, 1).demand


@pytest.mark.parametrize(
    ("layers", "is_known"),
    [(None, True), (0, False), (998, False), (999, True), (1, False)],
)
def test_a_model_outside_of_the_gpu_is_not_modelled(
    layers: int | None,
    is_known: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    No plan is made of it, whether a part is there or all.
    """
    demand = LlamaCpp(n_gpu_layers=layers).prepare(HUB, 1).demand

    assert (demand is not None) is is_known


@pytest.mark.parametrize(
    ("serving", "model", "named"),
    [
        (LlamaCpp(), HuggingFaceModel("Qwen/Qwen3-4B-GGUF"), "Q4_K_M"),
        (LlamaCpp(), HuggingFaceModel("Qwen/Qwen3-4B-GGUF:Q8_0"), "Q8_0"),
        (
            LlamaCpp(hf_file="x-Q5_K_S.gguf"),
            HuggingFaceModel("Qwen/Qwen3-4B-GGUF"),
            "Q5_K_S",
        ),
        (LlamaCpp(hf_file="x.gguf"), HuggingFaceModel("Qwen/Qwen3-4B-GGUF"), None),
        (LlamaCpp(model="x-Q6_K.gguf"), WEIGHTS, "Q6_K"),
        (LlamaCpp(model="x.gguf"), WEIGHTS, None),
        (LlamaCpp(), WEIGHTS, None),
    ],
)
def test_names_say_how_the_weights_are_quantized(
    serving: LlamaCpp, model: HuggingFaceModel | S3Model, named: str | None
) -> None:
    """
    Of a repository without a type llama.cpp takes Q4_K_M; a file has what it has.
    """
    demand = serving.prepare(model, 1).demand

    assert demand is not None
    assert demand.gguf_type == named


def _stack() -> Stack:
    place = Environment(account="111111111111", region="us-east-1")
    return Stack(App(), "Test", env=place)


@pytest.mark.parametrize(
    ("serving", "instance_type", "refused"),
    [
        (LlamaCpp(processor="arm64"), "ml.c7g.4xlarge", None),
        (LlamaCpp(), "ml.c7i.4xlarge", None),
        (LlamaCpp(), "ml.g5.xlarge", None),
        (LlamaCpp(), "ml.c7g.4xlarge", "LLM523 image llama-cpp-cpu 1.0.1"),
        (
            LlamaCpp(processor="arm64"),
            "ml.c7i.4xlarge",
            "LLM523 image llama-cpp-arm64 1.0.1",
        ),
        (
            LlamaCpp(processor="arm64"),
            "ml.g5.xlarge",
            "LLM523 image llama-cpp-arm64 1.0.1",
        ),
    ],
)
def test_the_image_is_held_against_the_instances(
    serving: LlamaCpp, instance_type: str, refused: str | None
) -> None:
    """
    One for other processors than the instance's does not start.
    """
    stack = _stack()
    if refused is not None:
        with pytest.raises(ValueError, match=refused):
            LlmEndpoint(
                stack, "It", model=HUB, serving=serving, instance_type=instance_type
            )
        return
    LlmEndpoint(stack, "It", model=HUB, serving=serving, instance_type=instance_type)

    Template.from_stack(stack).resource_count_is("AWS::SageMaker::Endpoint", 1)


def test_components_share_instances_without_accelerators() -> None:
    """
    Copies reserve cores and memory, and none of what there is none of.
    """
    stack = _stack()
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.c7g.4xlarge", max_instance_count=1
    )
    host.add_model(
        "Chat",
        model=HUB,
        serving=LlamaCpp(processor="arm64"),
        resources=ResourceRequirements(copies=2, cpus=6, memory_mib=8192),
    )

    Template.from_stack(stack).has_resource_properties(
        "AWS::SageMaker::InferenceComponent",
        {
            "Specification": {
                "ComputeResourceRequirements": {
                    "NumberOfCpuCoresRequired": 6,
                    "MinMemoryRequiredInMb": 8192,
                }
            }
        },
    )


def test_a_build_is_of_hugging_faces_images() -> None:
    """
    AWS's have versions of their own.
    """
    message = (
        "version b9523 is a build of llama.cpp, which Hugging Face's images are of; "
        "set distribution='huggingface', whose newest is b9522, or take AWS's 1.0.1"
    )

    with pytest.raises(ValueError, match=re.escape(message)):
        LlamaCpp("b9523")
    assert LlamaCpp("b9522", distribution="huggingface").version == "b9522"
    found = LlamaCpp("b9523", distribution="huggingface").prepare(HUB, 0).findings
    assert [str(one) for one in found] == [
        "LLM102 image huggingface-llamacpp-cpu has no version 'b9523'; use b9522"
    ]
