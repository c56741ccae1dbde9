"""
How long a copy takes: for a prompt, and for each token of the answers it writes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault

Rows = tuple[tuple[int, float], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceTimes:
    """
    What one copy of a model takes for the requests it serves, text aside.

    ``ServiceTimes(decode=((1, 0.02), (32, 0.045)), max_sequences=32,
    prompt_seconds_per_token=0.0002)``

    Args:
        decode: Seconds until each sequence has its next token, by how many are
            written at once. Between two rows it is linear, beyond the last one it goes
            on as between the last two; with one row it is the same for any number.

        max_sequences: How many are written at once, at most; the rest wait.

        overhead_seconds:
            What a request takes besides, outside of the batch: the network, and
            turning text into tokens and back.
            If omitted, it takes nothing.

        prompt_seconds_per_token:
            What a token of a prompt costs; the others stand still for so long.
            If omitted, prompts cost nothing.

        kv_tokens:
            How many tokens of all sequences together the KV cache has room for.
            If omitted, it has room for any number.

        source: Where the figures are from, in words.

        is_estimate: Whether nobody has measured them, or not well enough.

        spread: The 90 % interval, as factors of the times: in 9 of 10 cases a measured
            time is at least the first factor times the one here, and at most the
            second.
            If omitted, it is not known.
    """

    decode: Rows
    max_sequences: int
    overhead_seconds: float = 0.0
    prompt_seconds_per_token: float = 0.0
    kv_tokens: int | None = None
    source: str = "given by the user"
    is_estimate: bool = False
    spread: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)
        raise_faults(self._faults())

    def pace(self, sequences: float) -> float:
        """
        Return the seconds to the next token of each sequence, of so many at once.

        Args:
            sequences: How many sequences are written at the same time.
        """
        rows = self.decode
        if len(rows) == 1 or sequences <= rows[0][0]:
            return rows[0][1]
        below, above = next(
            (pair for pair in itertools.pairwise(rows) if sequences <= pair[1][0]),
            rows[-2:],
        )
        slope = (above[1] - below[1]) / (above[0] - below[0])
        return below[1] + slope * (sequences - below[0])

    def paces(self) -> tuple[float, ...]:
        """
        Return the pace of no sequence, of one, and so on to the most there can be.
        """
        return _paces(self)

    def most_sequences(self, tokens: float) -> float:
        """
        Return how many sequences of so many tokens a copy writes at once, at most.

        Args:
            tokens: How many tokens each sequence has.
        """
        if self.kv_tokens is None:
            return self.max_sequences
        return min(self.max_sequences, self.kv_tokens / max(tokens, 1.0))

    def stretched(self, factor: float) -> ServiceTimes:
        """
        Return these times with every one of them multiplied.

        ``times.stretched(times.spread[1])`` is the slow end of the interval; what is
        returned is one case of it, and has no interval itself.

        Args:
            factor: By what.
        """
        if not 0 < factor < math.inf:
            raise ValueError(f"factor must be above 0 and finite, got {factor:g}")
        return replace(
            self,
            decode=tuple((count, seconds * factor) for count, seconds in self.decode),
            overhead_seconds=self.overhead_seconds * factor,
            prompt_seconds_per_token=self.prompt_seconds_per_token * factor,
            source=f"{self.source}, all times {factor:.3g}",
            spread=None,
        )

    def _faults(self) -> Iterator[Fault]:
        least: tuple[tuple[str, float | None, float], ...] = (
            ("max_sequences", self.max_sequences, 1),
            ("overhead_seconds", self.overhead_seconds, 0),
            ("prompt_seconds_per_token", self.prompt_seconds_per_token, 0),
            ("kv_tokens", self.kv_tokens, 1),
        )
        for name, value, bound in least:
            if value is not None and value < bound:
                yield Fault(f"{name} must be at least {bound}, got {value}")
        if self.spread is not None and not _is_spread(self.spread):
            yield Fault(
                "spread must be two factors above 0, the lower one first, got "
                f"{self.spread}",
                "write such as (0.8, 1.3)",
            )
        rows = list(row_faults("decode", self.decode))
        yield from rows
        if not rows and not self.pace(self.max_sequences) > 0:
            # Measured rows may fall; what is drawn on beyond them must not reach zero.
            yield Fault(
                "decode must stay above 0 s up to max_sequences, got "
                f"{self.pace(self.max_sequences):g} s at {self.max_sequences}",
                "measure a row there",
            )


@functools.lru_cache(maxsize=64)
def _paces(times: ServiceTimes) -> tuple[float, ...]:
    # All copies of a model share them.
    return tuple(times.pace(count) for count in range(times.max_sequences + 1))


def row_faults(name: str, rows: Rows) -> Iterator[Fault]:
    """
    Say how rows of sequences and seconds are not what they must be.
    """
    if not isinstance(rows, tuple | list) or not rows:
        yield Fault(f"{name} must be at least one row of sequences and seconds")
        return
    for index, row in enumerate(rows):
        if not _is_row(row):
            must = f"{name}[{index}] must be a whole number of sequences and seconds"
            yield Fault(f"{must}, got {row!r}")
            return
        if row[0] < 1:
            yield Fault(
                f"{name}[{index}] must be for at least 1 sequence, got {row[0]}"
            )
        if not row[1] > 0:
            yield Fault(f"{name}[{index}] must take more than 0 seconds, got {row[1]}")
    for index, (one, other) in enumerate(itertools.pairwise(rows), start=1):
        if other[0] <= one[0]:
            must = f"{name}[{index}] must be for more sequences than the row before"
            yield Fault(f"{must}, got {other[0]} after {one[0]}")


def _is_spread(factors: tuple[float, ...]) -> bool:
    return len(factors) == len(("low", "high")) and 0 < factors[0] <= factors[1]


def _is_row(row: object) -> bool:
    if not isinstance(row, tuple | list) or len(row) != len(("sequences", "seconds")):
        return False
    count, seconds = row
    are_numbers = isinstance(count, int) and isinstance(seconds, int | float)
    return are_numbers and not isinstance(count, bool) and math.isfinite(seconds)
