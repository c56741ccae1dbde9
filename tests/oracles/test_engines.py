"""
What the checks say of environments, against how far the engines themselves come.

Of 300 environments for each release, at least nine in ten of those that parse and do
not start are errors, and none is that starts; the table says how many are. What a
model, its files or a GPU decides is counted apart.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import Engine, find_argument
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    EntryPoint,
    StartError,
    command_line,
)
from cdk_sagemaker_llm.serving.families import check_environment
from tests.oracles.environments import draw
from tests.oracles.starting import MODEL, PARSER, START, STARTS
from tools.catalog import wheels

pytest.importorskip("torch", reason="run by make oracles: torch is large")

ROOT = Path(__file__).parents[2]
RELEASES: tuple[tuple[Engine, str], ...] = (
    ("vllm", "0.20.2"),
    ("vllm", "0.26.0"),
    ("vllm", "0.30.0"),
    ("sglang", "0.5.13"),
    ("sglang", "0.5.20"),
)
COUNT = 300
SEED = "1"
FORETOLD = 0.9
# What starts, and is never healthy, or ends as the model is loaded.
LATER = ("LLM535", "LLM537", "LLM539", "LLM961")
# Refusals of a model's class, its files, or a GPU and what is chosen by its memory.
DECIDED_ELSEWHERE = re.compile(
    r"non multimodal model|n_predict|speculative method: 'mtp'|in the tokenizer"
    r"|'<\|end\|>'|Blackwell|SM100|compute capability|diffusion LLM|KV4 |_C::"
    r"|max_num_batched_tokens \((2048|8192)\)|Number of experts|quantization config"
    r"|params\.json|MistralTokenizer|Config\.__init__|attention heads"
    r"|not compatible with chunked prefill|divisible by page_size|fp8e4nv"
    r"|Cannot find the config file|not supported for architecture|total num kv heads"
    r"|only supported for (models whose|DSA)"
)
DENSE: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
EXPERTS = {
    **DENSE,
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 1536,
    "num_attention_heads": 64,
    "head_dim": 128,
    "max_position_embeddings": 1 << 20,
}
WORDS = {"<unk>": 0, "<s>": 1, "</s>": 2, "<think>": 3, "</think>": 4}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "<unk>"},
}


def environment_of(
    arguments: Mapping[str, str | None], rule: EntryPoint, engine: Engine, release: str
) -> dict[str, str]:
    """
    Write arguments as the variables that an image reads.
    """
    found = {rule.variable("model" if engine == "vllm" else "model-path"): MODEL}
    for name, value in arguments.items():
        argument = find_argument(engine, name, release)
        assert argument is not None
        if argument.is_switch:
            found[rule.variable(name if value is None else f"no-{name}")] = "true"
        elif argument.takes_several and rule.spreads_lists and " " in str(value):
            found[rule.variable(name)] = json.dumps(str(value).split())
        else:
            found[rule.variable(name)] = str(value)
    return found


def drawn(engine: Engine, release: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """
    Yield environments, with the arguments that their engine gets.
    """
    image = find_engine_release(engine, release)
    assert image is not None
    rule = ENTRY_POINTS[image.rules[0]]
    for one in draw(engine, release, COUNT, SEED):
        environment = environment_of(one.arguments, rule, engine, release)
        try:
            yield environment, command_line(environment, rule)
        except StartError:
            # A supervisor's own matter.
            continue


def models(folder: Path) -> Iterator[str]:
    """
    Write two models without weights, and yield where they are.
    """
    for config in (DENSE, EXPERTS):
        where = folder / str(config["model_type"])
        where.mkdir()
        files = {
            "config.json": {"bos_token_id": 1, "eos_token_id": 2, **config},
            "tokenizer.json": TOKENIZER,
            "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
        }
        for name, content in files.items():
            (where / name).write_text(json.dumps(content), "utf-8")
        yield str(where)


def errors_of(
    environment: Mapping[str, str], engine: Engine, release: str
) -> list[Finding]:
    """
    Return what is an error with either of the models; nothing if one is fine with it.
    """
    found = [
        [
            one
            for one in check_environment(
                environment,
                container=engine,
                version=release,
                accelerators=None,
                architecture=str(config["architectures"][0]),
            )
            if one.severity == "error"
        ]
        for config in (DENSE, EXPERTS)
    ]
    return found[0] if all(found) else []


@pytest.mark.parametrize(("engine", "release"), RELEASES)
def test_what_does_not_start_is_foretold(
    engine: Engine, release: str, tmp_path: Path
) -> None:
    """
    And what starts is not refused.
    """
    wheels.unpack(engine, release, tmp_path)
    environments = list(drawn(engine, release))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.oracles.starting", engine, str(tmp_path)),
            *models(tmp_path),
        ],
        input="".join(f"{json.dumps(given)}\n" for _, given in environments),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    table: Counter[str] = Counter()
    missed, refused = [], []
    for (environment, _), line in zip(
        environments, done.stdout.splitlines(), strict=True
    ):
        how, words = json.loads(line)
        errors = errors_of(environment, engine, release)
        if how == START and DECIDED_ELSEWHERE.search(words):
            table["decided elsewhere"] += 1
        elif how == STARTS:
            certain = [one.message for one in errors if one.code not in LATER]
            table["starts, refused" if certain else "starts"] += 1
            refused += [(environment, certain)] if certain else []
        else:
            told = "foretold" if errors else "not foretold"
            table[f"{'parser' if how == PARSER else 'start'}, {told}"] += 1
            missed += [(environment, words)] if how == START and not errors else []
    sys.stdout.write(f"\n{engine} {release}: {dict(sorted(table.items()))}\n")
    for one in (*missed, *refused):
        sys.stdout.write(f"  {one}\n")

    foretold = table["start, foretold"]
    assert not refused
    assert foretold >= FORETOLD * (foretold + table["start, not foretold"])
