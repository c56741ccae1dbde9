"""
What the ``transformers`` package inside an image knows.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans, release_key

_TYPE_ENDINGS = ("Model", "ForCausalLM", "ForConditionalGeneration")
# Heads of a model whose type is that of the model.
_ENDINGS = (
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForMaskedLM",
    "ForTextEncoding",
    "ForCausalLM",
    "ForConditionalGeneration",
    "Model",
)


def knows_model_type(model_type: str, version: str) -> bool | None:
    """
    Whether a version has a configuration for a model type; ``None`` where nobody read
    the versions around it.
    """
    return _says("model_types", model_type, version)


def runs_class(name: str, version: str) -> bool | None:
    """
    Whether vLLM's Transformers backend can run a class of a version; ``None`` where
    nobody read the versions around it.
    """
    return _says("backend", name, version)


def replaces_attention(name: str, version: str) -> bool | None:
    """
    Whether the attention of a class can be replaced, as the Transformers backends of
    SGLang and TGI do; ``None`` where nobody read the versions around it.
    """
    return _says("attention", name, version)


def has_class(name: str, version: str) -> bool | None:
    """
    Whether a version has a class that writes text; ``None`` where nobody read the
    versions around it.
    """
    return _says("classes", name, version)


def reads_gguf(model_type: str, version: str) -> bool | None:
    """
    Whether a version reads the configuration out of GGUF files of a model type;
    ``None`` where nobody read what it knows of the type.
    """
    if model_type in load("transformers.json")["gguf"]:
        return _says("gguf", model_type, version)
    return None if knows_model_type(model_type, version) is None else False


def writes_text(model_type: str, version: str) -> bool | None:
    """
    Whether AutoModelForCausalLM takes a model type.
    """
    return _says("causal", model_type, version)


def translates(model_type: str, version: str) -> bool | None:
    """
    Whether AutoModelForSeq2SeqLM takes a model type.
    """
    return _says("sequences", model_type, version)


def model_type_of(class_name: str) -> str | None:
    """
    Return the model type of a class, or of one with the same stem; ``None`` where it
    has none, or several.
    """
    types: Mapping[str, str] = load("transformers.json")["class_types"]
    others = load("lmi_models.json")["types"]
    if class_name in types or class_name in others:
        return types.get(class_name) or others[class_name]
    ending = next((one for one in _ENDINGS if class_name.endswith(one)), None)
    if ending is None:
        return None
    stem = class_name.removesuffix(ending)
    return next(
        (types[stem + one] for one in _TYPE_ENDINGS if stem + one in types), None
    )


def _says(table: str, name: str, version: str) -> bool | None:
    data = load("transformers.json")
    versions = tuple(data["versions"])
    # Models come with minor versions: a patch of one that was read has no others.
    minor = release_key(version)[0][:2]
    of_minor = [one for one in versions if release_key(one)[0][:2] == minor]
    if of_minor and release_key(of_minor[0]) <= release_key(version):
        version = of_minor[0]
    return in_spans(version, data[table].get(name, ""), versions)
