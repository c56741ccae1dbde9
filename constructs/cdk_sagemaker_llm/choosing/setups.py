"""
Where and how one copy of a model can run: instance types, engines, quantized copies of
the model, and over how many accelerators it is split.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.checkpoints import quantized_copies
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    accelerated_type_names,
    find_instance_type,
    priced_regions,
)
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Engine, Question
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving.engines.sglang import Sglang
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from cdk_sagemaker_llm.serving.images import instance_findings
from cdk_sagemaker_llm.serving.lmi.vllm import LmiVllm
from cdk_sagemaker_llm.serving.parameters import gated_findings
from cdk_sagemaker_llm.serving.support_check import check_support
from cdk_sagemaker_llm.simulation.fleet import start_seconds
from cdk_sagemaker_llm.simulation.service.estimate import estimate_service_times
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

Serving = Vllm | LmiVllm | Sglang
_NO_GPUS = ("ml.inf", "ml.trn", "ml.dl")
_SHORTEST_CONTEXT, _STEP_OF_CONTEXT = 2048, 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """
    What one copy is, and where it runs.

    Args:
        model: The model's name on the Hub, or that of a quantized copy.

        engine: The engine.

        serving: Its configuration.

        plan: How the copy fits.

        times: What it takes for requests.

        price: US dollars an hour of an instance; ``None`` if not known.

        copies: How many an instance holds; one has all of its accelerators.

        shares: Whether it is an inference component, of which an instance holds
            several, and which may go to zero.
    """

    model: str
    engine: Engine
    serving: Serving
    plan: Plan
    times: ServiceTimes
    price: float | None
    copies: int = 1
    shares: bool = False

    @property
    def instance_type(self) -> str:
        """
        The type's API name.
        """
        return self.plan.instance_type.name

    @property
    def degree(self) -> int:
        """
        Over how many accelerators a copy is split.
        """
        return self.plan.tensor_parallel_degree

    @property
    def start_seconds(self) -> float:
        """
        What a copy takes to start, with its image there.
        """
        return start_seconds(self.plan.architecture.weight_bytes())

    @property
    def words(self) -> str:
        """
        Say it in a few words.
        """
        split = f", split over {self.degree}" if self.degree > 1 else ""
        beside = f", {self.copies} an instance" if self.copies > 1 else ""
        return f"{self.instance_type}, {self.engine}{split}{beside}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    What cannot run, and why.

    Args:
        what: The setup.

        why: The reason.

        group: What it has in common with others of other figures. If omitted, another
            setup stands for it, with reasons of its own.

        miss: By how much it misses, among those of its group.
    """

    what: str
    why: str
    group: str = ""
    miss: float = 0.0


def setups(question: Question, load: Load) -> tuple[list[Setup], list[Refusal]]:
    """
    Return every setup of a question, and why others are none.
    """
    found: list[Setup] = []
    refused: list[Refusal] = []
    names = [question.model]
    if question.quantized and question.architecture is None:
        names += quantized_copies(question.model)
    for name in names:
        architecture = question.architecture or ModelArchitecture.of(name)
        if not architecture.kv_elements_per_token:
            raise ValueError(
                f"model must write text, which {name} does not; sagemaker-llm plan "
                "ranks the types that it fits"
            )
        context = _context(architecture, load, question.context_length or 1)
        for engine in question.engines:
            for kind in _types(question):
                case = _Case(question, name, architecture, engine, kind, context)
                for one in case.setups(load):
                    if isinstance(one, Setup):
                        found.append(one)
                    else:
                        refused.append(one)
    return found, refused


@dataclass(frozen=True, slots=True)
class _Case:
    """
    A model with an engine on an instance type.
    """

    question: Question
    model: str
    architecture: ModelArchitecture
    engine: Engine
    hardware: InstanceType
    context: int

    def setups(self, load: Load) -> Iterator[Setup | Refusal]:
        what = f"{self.model} with {self.engine} on {self.hardware}"
        why = self._refusal()
        if why is not None:
            yield Refusal(what, *why)
            return
        shorts = []
        count = self.hardware.accelerators
        is_there = False
        for degree in self._degrees():
            found = self._plan(degree)
            if not found.fits:
                missing = -found.kv_cache_room / found.capacity
                shorts.append((missing, f"it does not fit, by {found.limit}"))
                continue
            try:
                times = self._times(found, load)
            except ValueError as fault:
                yield Refusal(what, str(fault), str(fault))
                return
            copies = count // degree
            is_there = True
            for shares in {copies > 1, copies > 1 or self.question.scale_to_zero}:
                yield Setup(
                    model=self.model,
                    engine=self.engine,
                    serving=serving_of(self.engine, degree, self.context),
                    plan=found,
                    times=self.question.speedups.applied(times),
                    price=self.question.price(self.hardware.name),
                    copies=copies,
                    shares=shares,
                )
        if not is_there:
            heads = 0.0, "its heads cannot be split over the GPUs"
            miss, why_not = min(shorts, default=heads)
            yield Refusal(what, why_not, why_not, miss)

    def _degrees(self) -> list[int]:
        count = self.hardware.accelerators
        return [
            degree
            for degree in self.architecture.tensor_parallel_degrees
            if degree <= count and degree & (degree - 1) == 0 and count % degree == 0
        ]

    def _refusal(self) -> tuple[str, str] | None:
        """
        Return why the type or the engine is out of question, and the kind of reason.
        """
        region, known = self.question.region, self.question.architecture
        regions = priced_regions(self.hardware.name)
        if regions and region not in regions:
            why = f"AWS's price list has it for no endpoint in {region}"
            return why, why
        found = _findings(
            self.model, known, self.engine, self.hardware.name, self.context
        )
        return (found[0].message, found[0].code) if found else None

    def _plan(self, degree: int) -> Plan:
        return plan(
            self.architecture,
            self.hardware,
            context_length=self.context,
            tensor_parallel_degree=degree,
            engine="sglang" if self.engine == "sglang" else "vllm",
            engine_version=_release(self.engine),
        )

    def _times(self, found: Plan, load: Load) -> ServiceTimes:
        same = (
            one.times
            for one in self.question.measured
            if one.model.lower() == self.model.lower()
            and one.instance_type == self.hardware.name
            and one.accelerators == found.tensor_parallel_degree
        )
        measured = next(same, None)
        if measured is not None:
            return measured
        return estimate_service_times(
            found, prompt_tokens=load.prompt, answer_tokens=load.answer
        )


def without_beaten(found: Sequence[Setup]) -> tuple[list[Setup], list[Refusal]]:
    """
    Leave out setups that others beat whatever the load: the same GPUs with the same
    times at a lower price, or under an engine that comes before.
    """
    first: dict[object, Setup] = {}
    beaten = []
    by_price = sorted(
        enumerate(found),
        key=lambda pair: (pair[1].price is None, pair[1].price or 0.0, pair[0]),
    )
    for _, setup in by_price:
        times = setup.times
        # The room in the cache differs a little by what is known of each engine.
        pace = times.decode, times.prompt_seconds_per_token, times.max_sequences
        key: tuple[object, ...] = (pace, setup.copies, setup.shares)
        if setup.price is None:
            key = (*key, setup.instance_type)
        other = first.setdefault(key, setup)
        if other is not setup:
            copy = "" if other.model == setup.model else f"{other.model} on "
            why = f"{copy}{other.words} has the same times"
            if setup.price != other.price:
                why += f" for {other.price:g} $ an hour, not {setup.price:g}"
            beaten.append(Refusal(f"{setup.model} on {setup.words}", why))
    kept = set(map(id, first.values()))
    return [one for one in found if id(one) in kept], beaten


def serving_of(engine: Engine, degree: int, context: int) -> Serving:
    """
    Configure an engine to split a model over so many accelerators.
    """
    if engine == "vllm":
        return Vllm(tensor_parallel_size=degree, max_model_len=context)
    if engine == "lmi-vllm":
        return LmiVllm(tensor_parallel_degree=degree, max_model_len=context)
    return Sglang(tp_size=degree, context_length=context)


@functools.cache
def _release(engine: Engine) -> str | None:
    if engine == "lmi-vllm":
        # What a simulation of the app reads of LMI's images: not their vLLM.
        return None
    demand = serving_of(engine, 1, _SHORTEST_CONTEXT).prepare(None, None).demand
    return None if demand is None else demand.engine_version


@functools.lru_cache(maxsize=4096)
def _findings(
    model: str,
    architecture: ModelArchitecture | None,
    engine: Engine,
    instance_type: str,
    context: int,
) -> tuple[Finding, ...]:
    """
    Find what speaks against an engine there, warnings included: what is chosen is to
    be synthesised without any.
    """
    source = HuggingFaceModel(model, architecture=architecture)
    prepared = serving_of(engine, 1, context).prepare(source, 1)
    without_token = gated_findings(model, has_token=False)
    found = [one for one in prepared.findings if one not in without_token]
    if prepared.container is not None:
        hardware = find_instance_type(instance_type)
        found += instance_findings(hardware, prepared.container.image)
    demand = prepared.demand
    if demand is not None and demand.engine_version is not None:
        found += check_support(
            architecture or model,
            engine="sglang" if engine == "sglang" else "vllm",
            release=demand.engine_version,
            instance_type=instance_type,
        )
    return tuple(found)


def _types(question: Question) -> list[InstanceType]:
    names = question.instance_types or tuple(
        name for name in accelerated_type_names() if not name.startswith(_NO_GPUS)
    )
    return [find_instance_type(name) for name in names]


def _context(architecture: ModelArchitecture, load: Load, least: int) -> int:
    most = architecture.context_length
    if load.longest > most:
        raise ValueError(
            f"requests must fit the model's {most} tokens of context, got prompts and "
            f"answers of up to {load.longest} tokens together"
        )
    steps = math.ceil(load.longest / _STEP_OF_CONTEXT)
    return min(max(steps * _STEP_OF_CONTEXT, _SHORTEST_CONTEXT, least), most)
