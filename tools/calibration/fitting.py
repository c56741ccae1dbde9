"""
Fitting the constants to measurements: least squares in logarithms, in which an outlier
counts little, each constant is held by what the hardware's data sheets and engines'
code make likely, and each source has an offset of its own, so that one slow host does
not bend what all share.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cdk_sagemaker_llm.simulation.service.performance import (
    Loaded,
    Served,
    at_rate,
    of_burst,
    of_users,
)
from cdk_sagemaker_llm.simulation.service.step import Copy, Step, factors, step_of
from tools.calibration.points import FIRST, THROUGHPUT, TOKEN, Point

Array = npt.NDArray[np.float64]
KINDS = (TOKEN, FIRST, THROUGHPUT)
ENDPOINT = "request:endpoint"

# Of each constant, what is likely, and by what factor it may well be off (a standard
# deviation in logarithms). Shares of nameplate figures are about what kernels reach;
# seconds are what engines spend beside the GPU.
_PRIORS: Mapping[str, tuple[float, float]] = {
    "memory": (0.85, 0.1),
    "memory:16": (1.0, 0.05),
    "memory:fp8": (0.9, 0.2),
    "memory:w8a8": (0.9, 0.2),
    "memory:int8": (0.85, 0.2),
    "memory:int4": (0.75, 0.2),
    "memory:mxfp4": (0.7, 0.2),
    "memory:nvfp4": (0.7, 0.2),
    "arithmetic": (0.65, 0.15),
    "arithmetic:16": (1.0, 0.05),
    "arithmetic:fp8": (0.8, 0.3),
    "arithmetic:w8a8": (0.7, 0.3),
    "arithmetic:int8": (0.75, 0.3),
    "arithmetic:int4": (0.75, 0.3),
    "arithmetic:mxfp4": (1.0, 0.3),
    "arithmetic:nvfp4": (0.5, 0.3),
    "attention": (0.45, 0.4),
    "cache": (0.7, 0.2),
    "latency:nvlink": (8e-6, 0.4),
    "latency:pcie": (20e-6, 0.4),
    "link:nvlink": (0.5, 0.4),
    "link:pcie": (0.6, 0.3),
    "step:vllm-v0": (6e-3, 0.5),
    "step:vllm-v1": (2e-3, 0.5),
    "step:vllm-async": (1.2e-3, 0.5),
    "step:sglang": (1.5e-3, 0.5),
    "step:tgi": (8e-3, 0.5),
    "step:tensorrt-llm": (1e-3, 0.5),
    "step:tensorrt-llm-pytorch": (1e-3, 0.5),
    "sequence:vllm-v0": (6e-5, 0.7),
    "sequence:vllm-v1": (1.5e-5, 0.7),
    "sequence:vllm-async": (1e-5, 0.7),
    "sequence:sglang": (1e-5, 0.7),
    "sequence:tgi": (1e-4, 0.7),
    "sequence:tensorrt-llm": (5e-6, 0.7),
    "sequence:tensorrt-llm-pytorch": (5e-6, 0.7),
    "sequence:in-process": (5e-6, 0.5),
    "request:vllm-v0": (25e-3, 0.3),
    "request:vllm-v1": (12e-3, 0.3),
    "request:vllm-async": (12e-3, 0.3),
    "request:sglang": (15e-3, 0.3),
    "request:tgi": (20e-3, 0.3),
    "request:tensorrt-llm": (10e-3, 0.3),
    "request:tensorrt-llm-pytorch": (12e-3, 0.3),
    "request:in-process": (4e-3, 0.3),
    ENDPOINT: (12e-3, 0.3),
    "launch:vllm-v0": (0.2e-3, 0.5),
    "launch:vllm-v1": (0.12e-3, 0.5),
    "launch:vllm-async": (0.12e-3, 0.5),
    "launch:sglang": (0.4e-3, 0.5),
    "launch:tgi": (0.3e-3, 0.5),
    "launch:tensorrt-llm": (0.05e-3, 0.5),
    "launch:tensorrt-llm-pytorch": (0.15e-3, 0.5),
    "experts_memory": (0.65, 0.3),
    "experts_arithmetic": (0.5, 0.4),
    "likeness": (0.75, 0.2),
    "overlap": (2.5, 0.3),
    "layer": (1.2e-5, 0.5),
    "layer_experts": (3e-5, 0.5),
    **{
        f"experts:{generation}": (1.0, 0.4)
        for generation in (
            "vllm-v0",
            "vllm-v1",
            "vllm-async",
            "sglang",
            "tgi",
            "tensorrt-llm",
            "tensorrt-llm-pytorch",
        )
    },
    "layer_latent": (3e-5, 0.5),
    "layer_states": (1e-5, 0.5),
    "layer_eager": (1e-4, 0.5),
    "launch_experts": (0.15e-3, 0.6),
    "launch_latent": (0.3e-3, 0.8),
    "split": (0.5e-3, 0.5),
}
# Of a GPU that no prior names, how far it may be from the others.
_GPU_PRIORS = {"memory": (1.0, 0.12), "arithmetic": (1.0, 0.2)}
# Times to the first token hang on the client more than others; bursts' times between
# tokens on the order in which an engine takes its prompts.
_WEIGHTS = {TOKEN: 1.0, FIRST: 0.5, THROUGHPUT: 1.0}
_BURST_WEIGHT = 0.6
_ENOUGH = 12
# From longest answers of so many times the mean on, lengths are those of chats: of
# lengths that fall off exponentially the mean of the inverse is about so much more.
_VARIED, _SHORT = 2.0, 1.5
_PAGE_OFFSET, _PUBLISHER_OFFSET, _SOFT = 0.15, 0.05, 0.3
_STEP, _MOST_MOVE, _TRIES = 1e-4, 0.7, 8


class Sample:
    """
    Measurements in arrays, and what a set of constants predicts of them.
    """

    def __init__(self, points: Sequence[Point], names: Sequence[str]) -> None:
        self.points = points
        index = {name: number for number, name in enumerate(names)}
        self._endpoint = index[ENDPOINT]
        self.blocks = []
        for load in sorted({one.load for one in points}):
            where = [n for n, one in enumerate(points) if one.load == load]
            block = [points[n] for n in where]
            terms = [named(one) for one in block]
            gathered = {
                term: [
                    np.array([index[of[term][part]] for of in terms])
                    for part in range(len(terms[0][term]))
                ]
                for term in terms[0]
            }
            copy = Copy(
                **{
                    field.name: np.array(
                        [float(getattr(one.copy, field.name)) for one in block]
                    )
                    for field in dataclasses.fields(Copy)
                }  # type: ignore[arg-type]  # numbers, one a measurement
            )
            self.blocks.append((load, np.array(where), _Columns(block), gathered, copy))

    def predict(self, constants: Array) -> dict[str, Array]:
        """
        Return each kind of figure for each measurement; of several sets of constants,
        a row each.
        """
        shape = (*constants.shape[:-1], len(self.points))
        found = {kind: np.empty(shape) for kind in KINDS}
        for load, where, columns, gathered, copy in self.blocks:
            resolved: dict[str, Any] = {
                term: functools.reduce(np.multiply, [constants[..., i] for i in parts])
                for term, parts in gathered.items()
            }
            endpoint = constants[..., self._endpoint, None]
            more = cast("float", endpoint * columns.endpoint)
            loaded = _loaded(load, step_of(copy, resolved), columns, more)
            for kind, values in zip(KINDS, loaded, strict=True):
                found[kind][..., where] = values
        return found


class _Columns:
    def __init__(self, points: Sequence[Point]) -> None:
        def column(of: Callable[[Point], float]) -> float:
            # What computes has numbers, and takes arrays of them.
            return cast("float", np.array([float(of(one)) for one in points]))

        self.prompt = column(lambda one: one.prompt)
        self.computed = column(lambda one: one.computed)
        self.answer = column(lambda one: one.answer)
        self.longest = column(lambda one: one.longest)
        self.value = column(lambda one: one.value)
        self.most = column(lambda one: one.most)
        self.endpoint = column(lambda one: bool(one.settings.get("endpoint")))
        self.in_step = column(_is_in_step)
        self.between = column(lambda one: bool(one.settings.get("between_steps")))


def _is_in_step(point: Point) -> bool:
    if point.load == "users":
        return bool(point.settings.get("fixed"))
    # It works off all prompts first; other engines mix them with what is written.
    return point.kind.generation == "sglang" and point.longest == point.answer


def _loaded(
    load: str, step: Step, columns: _Columns, more: float
) -> tuple[float, float, float]:
    tokens = columns.prompt + columns.answer / 2
    prompt = step.prompt_seconds(columns.computed)
    alone = step.lone_prompt_seconds(columns.computed)
    served = Served(
        pace=lambda sequences: step.seconds(sequences, tokens),
        prompt=prompt,
        answer=columns.answer,
        overhead=step.request + more + np.maximum(alone - prompt, 0),
        most=columns.most,
        in_step=columns.in_step,
    )
    value = columns.value
    way = {"users": of_users, "rate": at_rate}.get(load, of_burst)
    found: Loaded = way(served, value)
    token, requests = found.token, found.requests
    if load == "burst":
        # Who asked for the longest answers writes on when all others are done.
        few = np.maximum(np.minimum(value, served.most) / 10, 1)
        rest = (columns.longest - served.answer) * served.pace(few)
        requests = value / (value / requests + rest)
        # Short answers among long ones are written while prompts are worked off, and
        # count as much as those in the average over requests.
        pace = served.pace(np.minimum(value, served.most))
        is_varied = columns.longest > _VARIED * served.answer
        token = token + is_varied * _SHORT * (token - pace)
    if load == "rate":
        busy = np.minimum(value * served.prompt, 0.97)
        token = token * (1 - columns.between * busy)
    return token, found.first, requests * served.answer


def named(point: Point) -> Mapping[str, Sequence[str]]:
    """
    Return the names of the constants that a measurement hangs on.
    """
    return factors(
        point.kind.gpu,
        point.kind.weight_format,
        point.kind.generation,
        by_pcie=point.link.kind == "pcie",
        in_process=bool(point.settings.get("in_process")),
    )


def names_of(points: Sequence[Point]) -> list[str]:
    """
    Return all constants: those with priors, and two for each GPU.
    """
    gpus = sorted({one.kind.gpu for one in points})
    return [*_PRIORS, *(f"{term}:{gpu}" for term in _GPU_PRIORS for gpu in gpus)]


def prior(name: str) -> tuple[float, float]:
    """
    Return what is likely of a constant, and how far it may be off.
    """
    return _PRIORS.get(name) or _GPU_PRIORS[name.partition(":")[0]]


class Fit:
    """
    Constants for a set of measurements.
    """

    def __init__(self, points: Sequence[Point], names: Sequence[str]) -> None:
        self.names = list(names)
        self._sample = Sample(points, names)
        rows = [
            (number, kind, value)
            for number, one in enumerate(points)
            for kind, value in one.measured.items()
        ]
        self._rows = np.array([number for number, _, _ in rows])
        self._kinds = [kind for _, kind, _ in rows]
        self._which = np.array([KINDS.index(kind) for kind in self._kinds])
        self._logs = np.log([value for _, _, value in rows])
        units = sorted({one.unit for one in points})
        groups = sorted({one.group for one in points})
        unit_of = [units.index(points[n].unit) for n in self._rows]
        group_of = [groups.index(points[n].group) for n in self._rows]
        self._count = len(units) + len(groups)
        # Which offsets each figure has: of its page, and of its publisher.
        self._has = np.zeros((len(rows), self._count))
        self._has[np.arange(len(rows)), unit_of] = 1.0
        self._has[np.arange(len(rows)), len(units) + np.array(group_of)] = 1.0
        self._loose = np.repeat(
            [_PAGE_OFFSET, _PUBLISHER_OFFSET], [len(units), len(groups)]
        )
        pairs = list(zip(unit_of, self._kinds, strict=True))
        many = Counter(pairs)
        self._weights = np.array(
            [
                _WEIGHTS[kind]
                * min(1.0, _ENOUGH / many[unit, kind])
                * (
                    _BURST_WEIGHT
                    if kind == TOKEN and points[number].load == "burst"
                    else 1.0
                )
                for number, (unit, kind) in zip(self._rows, pairs, strict=True)
            ]
        )
        # A slow source has longer times, and fewer tokens a second.
        self._signs = np.array([-1.0 if k == THROUGHPUT else 1.0 for k in self._kinds])
        self._likely = np.log([prior(name)[0] for name in names])
        self._doubt = np.array([prior(name)[1] for name in names])
        self.values = self._likely.copy()

    def errors(self, values: Array) -> Array:
        """
        Return the logarithms of predicted over measured.
        """
        found = self._sample.predict(np.exp(values))
        table = np.log(np.stack([found[kind] for kind in KINDS], axis=-1))
        errors: Array = table[..., self._rows, self._which] - self._logs
        return errors

    def run(self, rounds: int) -> Fit:
        """
        Fit, by Levenberg and Marquardt.
        """
        values = self._likely.copy()
        offsets, damping = np.zeros(self._count), 1e-2
        cost = self._cost(values, offsets)
        for _ in range(rounds):
            base = self.errors(values)
            slopes = np.zeros((len(base), len(values) + self._count))
            moved = self.errors(values + _STEP * np.eye(len(values)))
            slopes[:, : len(values)] = ((moved - base) / _STEP).T
            slopes[:, len(values) :] = -self._signs[:, None] * self._has
            is_better, gain = False, 0.0
            for _ in range(_TRIES):
                rest = base - self._signs * (self._has @ offsets)
                scaled = self._weights / _SOFT**2 / np.sqrt(1 + (rest / _SOFT) ** 2)
                holds = np.concatenate([1 / self._doubt**2, 1 / self._loose**2])
                away = np.concatenate([values - self._likely, offsets])
                curve = (slopes * scaled[:, None]).T @ slopes + np.diag(holds)
                curve += damping * np.diag(np.diag(curve))
                move = -np.linalg.solve(
                    curve, (slopes * scaled[:, None]).T @ rest + holds * away
                )
                move = np.clip(move, -_MOST_MOVE, _MOST_MOVE)
                tried = values + move[: len(values)], offsets + move[len(values) :]
                after = self._cost(*tried)
                if after < cost:
                    is_better, gain = True, cost - after
                    (values, offsets), cost = tried, after
                    damping = max(damping / 4, 1e-6)
                    break
                damping = damping * 5 + 1e-4
            if not is_better or gain < 1e-4 * cost:
                break
        self.values = values
        return self

    def constants(self) -> dict[str, float]:
        """
        Return what was found, by name.
        """
        return dict(zip(self.names, np.exp(self.values).tolist(), strict=True))

    def _cost(self, values: Array, offsets: Array) -> float:
        rest = self.errors(values) - self._signs * (self._has @ offsets)
        fit = np.sum(self._weights * 2 * (np.sqrt(1 + (rest / _SOFT) ** 2) - 1))
        far = np.sum(((values - self._likely) / self._doubt) ** 2)
        return float(fit + far + np.sum((offsets / self._loose) ** 2))
