"""
The rules between options, each tripped by the smallest file that breaks it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving import check_properties

TRT, LMI = "djl-tensorrtllm", "djl-lmi"
DS, NEURON = "djl-deepspeed", "djl-neuronx"
MPI, PYTHON = "engine=MPI\n", "engine=Python\n"
DEEPSPEED = "engine=DeepSpeed\n"
VLLM, DIST = "option.rolling_batch=vllm\n", "option.rolling_batch=lmi-dist\n"
AUTO = "option.rolling_batch=auto\n"
LORA = "option.enable_lora=true\n"
STAGES = "option.pipeline_parallel_degree=2\n"

ERRORS = [
    ("an engine in small letters", LMI, "0.36.0", "engine=python\n", "LLM130"),
    (
        "an engine of DJL's own in small letters",
        LMI,
        "0.36.0",
        "engine=rust\n",
        "LLM130",
    ),
    ("no engine's name", LMI, "0.36.0", "engine=\n", "LLM130"),
    ("DeepSpeed after 0.27", LMI, "0.28.0", DEEPSPEED, "LLM130"),
    ("MPI on Neuron", NEURON, "0.26.0", MPI, "LLM130"),
    ("Python for TensorRT-LLM 0.25", TRT, "0.25.0", PYTHON, "LLM131"),
    ("Python for TensorRT-LLM 0.26", TRT, "0.26.0", PYTHON, "LLM131"),
    ("Python for TensorRT-LLM 0.27", TRT, "0.27.0", PYTHON, "LLM131"),
    ("MPI for vLLM 0.26", DS, "0.26.0", MPI + VLLM, "LLM131"),
    ("MPI for vLLM 0.31", LMI, "0.31.0", MPI + VLLM, "LLM131"),
    ("MPI for vLLM 0.35", LMI, "0.35.0", MPI, "LLM131"),
    ("MPI for a replaced LMI-Dist", LMI, "0.36.0", MPI + DIST, "LLM131"),
    (
        "Python for LMI-Dist 0.26 on two GPUs",
        DS,
        "0.26.0",
        f"{PYTHON}{DIST}option.tensor_parallel_degree=2\n",
        "LLM131",
    ),
    ("Python for LMI-Dist 0.27", DS, "0.27.0", PYTHON + DIST, "LLM131"),
    (
        "DeepSpeed's batching elsewhere",
        DS,
        "0.26.0",
        f"{PYTHON}option.rolling_batch=deepspeed\n",
        "LLM131",
    ),
    (
        "an unknown rolling batch",
        LMI,
        "0.30.0",
        f"{PYTHON}option.rolling_batch=fast\n",
        "LLM132",
    ),
    (
        "another rolling batch with DeepSpeed",
        DS,
        "0.27.0",
        DEEPSPEED + VLLM,
        "LLM132",
    ),
    (
        "a blank after the rolling batch",
        LMI,
        "0.30.0",
        f"{PYTHON}option.rolling_batch=auto \n",
        "LLM132",
    ),
    (
        "no batching in TensorRT-LLM 0.26",
        TRT,
        "0.26.0",
        f"{MPI}option.rolling_batch=disable\n",
        "LLM133",
    ),
    ("vLLM in TensorRT-LLM's image", TRT, "0.28.0", MPI + VLLM, "LLM133"),
    ("MPI for LMI-Dist in 0.33", LMI, "0.33.0", MPI + DIST, "LLM131"),
    (
        "the scheduler in 0.33",
        LMI,
        "0.33.0",
        f"{PYTHON}option.rolling_batch=scheduler\n",
        "LLM133",
    ),
    (
        "a number with a blank after it",
        TRT,
        "0.26.0",
        f"{MPI}option.tensor_parallel_degree=4 \n",
        "LLM135",
    ),
    (
        "all as the degree",
        TRT,
        "0.26.0",
        f"{MPI}option.tensor_parallel_degree=all\n",
        "LLM135",
    ),
    ("a server's number", LMI, "0.36.0", f"{PYTHON}job_queue_size=1k\n", "LLM135"),
    (
        "a switch that is none",
        LMI,
        "0.30.0",
        f"{PYTHON}{VLLM}option.enforce_eager=maybe\n",
        "LLM135",
    ),
    (
        "a formatter no file can name",
        LMI,
        "0.30.0",
        f"{PYTHON}option.input_formatter=mine\n",
        "LLM135",
    ),
    (
        "an argument of vLLM",
        LMI,
        "0.36.0",
        f"{PYTHON}option.gpu_memory_utilization=most\n",
        "LLM135",
    ),
    (
        "no address of a compiled graph",
        NEURON,
        "0.27.0",
        f"{PYTHON}option.compiled_graph_path=s3://bucket\n",
        "LLM135",
    ),
    (
        "a quantization of a later version",
        DS,
        "0.26.0",
        f"{PYTHON}{VLLM}option.quantize=gptq\n",
        "LLM136",
    ),
    (
        "a quantization the handler of 0.25 does not know",
        DS,
        "0.25.0",
        f"{MPI}{DIST}option.quantize=squeezellm\n",
        "LLM136",
    ),
    (
        "a dtype",
        LMI,
        "0.36.0",
        f"{PYTHON}option.dtype=fp4\n",
        "LLM136",
    ),
    (
        "a long dtype before 0.32",
        LMI,
        "0.30.0",
        f"{PYTHON}{VLLM}option.dtype=float16\n",
        "LLM136",
    ),
    (
        "grouped-query attention",
        NEURON,
        "0.26.0",
        f"{PYTHON}option.group_query_attention=shard\n",
        "LLM136",
    ),
    (
        "a compiler's level",
        NEURON,
        "0.26.0",
        f"{PYTHON}option.neuron_optimize_level=4\n",
        "LLM136",
    ),
    (
        "a degree of nothing",
        TRT,
        "0.26.0",
        f"{MPI}option.tensor_parallel_degree=0\n",
        "LLM137",
    ),
    (
        "alpha",
        DS,
        "0.26.0",
        f"{DEEPSPEED}option.quantize=smoothquant\noption.smoothquant_alpha=1.5\n",
        "LLM137",
    ),
    (
        "dtype with quantize",
        DS,
        "0.26.0",
        f"{MPI}{DIST}option.dtype=fp16\noption.quantize=gptq\n",
        "LLM138",
    ),
    (
        "LoRA with a draft model",
        LMI,
        "0.28.0",
        f"{MPI}{DIST}option.enable_lora=true\noption.speculative_draft_model=a/b\n",
        "LLM139",
    ),
    (
        "a rank between those of vLLM",
        LMI,
        "0.36.0",
        f"{PYTHON}{LORA}option.max_lora_rank=24\n",
        "LLM332",
    ),
    (
        "an argument that vLLM does not know",
        LMI,
        "0.36.0",
        f"{PYTHON}option.disable_log_stats=false\n",
        "LLM334",
    ),
    (
        "fewer adapters on the host than in a batch",
        LMI,
        "0.36.0",
        f"{PYTHON}{LORA}option.max_loras=4\noption.max_cpu_loras=3\n",
        "LLM333",
    ),
    (
        "two addresses",
        TRT,
        "0.26.0",
        f"{MPI}option.model_id=a/b\noption.s3url=s3://b/p/\n",
        "LLM140",
    ),
    (
        "RoPE's type alone",
        TRT,
        "0.26.0",
        f"{MPI}option.rotary_scaling_type=linear\n",
        "LLM141",
    ),
    (
        "RoPE's factor alone",
        TRT,
        "0.28.0",
        f"{MPI}option.rotary_scaling_factor=2.0\n",
        "LLM141",
    ),
    (
        "SmoothQuant in bf16",
        DS,
        "0.26.0",
        f"{DEEPSPEED}option.quantize=smoothquant\noption.dtype=bf16\n",
        "LLM142",
    ),
    (
        "two ways of batching on Neuron",
        NEURON,
        "0.26.0",
        f"{PYTHON}{AUTO}option.batch_size=4\n",
        "LLM143",
    ),
    (
        "streaming of whole batches",
        DS,
        "0.26.0",
        f"{PYTHON}batch_size=4\noption.enable_streaming=true\n",
        "LLM144",
    ),
    (
        "8 bits without a device map",
        DS,
        "0.26.0",
        f"{PYTHON}option.quantize=bitsandbytes8\n",
        "LLM145",
    ),
    (
        "a loader and its schema",
        NEURON,
        "0.28.0",
        f"{PYTHON}option.model_loader=optimum\n",
        "LLM146",
    ),
    (
        "compiling ahead with vLLM",
        NEURON,
        "0.28.0",
        f"{PYTHON}option.model_loader=vllm\noption.save_mp_checkpoint_path=/x\n",
        "LLM147",
    ),
    (
        "a checkpoint without dtype",
        DS,
        "0.26.0",
        f"{DEEPSPEED}option.checkpoint=c.json\n",
        "LLM148",
    ),
    (
        "a pipeline",
        LMI,
        "0.32.0",
        f"{PYTHON}{VLLM}option.pipeline_parallel_degree=2\n",
        "LLM149",
    ),
    ("a pipeline of vLLM 0.29", LMI, "0.29.0", PYTHON + VLLM + STAGES, "LLM149"),
    (
        "a pipeline of LMI-Dist 0.29",
        LMI,
        "0.29.0",
        f"{MPI}{DIST}{STAGES}option.tensor_parallel_degree=2\n",
        "LLM176",
    ),
    ("a pipeline on Neuron", NEURON, "0.30.0", PYTHON + STAGES, "LLM176"),
    ("a pipeline over all GPUs", TRT, "0.29.0", MPI + STAGES, "LLM176"),
    (
        "TensorRT-LLM on Neuron",
        NEURON,
        "0.26.0",
        f"{PYTHON}option.rolling_batch=trtllm\n",
        "LLM133",
    ),
    (
        "another backend's quantization",
        LMI,
        "0.31.0",
        f"{PYTHON}{VLLM}option.quantize=static_int8\n",
        "LLM136",
    ),
    (
        "speculation without its block manager",
        LMI,
        "0.31.0",
        f"{PYTHON}{VLLM}option.speculative_model=a/b\n",
        "LLM150",
    ),
    (
        "the fast loader with a draft model",
        LMI,
        "0.31.0",
        (
            f"{MPI}{DIST}option.load_format=sagemaker_fast_model_loader\n"
            "option.speculative_draft_model=a/b\n"
        ),
        "LLM151",
    ),
    (
        "tools without a parser",
        LMI,
        "0.36.0",
        f"{PYTHON}option.enable_auto_tool_choice=true\n",
        "LLM152",
    ),
    (
        "two names that differ",
        LMI,
        "0.36.0",
        f"{PYTHON}option.tensor_parallel_degree=4\noption.tensor_parallel_size=8\n",
        "LLM153",
    ),
    (
        "more GPUs than there are",
        TRT,
        "0.26.0",
        f"{MPI}option.tensor_parallel_degree=8\n",
        "LLM154",
    ),
    (
        "more cores than there are",
        NEURON,
        "0.26.0",
        f"{PYTHON}option.tensor_parallel_degree=12\n",
        "LLM154",
    ),
    (
        "two services",
        LMI,
        "0.35.0",
        f"{PYTHON}{VLLM}option.async_mode=true\n",
        "LLM155",
    ),
    ("a line without an equals sign", TRT, "0.26.0", f"{MPI}x: y\n", "LLM157"),
    ("a broken escape", LMI, "0.36.0", f"{PYTHON}option.revision=\\u12\n", "LLM114"),
    ("an image that is none", TRT, "0.31.0", MPI, "LLM102"),
]

WARNINGS = [
    ("an engine of DJL's own", LMI, "0.28.0", "engine=OnnxRuntime\n", "LLM271"),
    ("Neuron without a degree", NEURON, "0.29.0", PYTHON, "LLM225"),
    ("an image that the tables do not reach", LMI, "0.38.0", PYTHON, "LLM223"),
    (
        "a misspelt option",
        TRT,
        "0.26.0",
        f"{MPI}option.max_rolling_batch_sise=8\n",
        "LLM204",
    ),
    ("a later option", DS, "0.26.0", f"{MPI}{DIST}option.max_loras=2\n", "LLM205"),
    ("vLLM without a degree", DS, "0.26.0", PYTHON + VLLM, "LLM226"),
    (
        "an option of another backend",
        TRT,
        "0.26.0",
        f"{MPI}option.n_positions=8\n",
        "LLM205",
    ),
    (
        "an argument of a later vLLM",
        LMI,
        "0.33.0",
        f"{PYTHON}{VLLM}option.async_scheduling=true\n",
        "LLM205",
    ),
    (
        "an argument that seems gone",
        LMI,
        "0.36.0",
        f"{PYTHON}option.rope_scaling=1\n",
        "LLM220",
    ),
    (
        "streaming by its old name",
        LMI,
        "0.30.0",
        f"{PYTHON}{VLLM}option.enable_streaming=true\n",
        "LLM208",
    ),
    ("LMI-Dist after its end", LMI, "0.35.0", PYTHON + DIST, "LLM209"),
    (
        "any rolling batch on Neuron",
        NEURON,
        "0.26.0",
        f"{PYTHON}option.rolling_batch=lmi-dist\noption.tensor_parallel_degree=2\n",
        "LLM209",
    ),
    (
        "a time-out that is no number",
        TRT,
        "0.26.0",
        f"{MPI}option.model_loading_timeout=2h\n",
        "LLM209",
    ),
    (
        "a quantization DeepSpeed ignores",
        DS,
        "0.26.0",
        f"{DEEPSPEED}option.quantize=awq\n",
        "LLM209",
    ),
    ("a prefix too many", LMI, "0.36.0", f"{PYTHON}option.max_idle_time=5\n", "LLM210"),
    ("a prefix too few", LMI, "0.36.0", f"{PYTHON}model_id=a/b\n", "LLM210"),
    (
        "an idle GPU",
        TRT,
        "0.26.0",
        f"{MPI}option.tensor_parallel_degree=3\n",
        "LLM211",
    ),
    (
        "a fraction outside the documented range",
        TRT,
        "0.26.0",
        f"{MPI}option.kv_cache_free_gpu_mem_fraction=95\n",
        "LLM212",
    ),
    (
        "a choice outside the documentation",
        TRT,
        "0.26.0",
        f"{MPI}option.batch_scheduler_policy=fifo\n",
        "LLM212",
    ),
    (
        "a formatter of a later version",
        TRT,
        "0.27.0",
        f"{MPI}option.output_formatter=sse\n",
        "LLM212",
    ),
    ("no engine at 0.26", TRT, "0.26.0", "option.model_id=a/b\n", "LLM215"),
    (
        "a switch that LMI leaves on",
        LMI,
        "0.36.0-lmi25",
        f"{PYTHON}option.enable_prefix_caching=false\n",
        "LLM231",
    ),
    ("a letter Java misreads", LMI, "0.36.0", f"{PYTHON}# é\n", "LLM217"),
    (
        "two values of one option",
        LMI,
        "0.36.0",
        f"{PYTHON}option.dtype=fp16\noption.dtype=bf16\n",
        "LLM218",
    ),
]


@pytest.mark.parametrize(
    ("container", "version", "text", "code"),
    [case[1:] for case in ERRORS],
    ids=[case[0] for case in ERRORS],
)
def test_an_error_has_exactly_its_code(
    container: str, version: str, text: str, code: str
) -> None:
    """
    What keeps the container from starting is one error, and no other.
    """
    found = check_properties(text, container=container, version=version, accelerators=4)

    assert [f.code for f in found if f.severity is Severity.ERROR] == [code]


@pytest.mark.parametrize(
    ("container", "version", "text", "code"),
    [case[1:] for case in WARNINGS],
    ids=[case[0] for case in WARNINGS],
)
def test_a_warning_has_exactly_its_code(
    container: str, version: str, text: str, code: str
) -> None:
    """
    What starts and has no effect, or another one, is one warning and no error.
    """
    found = check_properties(text, container=container, version=version, accelerators=4)

    assert [(f.severity, f.code) for f in found] == [(Severity.WARNING, code)]


@pytest.mark.parametrize(
    ("architecture", "codes"),
    [
        ("MistralForCausalLM", ["LLM206"]),
        ("LlamaForCausalLM", []),
        (None, []),
        ({"architectures": ["MixtralForCausalLM"]}, ["LLM206"]),
    ],
)
def test_auto_says_when_it_falls_back_to_the_scheduler(
    architecture: str | None, codes: list[str]
) -> None:
    """
    At 0.26 only seven architectures run on LMI-Dist by themselves.
    """
    found = check_properties(
        MPI + AUTO,
        container=DS,
        version="0.26.0",
        accelerators=4,
        architecture=architecture,
    )

    assert [f.code for f in found] == codes


@pytest.mark.parametrize(
    ("text", "backend", "architecture", "codes"),
    [
        (MPI + AUTO, "lmi-dist", "LlamaForCausalLM", []),
        (MPI + AUTO, "lmi-dist", "MistralForCausalLM", ["LLM206", "LLM134"]),
        (MPI + AUTO, "lmi-dist", None, ["LLM207"]),
        (f"{PYTHON}{VLLM}option.tensor_parallel_degree=1\n", "vllm", None, []),
        (PYTHON, "vllm", None, ["LLM134"]),
        (DEEPSPEED, "deepspeed", None, []),
    ],
)
def test_another_backend_than_the_named_one_is_an_error(
    text: str, backend: str, architecture: str | None, codes: list[str]
) -> None:
    """
    Where the architecture decides and is not known, it is a doubt.
    """
    found = check_properties(
        text,
        container=DS,
        version="0.26.0",
        accelerators=4,
        architecture=architecture,
        backend=backend,
    )

    assert [f.code for f in found] == codes


def test_the_degree_divides_the_attention_heads() -> None:
    """
    Llama 7B has 32 heads, which three GPUs cannot share.
    """
    found = check_properties(
        f"{PYTHON}{VLLM}option.tensor_parallel_degree=3\n",
        container=LMI,
        version="0.30.0",
        accelerators=3,
        architecture={"architectures": ["LlamaForCausalLM"], "num_attention_heads": 32},
    )

    assert [f.code for f in found] == ["LLM156"]
    assert found[0].remedy == "use 1, 2, 4, 8, 16"


@pytest.mark.parametrize(
    ("version", "line", "codes"),
    [
        ("0.26.0", "", ["LLM128"]),
        ("0.26.0", "option.chatglm_model_version=chatglm3_6b\n", []),
        ("0.27.0", "", []),
    ],
)
def test_chatglm_is_told_apart_at_0_26(
    version: str, line: str, codes: list[str]
) -> None:
    """
    Later versions read it from the model.
    """
    found = check_properties(
        MPI + line,
        container=TRT,
        version=version,
        accelerators=1,
        architecture="ChatGLMModel",
    )

    assert [f.code for f in found] == codes


@pytest.mark.parametrize(
    ("container", "backend", "code"),
    [("djl-lmy", None, "LLM102"), (LMI, "tgi", "LLM134")],
)
def test_misuse_is_told(container: str, backend: str | None, code: str) -> None:
    """
    A wrong argument is a finding like others, which names the right ones.
    """
    (found,) = check_properties(
        PYTHON, container=container, version="0.36.0", accelerators=1, backend=backend
    )

    assert found.code == code


@pytest.mark.parametrize("version", ["0.36.0", "0.36.0-lmi27", "0.36.0-lmi28"])
def test_what_the_newest_version_knows_passes(version: str) -> None:
    """
    vLLM's own arguments pass through.
    """
    text = f"{PYTHON}option.max_model_len=4096\noption.enable_expert_parallel=true\n"

    found = check_properties(text, container=LMI, version=version, accelerators=1)

    assert found == []


def test_an_option_of_the_27th_release_may_be_in_earlier_ones() -> None:
    """
    The tables describe the ends of the series; between them nothing is claimed.
    """
    text = f"{PYTHON}option.lmcache_auto_config=true\n"
    findings = {
        version: [
            f.code
            for f in check_properties(
                text, container=LMI, version=version, accelerators=1
            )
        ]
        for version in ("0.36.0-lmi18", "0.36.0-lmi20", "0.36.0-lmi27")
    }

    assert findings == {
        "0.36.0-lmi18": ["LLM205"],
        "0.36.0-lmi20": [],
        "0.36.0-lmi27": [],
    }


def test_images_without_tables_are_not_judged() -> None:
    """
    Of 0.24 and before the catalogue knows the image, not its options.
    """
    text = "engine=DeepSpeed\noption.anything=1\n"

    found = check_properties(text, container=DS, version="0.24.0", accelerators=1)

    assert found == []


@pytest.mark.parametrize("engine", ["OnnxRuntime", "PyTorch", "Rust"])
def test_an_engine_of_djls_own_is_not_checked(engine: str) -> None:
    """
    LMI's guide to embeddings has them from 0.28 on; no handler reads their options.
    """
    text = f"engine={engine}\nbatch_size=32\noption.mapLocation=true\noption.dtype=x\n"
    (found,) = check_properties(
        text, container=LMI, version="0.28.0", accelerators=1, strict=True
    )

    assert found.severity is Severity.WARNING
    assert str(found) == (
        f"LLM271 engine={engine} is one of DJL's own, which embeds and classifies: its "
        "options are not checked"
    )


@pytest.mark.parametrize(
    ("entry_point", "codes"),
    [
        ("model.py", []),
        ("inference.py", []),
        ("djl_python.huggingface", ["LLM136"]),
        ("", ["LLM136"]),
    ],
)
def test_code_of_ones_own_reads_options_as_it_likes(
    entry_point: str, codes: list[str]
) -> None:
    """
    What a handler of LMI's would refuse is nothing to it: another dtype, here.
    """
    named = f"option.entryPoint={entry_point}\n" if entry_point else ""
    text = (
        f"{named}engine=Python\noption.rolling_batch=disable\noption.dtype=bfloat16\n"
    )
    found = check_properties(
        text, container=LMI, version="0.34.0", accelerators=1, strict=True
    )

    assert [one.code for one in found if one.severity is Severity.ERROR] == codes


@pytest.mark.parametrize(
    ("line", "code"),
    [("engine=python", "LLM130"), ("option.tensor_parallel_degree=8", "LLM154")],
)
def test_what_the_front_end_reads_is_held_beside_code(line: str, code: str) -> None:
    """
    The engine's name, and the devices.
    """
    text = f"option.entryPoint=model.py\n{line}\n"
    found = check_properties(text, container=LMI, version="0.34.0", accelerators=4)

    assert [one.code for one in found] == [code]
