"""
How a model fits an instance type, in numbers and in words, with the arithmetic of one
accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, DraftModel, EngineName
from cdk_sagemaker_llm.fit.memory import MemoryTerms, Outcome, longest_sequence
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.fit.releases import Case
from cdk_sagemaker_llm.fit.setting import GIB, Setting, visible_bytes

# Of the CPU cores that are a copy's share, what it asks for: the host needs some too.
_CPU_SHARE = 0.8
# The scheduler has far less memory to give than the host has: on ml.g5.xlarge with 16
# GiB a reservation of 1024 MiB is accepted and one of 4096 MiB refused (measured
# 2026-07 by others). It is no cap, so that the smallest usual one does no harm.
_RESERVED_MEMORY_MIB = 1024

_NAMES = {
    "weights": "weights",
    "draft": "draft model",
    "runtime": "runtime",
    "activations": "activations",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache of one sequence",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """
    How a model fits an instance type.

    What it promises is the cautious case; ``best`` and ``expected`` show the range.

    Args:
        setting: All that it follows from.

        engine: The engine.

        engine_version: Its version; ``None`` if it is not known.

        best: What there is if nothing takes more than the leanest start-up log.

        expected: What is usual.

        cautious: What is promised.

        obstacle: Why the degree itself is impossible; empty if it is not.

        draft: What drafts tokens; ``None`` if nothing does.
    """

    setting: Setting
    engine: EngineName
    engine_version: str | None
    best: Outcome
    expected: Outcome
    cautious: Outcome
    obstacle: str = ""
    draft: DraftModel | None = None

    @property
    def architecture(self) -> ModelArchitecture:
        """
        The model.
        """
        return self.setting.architecture

    @property
    def instance_type(self) -> InstanceType:
        """
        The instance type.
        """
        return self.setting.hardware

    @property
    def weight_bits(self) -> int:
        """
        Bits of a weight; of a GGUF file, in whole ones.
        """
        return round(self.setting.weight_width)

    @property
    def is_on_host(self) -> bool:
        """
        Whether the memory is the host's, which has no accelerators.
        """
        return self.setting.is_on_host

    @property
    def context_length(self) -> int:
        """
        Tokens that a sequence must be able to have.
        """
        return self.setting.context_length

    @property
    def tensor_parallel_degree(self) -> int:
        """
        Over how many accelerators a copy is split.
        """
        return self.setting.degree

    @property
    def assumptions(self) -> Assumptions:
        """
        What was set of the engine.
        """
        return self.setting.assumptions

    @property
    def terms(self) -> MemoryTerms:
        """
        What each accelerator holds, in bytes, in the cautious case.
        """
        return self.cautious.terms

    @property
    def capacity(self) -> int:
        """
        The memory of one accelerator in bytes, as CUDA shows it, or the host's.
        """
        return visible_bytes(self.instance_type)

    @property
    def kv_cache_room(self) -> int:
        """
        The bytes of one accelerator that are left for the cache; negative if short.
        """
        return self.cautious.kv_cache_room

    @property
    def kv_cache_tokens(self) -> int:
        """
        How many tokens of all sequences together the cache holds.
        """
        return self.cautious.kv_cache_tokens

    @property
    def loads(self) -> bool:
        """
        Whether the engine starts: the cache has room for something.
        """
        return not self.obstacle and self.cautious.loads

    @property
    def fits(self) -> bool:
        """
        Whether it starts and holds at least one whole sequence.
        """
        return not self.obstacle and self.cautious.fits

    @property
    def may_fit(self) -> bool:
        """
        Whether it does in the best case; what does not is an error.
        """
        return not self.obstacle and self.best.fits

    @property
    def replicas(self) -> int:
        """
        How many copies one instance holds; on a host without accelerators it is one,
        which has all of its cores.
        """
        if not self.fits:
            return 0
        if self.is_on_host:
            return 1
        return self.instance_type.accelerators // self.tensor_parallel_degree

    @property
    def concurrent_sequences(self) -> int:
        """
        How many whole sequences one copy holds at the same time.
        """
        return 0 if self.obstacle else self.cautious.sequences

    @property
    def largest_batch(self) -> int:
        """
        How many sequences one step can serve: those that fit, and the engine's most.
        """
        return min(self.concurrent_sequences, self.setting.sequences)

    @property
    def largest_context(self) -> int:
        """
        The longest sequence that one copy can hold, up to the model's own limit.
        """
        return longest_sequence(self.setting, Case.CAUTIOUS, self.cautious)

    @property
    def headroom(self) -> int:
        """
        The bytes of one accelerator that no term takes; negative if short.
        """
        return self.capacity - self.terms.total

    @property
    def limit(self) -> str:
        """
        Which term decides: the one that is too much, or what more copies would need.
        """
        if self.obstacle:
            return "tensor_parallel_degree"
        if self.fits:
            return "host_memory" if self.is_on_host else "accelerators"
        left = self.kv_cache_room + self.terms.fixed
        for name in ("weights", "draft", "runtime", "activations"):
            left -= self.terms.items().get(name, 0)
            if left <= 0:
                return name
        return "kv_cache"

    @property
    def resources(self) -> ResourceRequirements:
        """
        What to ask for each copy, and as many copies as one instance holds.
        """
        degree, count = self.tensor_parallel_degree, self.instance_type.accelerators
        share = self.instance_type.vcpus * degree / max(count, 1)
        return ResourceRequirements(
            copies=max(self.replicas, 1),
            accelerators=degree if count else None,
            cpus=max(1, int(share * _CPU_SHARE)),
            memory_mib=_RESERVED_MEMORY_MIB,
        )

    def explain(self) -> str:
        """
        Show the arithmetic, per accelerator, and what it comes to.
        """
        setting, model = self.setting, self.architecture
        bits = f"{model.bits_of_a_weight(setting.weight_bits)} bits"
        if setting.gguf_type is not None:
            bits = f"{setting.gguf_type.upper()}, {setting.weight_width:.2f} bits"
        what = (
            f"{model.architecture}, {model.parameter_count:,} parameters in {bits}, "
            f"{setting.context_length} tokens of context"
        )
        version = self.engine_version or "of any version"
        where = f"on {_hardware(setting)}, {self.engine} {version}"
        rows = table(setting, (self.best, self.expected, self.cautious))
        end = ["", _says(self), f"limit: {self.limit}"]
        if self.draft is not None and setting.draft is None:
            end.append(f"not counted: what drafts tokens, {self.draft.name}")
        return "\n".join([what, where, "", *rows, *end])


def table(setting: Setting, outcomes: Sequence[Outcome]) -> list[str]:
    """
    Show each term, the total and the room, a column a case.
    """
    terms = [each.terms.items() for each in outcomes]
    unit = "GiB of the host" if setting.is_on_host else "GiB per accelerator"
    lines = [_row(unit, *[case.value for case in Case])]
    lines += [
        _row(f"  {label}", *[each[name] for each in terms]) + f"  {_how(setting, name)}"
        for name, label in _names(setting).items()
    ]
    capacity = [visible_bytes(setting.hardware)] * len(outcomes)
    lines.append(_row("  total", *[each.terms.total for each in outcomes]))
    shown_by = "Linux" if setting.is_on_host else "CUDA"
    lines.append(_row("  capacity", *capacity) + f"  as {shown_by} shows it")
    room = "room for KV cache" if setting.keeps_cache else "room"
    lines.append(_row(f"  {room}", *[each.kv_cache_room for each in outcomes]))
    return lines


def _says(plan: Plan) -> str:
    if plan.obstacle:
        return f"does not start: {plan.obstacle}"
    if plan.fits:
        return _says_fit(plan)
    for outcome, word in ((plan.expected, "expected"), (plan.best, "best")):
        if outcome.fits and not plan.setting.keeps_cache:
            return (
                f"may fit: in the {word} case {outcome.kv_cache_room / GIB:.2f} GiB "
                f"are left, in the cautious case {plan.kv_cache_room / GIB:.2f}"
            )
        if outcome.fits:
            return (
                f"may fit: in the {word} case the KV cache holds "
                f"{outcome.kv_cache_tokens} tokens, in the cautious case "
                f"{plan.kv_cache_tokens}"
            )
    return _falls_short(plan)


def _row(name: str, *figures: int | str) -> str:
    cells = [
        figure if isinstance(figure, str) else f"{figure / GIB:.2f}"
        for figure in figures
    ]
    return f"{name:<26}" + "".join(f"{cell:>10}" for cell in cells)


def _how(setting: Setting, name: str) -> str:
    degree = setting.degree
    split = f", split over {degree}" if degree > 1 else ""
    adds_up = degree > 1 and not setting.release.splits_layers
    name_of_share = "the engine's share"
    if setting.release.reserve is not None:
        name_of_share = "mem_fraction_static"
    runtime = "kernels, workspaces" + (", collectives" if adds_up else "")
    drafts, drafted = setting.draft, ""
    if drafts is not None:
        over = f", split over {drafts.degree}" if drafts.degree > 1 else ""
        count = f"{drafts.architecture.parameter_count:,} parameters"
        drafted = f"{drafts.architecture.architecture}, {count}{over}"
    return {
        "weights": f"{setting.architecture.parameter_count:,} parameters{split}",
        "draft": drafted,
        "runtime": "the process and the system" if setting.is_on_host else runtime,
        "activations": f"{setting.sequences} sequences, "
        f"{setting.prefill_tokens} tokens in a step",
        "cuda_graphs": f"{name_of_share} is {setting.share(Case.CAUTIOUS):.3g}",
        "kv_cache": f"{setting.context_length} tokens{split}"
        + (", with the draft model's" if drafts else ""),
    }[name]


def _names(setting: Setting) -> Mapping[str, str]:
    gone = set() if setting.keeps_cache else {"kv_cache"}
    if setting.draft is None:
        gone.add("draft")
    if setting.release.allocates_context or not setting.release.keeps_cache:
        gone.add("cuda_graphs")
    names = {name: label for name, label in _NAMES.items() if name not in gone}
    if setting.release.allocates_context:
        names["kv_cache"] = "KV cache of the context"
    return names


def _hardware(setting: Setting) -> str:
    hardware = setting.hardware
    if setting.is_on_host:
        return f"{hardware}: {hardware.vcpus} vCPUs with {hardware.memory_gib:g} GiB"
    text = f"{hardware}: {hardware.accelerators} x {hardware.accelerator_model} with "
    text += f"{hardware.accelerator_memory_gib:g} GiB"
    if setting.release.splits_layers or not setting.release.keeps_cache:
        return text if setting.degree == 1 else f"{text}, split over {setting.degree}"
    return f"{text}, tensor parallel degree {setting.degree}"


def _says_fit(plan: Plan) -> str:
    where = "the host" if plan.is_on_host else "each accelerator"
    if not plan.setting.keeps_cache:
        encodes = not plan.architecture.keeps_cache
        why = "an encoder" if encodes else "an engine for embeddings"
        return (
            f"fits: {plan.replicas} per instance; {why} keeps no KV cache, and "
            f"{plan.kv_cache_room / GIB:.2f} GiB of {where} are left for a "
            f"step of {plan.concurrent_sequences} sequences"
        )
    if plan.setting.release.allocates_context:
        return (
            f"fits: {plan.replicas} per instance; the KV cache of all "
            f"{plan.context_length} tokens is allocated at start, and shared by "
            f"{plan.concurrent_sequences} slots; {where} has room for "
            f"{plan.kv_cache_tokens}{_range(plan)}"
        )
    return (
        f"fits: {plan.replicas} per instance; each has "
        f"{plan.kv_cache_room / GIB:.2f} GiB for KV cache on each accelerator: "
        f"{plan.kv_cache_tokens} tokens, {plan.concurrent_sequences} sequences of "
        f"{plan.context_length}{_range(plan)}"
    )


def _falls_short(plan: Plan) -> str:
    best = plan.best
    if not best.loads:
        short = -best.kv_cache_room / GIB
        before = " before any KV cache" if plan.setting.keeps_cache else ""
        return f"does not load: at best {short:.2f} GiB short{before}"
    if plan.setting.release.allocates_context:
        return (
            f"does not start: there is room for {best.kv_cache_tokens} tokens at best, "
            f"fewer than the {plan.context_length} whose cache is allocated"
        )
    return (
        f"loads, but its KV cache holds at best {best.kv_cache_tokens} tokens, fewer "
        f"than one sequence of {plan.context_length}"
    )


def _range(plan: Plan) -> str:
    expected, best = plan.expected, plan.best
    return (
        f"; expected are {expected.kv_cache_tokens} tokens, at best "
        f"{best.kv_cache_tokens}"
    )
