"""
Checks of what is no argument of a described parser: LoRA adapters that come while vLLM
runs, the supervisor, and the names of engines whose parsers no table describes.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import (
    GONE_FROM_LLAMA_CPP,
    LLAMA_CPP,
    NEURON,
    argument_names,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import (
    GGUF_SUFFIX,
    HUB,
    names_gguf,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    PARSERS,
    SUPERVISOR,
    EngineSubject,
)
from cdk_sagemaker_llm.serving.engines.checks.names import OTHER_HOST
from cdk_sagemaker_llm.serving.engines.entry_points import RECOVERY, passed_on
from cdk_sagemaker_llm.text import nearest

UPDATES = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
"""The variable that lets adapters come while vLLM runs."""
_NEEDING = (
    "lora-modules",
    "max-loras",
    "max-lora-rank",
    "max-cpu-loras",
    "fully-sharded-loras",
    "default-mm-loras",
)

WITHOUT_LORA = Rule(
    "LLM621", "settings of LoRA adapters at an engine that has them off", PARSERS
)


def lora_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    What is said of adapters is said to an engine that takes them.
    """
    if subject.table != "vllm" or subject.has_argument("config"):
        return
    switch = subject.variable("enable-lora")
    is_hidden = (
        subject.has_argument("enable-lora") and subject.find("enable-lora") is None
    )
    if is_hidden or subject.value("enable-lora") is True:
        return
    for name in _NEEDING:
        setting = subject.find(name)
        if setting is not None:
            yield WITHOUT_LORA.finding(
                f"{subject.word(setting.variable)} has no effect, or fails, without "
                f"{switch}",
                f"set {switch}",
            )
    if is_switched_on(subject.environment.get(UPDATES)):
        yield WITHOUT_LORA.finding(
            f"{UPDATES} has no effect without {switch}: adapters cannot be loaded",
            f"set {switch}",
        )


SEVERAL_SERVERS = Rule(
    "LLM622",
    "adapters are loaded at run time into one of several API servers",
    "vllm/entrypoints/cli/serve.py of 0.13.0",
)


def server_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Adapters that come later are known to one API server alone.
    """
    servers = subject.number("api-server-count")
    updates = is_switched_on(subject.environment.get(UPDATES))
    if subject.table == "vllm" and updates and servers is not None and servers > 1:
        yield SEVERAL_SERVERS.finding(
            f"{UPDATES} does not go together with "
            f"{subject.variable('api-server-count')}={servers}",
            "leave one of them out",
        )


def is_switched_on(value: str | None) -> bool:
    """
    Return whether a variable of vLLM's process says yes.
    """
    return value is not None and value.strip().lower() in {"1", "true"}


_RETRIES = "PROCESS_MAX_START_RETRIES"
_MOST_RETRIES = 100
_TRUTH = ("true", "1", "false", "0")
# Where nginx calls it, or all of them.
_CALLED = ("127.0.0.1", "localhost", "0.0.0.0", "::")  # noqa: S104 - what users write
_HUB_MODELS = ("hf-repo", "model-url", "docker-repo", "models-dir", "models-preset")

SUPERVISOR_SETTING = Rule(
    "LLM623",
    "a setting of the supervisor that is read otherwise than it is written",
    SUPERVISOR,
)
UNKNOWN_NAME = Rule(
    "LLM624",
    "an engine without a described parser is told what it is not known to read",
    "llama-server --help; optimum-cli neuron serve",
)
REACHES_NO_ROUTE = Rule(
    "LLM630",
    "AWS's llama.cpp images are to embed or rank, and answer chats alone",
    "the nginx configuration in aws/deep-learning-containers, llama-cpp",
)
NO_GGUF = Rule(
    "LLM625",
    "llama.cpp is given a model that is no GGUF file, or none",
    "the entry points of aws/deep-learning-containers",
)


def recovery_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Whatever is neither true nor 1 switches the supervisor off.
    """
    value = subject.environment.get(RECOVERY)
    if value is not None and _has_supervisor(subject) and value.lower() not in _TRUTH:
        yield SUPERVISOR_SETTING.finding(
            f"{RECOVERY}={value} switches the supervisor off, as anything but true "
            "and 1 does",
            "write true or false",
        )


def retry_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Retries are from 0 to 100.
    """
    value = subject.environment.get(_RETRIES)
    if value is None or not subject.is_supervised:
        return
    digits = value.strip().lstrip("0")
    is_number = value.strip().isdecimal() and len(digits) <= len(str(_MOST_RETRIES))
    if not is_number or int(digits or "0") > _MOST_RETRIES:
        yield SUPERVISOR_SETTING.finding(
            f"{_RETRIES} should be from 0 to {_MOST_RETRIES}, got {value!r}"
        )


def missing_supervisor_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Settings of the supervisor are for images that have one.
    """
    if subject.rule is None or _has_supervisor(subject):
        return
    for name in (RECOVERY, _RETRIES):
        if name in subject.environment:
            yield SUPERVISOR_SETTING.finding(
                f"{name} has no effect: this image has no supervisor", "leave it out"
            )


def _has_supervisor(subject: EngineSubject) -> bool:
    return subject.rule is not None and subject.rule.supervisor is not None


def unknown_name_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each variable behind the prefix is known to be an argument.
    """
    rule, names = subject.rule, LLAMA_CPP
    if subject.image.engine == "vllm-neuron":
        # What it does not know it hands on.
        names = (*NEURON, *argument_names("vllm", subject.release))
    elif subject.image.engine != "llama.cpp":
        return
    if rule is None:
        return
    for passed in passed_on(subject.environment, rule):
        name = passed.flag.removeprefix("--").replace("_", "-")
        if name in names or name.removeprefix("no-") in names:
            continue
        word = subject.word(passed.variable)
        if subject.image.engine == "llama.cpp" and name in GONE_FROM_LLAMA_CPP:
            yield UNKNOWN_NAME.finding(
                f"{word} is gone from llama.cpp v0.4.1, which AWS has put under older "
                "tags",
                f"use {subject.variable('load-mode')}",
            )
            continue
        near = nearest(name, names, count=1)
        yield UNKNOWN_NAME.finding(
            f"{word} becomes {passed.flag}, which {subject.title} is not known to have",
            f"did you mean {subject.variable(near[0])}?" if near else "",
        )


def llama_cpp_host_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The server of AWS's image stays where the nginx in front of it calls it.
    """
    rule = subject.rule
    if rule is None or rule.name != "llama-cpp":
        return
    variable = rule.variable("host")
    host = subject.environment.get(variable, "")
    if host and host not in _CALLED:
        yield OTHER_HOST.finding(
            f"{subject.word(variable)}={host} may hide llama.cpp from the nginx in "
            "front of it",
            "leave it out",
        )


def route_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    AWS's image passes all requests on to chat completions.
    """
    rule = subject.rule
    if rule is None or rule.name != "llama-cpp":
        return
    for name in ("embedding", "embeddings", "rerank", "reranking"):
        value = subject.environment.get(rule.variable(name))
        if value is not None and value.lower() != "false":
            yield REACHES_NO_ROUTE.finding(
                f"{subject.word(rule.variable(name))} makes llama.cpp embed or rank, "
                "and AWS's image passes /invocations on to chat completions alone",
                'take distribution="huggingface", whose image has routes for them, or '
                "TextEmbeddings",
            )


def gguf_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    llama.cpp serves a GGUF file.
    """
    rule = subject.rule
    if rule is None or subject.image.engine != "llama.cpp":
        return
    variable = rule.variable("model")
    model = subject.environment.get(variable, "")
    if model and not model.lower().endswith(GGUF_SUFFIX):
        yield NO_GGUF.finding(
            f"{subject.word(variable)}={model} is no {GGUF_SUFFIX} file, which "
            "llama.cpp reads alone",
            f"name a {GGUF_SUFFIX} file",
        )
        return
    repository = rule.variable("hf-repo")
    named = subject.environment.get(repository, "")
    hf_file = subject.environment.get(rule.variable("hf-file"), "")
    if hf_file and not hf_file.lower().endswith(GGUF_SUFFIX):
        yield NO_GGUF.finding(
            f"{subject.word(rule.variable('hf-file'))}={hf_file} is no {GGUF_SUFFIX} "
            "file, which llama.cpp reads alone",
            f"name a {GGUF_SUFFIX} file of the repository",
        )
    elif named and not hf_file and not names_gguf(named) and ":" not in named:
        yield NO_GGUF.finding(
            f"{subject.word(repository)}={named} does not say that it is of "
            f"{GGUF_SUFFIX} files, which llama.cpp reads alone",
            f"name a repository such as {named}-GGUF, or a file in it with "
            f"{subject.word(rule.variable('hf-file'))}",
        )
    is_elsewhere = any(subject.is_set(rule.variable(name)) for name in _HUB_MODELS)
    # Who names a model on the Hub is likely to bring no file.
    is_found = not subject.is_set(HUB)
    if subject.model_data is not None:
        paths = map(str.lower, subject.model_data)
        is_found = any(path.endswith(GGUF_SUFFIX) for path in paths)
    is_found = is_found and rule.name == "llama-cpp"
    if not subject.is_set(variable) and not is_elsewhere and not is_found:
        yield NO_GGUF.finding(
            "nothing names a model that this image reads: it reads no HF_MODEL_ID",
            f"set {variable}, or {rule.variable('hf-repo')}",
        )
