"""
Which models TensorRT-LLM images compile when they start.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving.lmi.just_in_time import compiled_since


@pytest.mark.parametrize(
    ("architecture", "since"),
    [
        ("LlamaForCausalLM", "0.25"),
        ("FalconForCausalLM", "0.25"),
        ("RWForCausalLM", "0.25"),
        ("InternLMForCausalLM", "0.26"),
        ("BaichuanForCausalLM", "0.26"),
        ("ChatGLMModel", "0.26"),
        ("GPTJForCausalLM", "0.26"),
        ("MistralForCausalLM", "0.26"),
        ("MixtralForCausalLM", "0.26"),
        ("QWenLMHeadModel", "0.26"),
        ("Qwen2ForCausalLM", "0.26"),
        ("GPT2LMHeadModel", "0.26"),
        ("GPTBigCodeForCausalLM", "0.26"),
        ("PhiForCausalLM", "0.27"),
        ("OPTForCausalLM", "0.27"),
        ("GemmaForCausalLM", "0.28"),
        ("T5ForConditionalGeneration", "0.30"),
        ("GPTNeoXForCausalLM", None),
        ("BloomForCausalLM", None),
        ("MptForCausalLM", None),
        ("", None),
    ],
)
def test_an_architecture_is_compiled_from_its_version_on(
    architecture: str, since: str | None
) -> None:
    """
    As the documentation of each version lists them.
    """
    assert compiled_since(architecture) == since
