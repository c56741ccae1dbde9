"""
Choosing: every candidate is sized by queueing theory, the promising ones are simulated,
and the cheapest that keeps the objective comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.catalog.instances import priced_regions
from cdk_sagemaker_llm.choosing.answer import Answer, Choice, Sensitivity
from cdk_sagemaker_llm.choosing.candidates import Candidate, Result
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.scaling import scalings
from cdk_sagemaker_llm.choosing.setups import Refusal, Setup, setups, without_beaten
from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.simulation.running import run, suited_method
from cdk_sagemaker_llm.simulation.scenario import Method
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

Progress = Callable[[str, int, int], None]
"""
Called with what is being done, how much of it is done, and how much there is.
"""

# So many of the cheapest by estimate are simulated, one of each setup first.
_PLAYED = 5
_MORE = 4
# So many are simulated at most where none of those keeps the objective.
_MOST = 24
# So many at most are then played as ``simulate`` plays an app: request by request,
# where they are few.
_FINALISTS = 6
# A candidate that keeps the objective in fewer minutes than this less than it should is
# simulated all the same: the estimate is not that exact.
_CLOSE = 0.02
_FACTORS = (0.5, 2.0)
_OTHER_PRICE = 1.2


def choose(question: Question, *, progress: Progress | None = None) -> Answer:
    """
    Find the cheapest deployment that keeps a latency objective under some traffic.

    ``choose(Question(model="mistralai/Mistral-7B-v0.1", traffic=Constant(rate=5,
    lengths=Lengths(prompt=500, answer=150)), objective=Objective(ttft=1,
    tpot=0.05))).construct_call``

    Args:
        question: What it must do, and within which bounds it is looked for.

        progress: What is called now and then with how far it is.
            If omitted, nothing is.

    Raises:
        ValueError: If NumPy is missing, the catalogue does not have the model, or its
            context is too short for the requests.
    """
    raise_faults(kind_of("Question").faults("question", question))
    if find_spec("numpy") is None:
        raise ValueError(
            "choosing needs NumPy; install it with: "
            "pip install 'cdk-sagemaker-llm[simulate]'"
        )
    return _Search(question, progress or _silent).answer()


@dataclass(slots=True)
class _Found:
    candidate: Candidate
    estimate: Result
    played: Result | None = None
    is_final: bool = False

    @property
    def result(self) -> Result:
        return self.played or self.estimate

    @property
    def cost(self) -> float:
        cost = self.result.monthly_cost
        return float("inf") if cost is None else cost


class _Search:
    """
    One question, from its setups to its answer.
    """

    def __init__(self, question: Question, progress: Progress) -> None:
        self._question = question
        self._progress = progress
        self._load = Load.of(question)
        if not self._load.levels[-1]:
            raise ValueError(
                f"traffic must have requests, got none in {question.duration:g} s"
            )
        self._sizings: dict[tuple[ServiceTimes, float], Sizing] = {}
        self._setups, self._refusals = setups(question, self._load)
        self._played: list[_Found] = []

    def answer(self) -> Answer:
        question = self._question
        kept, beaten = without_beaten(self._setups)
        found = list(self._estimated(kept, self._load, is_told=True))
        priced = [one for one in found if one.candidate.setup.price is not None]
        self._play(priced)
        ranked = sorted(priced, key=self._rank)
        choices = self._choices(ranked)
        without = {
            id(one.candidate.setup): one
            for one in reversed(found)
            if one.candidate.setup.price is None and self._keeps(one.result)
        }
        unpriced = [
            Choice(
                candidate=one.candidate,
                result=one.result,
                reason="its price is not known; give it with --prices",
            )
            for one in reversed(without.values())
        ]
        best = ranked[0] if ranked and not choices[0].reason else None
        return Answer(
            question=question,
            choices=choices,
            unpriced=unpriced,
            refusals=[*self._refusals, *beaten, *self._hopeless(kept)],
            sensitivity=list(self._sensitivity(kept, best)) if best else [],
            notes=list(self._notes(best)),
        )

    def _sizing(self, setup: Setup, load: Load) -> Sizing:
        key = setup.times, load.levels[-1]
        if key not in self._sizings:
            self._sizings[key] = Sizing(setup.times, load, self._question.objective)
        return self._sizings[key]

    def _estimated(
        self, kept: Sequence[Setup], load: Load, *, is_told: bool = False
    ) -> Iterator[_Found]:
        question = self._question
        for number, setup in enumerate(kept):
            if is_told:
                self._progress("sizing", number, len(kept))
            sizing = self._sizing(setup, load)
            by = setup.copies if setup.shares else 1
            for scaling in scalings(
                sizing, setup.start_seconds, to_zero=question.scale_to_zero, by=by
            ):
                if scaling.least == 0 and not setup.shares:
                    continue
                candidate = Candidate(setup=setup, scaling=scaling)
                yield _Found(candidate, candidate.estimate(sizing, question))

    def _keeps(self, result: Result) -> bool:
        return result.kept >= self._question.objective.share

    def _rank(self, one: _Found) -> tuple[object, ...]:
        """
        Those that keep the objective first, by cost; equal ones by what is simpler.
        """
        result, budget = one.result, self._question.budget
        over = budget is not None and one.cost > budget
        keeps = self._keeps(result)
        candidate = one.candidate
        return (
            one.played is None or not keeps or over,
            not keeps or over,
            one.cost if keeps else -result.kept,
            # Whose answers are the model's own.
            candidate.setup.model != self._question.model,
            candidate.setup.shares,
            not candidate.scaling.is_fixed,
            # Of what costs nothing, as little as will do.
            round(result.instance_hours, 6),
            result.ttft[1] + result.tpot[1],
            candidate.name,
        )

    def _play(self, priced: Sequence[_Found]) -> None:
        """
        Simulate the cheapest by estimate, until one is found that keeps the objective
        and nothing that is left can be cheaper; then the finalists as ``simulate``
        plays their apps.
        """
        near = self._question.objective.share - _CLOSE
        hopeful = sorted(
            (one for one in priced if one.estimate.kept >= near), key=self._rank
        )
        chosen = list(_spread_over(hopeful, _PLAYED))
        rest = [one for one in hopeful if one not in chosen]
        total = len(chosen) + _FINALISTS
        for number, one in enumerate(chosen):
            self._progress("simulating", number, total)
            self._play_one(one, "aggregate")
        for one in rest[:_MORE]:
            good = [each.cost for each in chosen if self._is_good(each)]
            if good and min(good) <= one.cost:
                break
            self._play_one(one, "aggregate")
            chosen.append(one)
        finals = 0
        while chosen:
            first = min(chosen, key=self._rank)
            if not self._is_good(first):
                other = self._next(rest, chosen)
                if other is None:
                    break
                self._play_one(other, "aggregate")
                chosen.append(other)
                continue
            if first.is_final or finals == _FINALISTS:
                break
            self._progress("simulating", total - _FINALISTS + finals, total)
            method = suited_method(first.candidate.scenario(self._question))
            if method != "aggregate":
                self._play_one(first, method)
            first.is_final = True
            finals += 1
        self._progress("simulating", total, total)

    def _next(self, rest: Sequence[_Found], chosen: Sequence[_Found]) -> _Found | None:
        """
        Return what to simulate where nothing that was keeps the objective.
        """
        if len(chosen) >= _MOST:
            return None
        # What loses requests while it wakes does so with any target.
        hopeful = (
            one
            for one in rest
            if one not in chosen and not any(_sleep_alike(one, it) for it in chosen)
        )
        return next(hopeful, None)

    def _is_good(self, one: _Found) -> bool:
        return one.played is not None and self._keeps(one.played)

    def _play_one(self, one: _Found, method: Method) -> None:
        question, candidate = self._question, one.candidate
        if one.played is None:
            self._played.append(one)
        outcome = run(candidate.scenario(question), method)
        sizing = self._sizing(candidate.setup, self._load)
        one.played = candidate.judge(outcome, sizing)

    def _choices(self, ranked: Sequence[_Found]) -> list[Choice]:
        best = ranked[0] if ranked and self._is_good(ranked[0]) else None
        front = _front([one for one in ranked if self._is_good(one)])
        return [
            Choice(
                candidate=one.candidate,
                result=one.result,
                reason=self._reason(one, best),
                is_on_front=id(one) in front,
            )
            for one in ranked
        ]

    def _reason(self, one: _Found, best: _Found | None) -> str:
        result, budget = one.result, self._question.budget
        if not self._keeps(result):
            return _missed(result, self._question)
        if budget is not None and one.cost > budget:
            return (
                f"it costs {one.cost:,.0f} $ a month, over the budget of {budget:,.0f}"
            )
        if best is None:
            return "it was not simulated"
        return "" if one is best else _beaten(one, best)

    def _hopeless(self, kept: Sequence[Setup]) -> Iterator[Refusal]:
        for setup in kept:
            sizing = self._sizing(setup, self._load)
            if sizing.least(self._load.peak(self._question.objective.share)) is None:
                why, group, miss = sizing.obstacle()
                yield Refusal(f"{setup.model} on {setup.words}", why, group, miss)

    def _sensitivity(
        self, kept: Sequence[Setup], best: _Found
    ) -> Iterator[Sensitivity]:
        for factor in _FACTORS:
            load = Load.of(self._question, factor)
            floor = best.cost if factor > 1 else 0.0
            yield self._other(f"{factor:g} times the load", kept, best, load, floor)
        setup = best.candidate.setup
        dearer = [
            replace(one, price=one.price * _OTHER_PRICE)
            if one.price is not None and one.instance_type == setup.instance_type
            else one
            for one in kept
        ]
        what = f"{setup.instance_type} at {_OTHER_PRICE:g} times its price"
        floor = best.cost * _OTHER_PRICE
        yield self._other(what, dearer, best, self._load, floor)
        for number, (end, floor) in enumerate((("quick", 0.0), ("slow", best.cost))):
            if setup.times.spread is not None:
                stretched = [_stretched(one, number) for one in kept]
                what = f"service times at the {end} end of their interval"
                yield self._other(what, stretched, best, self._load, floor)

    def _other(
        self, what: str, kept: Sequence[Setup], best: _Found, load: Load, floor: float
    ) -> Sensitivity:
        """
        Return what would be chosen; ``floor`` is what the best costs then, where things
        are no easier than now, else 0.
        """
        found = [
            one
            for one in self._estimated(kept, load)
            if one.candidate.setup.price is not None
            and self._keeps(one.estimate)
            and self._is_credible(one, best, is_easier=not floor)
        ]
        if not found:
            return Sensitivity(
                what=what, candidate=None, monthly_cost=None, is_same=False
            )
        first = min(found, key=self._rank)
        own, other = best.candidate, first.candidate
        is_best = _deployment(other) == _deployment(own)
        return Sensitivity(
            what=what,
            candidate=other,
            monthly_cost=max(first.cost, floor) if is_best else first.cost,
            is_same=_kind(own.setup) == _kind(other.setup),
        )

    def _is_credible(self, one: _Found, best: _Found, *, is_easier: bool) -> bool:
        """
        Whether no simulation speaks against an estimate.
        """
        candidate, same = one.candidate, _deployment
        if is_easier:
            if candidate.scaling.is_fixed:
                return True
            # Fewer requests are no easier to follow, as they come and go likewise.
            same = _way
        else:
            if same(candidate) == same(best.candidate):
                return True
            # What keeps a harder objective keeps this one, and nothing for less does.
            if self._usual_cost(one) < self._usual_cost(best):
                return False
        alike = [it for it in self._played if same(it.candidate) == same(candidate)]
        return not alike or any(map(self._is_good, alike))

    def _usual_cost(self, one: _Found) -> float:
        price = self._question.price(one.candidate.setup.instance_type)
        return one.result.instance_hours * (price or 0.0)

    def _notes(self, best: _Found | None) -> Iterator[str]:
        yield from self._question.speedups.notes()
        if best is not None:
            times = best.candidate.setup.times
            if times.is_estimate:
                yield f"the service times are an estimate: {times.source}"
            if best.candidate.setup.model != self._question.model:
                yield (
                    f"{best.candidate.setup.model} is a quantized copy, whose answers "
                    "differ: compare them with the model's before you deploy it"
                )
            traffic, scaling = self._question.traffic, best.candidate.scaling
            if scaling.hours and getattr(traffic, "weekend", 1.0) != 1:
                yield (
                    "the hours are those of every day: on Saturdays and Sundays as "
                    "much runs as on other days"
                )
            kind = best.candidate.setup.instance_type
            if not priced_regions(kind):
                yield (
                    f"whether {self._question.region} offers {kind} is not known; ask "
                    "with sagemaker-llm preflight"
                )


def _spread_over(hopeful: Sequence[_Found], count: int) -> Iterator[_Found]:
    """
    Give the first of each setup, up to so many, and the first of each kind of scaling
    of the very first.
    """
    if not hopeful:
        return
    first = _kind(hopeful[0].candidate.setup)
    seen: set[object] = set()
    for one in hopeful:
        kind: object = _kind(one.candidate.setup)
        if kind == first:
            scaling = one.candidate.scaling
            kind = kind, scaling.target is None, scaling.hours is None
        if kind not in seen:
            seen.add(kind)
            yield one
        if len(seen) == count:
            return


def _front(good: Sequence[_Found]) -> set[int]:
    """
    Return which of some no other beats in both cost and time to the first token.
    """
    found, quickest = set(), float("inf")
    for one in sorted(good, key=lambda each: (each.cost, each.result.ttft[1])):
        if one.result.ttft[1] < quickest:
            quickest = one.result.ttft[1]
            found.add(id(one))
    return found


def _beaten(one: _Found, best: _Found) -> str:
    """
    Say why one that keeps the objective is not the best.
    """
    result, more = one.result, one.cost - best.cost
    if more > 0:
        faster = result.ttft[1] < best.result.ttft[1]
        gain = ", for a sooner first token" if faster else ""
        return f"it costs {more:,.0f} $ a month more{gain}"
    if one.played is None:
        return "it costs as much or less by estimate, and was not simulated"
    if one.candidate.setup.model != best.candidate.setup.model:
        return "it costs the same, and its answers are not the model's own"
    return (
        f"it costs the same, with 95 % of first tokens within {result.ttft[1]:.2f} s, "
        f"not {best.result.ttft[1]:.2f}"
    )


def _missed(result: Result, question: Question) -> str:
    aim = question.objective
    text = f"it keeps the objective in {result.kept:.1%} of the minutes"
    if result.lost >= 1:
        text += f" and loses {result.lost:,.0f} requests"
    return f"{text}, {aim.share:.1%} are asked for"


def _sleep_alike(one: _Found, other: _Found) -> bool:
    """
    Whether both are of the same setup, and nothing of either need run.
    """
    both = one.candidate, other.candidate
    return both[0].setup is both[1].setup and not any(it.scaling.least for it in both)


def _stretched(setup: Setup, end: int) -> Setup:
    times = setup.times
    if times.spread is None:
        return setup
    return replace(setup, times=times.stretched(times.spread[end]))


def _kind(setup: Setup) -> tuple[object, ...]:
    return (
        setup.model,
        setup.engine,
        setup.instance_type,
        setup.degree,
        setup.shares,
    )


def _deployment(candidate: Candidate) -> tuple[object, ...]:
    return *_kind(candidate.setup), candidate.scaling


def _way(candidate: Candidate) -> tuple[object, ...]:
    """
    Return a setup and what its copies follow, however many they are.
    """
    scaling = candidate.scaling
    return *_kind(candidate.setup), scaling.hours is None, scaling.least == 0


def _silent(what: str, done: int, total: int) -> None:
    pass
