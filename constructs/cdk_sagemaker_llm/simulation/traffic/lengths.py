"""
How long prompts and answers are, in tokens.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol, cast

from cdk_sagemaker_llm.arguments import hold_kinds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Tokens = npt.NDArray[np.int64]

# Points at which a distribution is read off for its mean: the error is below 0.1 %.
_POINTS = 4096


class Length(Protocol):
    """
    A number of tokens that differs from request to request, or does not.
    """

    @property
    def mean(self) -> float:
        """
        The tokens of the average request.
        """

    def quantile(self, share: float) -> float:
        """
        Return how many tokens such a share of the requests has at most.
        """

    def sample(self, generator: np.random.Generator, count: int) -> Tokens:
        """
        Draw the tokens of that many requests.
        """


@dataclass(frozen=True, slots=True)
class Fixed:
    """
    The same number of tokens for every request: ``Fixed(500)``.

    Args:
        tokens: How many tokens each request has.
    """

    tokens: int

    def __post_init__(self) -> None:
        hold_kinds(self)
        _check(("tokens", self.tokens, 1))

    @property
    def mean(self) -> float:
        """
        The tokens of the average request.
        """
        return float(self.tokens)

    def quantile(self, share: float) -> float:  # noqa: ARG002 - all are the same
        """
        Return how many tokens such a share of the requests has at most.

        Args:
            share: The share of the requests, from 0 to 1.
        """
        return float(self.tokens)

    def sample(self, generator: np.random.Generator, count: int) -> Tokens:  # noqa: ARG002 - nothing is drawn
        """
        Draw the tokens of that many requests.

        Args:
            generator: Where chance comes from.

            count: How many requests.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        return np.full(count, self.tokens, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogNormal:
    """
    Many short, few long ones, as chats have: ``LogNormal(median=200, spread=0.8)``.

    Args:
        median: Half of the requests have fewer tokens.

        spread: The standard deviation of the logarithm; at 1, one in six has more than
            2.7 times the median.

        most: The longest there is, such as ``max_tokens``; longer ones are cut there.
            If omitted, none is cut.
    """

    median: float
    spread: float
    most: int | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)
        _check(("median", self.median, 1), ("spread", self.spread, 0))
        _check(("most", self.most, 1))

    @property
    def mean(self) -> float:
        """
        The tokens of the average request.
        """
        return _mean(self)

    def quantile(self, share: float) -> float:
        """
        Return how many tokens such a share of the requests has at most.

        Args:
            share: The share of the requests, from 0 to 1.
        """
        if not 0 < share < 1:
            return 1.0 if share <= 0 else float(self.most or math.inf)
        drawn = self.median * math.exp(self.spread * NormalDist().inv_cdf(share))
        return float(min(max(round(drawn), 1), self.most or math.inf))

    def sample(self, generator: np.random.Generator, count: int) -> Tokens:
        """
        Draw the tokens of that many requests.

        Args:
            generator: Where chance comes from.

            count: How many requests.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        drawn = generator.lognormal(math.log(self.median), self.spread, count)
        # No context is as long as that; what is larger would not be a whole number.
        kept = np.clip(np.rint(drawn), 1, self.most or 2**31)
        return kept.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Empirical:
    """
    Lengths as they were seen, each as likely: ``Empirical((12, 80, 80, 640))``.

    Args:
        tokens: The numbers of tokens that were seen, each as likely as the others.
    """

    tokens: tuple[int, ...]

    def __post_init__(self) -> None:
        hold_kinds(self)
        if not self.tokens:
            raise ValueError("tokens must have at least one number, got none")
        _check(*((f"tokens[{i}]", each, 1) for i, each in enumerate(self.tokens)))
        object.__setattr__(self, "tokens", tuple(sorted(self.tokens)))

    @property
    def mean(self) -> float:
        """
        The tokens of the average request.
        """
        return sum(self.tokens) / len(self.tokens)

    def quantile(self, share: float) -> float:
        """
        Return how many tokens such a share of the requests has at most.

        Args:
            share: The share of the requests, from 0 to 1.
        """
        place = math.ceil(share * len(self.tokens)) - 1
        return float(self.tokens[min(max(place, 0), len(self.tokens) - 1)])

    def sample(self, generator: np.random.Generator, count: int) -> Tokens:
        """
        Draw the tokens of that many requests.

        Args:
            generator: Where chance comes from.

            count: How many requests.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        return generator.choice(np.array(self.tokens, dtype=np.int64), count)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """
    How long prompts and answers are.

    ``Lengths(prompt=LogNormal(median=400, spread=0.7), answer=Fixed(150))``

    Args:
        prompt: Tokens of a prompt, or how they are distributed.

        answer: Tokens of an answer, or how they are distributed.
    """

    prompt: Length | int
    answer: Length | int

    def __post_init__(self) -> None:
        for name in ("prompt", "answer"):
            value = getattr(self, name)
            if isinstance(value, int) and not isinstance(value, bool):
                object.__setattr__(self, name, Fixed(value))
            elif not hasattr(value, "quantile"):
                raise ValueError(
                    f"{name} must be a whole number, a Fixed, a LogNormal or an "
                    f"Empirical, got a value of type {type(value).__name__}"
                )

    @property
    def prompts(self) -> Length:
        """
        The prompts' lengths.
        """
        # A plain number is a fixed length by now.
        return cast("Length", self.prompt)

    @property
    def answers(self) -> Length:
        """
        The answers' lengths.
        """
        return cast("Length", self.answer)


@functools.lru_cache(maxsize=64)
def _mean(length: LogNormal) -> float:
    points = ((number + 0.5) / _POINTS for number in range(_POINTS))
    return sum(map(length.quantile, points)) / _POINTS


def _check(*limits: tuple[str, float | None, float]) -> None:
    for name, value, least in limits:
        if value is not None and value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
