"""
A step of an engine that batches continuously: what each accelerator of a copy reads,
computes and exchanges until every sequence has its next token.

Only arithmetic is used here, without comparisons: the calibration computes with arrays
of measurements where an estimate has numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A sequence takes its experts and its cache while some others are written.
_AMONG = 8.0
# Prompts that are shorter share a step.
_SHARED_TOKENS = 1024.0
# How sharply the launch of kernels hides behind what they compute.
_LAUNCH_OVERLAP = 3.0
_HALF_PRECISION_BYTES = 2
# An all-reduce sends and receives each number twice.
_ROUNDS = 2
# Attention and feed-forward are exchanged apart.
_EXCHANGES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """
    One copy of a model on its accelerators, in figures of each of them.

    Args:
        bandwidth: Bytes that it reads of its memory in a second.

        operations: Arithmetic of a second, in the format that the weights are computed
            in.

        plain_operations: The same in 16 bits, which attention has.

        link: Bytes that it sends to another one in a second.

        weight_bytes: Its weights, the embedding left out, of which rows alone are read.

        operations_per_token: What the matrix products of a token compute.

        attention_per_pair: What a token computes over another one.

        cache_bytes: A token's cache, of layers that look back over the whole sequence.

        windowed_cache_bytes: The same of layers with a window.

        window: Tokens of the window.

        state_bytes: What a sequence keeps however long it is.

        layers: Blocks of the model.

        hidden: The model's width.

        degree: Over how many accelerators the copy is split.

        idle: The part of the weights that a token does not pass.

        chunk: The most tokens of prompts in a step.

        experts: 1 for a mixture of experts, else 0; so are the next three.

        latent: Whether the cache is one latent vector.

        states: Whether there are layers with linear attention.

        eager: Whether no CUDA graphs are replayed.
    """

    bandwidth: float
    operations: float
    plain_operations: float
    link: float
    weight_bytes: float
    operations_per_token: float
    attention_per_pair: float
    cache_bytes: float
    windowed_cache_bytes: float
    window: float
    state_bytes: float
    layers: float
    hidden: float
    degree: float
    idle: float
    chunk: float
    experts: float
    latent: float = 0.0
    states: float = 0.0
    eager: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """
    What the parts of a step take, in seconds.

    Args:
        weights: To read all weights.

        idle: The part of them that a token does not pass.

        likeness: Tokens count as so many that choose their experts by chance, as their
            number to this power: they choose alike.

        arithmetic: The matrix products of one token.

        overlap: How sharply reading and computing overlap: with 1 they add up, with
            very much the longer one is all.

        attention: A token over another one.

        cache: To read a token's cache, of layers that look back over everything.

        windowed_cache: The same of layers with a window.

        window: Tokens of the window.

        state: To read and write what a sequence keeps.

        sequence: What the engine does for each sequence.

        exchange: To begin all exchanges between accelerators.

        exchange_per_token: To send a token's numbers.

        fixed: What is there in any step: the engine's own, and each layer's.

        launch: To launch the kernels of a prompt's step, which no graph replays.

        chunk: The most tokens of prompts in a step.

        request: What a request takes outside of all steps.
    """

    weights: float
    idle: float
    likeness: float
    arithmetic: float
    overlap: float
    attention: float
    cache: float
    windowed_cache: float
    window: float
    state: float
    sequence: float
    exchange: float
    exchange_per_token: float
    fixed: float
    launch: float
    chunk: float
    request: float

    def products(self, tokens: float) -> float:
        """
        Return what the matrix products of so many tokens take.
        """
        touched = 1 - self.idle ** (larger(tokens, 1.0) ** self.likeness)
        power = self.overlap
        reading, computing = self.weights * touched, self.arithmetic * tokens
        both: float = (reading**power + computing**power) ** (1 / power)
        return both

    def seconds(self, sequences: float, tokens: float) -> float:
        """
        Return what a step takes that writes a token of each sequence.

        Args:
            sequences: How many there are.

            tokens: How many tokens each of them has by then.
        """
        cache = self.cache * tokens + self.windowed_cache * smaller(tokens, self.window)
        each = cache + self.state + self.sequence + self.exchange_per_token
        return self.products(sequences) + sequences * each + self.exchange + self.fixed

    def prompt_seconds(self, tokens: float) -> float:
        """
        Return by how much a prompt prolongs the steps that it is part of, under load:
        short ones share a step, and none reads the weights for itself.
        """
        held = smaller(larger(tokens, _SHARED_TOKENS), self.chunk)
        return tokens * self._chunk(held, _AMONG) / held + self._attended(tokens)

    def lone_prompt_seconds(self, tokens: float) -> float:
        """
        Return what a prompt takes that comes alone, beyond one token's step.
        """
        held = smaller(tokens, self.chunk)
        return tokens * self._chunk(held, 1.0) / held + self._attended(tokens)

    def _chunk(self, tokens: float, among: float) -> float:
        more = self.products(tokens + among) - self.products(among)
        more += tokens * self.exchange_per_token
        power = _LAUNCH_OVERLAP
        both: float = (more**power + self.launch**power) ** (1 / power)
        return both

    def _attended(self, tokens: float) -> float:
        windowed = self.windowed_cache / (self.cache + self.windowed_cache)
        seen = (1 - windowed) * tokens + windowed * smaller(tokens, self.window)
        return self.attention * tokens * seen


def step_of(copy: Copy, found: Mapping[str, float]) -> Step:
    """
    Make the step of a copy.

    Args:
        copy: The copy.

        found: What the calibration found, by term: see ``factors``.
    """
    memory = copy.bandwidth * found["memory"]
    # Weights of experts are read and multiplied in many small pieces.
    reading = 1 + copy.experts * (1 / found["experts_memory"] - 1)
    computing = 1 + copy.experts * (1 / found["experts_arithmetic"] - 1)
    cached = copy.bandwidth * found["cache"]
    others = copy.degree - 1
    # Nothing is exchanged where there is one.
    split = smaller(others, 1.0)
    sent = copy.hidden * _HALF_PRECISION_BYTES * _ROUNDS * others / copy.degree
    layer = (
        found["layer"]
        + copy.experts * found["layer_experts"]
        + copy.latent * found["layer_latent"]
        + copy.states * found["layer_states"]
        + copy.eager * found["layer_eager"]
    )
    launch = (
        found["launch"]
        + copy.experts * found["launch_experts"]
        + copy.latent * found["launch_latent"]
    )
    exchanges = _EXCHANGES * copy.layers
    return Step(
        weights=copy.weight_bytes / memory * reading,
        idle=copy.idle,
        likeness=found["likeness"],
        arithmetic=copy.operations_per_token
        / (copy.operations * found["arithmetic"])
        * computing,
        overlap=1 + found["overlap"],
        attention=copy.attention_per_pair
        / (copy.plain_operations * found["attention"]),
        cache=copy.cache_bytes / cached,
        windowed_cache=copy.windowed_cache_bytes / cached,
        window=copy.window,
        state=2 * copy.state_bytes / cached,
        sequence=found["sequence"],
        exchange=split * exchanges * found["latency"],
        exchange_per_token=exchanges * sent / (copy.link * found["link"]),
        fixed=found["step"] + copy.layers * layer + split * found["split"],
        launch=copy.layers * launch,
        chunk=copy.chunk,
        request=found["request"],
    )


def factors(
    gpu: str,
    weight_format: str,
    generation: str,
    *,
    by_pcie: bool,
    in_process: bool = False,
) -> Mapping[str, Sequence[str]]:
    """
    Return of which constants each term is the product, by their names.

    Args:
        gpu: The accelerator's name.

        weight_format: How weights are stored: ``16``, ``fp8``, ``int4``, ...

        generation: The engine's, such as ``vllm-v1``.

        by_pcie: Whether accelerators are linked by PCIe.

        in_process: Whether requests come from the engine's own process, as in offline
            benchmarks, and no text is sent to anybody.
    """
    link = "pcie" if by_pcie else "nvlink"
    asked = "in-process" if in_process else generation
    return {
        "memory": ("memory", f"memory:{weight_format}", f"memory:{gpu}"),
        "arithmetic": (
            "arithmetic",
            f"arithmetic:{weight_format}",
            f"arithmetic:{gpu}",
        ),
        "attention": ("attention", f"arithmetic:{gpu}"),
        "cache": ("cache", f"memory:{gpu}"),
        "latency": (f"latency:{link}",),
        "link": (f"link:{link}",),
        "step": (f"step:{generation}",),
        "sequence": (f"sequence:{asked}",),
        "request": (f"request:{asked}",),
        "launch": (f"launch:{generation}",),
        "layer_experts": ("layer_experts", f"experts:{generation}"),
        "launch_experts": ("launch_experts", f"experts:{generation}"),
        **{
            name: (name,)
            for name in (
                "experts_memory",
                "experts_arithmetic",
                "likeness",
                "overlap",
                "layer",
                "layer_latent",
                "layer_states",
                "layer_eager",
                "launch_latent",
                "split",
            )
        },
    }


def resolved(
    constants: Mapping[str, float], names: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """
    Multiply the constants of each term; one that nobody has measured is 1.
    """
    return {
        term: math.prod(constants.get(name, 1.0) for name in parts)
        for term, parts in names.items()
    }


def larger(one: float, other: float) -> float:
    """
    Return the larger number, of arrays number by number.
    """
    return (one + other + abs(one - other)) / 2


def smaller(one: float, other: float) -> float:
    """
    Return the smaller number, of arrays number by number.
    """
    return (one + other - abs(one - other)) / 2
