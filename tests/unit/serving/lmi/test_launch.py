"""
What a serving.properties makes an LMI container run, version by version.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.serving.lmi.launch import (
    BACKENDS,
    CONTAINERS,
    LMI_DIST_ARCHITECTURES_0_26,
    Launch,
    batches_dynamically,
    resolve,
)
from cdk_sagemaker_llm.serving.lmi.properties import parse

TRT, LMI = "djl-tensorrtllm", "djl-lmi"
DS, NEURON = "djl-deepspeed", "djl-neuronx"
MPI, PYTHON, DEEPSPEED = "engine=MPI\n", "engine=Python\n", "engine=DeepSpeed\n"
AUTO, DISABLE = "option.rolling_batch=auto\n", "option.rolling_batch=disable\n"
VLLM, DIST = "option.rolling_batch=vllm\n", "option.rolling_batch=lmi-dist\n"
OF_DEEPSPEED = "option.entryPoint=djl_python.deepspeed\n"
OF_HUGGING_FACE = "option.entryPoint=djl_python.huggingface\n"
ASYNC = "option.async_mode=true\n"
BATCH = "batch_size=2\n"
ELEVEN = "option.max_rolling_batch_size=11\n"
TWELVE = "option.max_rolling_batch_size=12\n"
LARGEST_BATCH = "max_dynamic_batch_size=2\n"
SEVERAL = ("lmi-dist", "scheduler")

# Container, version, file, the model's class, and what can come of it.
CASES: list[tuple[str, str, str, str | None, tuple[str, ...]]] = [
    (TRT, "0.26", "", None, ("trtllm",)),
    (TRT, "0.33", MPI + VLLM + BATCH, "BertModel", ("trtllm",)),
    # Neuron: from 0.28 on vLLM may be the scheduler.
    (NEURON, "0.26", "", None, ("neuronx",)),
    (NEURON, "0.26", VLLM, None, ("neuronx",)),
    (NEURON, "0.27", VLLM, None, ("neuronx",)),
    (NEURON, "0.28", VLLM, None, ("neuronx", "vllm")),
    (NEURON, "0.28", "option.rolling_batch=VLLM\n", None, ("neuronx", "vllm")),
    (NEURON, "0.28", AUTO, None, ("neuronx",)),
    # At 0.30 a large batch is vLLM's, where it is left to the container.
    (NEURON, "0.30", AUTO + TWELVE, None, ("neuronx", "vllm")),
    (NEURON, "0.30", TWELVE, None, ("neuronx", "vllm")),
    (NEURON, "0.30", AUTO + ELEVEN, None, ("neuronx",)),
    (NEURON, "0.30", "option.rolling_batch=tnx\n" + TWELVE, None, ("neuronx",)),
    (NEURON, "0.29", AUTO + TWELVE, None, ("neuronx",)),
    # The DeepSpeed image: the engine or the entry point choose DeepSpeed.
    (DS, "0.26", DEEPSPEED, None, ("deepspeed",)),
    (DS, "0.27", DEEPSPEED + VLLM + BATCH, "LlamaForCausalLM", ("deepspeed",)),
    (DS, "0.26", PYTHON + OF_DEEPSPEED, None, ("deepspeed",)),
    (DS, "0.26", DEEPSPEED + OF_HUGGING_FACE, None, ("huggingface",)),
    (DS, "0.27", OF_DEEPSPEED, None, ("deepspeed",)),
    (DS, "0.27", "option.entryPoint=djl_python.huggingface\n", None, SEVERAL),
    # Left out, nothing is batched up to 0.26; at 0.27 the container chooses where no
    # engine is written.
    (DS, "0.26", PYTHON, None, ("huggingface",)),
    (DS, "0.26", MPI, None, ("huggingface",)),
    (DS, "0.27", PYTHON, None, ("huggingface",)),
    (DS, "0.27", MPI, "LlamaForCausalLM", ("huggingface",)),
    (DS, "0.27", "", None, SEVERAL),
    (DS, "0.27", "", "LlamaForCausalLM", ("lmi-dist",)),
    (DS, "0.27", AUTO, "MistralForCausalLM", ("lmi-dist",)),
    (DS, "0.27", "", "GPTNeoXForCausalLM", ("scheduler",)),
    (DS, "0.27", "", "NewForCausalLM", SEVERAL),
    (DS, "0.27", "", "BertForMaskedLM", ("huggingface",)),
    # What is written is taken.
    (DS, "0.26", PYTHON + VLLM, None, ("vllm",)),
    (DS, "0.26", MPI + DIST, None, ("lmi-dist",)),
    (DS, "0.27", PYTHON + "option.rolling_batch=Scheduler\n", None, ("scheduler",)),
    (DS, "0.26", PYTHON + DISABLE, None, ("huggingface",)),
    (DS, "0.27", PYTHON + DISABLE, None, ("huggingface",)),
    # Dynamic batches switch it off where the front end looks at the model.
    (DS, "0.26", PYTHON + VLLM + BATCH, None, ("vllm",)),
    (DS, "0.27", PYTHON + VLLM + BATCH, None, ("vllm",)),
    (DS, "0.27", VLLM + BATCH, None, ("huggingface",)),
    (DS, "0.27", VLLM + LARGEST_BATCH, None, ("huggingface",)),
    (DS, "0.27", PYTHON + BATCH, None, ("huggingface",)),
    # By itself it takes LMI-Dist at 0.26 where MPI runs one of seven architectures.
    (DS, "0.26", MPI + AUTO, None, ("lmi-dist", "scheduler")),
    (DS, "0.26", MPI + AUTO, "RWForCausalLM", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "GPTNeoXForCausalLM", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "T5ForConditionalGeneration", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "LlamaForCausalLM", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "FalconForCausalLM", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "MPTForCausalLM", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "GPTBigCodeForCausalLM", ("lmi-dist",)),
    (DS, "0.26", MPI + AUTO, "MistralForCausalLM", ("scheduler",)),
    (DS, "0.26", MPI + AUTO, "OPTForCausalLM", ("scheduler",)),
    (DS, "0.26", PYTHON + AUTO, None, ("scheduler",)),
    (DS, "0.26", PYTHON + AUTO, "LlamaForCausalLM", ("scheduler",)),
    # So it does at 0.27 where an engine is written.
    (DS, "0.27", MPI + AUTO, "LlamaForCausalLM", ("lmi-dist",)),
    (DS, "0.27", MPI + AUTO, "MistralForCausalLM", ("scheduler",)),
    (DS, "0.27", MPI + AUTO, "MixtralForCausalLM", ("scheduler",)),
    (DS, "0.27", MPI + AUTO, None, SEVERAL),
    (DS, "0.27", PYTHON + AUTO, "LlamaForCausalLM", ("scheduler",)),
    # Without an engine 0.26 starts some architectures with DeepSpeed.
    (DS, "0.26", "", None, ("huggingface", "deepspeed")),
    (DS, "0.26", VLLM, None, ("vllm", "deepspeed")),
    (DS, "0.26", AUTO, None, ("scheduler", "deepspeed")),
    (DS, "0.26", "", "LlamaForCausalLM", ("huggingface",)),
    (DS, "0.26", "", "BertForMaskedLM", ("deepspeed",)),
    (DS, "0.26", "", "BloomForCausalLM", ("deepspeed",)),
    (DS, "0.26", "", "GPTNeoXForCausalLM", ("deepspeed",)),
    (DS, "0.26", "", "GPT2LMHeadModel", ("deepspeed",)),
    (DS, "0.26", "", "GPTJForCausalLM", ("deepspeed",)),
    (DS, "0.26", "", "OPTForCausalLM", ("deepspeed",)),
    (DS, "0.26", VLLM, "RobertaForMaskedLM", ("deepspeed",)),
    (DS, "0.26", PYTHON, "OPTForCausalLM", ("huggingface",)),
    (DS, "0.27", "", "OPTForCausalLM", ("lmi-dist",)),
    (DS, "0.27", VLLM, None, ("vllm",)),
    # The LMI image: LMI-Dist up to 0.32, then vLLM, for what generates text.
    (LMI, "0.28", "", None, SEVERAL),
    (LMI, "0.29", "", None, SEVERAL),
    (LMI, "0.30", "", None, ("lmi-dist",)),
    # Up to 0.29 by a list of types, as long as it gets.
    (LMI, "0.28", PYTHON, "LlamaForCausalLM", ("lmi-dist",)),
    (LMI, "0.28", AUTO, "Phi3ForCausalLM", ("lmi-dist",)),
    (DS, "0.27", AUTO, "Phi3ForCausalLM", ("scheduler",)),
    (LMI, "0.29", AUTO, "Gemma2ForCausalLM", ("lmi-dist",)),
    (LMI, "0.28", AUTO, "Gemma2ForCausalLM", ("scheduler",)),
    (LMI, "0.29", AUTO, "GPTBigCodeForCausalLM", ("scheduler",)),
    (LMI, "0.30", AUTO, "GPTBigCodeForCausalLM", ("lmi-dist",)),
    (LMI, "0.32", AUTO, None, ("lmi-dist",)),
    (LMI, "0.33", AUTO, None, ("vllm",)),
    (LMI, "0.36", "", None, ("vllm",)),
    (LMI, "0.32", AUTO, "LlamaForCausalLM", ("lmi-dist",)),
    (LMI, "0.33", "", "LlamaForCausalLM", ("vllm",)),
    (LMI, "0.33", "", "GPT2LMHeadModel", ("vllm",)),
    (LMI, "0.33", "", "T5ForConditionalGeneration", ("vllm",)),
    (LMI, "0.33", "", "BertModel", ("huggingface",)),
    (LMI, "0.28", AUTO, "BertForMaskedLM", ("huggingface",)),
    (LMI, "0.28", VLLM, None, ("vllm",)),
    (LMI, "0.28", "option.rolling_batch=scheduler\n", "BertModel", ("scheduler",)),
    # LMI-Dist runs as vLLM from 0.33 on.
    (LMI, "0.32", DIST, None, ("lmi-dist",)),
    (LMI, "0.33", DIST, None, ("vllm",)),
    (LMI, "0.35", DIST, None, ("vllm",)),
    (LMI, "0.36", "option.rolling_batch=LMI-Dist\n", None, ("vllm",)),
    # Without a rolling batch, Accelerate or the asynchronous service of vLLM.
    (LMI, "0.33", DISABLE, None, ("huggingface",)),
    (LMI, "0.35", DISABLE + ASYNC, None, ("vllm",)),
    (LMI, "0.35", "option.rolling_batch=Disable\n" + ASYNC, None, ("vllm",)),
    # Before 0.35 the switch starts no handler of its own: the entry point does.
    (LMI, "0.34", DISABLE + ASYNC, None, ("huggingface",)),
    (LMI, "0.33", DISABLE + "option.async_mode=false\n", None, ("huggingface",)),
    (
        LMI,
        "0.33",
        DISABLE + "option.entryPoint=djl_python.lmi_vllm.vllm_async_service\n",
        None,
        ("vllm",),
    ),
    (LMI, "0.33", DISABLE + "option.entryPoint=x.lmi_vllm.y\n", None, ("vllm",)),
    (LMI, "0.33", DISABLE + "option.entryPoint=vllm_async_service\n", None, ("vllm",)),
    (LMI, "0.33", DISABLE + "option.entryPoint=model.py\n", None, ("huggingface",)),
    (LMI, "0.28", VLLM + BATCH, None, ("huggingface",)),
    # An entry point counts before the service that the front end chooses.
    (LMI, "0.35", OF_HUGGING_FACE, None, ("huggingface",)),
    (LMI, "0.35", DISABLE + ASYNC + OF_HUGGING_FACE, None, ("huggingface",)),
    (LMI, "0.35", VLLM + OF_HUGGING_FACE, None, ("vllm",)),
    (LMI, "0.34", OF_HUGGING_FACE, None, ("vllm",)),
    (LMI, "0.35", VLLM + LARGEST_BATCH + ASYNC, None, ("vllm",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("container", "version", "text", "architecture", "expected"),
    CASES,
    ids=[f"{c[0]} {c[1]} {c[2]!r} {c[3]}" for c in CASES],
)
def test_a_file_runs_its_backend(
    container: str,
    version: str,
    text: str,
    architecture: str | None,
    expected: tuple[str, ...],
) -> None:
    """
    More than one where the architecture decides, and is not known.
    """
    launch = resolve(
        parse(text),
        container=container,
        version=LmiVersion.parse(version),
        architecture=architecture,
    )

    assert launch.backends == expected


@pytest.mark.parametrize(
    ("container", "version", "text", "asynchronous"),
    [
        (LMI, "0.35", "", True),
        (LMI, "0.35", AUTO, True),
        (LMI, "0.35", VLLM, False),
        (LMI, "0.35", DIST, False),
        (LMI, "0.35", DISABLE + ASYNC, True),
        (LMI, "0.35", DISABLE, False),
        (LMI, "0.34", "", False),
        (LMI, "0.34", DISABLE + "option.entryPoint=lmi_vllm.y\n", True),
        (DS, "0.27", PYTHON + VLLM, False),
        (TRT, "0.33", DISABLE, False),
    ],
    ids=str,
)
def test_the_asynchronous_service_stands_alone(
    container: str, version: str, text: str, *, asynchronous: bool
) -> None:
    """
    No handler reads the file before it.
    """
    parsed = LmiVersion.parse(version)
    launch = resolve(parse(text), container=container, version=parsed)

    assert launch.asynchronous is asynchronous


def test_a_type_in_the_config_counts_before_the_class() -> None:
    """
    Some files name a class that their type does not have.
    """
    version = LmiVersion.parse("0.28.0")

    def backends(architecture: str | None, model_type: str | None) -> tuple[str, ...]:
        launch = resolve(
            {},
            container=LMI,
            version=version,
            architecture=architecture,
            model_type=model_type,
        )
        return launch.backends

    assert backends("NewForCausalLM", "llama") == ("lmi-dist",)
    assert backends("LlamaForCausalLM", "newer") == ("scheduler",)
    assert backends(None, "mistral") == ("lmi-dist",)


def test_what_the_file_asks_for_is_told_beside_it() -> None:
    """
    The engine as written, the scheduler in lower case.
    """
    version = LmiVersion.parse("0.26.0")
    written = resolve(
        {"engine": "MPI", "option.rolling_batch": "Auto"},
        container=TRT,
        version=version,
    )
    empty = resolve({"option.rolling_batch": ""}, container=TRT, version=version)

    assert written == Launch(TRT, version, "MPI", "auto", ("trtllm",))
    assert written.engine == "MPI"
    assert empty == Launch(TRT, version, None, None, ("trtllm",))
    assert empty.engine is None


@pytest.mark.parametrize(
    ("properties", "batches"),
    [
        ({}, False),
        ({"batch_size": "1"}, False),
        ({"batch_size": "2"}, True),
        ({"batch_size": "0"}, False),
        ({"batch_size": "x"}, False),
        ({"max_dynamic_batch_size": "2"}, True),
        ({"max_dynamic_batch_size": "1", "batch_size": "1"}, False),
        ({"batch_size": "4", "max_dynamic_batch_size": "1"}, True),
        ({"option.batch_size": "4"}, False),
    ],
    ids=str,
)
def test_requests_are_batched_before_they_reach_the_model(
    properties: dict[str, str], *, batches: bool
) -> None:
    """
    Where one of the server's sizes is above one.
    """
    assert batches_dynamically(properties) is batches


def test_the_names_are_those_of_the_catalogue_and_the_handlers() -> None:
    """
    In the order in which messages list them.
    """
    assert CONTAINERS == ("djl-tensorrtllm", "djl-lmi", "djl-deepspeed", "djl-neuronx")
    assert BACKENDS == ("trtllm", "vllm", "lmi-dist", "deepspeed", "neuronx")
    assert len(LMI_DIST_ARCHITECTURES_0_26) == 7
