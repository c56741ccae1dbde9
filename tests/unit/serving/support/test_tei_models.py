"""
What Text Embeddings Inference runs: each condition from both sides.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of, table
from tests.unit.support_rule_examples import Example

ON_CPU = {"USE_FLASH_ATTENTION": "false"}
MISTRAL, QWEN2, LLAMA = "MistralModel", "Qwen2Model", "LlamaModel"

TYPES: list[Row] = [
    (codes, case(f"tei {where}", "", config))
    for where, config, codes in (
        ("1.8.0 A10G", {"model_type": "qwen3"}, ""),
        ("1.7.0 A10G", {"model_type": "qwen3"}, "LLM983"),
        ("1.7.1 A10G", {"model_type": "qwen3"}, "LLM880 LLM983"),
        ("1.7.2 A10G", {"model_type": "qwen3"}, "LLM880"),
        ("1.3.0 A10G", {"model_type": "qwen2"}, "LLM880 LLM983"),
        ("1.4.0 A10G", {"model_type": "qwen2"}, ""),
        ("1.3.0 A10G", {"model_type": "mistral"}, "LLM880"),
        ("1.7.0 CPU", {"model_type": "qwen3"}, "LLM858"),
        ("1.6.0 CPU", {"model_type": "qwen3"}, "LLM858"),
        ("1.4.0 CPU", {"model_type": "qwen3"}, "LLM983"),
        ("1.8.0 A10G", {"model_type": "own"}, "LLM983"),
        ("1.8.0 A10G", {}, ""),
        ("1.8.0 A10G", {"model_type": "bert"}, ""),
        ("1.8.0 A10G", {"model_type": "xlm-roberta"}, ""),
        ("1.8.0 A10G", {"model_type": "xlm_roberta"}, ""),
    )
]

GPUS: list[Row] = [
    (codes, case(f"tei {where}", "", {"model_type": kind} if kind else {}))
    for where, kind, codes in (
        ("1.8.2 T4", "bert", ""),
        ("1.8.2 V100", "bert", "LLM985"),
        ("1.8.2 A100", "bert", ""),
        ("1.8.2 A10G", "bert", ""),
        ("1.8.2 L4", "bert", ""),
        ("1.8.2 H100", "bert", ""),
        ("1.8.2 B200", "bert", "LLM985"),
        ("1.9.3 B200", "bert", ""),
        ("1.8.2 RTX", "bert", "LLM985"),
        ("1.9.3 RTX", "bert", ""),
        ("1.9.3 V100", "bert", "LLM985"),
        ("1.9.3 V100", "", "LLM985"),
        ("1.8.2 CPU", "bert", ""),
        # On a processor some run from ONNX files alone.
        ("1.8.2 CPU", "mistral", "LLM858"),
        ("1.4.0 CPU", "mistral", "LLM983"),
        ("1.6.0 CPU", "qwen2", "LLM858"),
        ("1.9.3 CPU", "llama", "LLM858"),
        ("1.9.3 CPU", "llama_bidirec", "LLM858"),
        ("1.8.2 Neuron", "mistral", ""),
    )
]

NUMBERS: list[Row] = [
    *(
        (
            codes,
            case(
                f"tei {where}",
                "",
                {"model_type": kind},
                environment=environment,
                dtype=dtype,
            ),
        )
        for where, kind, dtype, environment, codes in (
            ("1.9.3 A10G", "gemma3_text", "float16", {}, "LLM987"),
            ("1.9.3 A10G", "gemma3_text", "FLOAT16", {}, "LLM987"),
            ("1.9.3 A10G", "gemma3_text", "float32", {}, ""),
            ("1.9.3 A10G", "gemma3_text", None, {}, ""),
            ("1.9.3 CPU", "gemma3_text", "float16", {}, "LLM987"),
            ("1.9.3 A10G", "bidirectional_pplx_qwen3", "float16", {}, "LLM987"),
            ("1.9.3 A10G", "bidirectional_pplx_qwen3", None, {}, "LLM987"),
            ("1.9.3 A10G", "bidirectional_pplx_qwen3", "float32", {}, ""),
            ("1.8.2 A10G", "mistral", "float32", {}, "LLM987"),
            ("1.8.2 A10G", "mistral", "float16", {}, ""),
            ("1.8.2 A10G", "mistral", None, {}, ""),
            ("1.8.2 A10G", "qwen2", "float32", {}, "LLM987"),
            ("1.9.3 A10G", "llama", "float32", {}, "LLM987"),
            ("1.9.3 A10G", "llama_bidirec", "float32", {}, "LLM987"),
            ("1.8.2 A10G", "bert", "float32", {}, ""),
            ("1.8.2 CPU", "mistral", "float32", {}, "LLM858"),
            ("1.8.2 A10G", "mistral", None, ON_CPU, "LLM987"),
            ("1.8.2 A10G", "mistral", None, {"USE_FLASH_ATTENTION": "0"}, "LLM987"),
            ("1.8.2 A10G", "mistral", None, {"USE_FLASH_ATTENTION": "True"}, ""),
            ("1.8.0 A10G", "mistral", None, ON_CPU, ""),
            ("1.8.2 A10G", "bert", None, ON_CPU, ""),
            ("1.8.2 T4", "mistral", None, {}, "LLM987"),
            ("1.9.3 T4", "llama", None, {}, "LLM987"),
            ("1.9.3 T4", "llama_bidirec", None, {}, "LLM987"),
            ("1.8.2 T4", "qwen2", None, {}, ""),
            ("1.8.2 T4", "mistral", "float32", {}, "LLM987"),
            ("1.4.0 A10G", "new", "float32", {}, "LLM987"),
            ("1.4.0 T4", "new", None, {}, ""),
            ("1.6.0 A10G", "new", "float32", {}, ""),
        )
    ),
    *(
        (
            codes,
            case("tei 1.9.3 A10G", "", {"model_type": kind, "rope_scaling": scaling}),
        )
        for kind, scaling, codes in (
            ("llama", {"rope_type": "llama3"}, "LLM987"),
            ("llama_bidirec", {"rope_type": "llama3"}, "LLM987"),
            ("llama", None, ""),
            ("llama", "llama3", ""),
            ("mistral", {"rope_type": "llama3"}, ""),
        )
    ),
]

CLASSES: list[Row] = [
    *(
        (
            codes,
            case(f"tei {where}", name, {"model_type": kind, **config}, **arguments),
        )
        for where, kind, name, config, arguments, codes in table(
            ("1.7.0 A10G", "nomic_bert", "", {"num_experts": 8}, {}, "LLM983"),
            ("1.8.0 A10G", "nomic_bert", "", {"num_experts": 8}, {}, ""),
            ("1.7.0 A10G", "nomic_bert", "", {}, {}, ""),
            ("1.7.0 A10G", "bert", "", {"num_experts": 8}, {}, ""),
            *(
                (where, kind, "AnyForSequenceClassification", {}, {}, codes)
                for where, kind, codes in (
                    ("1.7.0 A10G", "modernbert", "LLM983"),
                    ("1.8.0 A10G", "modernbert", ""),
                    ("1.6.0 A10G", "new", "LLM983"),
                    ("1.7.0 A10G", "new", ""),
                    ("1.7.0 A10G", "gte", ""),
                    ("1.6.0 A10G", "bert", ""),
                    ("1.9.3 A10G", "distilbert", "LLM983"),
                    ("1.9.3 A10G", "nomic_bert", "LLM983"),
                    ("1.9.3 A10G", "mpnet", "LLM983"),
                    ("1.9.3 A10G", "mistral", "LLM983"),
                    ("1.9.3 A10G", "qwen2", "LLM983"),
                    ("1.9.3 A10G", "qwen3", "LLM983"),
                    ("1.9.3 A10G", "gemma3_text", "LLM983"),
                    ("1.7.0 A10G", "qwen3", "LLM983"),
                )
            ),
            (
                "1.9.3 A10G",
                "bidirectional_pplx_qwen3",
                "AnyForSequenceClassification",
                {},
                {"dtype": "float32"},
                "LLM983",
            ),
            ("1.9.3 A10G", "qwen3", "Qwen3Model", {}, {}, ""),
            (
                "1.7.0 A10G",
                "bert",
                "JinaBertForSequenceClassification",
                {},
                {},
                "LLM983",
            ),
            ("1.8.0 A10G", "bert", "JinaBertForSequenceClassification", {}, {}, ""),
            # Its layers have other names without the head.
            ("1.7.0 A10G", "distilbert", "DistilBertModel", {}, {}, "LLM983"),
            ("1.8.0 A10G", "distilbert", "DistilBertModel", {}, {}, ""),
            ("1.7.0 CPU", "distilbert", "DistilBertModel", {}, {}, ""),
            ("1.7.0 A10G", "distilbert", "DistilBertForMaskedLM", {}, {}, ""),
            ("1.7.0 A10G", "bert", "DistilBertModel", {}, {}, ""),
            *(
                (
                    "1.9.3 A10G",
                    kind,
                    "",
                    {"auto_map": {"AutoModel": code}},
                    {},
                    codes,
                )
                for kind, code, codes in (
                    ("xlm-roberta", "a--b.XLMRobertaFlashModel", "LLM983"),
                    ("xlm_roberta", "a--b.XLMRobertaFlashModel", "LLM983"),
                    ("xlm-roberta", "a--b.XLMRobertaModel", ""),
                    ("bert", "a--b.XLMRobertaFlashModel", ""),
                )
            ),
        )
    ),
    # Which pooling there is.
    *(
        (
            codes,
            case(
                "tei 1.9.3 A10G",
                model,
                {"architectures": [name], "model_type": kind},
                **arguments,
            ),
        )
        for model, name, kind, arguments, codes in (
            ("a/Any-ReRanker", "Qwen3ForCausalLM", "qwen3", {}, "LLM983"),
            ("a/Any-ReRanker", "Qwen3ForCausalLM", "qwen3", {"pooling": "cls"}, ""),
            ("a/Any-ReRanker", "Qwen3Model", "qwen3", {}, ""),
            (
                "a/b",
                "BertForSequenceClassification",
                "bert",
                {"pooling": "cls"},
                "LLM876",
            ),
            ("a/b", "BertForSequenceClassification", "bert", {}, ""),
            ("a/b", "BertModel", "bert", {"pooling": "cls"}, ""),
            ("a/Any-ReRanker", "BertForCausalLM", "bert", {}, ""),
            ("a/Any-Embedder", "Qwen3ForCausalLM", "qwen3", {}, ""),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), [*TYPES, *GPUS, *NUMBERS, *CLASSES])
def test_runs_what_the_release_has_a_program_for(codes: str, example: Example) -> None:
    """
    Types, GPUs, number formats, and heads.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case("tei 1.7.0 A10G", "", {"model_type": "qwen3"}),
            (
                "LLM983 TEI 1.7.0 does not load models of type "
                "qwen3; take TEI 1.7.2 or newer, such as tei 1.8.0"
            ),
        ),
        (
            case("tei 1.8.0 A10G", "", {"model_type": "own"}),
            ("LLM983 TEI 1.8.0 does not load models of type own; serve it with Vllm"),
        ),
        (
            case("tei 1.8.2 CPU", "", {"model_type": "mistral"}),
            (
                "LLM858 TEI 1.8.2 runs models of type mistral on "
                "GPUs alone, unless the model has ONNX files; take an instance type "
                "with a GPU"
            ),
        ),
        (
            case("tei 1.4.0 CPU", "", {"model_type": "mistral"}),
            (
                "LLM983 TEI 1.4.0 runs models of type mistral on "
                "GPUs alone; take an instance type with a GPU"
            ),
        ),
        (
            case("tei 1.9.3 A10G", "", {"model_type": "bidirectional_pplx_qwen3"}),
            (
                "LLM987 TEI 1.9.3 runs models of type "
                "bidirectional_pplx_qwen3 in float32 alone, got float16, which it "
                "takes where nothing is said; set dtype=float32"
            ),
        ),
        (
            case("tei 1.8.2 A10G", "", {"model_type": "mistral"}, environment=ON_CPU),
            (
                "LLM987 TEI 1.8.2 runs models of type mistral in "
                "float16 with flash attention alone, got USE_FLASH_ATTENTION=false; "
                "leave dtype and USE_FLASH_ATTENTION out"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    In the caller's words.
    """
    assert [str(found) for found in example()] == [told]
