"""
What drafts tokens, by the words of each backend.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack

from cdk_sagemaker_llm import (
    DraftModel,
    HuggingFaceModel,
    LlmEndpoint,
    LmiDist,
    LmiVllm,
    ServingFolder,
    Sglang,
    Vllm,
)
from cdk_sagemaker_llm.serving import ServingConfiguration
from cdk_sagemaker_llm.serving.drafts import draft_in
from tests.unit.hosting.written import codes_of

EIGHT, SMALL = "Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"


@pytest.mark.parametrize(
    ("arguments", "draft"),
    [
        ({}, None),
        ({"speculative_config": None}, None),
        ({"speculative_config": "{"}, None),
        ({"speculative_config": {"method": "ngram"}}, None),
        ({"speculative_config": {"method": "suffix"}}, None),
        ({"speculative_config": {"model": "[ngram]"}}, None),
        ({"speculative_config": {"model": "ngram"}}, None),
        ({"speculative_config": {"model": SMALL}}, DraftModel(SMALL)),
        (
            {"speculative-config": f'{{"model": "{SMALL}"}}'},
            DraftModel(SMALL),
        ),
        (
            {"speculative_config": {"model": SMALL, "method": "draft_model"}},
            DraftModel(SMALL),
        ),
        (
            {"speculative_config": {"model": SMALL, "draft_tensor_parallel_size": 1}},
            DraftModel(SMALL, 1),
        ),
        (
            {"speculative_config": {"model": SMALL, "quantization": "fp8"}},
            DraftModel(SMALL, weight_bits=8),
        ),
        ({"speculative_config": {"method": "mtp"}}, DraftModel("mtp", is_model=False)),
        (
            {"speculative_config": {"model": EIGHT, "method": "mtp"}},
            DraftModel(EIGHT, is_model=False),
        ),
        (
            {
                "option.speculative_model": SMALL,
                "option.speculative_draft_tensor_parallel_size": "2",
                "option.speculative_model_quantization": "awq",
            },
            DraftModel(SMALL, 2, weight_bits=4),
        ),
        (
            {"option.speculative_draft_model": SMALL, "option.draft_model_tp_size": 4},
            DraftModel(SMALL, 4),
        ),
        (
            {"speculative_model": SMALL, "draft_model_tp_size": "many"},
            DraftModel(SMALL),
        ),
    ],
)
def test_engines_have_words_for_it(
    arguments: dict[str, Any], draft: DraftModel | None
) -> None:
    """
    What has no weights is none.
    """
    assert draft_in(arguments) == draft


@pytest.mark.parametrize(
    ("serving", "draft"),
    [
        (Vllm(), None),
        (Vllm(speculative_config={"model": SMALL}), DraftModel(SMALL)),
        (
            Vllm(unchecked_options={"speculative-config": f'{{"model":"{SMALL}"}}'}),
            DraftModel(SMALL),
        ),
        (LmiVllm(speculative_config={"model": SMALL}), DraftModel(SMALL)),
        (
            LmiVllm("0.31.0", options={"option.speculative_model": SMALL}),
            DraftModel(SMALL),
        ),
        # LMI-Dist does not split it where nothing says so.
        (
            LmiDist("0.30.0", speculative_draft_model=SMALL),
            DraftModel(SMALL, 1),
        ),
        (
            LmiDist("0.30.0", speculative_draft_model=SMALL, draft_model_tp_size=4),
            DraftModel(SMALL, 4),
        ),
        (
            Sglang(speculative_algorithm="EAGLE3"),
            DraftModel("eagle3", is_model=False),
        ),
        (
            Sglang(
                speculative_algorithm="STANDALONE",
                options={"speculative-draft-model-path": SMALL},
            ),
            DraftModel(SMALL, is_model=False),
        ),
        (Sglang(speculative_algorithm="NGRAM"), None),
    ],
)
def test_each_backend_asks_for_it(
    serving: ServingConfiguration, draft: DraftModel | None
) -> None:
    """
    As part of what it asks of the memory.
    """
    demand = serving.prepare(HuggingFaceModel(EIGHT), None).demand

    assert demand is not None
    assert demand.draft == draft


def test_a_folder_asks_for_it(tmp_path: Path) -> None:
    """
    By what its serving.properties says.
    """
    (tmp_path / "serving.properties").write_text(
        f"engine=Python\noption.model_id={EIGHT}\noption.rolling_batch=vllm\n"
        f'option.speculative_config={{"model": "{SMALL}"}}\n'
    )
    folder = ServingFolder(tmp_path, container_family="djl-lmi", version="0.36.0")
    demand = folder.prepare(None, None).demand

    assert demand is not None
    assert demand.draft == DraftModel(SMALL)


@pytest.mark.parametrize(
    ("draft", "codes"),
    [(None, set()), ({"model": SMALL, "num_speculative_tokens": 3}, {"LLM194"})],
    ids=["alone", "with a draft"],
)
def test_a_draft_takes_the_room_of_a_long_sequence(
    stack: Stack, draft: dict[str, Any] | None, codes: set[str]
) -> None:
    """
    What fits alone is refused with it, before anything is deployed.
    """

    def define() -> None:
        LlmEndpoint(
            stack,
            "Llm",
            model=HuggingFaceModel(EIGHT),
            serving=Vllm(max_model_len=20_000, speculative_config=draft),
            instance_type="ml.g5.2xlarge",
        )

    if codes:
        with pytest.raises(ValueError, match="LLM194 vLLM does not start with"):
            define()
    else:
        define()
        assert not {code for _, code in codes_of(stack)} & {"LLM194", "LLM290"}
