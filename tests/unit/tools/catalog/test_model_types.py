"""
Reading what engines load by a model's type, from their source as they write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.tools.catalog.written import written
from tools.catalog.model_types import (
    read_llama_cpp,
    read_neuron,
    read_tei,
    read_tgi,
)

if TYPE_CHECKING:
    from pathlib import Path

TGI = """
class ModelType(enum.Enum):
    FALCON = {"type": "falcon", "name": "Falcon"}
    MAMBA = {"type": "mamba", "name": "Mamba"}
    UNUSED = {"type": "unused", "name": "Unused"}

def get_model(model_id, sharded, quantize):
    model_type = config_dict.get("model_type", None)
    if model_type == "ssm":
        raise RuntimeError("deprecated")
    if model_type == "gpt_bigcode" or model_type == "gpt2" and model_id.startswith("b"):
        if FLASH_ATTENTION:
            return FlashSantacoder(model_id)
        elif sharded:
            raise NotImplementedError("Sharded Santacoder")
        else:
            return CausalLM(model_id)
    if model_type == MAMBA:
        return Mamba(model_id)
    elif model_type == "gpt_neox":
        if FLASH_ATTENTION:
            return FlashNeoX(model_id)
        elif FLASH_TRANSFORMERS_BACKEND:
            return TransformersFlashCausalLM(model_id)
        elif sharded:
            return GPTNeoxSharded(model_id)
        else:
            return CausalLM(model_id)
    if model_type in ["RefinedWeb", FALCON]:
        if sharded:
            if FLASH_ATTENTION:
                if config_dict.get("alibi", False):
                    raise NotImplementedError("sharded is not supported")
                return FlashRW(model_id)
            raise NotImplementedError("Sharded Falcon")
        else:
            if FLASH_ATTENTION and not config_dict.get("alibi", False):
                return FlashRW(model_id)
            else:
                return RW(model_id)
    if model_type == "mistral":
        sliding_window = config_dict.get("sliding_window", -1)
        if (
            (sliding_window is None or sliding_window == -1) and FLASH_ATTENTION
        ) or HAS_FLASH_ATTN_V2_CUDA:
            return FlashMistral(model_id)
        raise NotImplementedError("Mistral model requires flash attention v2")
    if model_type == "santacoder":
        if sharded:
            if not FLASH_ATTENTION:
                raise NotImplementedError("Sharded Santacoder")
            return Sharded(model_id)
        return CausalLM(model_id)
    if model_type == "llama4":
        if FLASH_TRANSFORMERS_BACKEND:
            return TransformersLlama4(model_id)
    if sharded:
        raise NotImplementedError("sharded is not supported for AutoModel")
    if model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return CausalLM(model_id)
    raise ValueError("Unsupported model type")
"""
TEI = """
#[derive(Deserialize)]
#[serde(tag = "model_type", rename_all = "kebab-case")]
enum Config {
    Bert(BertConfigWrapper),
    DebertaV2(DebertaV2Config),
    XlmRoberta(BertConfig),
    #[serde(rename(deserialize = "distilbert"))]
    DistilBert(DistilBertConfig),
    #[serde(alias = "new")]
    Gte(GTEConfig),
    #[serde(rename = "mpnet")]
    MPNet(MPNetConfig),
    #[allow(dead_code)] // NOTE: As it's only used when `cuda` feature is (enabled)
    Mistral(MistralConfig),
}

pub struct CandleBackend {
    other: Other(Device),
}
"""


def test_reads_for_which_types_tgi_has_a_branch() -> None:
    """
    A branch that only raises is none, nor is the name of a type that none asks for; one
    that a model's name decides may be there for the type.
    """
    found = read_tgi(TGI, "torch==2.7\ntransformers==4.51.3 ; python\n")

    assert found.types == {
        "RefinedWeb": {"in", "flash_to_shard"},
        "falcon": {"in", "flash_to_shard"},
        "gpt2": {"in"},
        "gpt_bigcode": {"in", "flash_to_shard"},
        "gpt_neox": {"in"},
        "llama4": {"in"},
        "mamba": {"in"},
        "mistral": {"in", "flash"},
        "santacoder": {"in", "flash_to_shard"},
    }
    assert found.inside == "4.51.3"


def test_knows_no_release_of_a_package_that_is_taken_from_a_commit() -> None:
    """
    Which release a commit comes before is not read.
    """
    assert (
        read_tgi(TGI, "transformers @ git+https://example.org@b8aee2e").inside is None
    )


def test_reads_the_types_of_candle_in_tei() -> None:
    """
    Variants are written with hyphens, unless they are renamed; an alias is one more.
    """
    assert set(read_tei(TEI).types) == {
        "bert",
        "deberta-v2",
        "xlm-roberta",
        "distilbert",
        "gte",
        "new",
        "mpnet",
        "mistral",
    }


def test_reads_what_optimum_neuron_registers_for_text(tmp_path: Path) -> None:
    """
    In a module or a package, behind conditions too; other tasks and comments are not
    what is asked for.
    """
    folder = written(
        tmp_path,
        {
            "optimum/exporters/neuron/model_configs/__init__.py": "",
            "optimum/exporters/neuron/model_configs/decoder_configs.py": """
@register_in_tasks_manager("gpt2", "text-generation")
class GPT2NeuronConfig: ...
@register_in_tasks_manager("bert", *["feature-extraction", "fill-mask"])
class BertNeuronConfig: ...
# @register_in_tasks_manager("bloom", "text-generation")
""",
            "optimum/neuron/models/inference/auto_models.py": """
if prioritize_hlo_backend:
    @register_neuron_model_for_inference("llama", "text-generation")
    class LlamaModelForCausalLM: ...
@register_neuron_model_for_inference("qwen3", "feature-extraction")
class Qwen3ForEmbedding: ...
""",
        },
    )

    assert set(read_neuron(folder).types) == {"gpt2", "llama"}


def test_reads_what_llama_cpp_loads_and_converts(tmp_path: Path) -> None:
    """
    Every decorator of a class counts, over however many lines it goes.
    """
    folder = written(
        tmp_path,
        {
            "src/llama-arch.cpp": """
static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {
    { LLM_ARCH_CLIP,    "clip"      }, // dummy
    { LLM_ARCH_LLAMA,   "llama"     },
    { LLM_ARCH_QWEN3,   "qwen3"     },
    { LLM_ARCH_UNKNOWN, "(unknown)" },
};
static const std::map<llm_kv, const char *> LLM_KV_NAMES = {
    { LLM_KV_TYPE, "general.type" },
};
""",
            "conversion/base.py": "class ModelBase: ...",
            "conversion/llama.py": """
@ModelBase.register(
    "LlamaForCausalLM",  # of Llama (1 to 3)
    "MistralForCausalLM",
)
class LlamaModel(TextModel): ...

@ModelBase.register("T5ForConditionalGeneration")
@ModelBase.register("UMT5Model")
class T5Model(TextModel): ...
""",
        },
    )

    found = read_llama_cpp(folder)

    assert set(found.types) == {"llama", "qwen3"}
    assert found.names["classes"] == {
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "T5ForConditionalGeneration",
        "UMT5Model",
    }
