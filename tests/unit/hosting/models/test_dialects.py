"""
How a container wants to be asked, by its image.
"""

from __future__ import annotations

import pytest
from aws_cdk import Stack

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    ImageRelease,
    LmiVllm,
    Model,
    Schema,
    ServingConfiguration,
    Sglang,
    TensorRtLlm,
    Tgi,
    TgiNeuron,
    Vllm,
    find_image,
)
from cdk_sagemaker_llm.catalog.engine_releases import engine_families, engine_of
from cdk_sagemaker_llm.hosting.models.model import (
    UNKNOWN_DIALECT,
    Dialect,
    common_dialect,
    dialect_of,
)

GPT2 = HuggingFaceModel("gpt2")
LLAMA = HuggingFaceModel("meta-llama/Llama-2-7b-hf")
BGE = HuggingFaceModel("BAAI/bge-small-en-v1.5")
OPENAI = Dialect(Schema.OPENAI, takes_chats=True)
CHATS_ALONE = Dialect(Schema.CHAT, takes_chats=True)
OWN = "111111111111.dkr.ecr.us-east-1.amazonaws.com"
LMI = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference"
NO_BATCH = {"OPTION_ROLLING_BATCH": "disable"}
SERVICE = {"OPTION_ENTRYPOINT": "djl_python.lmi_vllm.vllm_async_service"}
SWITCHED_ON = {"MESSAGES_API_ENABLED": "true"}

SERVED: dict[str, tuple[ServingConfiguration, Dialect]] = {
    "LMI 0.26": (TensorRtLlm("0.26.0"), Dialect(Schema.LMI, takes_chats=False)),
    "LMI 0.27": (LmiVllm("0.27.0"), Dialect(Schema.LMI, takes_chats=True)),
    "LMI": (LmiVllm(), Dialect(Schema.LMI, takes_chats=True)),
    "LMI without a rolling batch": (
        CustomContainer(
            find_image("djl-lmi", "0.30.0"),
            environment={**NO_BATCH, "HF_MODEL_ID": "gpt2"},
        ),
        Dialect(Schema.LMI, takes_chats=False),
    ),
    "LMI's asynchronous service": (
        CustomContainer(
            find_image("djl-lmi", "0.35.0"),
            environment={**NO_BATCH, "OPTION_ASYNC_MODE": "true", **SERVICE},
        ),
        Dialect(Schema.LMI, takes_chats=True),
    ),
    "LMI with a handler of one's own": (
        CustomContainer(
            find_image("djl-lmi", "0.30.0"), files={"model.py": b"def handle(_): ..."}
        ),
        Dialect(Schema.LMI, takes_chats=False),
    ),
    "LMI by its address": (
        CustomContainer.from_uri(f"{LMI}:0.28.0-lmi10.0.0-cu124"),
        Dialect(Schema.LMI, takes_chats=True),
    ),
    "TGI 2.3.1": (Tgi("2.3.1"), Dialect(Schema.TGI, takes_chats=False)),
    "TGI 2.3.1 for chats": (
        CustomContainer(
            find_image("huggingface-llm", "2.3.1"), environment=SWITCHED_ON
        ),
        Dialect(Schema.TGI, takes_chats=True),
    ),
    "TGI 2.4.0": (Tgi("2.4.0"), Dialect(Schema.TGI, takes_chats=True)),
    "TGI 3": (Tgi("3.3.6"), Dialect(Schema.TGI, takes_chats=True)),
    "TGI on Neuron 0.0.28": (
        TgiNeuron("0.0.28"),
        Dialect(Schema.TGI, takes_chats=False),
    ),
    "TGI on Neuron 0.2.0": (TgiNeuron("0.2.0"), Dialect(Schema.TGI, takes_chats=True)),
    "vLLM": (
        CustomContainer(find_image("huggingface-vllm", "0.21.0")),
        Dialect(Schema.OPENAI, takes_chats=True),
    ),
    **{
        family: (
            CustomContainer(
                find_image(family, version),
                environment={"SM_SGLANG_MODEL_PATH": "gpt2"}
                if "sglang" in family
                else {},
            ),
            dialect,
        )
        for family, version, dialect in (
            ("vllm", "0.30.0", OPENAI),
            ("vllm-server", "2.6", OPENAI),
            ("vllm-omni", "1.8", OPENAI),
            ("huggingface-vllm-omni", "0.20.0", OPENAI),
            ("huggingface-vllm-neuronx", "0.4.5", OPENAI),
            ("huggingface-llamacpp", "b9522", OPENAI),
            ("huggingface-llamacpp-cpu", "b9522", OPENAI),
            ("sglang", "0.5.20", CHATS_ALONE),
            ("sglang-server", "1.4", CHATS_ALONE),
            ("huggingface-sglang", "0.5.8", CHATS_ALONE),
            ("llama-cpp", "1.0.1", CHATS_ALONE),
            ("llama-cpp-cpu", "1.0.1", CHATS_ALONE),
            ("llama-cpp-arm64", "1.0.1", CHATS_ALONE),
            ("tei", "1.8.2", UNKNOWN_DIALECT),
            ("tei-cpu", "1.8.2", UNKNOWN_DIALECT),
        )
    },
    "vLLM by default": (Vllm(), OPENAI),
    "SGLang by its class": (Sglang(), CHATS_ALONE),
    "an image of one's own": (
        CustomContainer.from_uri(f"{OWN}/vllm:1"),
        UNKNOWN_DIALECT,
    ),
    "a token": (
        CustomContainer(ImageRelease.from_uri("${Token[Image.1]}")),
        UNKNOWN_DIALECT,
    ),
}


@pytest.mark.parametrize("name", SERVED)
def test_the_image_tells(stack: Stack, name: str) -> None:
    """
    Each container family has its schema; chats came with a version.
    """
    serving, dialect = SERVED[name]
    # What a release does not load is refused.
    served = LLAMA if isinstance(serving, TgiNeuron) else GPT2
    if name.startswith("tei"):
        served = BGE
    model = Model(stack, "Model", serving=serving, model=served)

    assert dialect_of(model.definition) == dialect


def test_every_engine_of_the_catalogue_is_known_or_takes_no_prompts() -> None:
    """
    A family that comes later is not overlooked.
    """
    families = {name for name in engine_families() if engine_of(name) != "tei"}

    assert families <= SERVED.keys() | {"huggingface-vllm"}


def test_an_encoder_on_vllm_answers_no_chats(stack: Stack) -> None:
    """
    It has nothing to say, in OpenAI's form.
    """
    model = Model(stack, "Model", serving=Vllm(), model=BGE)

    assert dialect_of(model.definition) == Dialect(Schema.OPENAI, takes_chats=False)


def test_nothing_is_known_of_what_is_imported() -> None:
    """
    It has no definition.
    """
    assert dialect_of(None) == UNKNOWN_DIALECT


def test_models_of_one_endpoint_are_asked_alike_or_it_is_unknown(stack: Stack) -> None:
    """
    A client has one schema for all that answers.
    """
    tgi = Model(stack, "Tgi", serving=Tgi("3.3.6"), model=GPT2).definition
    same = Model(stack, "Same", serving=Tgi("2.4.0"), model=GPT2).definition
    lmi = Model(stack, "Lmi", serving=LmiVllm(), model=GPT2).definition

    assert common_dialect([tgi, same]) == Dialect(Schema.TGI, takes_chats=True)
    assert common_dialect([tgi, lmi]) == UNKNOWN_DIALECT
    assert common_dialect([tgi, None]) == UNKNOWN_DIALECT
    assert common_dialect([]) == UNKNOWN_DIALECT
