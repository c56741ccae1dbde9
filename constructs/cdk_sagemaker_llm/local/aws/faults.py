"""
What goes wrong on request: capacity, containers, images, answers.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from cdk_sagemaker_llm.catalog.symptoms import symptoms
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.text import any_of, nearest

NO_CAPACITY = "no-capacity"
NEVER_HEALTHY = "never-healthy"
RESTARTS = "restarts"
NO_IMAGE = "no-image"
CANNOT_START = "cannot-start"
SLOW = "slow"
ERRORS = "errors"
MAINTENANCE = "maintenance"
QUOTA = "quota"
NOT_OFFERED = "not-offered"
PLAN_EXPIRED = "plan-expired"
KINDS = (
    NO_CAPACITY,
    NEVER_HEALTHY,
    RESTARTS,
    NO_IMAGE,
    CANNOT_START,
    SLOW,
    ERRORS,
    MAINTENANCE,
    QUOTA,
    NOT_OFFERED,
    PLAN_EXPIRED,
)
# Their target is an instance type.
_OF_TYPES = (NO_CAPACITY, QUOTA, NOT_OFFERED)

# What an answer can be instead of one: a status of the container, or of the service.
THROTTLED = "throttled"
CUT = "cut"
# What SageMaker calls them.
_A_TYPE = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9-]+")
_A_NAME = re.compile(r"[A-Za-z0-9](?:-*[A-Za-z0-9])*")
_FIRST_STATUS, _LAST_STATUS = 400, 599


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """
    One thing that goes wrong.

    ``Fault(kind="errors", target="my-endpoint", answer="503", rate=0.2)``

    Args:
        kind: ``no-capacity``, ``never-healthy``, ``restarts``, ``no-image``,
            ``cannot-start``, ``slow``, ``errors``, ``maintenance``, ``quota``,
            ``not-offered`` or ``plan-expired``.

        target: The endpoint, inference component or model it befalls; of
            ``no-capacity``, ``quota`` and ``not-offered`` the instance type, of
            ``plan-expired`` the training plan. If omitted, it is all of them.

        available: Of ``no-capacity``: how many instances of the type there are for each
            variant; of ``quota``: how many the account may have. If omitted, there
            are none.

        seconds: Of ``restarts``: how long a container runs each time, a minute if left
            out. Of ``slow``: how much longer an answer takes, ten seconds if omitted.

        answer: Of ``errors``: the container's status, ``throttled``, or ``cut`` for a
            stream that breaks off in the middle. If omitted, it is 500.

        rate: Of ``errors``: which part of the requests fails, from 0 to 1.
            If omitted, it is every one.

        symptom: Of ``never-healthy``: what the container's log ends with, by the name
            that ``catalog.symptoms`` gives it, such as ``no room for the KV cache``.
            If omitted, the log tells nothing.

        seed: Of ``errors``: where chance starts from. If omitted, it is 0.
    """

    kind: str
    target: str = ""
    available: int = 0
    seconds: float | None = None
    answer: str = "500"
    rate: float = 1.0
    seed: int = 0
    symptom: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind}")
        if self.target:
            self._check_target()
        if self.symptom and self.symptom not in _logged():
            near = any_of(nearest(self.symptom, _logged()) or ["disk is full"])
            raise ValueError(
                f"symptom must be one of a container's log, such as {near}, got "
                f"{self.symptom!r}"
            )
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate must be 0 to 1, got {self.rate}")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds must be more than 0, got {self.seconds}")
        if self.available < 0:
            raise ValueError(f"available must be at least 0, got {self.available}")
        if self.answer not in {THROTTLED, CUT} and not self._is_status:
            raise ValueError(
                f"answer must be a status of 400 to 599, {THROTTLED} or {CUT}, got "
                f"{self.answer}"
            )

    def _check_target(self) -> None:
        is_type = self.kind in _OF_TYPES
        if not (_A_TYPE if is_type else _A_NAME).fullmatch(self.target):
            rule = (
                "an instance type such as ml.g5.12xlarge"
                if is_type
                else ("the name of an endpoint, an inference component or a model")
            )
            raise ValueError(
                f"target of {self.kind} must be {rule}, got {self.target!r}: there "
                "is none of that name"
            )

    @classmethod
    def of(cls, fields_of_fault: Untyped) -> Fault:
        """
        Read a fault from JSON.

        Args:
            fields_of_fault: The fault's fields by their names.

        Raises:
            ValueError: If it is none.
        """
        if not isinstance(fields_of_fault, dict):
            raise ValueError(  # noqa: TRY004 - what a client sent
                f"a fault is an object with a kind, got {fields_of_fault!r}"
            )
        types = {field.name: field.type for field in fields(cls)}
        unknown = sorted(fields_of_fault.keys() - types.keys())
        if unknown or "kind" not in fields_of_fault:
            raise ValueError(
                f"a fault has a kind and {', '.join(sorted(types.keys() - {'kind'}))}; "
                f"got {', '.join(unknown) or 'no kind'}"
            )
        values = dict(fields_of_fault)
        values["answer"] = str(fields_of_fault.get("answer", "500"))
        if not isinstance(values.get("target", ""), str):
            raise ValueError(  # noqa: TRY004 - as above
                f"target must be a name, got {values['target']!r}"
            )
        for name in ("available", "seed"):
            if name in values:
                values[name] = _number(name, values[name], int, "a whole number")
        for name in ("rate", "seconds"):
            if values.get(name) is not None:
                values[name] = _number(name, values[name], float, "a number")
        return cls(**values)

    @classmethod
    def parse(cls, text: str) -> Fault:
        """
        Read a fault as it is written on the command line: ``kind,name=value,...``.

        Args:
            text: The fault, as the command line writes it.

        Raises:
            ValueError: If it is none.
        """
        kind, *rest = text.split(",")
        pairs = [part.partition("=") for part in rest]
        return cls.of({"kind": kind, **{name: value for name, _, value in pairs}})

    def befalls(self, names: Iterable[str]) -> bool:
        """
        Tell whether one of the names is meant.

        Args:
            names: The names of what is created or called.
        """
        return not self.target or self.target in names

    @property
    def log(self) -> tuple[str, ...]:
        """
        The lines that the container's log ends with.
        """
        return tuple(_logged().get(self.symptom, "").splitlines())

    @property
    def _is_status(self) -> bool:
        digits = self.answer.isdecimal()
        return digits and _FIRST_STATUS <= int(self.answer) <= _LAST_STATUS


@functools.cache
def _logged() -> dict[str, str]:
    """
    Return what containers log, by the symptom's name.
    """
    return {one.name: one.example for one in symptoms() if one.seen == "log"}


def _number(name: str, value: Untyped, kind: type[float], words: str) -> Untyped:
    # Text comes from the command line, where there is nothing else.
    try:
        read = kind(value)
    except (TypeError, ValueError, OverflowError):
        read = None
    lost = read != value and not isinstance(value, str)
    if read is None or lost or isinstance(value, bool):
        raise ValueError(f"{name} must be {words}, got {value!r}")
    return read


class Faults:
    """
    What goes wrong at present.
    """

    def __init__(self) -> None:
        self._faults: list[tuple[Fault, random.Random]] = []

    def put(self, fault: Fault) -> None:
        """
        Let something go wrong from now on.
        """
        self._faults.append((fault, random.Random(fault.seed)))  # noqa: S311 - no secret

    def clear(self) -> None:
        """
        Let everything go well again.
        """
        self._faults.clear()

    def listed(self) -> list[dict[str, Any]]:
        """
        Show what goes wrong.
        """
        return [asdict(fault) for fault, _ in self._faults]

    def find(self, kind: str, names: Iterable[str]) -> Fault | None:
        """
        Return the fault of a kind that befalls one of the names.
        """
        names = set(names)
        for fault, _ in self._faults:
            if fault.kind == kind and fault.befalls(names):
                return fault
        return None

    def available(self, instance_type: str) -> float:
        """
        Return how many instances of a type a variant can have.
        """
        fault = self.find(NO_CAPACITY, {instance_type})
        return float("inf") if fault is None else fault.available

    def answer(self, names: Iterable[str]) -> str | None:
        """
        Return what the next request gets instead of an answer, or ``None``.
        """
        names = set(names)
        for fault, chance in self._faults:
            if (
                fault.kind == ERRORS
                and fault.befalls(names)
                and chance.random() < fault.rate
            ):
                return fault.answer
        return None
