"""
Which models TensorRT-LLM images compile when they start.

From the LMI documentation of 0.25 to 0.30; what is not here needs an engine that was
compiled ahead of time.
"""

from __future__ import annotations

_SINCE = {
    "0.25": ("Llama", "Falcon", "RW"),
    "0.26": (
        "InternLM",
        "Baichuan",
        "ChatGLM",
        "GPTJ",
        "Mistral",
        "Mixtral",
        "QWen",
        "Qwen",
        "GPT2",
        "GPTBigCode",
    ),
    "0.27": ("Phi", "OPT"),
    "0.28": ("Gemma",),
    "0.30": ("T5",),
}


def compiled_since(architecture: str) -> str | None:
    """
    Return the first LMI version that compiles an architecture at start-up.

    Args:
        architecture: The model's class, such as ``MistralForCausalLM``.
    """
    for version, prefixes in _SINCE.items():
        if architecture.startswith(prefixes):
            return version
    return None
