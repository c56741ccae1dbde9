"""
The memory plan against the KV cache that vLLM reported in published start-up logs.

``docs/memory.md`` says what the logs are and what they do not cover.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.fit import Assumptions, Plan, plan
from cdk_sagemaker_llm.fit.cache import token_bytes
from cdk_sagemaker_llm.fit.memory import Outcome
from cdk_sagemaker_llm.fit.setting import GIB

LOGS = Path(__file__).parent / "memory_logs.json"
_HEAD = ("", "logs", "median", "least", "most", "above what vLLM had", "below 0.80")


@dataclass(frozen=True, slots=True)
class Held:
    """
    One log, and the plan for it.
    """

    log: Mapping[str, Any]
    found: Plan

    def ratio(self, outcome: Outcome) -> float:
        """
        Return the planned tokens, or GiB where none were printed, over the measured.
        """
        measured = self.log["measured"]
        if "kv_tokens" in measured:
            return outcome.kv_cache_tokens / float(measured["kv_tokens"])
        return outcome.kv_cache_room / GIB / float(measured["kv_gib"])

    @property
    def promised(self) -> float:
        """
        The cautious case over the measured.
        """
        return self.ratio(self.found.cautious)

    @property
    def runtime_needed(self) -> float:
        """
        The GiB of runtime with which the cautious case were just what was measured.
        """
        measured, cautious = self.log["measured"], self.found.cautious
        had = float(measured.get("kv_gib", 0)) * GIB
        if "kv_tokens" in measured:
            had = measured["kv_tokens"] * token_bytes(self.found.setting)
        return (cautious.kv_cache_room - had + cautious.terms.runtime) / GIB


def read_logs() -> list[Mapping[str, Any]]:
    """
    Read the logs, each as an object.
    """
    logs: list[Mapping[str, Any]] = json.loads(LOGS.read_text(encoding="utf-8"))["logs"]
    return logs


def held(log: Mapping[str, Any], **changed: float) -> Held:
    """
    Plan what a log is of.
    """
    taken: dict[str, Any] = {
        "gpu_memory_utilization": log["share"],
        "cuda_graphs_gib": 0.0 if log["eager"] else None,
        "max_num_batched_tokens": log["prefill_tokens"],
        "max_num_seqs": log["sequences"],
        "kv_cache_dtype_bytes": log["cache_bytes"],
    }
    found = plan(
        log["model"],
        log["instance_type"],
        weight_bits=log["weight_bits"],
        context_length=log["context"],
        tensor_parallel_degree=log["degree"],
        assumptions=Assumptions(**{**taken, **changed}),
        engine_version=log["vllm"],
    )
    return Held(log, found)


def rows(all_held: Sequence[Held]) -> list[tuple[str, ...]]:
    """
    Return the distribution: each case, then the promise by GPU, by version, by degree.
    """
    lines = [
        _row("best", [one.ratio(one.found.best) for one in all_held]),
        _row("expected", [one.ratio(one.found.expected) for one in all_held]),
        _row("cautious", [one.promised for one in all_held]),
    ]
    for title, group_of in (
        ("on", lambda log: log["gpu"]),
        ("vLLM", lambda log: ".".join(log["vllm"].split(".")[:2])),
        ("degree", lambda log: str(log["degree"])),
    ):
        groups: dict[str, list[float]] = {}
        for one in all_held:
            groups.setdefault(group_of(one.log), []).append(one.promised)
        ordered = sorted(groups.items(), key=lambda group: _order(group[0]))
        lines += [_row(f"{title} {name}", ratios) for name, ratios in ordered]
    return lines


def _order(name: str) -> tuple[list[int], str]:
    numbers = name.split(".")
    plain = all(part.isdigit() for part in numbers)
    return ([int(part) for part in numbers] if plain else [], name)


def _row(name: str, ratios: Sequence[float]) -> tuple[str, ...]:
    return (
        name,
        str(len(ratios)),
        f"{statistics.median(ratios):.3f}",
        f"{min(ratios):.3f}",
        f"{max(ratios):.3f}",
        str(sum(ratio > 1 for ratio in ratios)),
        str(sum(ratio < 0.8 for ratio in ratios)),  # noqa: PLR2004 - the bar
    )


def markdown(lines: Iterable[tuple[str, ...]]) -> str:
    """
    Write the rows as the table of ``docs/memory.md``.
    """
    shown = [_HEAD, ("---",) * len(_HEAD), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in shown)


if __name__ == "__main__":
    print(markdown(rows([held(log) for log in read_logs()])))
