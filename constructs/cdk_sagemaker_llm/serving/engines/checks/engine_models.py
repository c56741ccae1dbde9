"""
Checks of what names the model, of what a container without network can reach, and of
GGUF files: who reads them, and who gets something else.

VLLM reads them itself up to 0.23: with 0.24.0 its loader became a package of its own
(vLLM pull request 39612; ``vllm/transformers_utils/gguf_utils.py`` of 0.13.0, and its
absence in 0.30.0), which AWS's supervised images install from a ``requirements.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ENTRY_POINTS,
    EngineSubject,
)
from cdk_sagemaker_llm.serving.engines.entry_points import MODEL_DIR
from cdk_sagemaker_llm.serving.parameters import (
    FORWARDED_TOKEN,
    NO_WEIGHTS,
    TOKEN_VARIABLES,
    gated_findings,
    repository_findings,
)

HUB = "HF_MODEL_ID"
REVISION = "HF_MODEL_REVISION"
# The arguments of vLLM and SGLang that name a repository, or what it is to be at.
_NAMES = ("model", "model-path", "tokenizer", "tokenizer-path")
_REVISIONS = ("revision", "tokenizer-revision", "code-revision")
REQUIREMENTS = "requirements.txt"
# Where the Hub's client keeps what it once fetched.
_CACHES = (
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "TRANSFORMERS_CACHE",
    "LLAMA_CACHE",
)
# What vLLM and SGLang stream themselves (SUPPORTED_SCHEMES of their runai_utils.py),
# and the address of a file; azure:// is a word of Hugging Face's entry point alone.
_ADDRESSES = ("s3://", "gs://", "az://", "http://", "https://")
_INSTALLS = "STANDARD_AUTO_INSTALL_REQ"
_PIP = "STANDARD_PIP_ARGS"

UNNAMED_MODEL = Rule(
    "LLM614",
    "nothing names the model, and the engine serves one of its own choice",
    ENTRY_POINTS,
)
UNREAD_MODEL = Rule(
    "LLM615", "the model is named where the image does not look", ENTRY_POINTS
)
NOTHING_TO_SERVE = Rule(
    "LLM513", "SGLang is to serve /opt/ml/model, where nothing is", ENTRY_POINTS
)

GGUF_SUFFIX = ".gguf"
_TYPE = re.compile(
    r"(?:\A|[-._/:])"
    r"(?P<type>F32|F16|BF16|MXFP4(?:_MOE)?|NVFP4|TQ[12]_0"
    r"|I?Q\d(?:_\d|_K(?:_(?:XXS|XS|XL|S|M|L))?|_(?:XXS|XS|NL|S|M)))"
    r"(?=\Z|[-._])",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(r"(?:\A|[-._/])gguf(?=\Z|[-._:/])", re.IGNORECASE)
PLUGIN = "vllm-gguf-plugin"
_PLUGIN_SINCE = "0.24.0"
_LOADERS = "vLLM pull request 39612; the wheels of vLLM 0.13.0 and 0.30.0"
_LLAMA_CPP = "serve it with LlamaCpp"

NO_GGUF_LOADER = Rule(
    "LLM525", "vLLM is given a GGUF file that its release cannot load", _LOADERS
)
MAY_LACK_LOADER = Rule(
    "LLM632",
    "vLLM is given a GGUF file for which its release needs a package",
    _LOADERS,
)
SAYS_GGUF = Rule(
    "LLM629", "vLLM or SGLang is given a repository that says it is of GGUF files"
)


def model_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The model is named where the entry point looks for it.
    """
    rule = subject.rule
    if rule is not None and subject.image.engine == "vllm-neuron":
        own = rule.variable("model")
        if subject.is_set(HUB) and not subject.is_set(own):
            yield UNREAD_MODEL.finding(_unread(subject), f"set {own} instead")
        return
    if rule is None or subject.table is None:
        return
    is_empty = subject.model_data is not None and not subject.model_data
    if subject.has_argument("model-path" if subject.table == "sglang" else "model"):
        setting = subject.find("model-path")
        # --model is another name of what SGLang's entry point adds.
        is_shadowed = setting is not None and setting.option.flag == "--model"
        if setting is not None and is_shadowed and subject.table == "sglang":
            yield (NOTHING_TO_SERVE if is_empty else UNREAD_MODEL).finding(
                f"{subject.word(setting.variable)} has no effect: the entry point "
                f"writes --model-path {MODEL_DIR} behind it, which wins",
                f"set {subject.variable('model-path')}",
            )
        return
    is_named = subject.is_set(HUB)
    # The SageMaker SDK deploys Hugging Face's image with HF_MODEL_ID alone, which its
    # entry point, as far as it was read, does not look at.
    is_doubted = is_named and subject.image.family.startswith("huggingface-")
    if rule.insists_on_model and is_empty and not is_doubted:
        yield NOTHING_TO_SERVE.finding(
            _unread(subject)
            if is_named
            else f"nothing is in {MODEL_DIR}, which {subject.title} is to serve",
            f"set {subject.variable('model-path')}",
        )
    elif is_named and not rule.finds_model:
        own = "model-path" if rule.insists_on_model else "model"
        yield UNREAD_MODEL.finding(
            _unread(subject), f"set {subject.variable(own)} instead"
        )
    elif is_empty and not is_named and not subject.has_argument("config"):
        yield UNNAMED_MODEL.finding(
            f"nothing names the model: {subject.title} serves its own default, from "
            "the Hub",
            f"set {subject.variable('model')}",
        )


HIDDEN_BY_DATA = Rule(
    "LLM616",
    "files in /opt/ml/model are served instead of the model that is named",
    ENTRY_POINTS,
)


def model_data_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A model on the Hub is served only where nothing is in /opt/ml/model.
    """
    rule, data = subject.rule, subject.model_data
    if rule is None or not rule.finds_model or subject.is_set(f"{rule.prefix}MODEL"):
        return
    if data and subject.is_set(HUB):
        yield HIDDEN_BY_DATA.finding(
            f"{HUB} is not read, for there are files in {MODEL_DIR}, such as "
            f"{min(data)}: the entry point serves that folder",
            f"set {rule.prefix}MODEL, which wins over both",
        )


def weight_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    TEI's entry point ends without a model's name.
    """
    if subject.image.engine == "tei" and not subject.is_set(HUB):
        yield NO_WEIGHTS.finding(
            f"{HUB} is missing, which the entry point of TEI asks for",
            f"name the model, or {MODEL_DIR} for weights that SageMaker puts there",
        )


def gated_model_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A model that is known to be gated comes with a token.
    """
    model = _remote(subject)
    is_tei = subject.image.engine == "tei"
    names = (*TOKEN_VARIABLES, FORWARDED_TOKEN) if is_tei else TOKEN_VARIABLES
    has_token = any(subject.is_set(name) for name in names)
    has_token = has_token or subject.has_argument("hf-token")
    if model is not None:
        yield from gated_findings(model[1], has_token=has_token)


def hub_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The Hub can have what names the model, its tokenizer, and their revisions.
    """
    named = named_model(subject)
    models, revisions = dict([named] if named is not None else []), {}
    if subject.image.engine == "llama.cpp":
        # Behind the name it takes whatever type of file a repository has.
        models = {name: model.partition(":")[0] for name, model in models.items()}
    elif subject.image.engine == "tei":
        revisions[REVISION] = subject.environment.get(REVISION)
    for found, arguments in ((models, _NAMES), (revisions, _REVISIONS)):
        for name in arguments:
            setting, value = subject.find(name), subject.value(name)
            if setting is not None and isinstance(value, str):
                found[setting.variable] = value
    yield from repository_findings(
        {subject.word(name): model for name, model in models.items()},
        {subject.word(name): revision for name, revision in revisions.items()},
    )


ISOLATED_DOWNLOAD = Rule(
    "LLM514",
    "a model is fetched from the network, which the container cannot reach",
    "EnableNetworkIsolation of the SageMaker API",
)


def isolated_download_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Without network the weights are in /opt/ml/model.
    """
    found = _remote(subject) if subject.is_isolated else None
    has_cache = any(
        name in subject.hidden
        or subject.environment.get(name, "").startswith(MODEL_DIR)
        for name in _CACHES
    )
    if found is None or has_cache:
        return
    variable, model = found
    where = "an address" if model.startswith(_ADDRESSES) else "the Hugging Face Hub"
    yield ISOLATED_DOWNLOAD.finding(
        f"{subject.word(variable)}={model} is fetched from {where}, which a container "
        "with network isolation cannot reach",
        f"let SageMaker bring the weights into {MODEL_DIR}",
    )


ISOLATED_INSTALLATION = Rule(
    "LLM515",
    "requirements are installed from the network at an isolated start",
    ENTRY_POINTS,
)
LOOKS_AT_HUB = Rule(
    "LLM617",
    "an isolated container may wait for the Hugging Face Hub",
    "vLLM issue 8458",
)


def requirements_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Without network nothing is installed from it; a failure ends the container.
    """
    files = subject.model_data or ()
    installs = (
        subject.is_supervised
        and REQUIREMENTS in files
        and subject.environment.get(_INSTALLS, "true").lower() in {"true", "1"}
    )
    if not subject.is_isolated or not installs or subject.is_set(_PIP):
        return
    if _INSTALLS not in subject.hidden:
        yield ISOLATED_INSTALLATION.finding(
            f"{REQUIREMENTS} is installed at the start, and a container with network "
            "isolation cannot fetch packages",
            f"set {_INSTALLS}=false, or bring the packages and set {_PIP} with "
            "--no-index --find-links",
        )


def hub_access_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Without network the Hub's client is told so.
    """
    is_served = subject.table is not None
    if subject.is_isolated and is_served and not subject.is_set("HF_HUB_OFFLINE"):
        yield LOOKS_AT_HUB.finding(
            "the engine may ask the Hugging Face Hub for files, and wait for an answer "
            "that network isolation keeps away",
            "set HF_HUB_OFFLINE=1",
        )


def _unread(subject: EngineSubject) -> str:
    return (
        f"{HUB} is not read by this image's entry point, which serves {MODEL_DIR}"
        if subject.rule is not None and subject.rule.insists_on_model
        else f"{HUB} is not read by this image's entry point"
    )


def named_model(subject: EngineSubject) -> tuple[str, str] | None:
    """
    Return the variable that names the model, and the model.
    """
    rule = subject.rule
    variable = HUB
    if rule is not None and subject.image.engine == "llama.cpp":
        variable = rule.variable("hf-repo")
    elif rule is not None:
        own = rule.variable("model-path" if rule.insists_on_model else "model")
        if subject.is_set(own):
            variable = own
        elif subject.model_data or not rule.finds_model:
            # What is served is what is in the folder.
            return None
    model = subject.environment.get(variable, "")
    return (variable, model) if model else None


def _remote(subject: EngineSubject) -> tuple[str, str] | None:
    named = named_model(subject)
    is_local = named is None or named[1].startswith(("/", "."))
    return None if is_local else named


def gguf_type_of(*names: str | None) -> str | None:
    """
    Return the quantization type that the first of some names tells, such as ``Q4_K_M``
    of ``qwen3-8b-Q4_K_M-00001-of-00002.gguf`` or of ``Qwen/Qwen3-8B-GGUF:Q4_K_M``;
    ``None`` where none does.
    """
    for name in names:
        # Of a path the file counts, and of it what stands last.
        found = list(_TYPE.finditer(_last_part(name))) if name else []
        if found:
            return found[-1]["type"].upper()
    return None


def names_gguf(name: str) -> bool:
    """
    Whether a file, or a repository on the Hub, says of itself that it is of GGUF.
    """
    return name.lower().endswith(GGUF_SUFFIX) or _SAYS_SO.search(name) is not None


def _last_part(name: str) -> str:
    if name.lower().endswith(GGUF_SUFFIX):
        return name.rpartition("/")[2][: -len(GGUF_SUFFIX)]
    _, mark, behind = name.rpartition(":")
    return mark + behind if mark else name.rpartition("/")[2]


def gguf_model_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    VLLM and SGLang are given what they load.
    """
    named = named_model(subject) if subject.table == subject.image.engine else None
    if named is None:
        return
    variable, model = named
    word = subject.word(variable)
    if needs_plugin(subject, model):
        if REQUIREMENTS not in (subject.model_data or ()):
            yield MAY_LACK_LOADER.finding(
                f"{word}={model} is a GGUF file, and {subject.title} has no loader of "
                "its own for it",
                f"{_LLAMA_CPP}, or bring a {REQUIREMENTS} with {PLUGIN}, or take a "
                f"version with vLLM before {_PLUGIN_SINCE}",
            )
    elif names_gguf(model) and not is_gguf_file(subject, model):
        yield SAYS_GGUF.finding(
            f"{word}={model} says that it is of GGUF files, and {subject.title} looks "
            "for a config.json and safetensors files there",
            _LLAMA_CPP,
        )


def needs_plugin(subject: EngineSubject, model: str) -> bool:
    """
    Whether a model is a GGUF file for which this release of vLLM needs a package.
    """
    is_of_vllm = subject.image.engine == "vllm"
    is_later = is_of_vllm and is_release_between(subject.release, _PLUGIN_SINCE)
    return is_later and is_gguf_file(subject, model)


def is_gguf_file(subject: EngineSubject, model: str) -> bool:
    """
    Whether a model is one file, by its path or, for vLLM, by its type.
    """
    repository, mark, _ = model.partition(":")
    is_typed = bool(mark) and "/" in repository and gguf_type_of(model) is not None
    is_path = model.lower().endswith(GGUF_SUFFIX)
    return is_path or (is_typed and subject.image.engine == "vllm")
