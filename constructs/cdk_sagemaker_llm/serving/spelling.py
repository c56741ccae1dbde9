"""
Variables that are meant to be others.
"""

from __future__ import annotations

from collections.abc import Iterable

from cdk_sagemaker_llm.findings import Rule

# So like a known name that it can hardly mean something else.
_MISTYPED = 0.88
_OPTIONS = "OPTIONS_"
# Names that other images, clients and guides have for the same.
_USUAL = {
    "HUGGINGFACE_MODEL_ID": "HF_MODEL_ID",
    "HUGGING_FACE_MODEL_ID": "HF_MODEL_ID",
    "HUGGINGFACE_HUB_MODEL_ID": "HF_MODEL_ID",
    "HF_MODEL": "HF_MODEL_ID",
    "HF_MODELID": "HF_MODEL_ID",
    "HF_MODEL_NAME": "HF_MODEL_ID",
    "HUGGINGFACE_HUB_TOKEN": "HF_TOKEN",
    "HUGGINGFACE_TOKEN": "HF_TOKEN",
    "HUGGING_FACE_TOKEN": "HF_TOKEN",
    "HUGGINGFACEHUB_API_TOKEN": "HF_TOKEN",
    "HF_HUB_TOKEN": "HF_TOKEN",
    "HF_ACCESS_TOKEN": "HF_TOKEN",
}

MISSPELT = Rule(
    "LLM228",
    "a variable that the container does not know, and what it is likely meant to be",
    "the names that each image reads",
)


def usual_mistake(name: str) -> str | None:
    """
    Return what a name is known to be mistaken for.
    """
    if name.startswith(_OPTIONS):
        return name.replace(_OPTIONS, "OPTION_", 1)
    return _USUAL.get(name.upper())


def almost(name: str, known: Iterable[str]) -> str | None:
    """
    Return the known name that differs in a letter or two; ``None`` for a known one.
    """
    names = tuple(known)
    if name in names:
        return None
    import difflib  # noqa: PLC0415 - few names are wrong

    near = difflib.get_close_matches(name.upper(), names, 1, _MISTYPED)
    return near[0] if near else None
