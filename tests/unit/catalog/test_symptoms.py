"""
What people see when something goes wrong, and what finds it in a text.
"""

from __future__ import annotations

import pkgutil
import re
from urllib.parse import urlsplit

import pytest

from cdk_sagemaker_llm.catalog.symptoms import Symptom, explain, symptoms
from cdk_sagemaker_llm.cli import commands
from cdk_sagemaker_llm.codes import rules

SYMPTOMS = symptoms()
BY_NAME = {each.name: each for each in SYMPTOMS}
COMMANDS = {
    module.name.replace("_", "-")
    for module in pkgutil.iter_modules(commands.__path__)
    if not module.name.startswith("_")
}
each_symptom = pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda each: each.name)

# Neither synthesis nor a command sees these.
NOT_CAUGHT = {
    "adapter does not load",
    "adapter is not at its path",
    "adapter is not registered",
    "adapter is of another model",
    "adapters are switched off",
    "adapters configuration lacks a field",
    "assertion on the GPU",
    "cache folder cannot be written",
    "call does not fit the library",
    "call of CUDA fails",
    "calls of the API are throttled",
    "capabilities are not acknowledged",
    "certificate is not trusted",
    "chat template fails",
    "chat template is not at its path",
    "code of the model is missing",
    "compilation of the graph fails",
    "component without a first copy",
    "context too short for the images",
    "credentials are missing or expired",
    "custom code fails to load",
    "custom resource fails",
    "engine cannot read the configuration of the model",
    "environment is not bootstrapped",
    "fast download lacks its package",
    "file of the model is missing",
    "file of the model is not JSON",
    "generation fails in the shard",
    "GPU is broken",
    "GPU is in use by another",
    "handler is missing",
    "Hub is out of order",
    "image has nothing to serve with",
    "image has other tokens than the prompt",
    "image is too large",
    "image of the request cannot be read",
    "images for a model of text",
    "input longer than the model was made for",
    "kernel reads memory that is not its own",
    "kernel wants more shared memory",
    "kind of quantization is not supported",
    "least number of instances is zero",
    "libraries of the image do not fit",
    "library of the GPU fails",
    "linker does not find the driver",
    "llama cpp does not load the model",
    "marketplace offer is not subscribed",
    "model does not do the task",
    "model in S3 without the streamer",
    "model is gone",
    "model is not ready yet",
    "more adapters than places",
    "network interfaces hold a group",
    "network is not there",
    "no C compiler in the image",
    "no room in the shared memory",
    "no way to AWS",
    "no weights of the wanted format",
    "number formats do not fit together",
    "parameter is newer than the library",
    "ping is answered with an error",
    "pipeline does not load the model",
    "process crashes",
    "processor fails on the input",
    "processor of the model does not load",
    "request is too large for TEI",
    "requirements cannot be installed",
    "resource does not settle",
    "resource follows another failure",
    "revision is not there",
    "scalable target is not registered",
    "scaling action fails",
    "scaling is suspended",
    "scheduler of SGLang ends",
    "schema of the answer is refused",
    "server raises while it answers",
    "service refuses the call",
    "shared memory is too small",
    "something that should be JSON is not",
    "speculative decoding is refused",
    "stack never came up",
    "subnet has no free addresses",
    "task of the model is not told",
    "TensorRT-LLM ends with an assertion",
    "tensors are on different devices",
    "tensors do not fit together",
    "Triton server does not load the model",
    "type of the content is refused",
    "weights file is damaged",
    "weights have other names than the class expects",
    "weights have other shapes than the class expects",
    "worker of LMI does not start",
}


def names_of(found: list[Symptom]) -> list[str]:
    """
    Name what was found, in its order.
    """
    return [each.name for each in found]


@each_symptom
def test_what_is_found_quickly_is_what_the_pattern_finds(symptom: Symptom) -> None:
    """
    Each wording by its own, where a text that it must hold stands.
    """
    text = "\n".join(each.example for each in SYMPTOMS)

    found = symptom.matches(text)

    searched = symptom.pattern.search(text)
    assert searched is not None
    assert found[0].start() == searched.start()


def test_every_place_where_people_look_has_symptoms() -> None:
    """
    Failures, events, logs, clients and metrics.
    """
    kinds = {each.seen for each in SYMPTOMS}

    assert kinds == {"failure_reason", "event", "log", "client", "metric"}
    assert len(SYMPTOMS) > 190


def test_no_two_symptoms_share_a_name_or_an_anchor() -> None:
    """
    A link leads to one of them.
    """
    assert len({each.anchor for each in SYMPTOMS}) == len(SYMPTOMS)
    assert BY_NAME["no room for the KV cache"].anchor == "no-room-for-the-kv-cache"


@each_symptom
def test_a_name_is_a_heading_whose_anchor_is_known(symptom: Symptom) -> None:
    """
    GitHub drops other characters from anchors.
    """
    assert re.fullmatch(r"[A-Za-z0-9 -]+", symptom.name)


@each_symptom
def test_a_pattern_finds_its_example_and_no_other(symptom: Symptom) -> None:
    """
    What it finds besides is named.
    """
    found = {each.name for each in SYMPTOMS if symptom.pattern.search(each.example)}

    assert found == {symptom.name, *symptom.beside}


@each_symptom
def test_a_pattern_takes_no_time(symptom: Symptom) -> None:
    """
    Its wordings are short, none repeats without an end, and a long line has none.
    """
    pattern = symptom.pattern.pattern
    bare = re.sub(r"\[[^]]*\]", "x", re.sub(r"\\.", "x", pattern))

    assert len(pattern) <= 1500
    assert all(len(part) <= 150 for part in pattern.split("|"))
    assert not re.search(r"[*+]|,\}|\)\{", bare)
    assert symptom.pattern.search("a 1./-" * 10_000) is None


@each_symptom
def test_what_would_have_caught_it_exists(symptom: Symptom) -> None:
    """
    Rules by their codes, and commands of the command line.
    """
    assert set(symptom.rules) <= set(rules())
    assert set(symptom.commands) <= COMMANDS
    assert len(set(symptom.rules)) == len(symptom.rules)
    is_caught = bool(symptom.rules or symptom.commands)
    assert is_caught == (symptom.name not in NOT_CAUGHT)


@each_symptom
def test_a_symptom_says_why_what_to_do_and_where_it_was_read(symptom: Symptom) -> None:
    """
    In whole sentences, from a thread, the service's documentation or the code.
    """
    assert symptom.of
    for words in (symptom.cause, symptom.remedy):
        assert re.fullmatch(r"\S.*\.", words)
    assert symptom.sources
    for source in symptom.sources:
        assert urlsplit(source).netloc in {"", "github.com", "docs.aws.amazon.com"}


def test_an_example_names_no_account_but_a_made_up_one() -> None:
    """
    And the one of AWS's own images.
    """
    accounts = {
        account
        for each in SYMPTOMS
        for account in re.findall(r"\b[0-9]{12}\b", each.example)
    }

    assert accounts == {"111122223333", "763104351884"}


def test_what_only_says_that_something_failed_comes_last() -> None:
    """
    A log has its cause further up.
    """
    log = f"""\
{BY_NAME["KV cache smaller than the longest sequence"].example}
{BY_NAME["engine does not start"].example}
{BY_NAME["supervisor restarts the engine"].example}
"""

    found = names_of(explain(log))

    assert found[0] == "KV cache smaller than the longest sequence"
    assert set(found[1:]) == {
        "engine does not start",
        "supervisor restarts the engine",
    }


def test_the_container_s_words_come_before_the_service_s() -> None:
    """
    Every error of a container is wrapped into the same words.
    """
    found = names_of(explain(BY_NAME["input too long for TGI"].example))

    assert found == ["input too long for TGI", "container answers with an error"]


def test_the_longer_of_two_matches_comes_first() -> None:
    """
    It says more.
    """
    text = "exec format error. No space left on device"

    assert names_of(explain(text)) == [
        "disk is full",
        "processor does not match the image",
    ]


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    """
    A healthy log has no symptoms.
    """
    log = """\
INFO 11-21 10:00:00 [model.py:548] Resolved architecture: Qwen3ForCausalLM
INFO 11-21 10:01:10 [gpu_worker.py:298] Available KV cache memory: 14.21 GiB
INFO:     Application startup complete.
INFO:     127.0.0.1:0 - "GET /ping HTTP/1.1" 200 OK
"""

    assert explain(log) == []
    assert explain("") == []
