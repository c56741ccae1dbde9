"""
Checks of what a serving configuration asks of the memory against what there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, Demand, Words
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.cache import frees_windows, token_bytes
from cdk_sagemaker_llm.fit.memory import longest_sequence
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.fit.releases import Case
from cdk_sagemaker_llm.fit.setting import GIB
from cdk_sagemaker_llm.text import counted

_ARITHMETIC = "the plan's arithmetic"
DOES_NOT_LOAD = Rule(
    "LLM190", "the model's weights do not load on the accelerators", _ARITHMETIC
)
CANNOT_BE_SPLIT = Rule(
    "LLM191", "the model's heads cannot be split over a copy's accelerators", "vLLM"
)
REFUSES_TO_START = Rule(
    "LLM194",
    "the engine refuses the longest sequence when it starts",
    "vLLM, kv_cache_utils; llama.cpp, llama_kv_cache",
)
HOLDS_NO_SEQUENCE = Rule(
    "LLM290", "the KV cache holds less than one whole sequence", _ARITHMETIC
)
HOLDS_NO_BATCH = Rule(
    "LLM291", "the KV cache holds less than the batch that is promised", _ARITHMETIC
)
MAY_NOT_LOAD = Rule("LLM292", "the model may not load on the accelerators", _ARITHMETIC)

# The serving configuration's own codes for a degree that cannot be.
_SPLITTING = frozenset({"LLM154", "LLM156", "LLM516", "LLM517"})


class NoPlan(NamedTuple):
    """
    Why there is no plan, in the user's words, and what would help; empty if nothing
    would.
    """

    reason: str
    remedy: str = ""


_UNKNOWN_SIZE = NoPlan(
    "the size of the model is not known",
    "give the model architecture=ModelArchitecture.from_config(...)",
)
_UNKNOWN_TYPE = NoPlan("the instance type is known only at deployment")
_UNKNOWN_TYPE_OF_FILE = NoPlan(
    "the type of the GGUF file's weights is not known",
    "name the file such as model-Q4_K_M.gguf",
)
_NOT_MODELLED = NoPlan(
    "how much memory the serving configuration takes is not modelled"
)


def plan_of(
    demand: Demand | None,
    hardware: InstanceType | None,
    accelerators: int | None = None,
    *,
    assumptions: Assumptions | None = None,
) -> Plan | NoPlan:
    """
    Plan a configuration, or say why that cannot be done.

    Without a number of accelerators each copy has as many as the plan finds to be
    needed; what is left out of the assumptions is what the configuration says.

    Raises:
        ValueError: If the assumptions are out of range.
    """
    if assumptions is not None:
        assumptions.hold_ranges()
    missing = _missing(demand, hardware)
    if missing or demand is None or demand.architecture is None or hardware is None:
        return missing or _NOT_MODELLED
    context = demand.context_length
    # Longer contexts than the model's own are what RoPE scaling is for.
    longest = max(context or 0, demand.architecture.context_length)
    try:
        return plan(
            replace(demand.architecture, context_length=longest),
            hardware,
            weight_bits=demand.weight_bits,
            context_length=context,
            tensor_parallel_degree=demand.tensor_parallel_degree or accelerators,
            assumptions=_merged(assumptions, demand.assumptions),
            engine=demand.engine,
            engine_version=demand.engine_version,
            gguf_type=demand.gguf_type,
            draft=demand.draft,
        )
    except ValueError as fault:
        return NoPlan(str(fault))


def _missing(demand: Demand | None, hardware: InstanceType | None) -> NoPlan | None:
    """
    Return what a plan still needs to know; ``None`` if everything is known.
    """
    if hardware is None:
        return _UNKNOWN_TYPE
    if demand is None:
        return _NOT_MODELLED
    if demand.architecture is None:
        return _UNKNOWN_SIZE
    if demand.engine == "llama.cpp" and demand.gguf_type is None:
        return _UNKNOWN_TYPE_OF_FILE
    context, degree = demand.context_length, demand.tensor_parallel_degree
    for count, words in (
        (context, f"the longest sequence that is accepted is of {context!r} tokens"),
        (degree, f"a copy is split over {degree!r} devices"),
    ):
        if not _is_count(count):
            return NoPlan(words)
    return None


def _merged(overrides: Assumptions | None, assumptions: Assumptions) -> Assumptions:
    """
    Let what is given go before what the configuration says.
    """
    usual = Assumptions()
    values = {one.name: getattr(overrides or usual, one.name) for one in fields(usual)}
    changed = {n: value for n, value in values.items() if value != getattr(usual, n)}
    return replace(assumptions, **changed)


def _is_count(value: object) -> bool:
    """
    Whether it is left out, or a whole number of at least 1; what it is else is told
    by the checks of the configuration.
    """
    if value is None:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def fit_findings(
    found: Plan | NoPlan, demand: Demand | None, findings: Iterable[Finding] = ()
) -> list[Finding]:
    """
    Check that the model can be split over the devices, that its weights load, and that
    the cache holds one whole sequence and the batch.

    What fails even in the best case is an error; what fails in the expected case is a
    warning. What was found of the configuration alone is not said twice.
    """
    if isinstance(found, NoPlan) or demand is None:
        return []
    if found.obstacle:
        codes = _SPLITTING & {finding.code for finding in findings}
        return [] if codes else [_cannot_be_split(found, demand)]
    if not found.best.loads:
        return [_does_not_load(found, demand.spoken)]
    return _holding_findings(found, demand)


def _holding_findings(found: Plan, demand: Demand) -> list[Finding]:
    release = found.setting.release
    refuses = release.refuses_long_sequences or release.allocates_context
    # A length that was written keeps the engine from starting, whatever the luck.
    if refuses and demand.context_length is not None and not found.best.fits:
        return [_refuses_to_start(found, demand.spoken)]
    if not found.expected.loads:
        return [_may_not_load(found, demand.spoken)]
    if not found.expected.fits:
        return [_holds_no_sequence(found, demand.spoken)]
    return _batch_findings(found, demand)


def _cannot_be_split(found: Plan, demand: Demand) -> Finding:
    degree, hardware = found.tensor_parallel_degree, found.instance_type
    possible = [
        str(one)
        for one in found.architecture.tensor_parallel_degrees
        if one <= hardware.accelerators and _splits_draft(found, one)
    ]
    word = demand.spoken.degree
    if demand.engine == "llama.cpp":
        # It splits layers, over as many as there are.
        possible = [str(hardware.accelerators or 1)]
    elif demand.engine == "tei":
        possible = ["1"]
    remedy = f"set {word} to {' or '.join(possible) or '1'}"
    if demand.tensor_parallel_degree is None:
        message = f"a copy has {counted(degree, 'accelerator')}"
    else:
        message = f"{word} is {degree}"
    is_of_heads = degree <= hardware.accelerators and found.setting.release.keeps_cache
    is_of_heads = is_of_heads and not found.obstacle.endswith("draft model")
    of_model = f" of {found.architecture.architecture}" if is_of_heads else ""
    return CANNOT_BE_SPLIT.finding(f"{message}, and {found.obstacle}{of_model}", remedy)


def _splits_draft(found: Plan, degree: int) -> bool:
    drafts = found.setting.draft
    # One that is on one accelerator stays there.
    if drafts is None or drafts.degree != found.tensor_parallel_degree:
        return True
    return degree in drafts.architecture.tensor_parallel_degrees


def _way_out(found: Plan, words: Words) -> str:
    degree = found.tensor_parallel_degree
    roomy = _planned(found, found.assumptions)
    if roomy.fits and roomy.tensor_parallel_degree > degree:
        return f"set {words.degree} to {roomy.tensor_parallel_degree}"
    share = found.assumptions.gpu_memory_utilization
    usual = replace(found.assumptions, gpu_memory_utilization=None)
    if share is not None and _planned(found, usual, degree).fits:
        return f"raise {words.share} from {share:g}"
    return "use a larger instance type or a quantized model"


def _planned(found: Plan, taken: Assumptions, degree: int | None = None) -> Plan:
    # TEI's bits follow from the hardware, and may be given again all the same.
    return plan(
        found.architecture,
        found.instance_type,
        weight_bits=found.setting.weight_bits,
        context_length=found.context_length,
        tensor_parallel_degree=degree,
        assumptions=taken,
        engine=found.engine,
        engine_version=found.engine_version,
        gguf_type=found.setting.gguf_type,
        draft=found.draft,
    )


def _on(found: Plan, words: Words) -> str:
    degree = found.tensor_parallel_degree
    if found.is_on_host:
        return f"{found.instance_type}"
    if found.setting.release.splits_layers or not found.setting.release.keeps_cache:
        count = counted(degree, "accelerator")
        return f"{count} of {found.instance_type}"
    return f"{found.instance_type} with {words.degree} {degree}"


def _does_not_load(found: Plan, words: Words) -> Finding:
    terms = found.best.terms
    return DOES_NOT_LOAD.finding(
        f"{found.architecture.architecture} does not load on {_on(found, words)}: "
        f"at best {_gib(terms.fixed + terms.cuda_graphs)} GiB of "
        f"{_gib(found.capacity)} GiB {_each(found)}{_before(found)} "
        f"(weights {_gib(terms.weights)} GiB)",
        f"{_way_out(found, words)}; `sagemaker-llm plan` shows the arithmetic, and "
        "assumptions=Assumptions(...) overrides it",
    )


def _may_not_load(found: Plan, words: Words) -> Finding:
    short = -found.expected.kv_cache_room
    for_it = " for it" if found.setting.keeps_cache else ""
    return MAY_NOT_LOAD.finding(
        f"{found.architecture.architecture} may not load on {_on(found, words)}: "
        f"expected are {_gib(short)} GiB too little {_each(found)}{_before(found)}, "
        f"at best {_gib(found.best.kv_cache_room)} GiB are left{for_it}",
        f"{_way_out(found, words)}, or pass assumptions=Assumptions(...) with what was "
        "measured",
    )


def _each(found: Plan) -> str:
    return "of the host" if found.is_on_host else "per accelerator"


def _before(found: Plan) -> str:
    return " before any KV cache" if found.setting.keeps_cache else ""


def _refuses_to_start(found: Plan, words: Words) -> Finding:
    length = f"sequences of {found.context_length}"
    if found.setting.release.allocates_context:
        length = f"a context of {found.context_length}"
    return REFUSES_TO_START.finding(
        f"{words.engine} does not start with {length} tokens on "
        f"{_on(found, words)}: its KV cache holds at best "
        f"{_longest(found, Case.BEST)}",
        f"{_shorter(found, words)}, or {_way_out(found, words)}",
    )


def _holds_no_sequence(found: Plan, words: Words) -> Finding:
    tokens, rest = _longest(found, Case.EXPECTED), ""
    if found.setting.release.reserve is not None:
        # tp_worker.py: max_req_len is the smaller of the context and the pool.
        rest = f"; {words.engine} starts all the same, and refuses longer requests"
    return HOLDS_NO_SEQUENCE.finding(
        f"the KV cache is expected to hold {tokens} tokens on {_on(found, words)}, "
        f"fewer than one sequence of {found.context_length}{rest}",
        f"{_shorter(found, words)}, or {_way_out(found, words)}",
    )


def _longest(found: Plan, case: Case) -> int:
    """
    Return the tokens that there is room for: of one sequence where it takes less than
    as many of several.
    """
    outcome = found.best if case is Case.BEST else found.expected
    if not frees_windows(found.setting):
        return outcome.kv_cache_tokens
    return longest_sequence(found.setting, case, outcome)


def _shorter(found: Plan, words: Words) -> str:
    tokens = found.largest_context or _longest(found, Case.EXPECTED)
    return f"set {words.context} to {tokens or 'fewer tokens'}"


def _batch_findings(found: Plan, demand: Demand) -> list[Finding]:
    tokens, held = demand.batch_tokens, found.expected
    if tokens is None or tokens <= held.kv_cache_tokens:
        return []
    needed = tokens * token_bytes(found.setting)
    return [
        HOLDS_NO_BATCH.finding(
            f"a batch of {tokens} tokens takes {_gib(needed)} GiB per accelerator, and "
            f"{_gib(held.kv_cache_room)} GiB are expected to be left for it",
            f"keep {demand.spoken.batch} at {found.kv_cache_tokens}",
        )
    ]


def _gib(value: int) -> str:
    return f"{value / GIB:.2f}"
