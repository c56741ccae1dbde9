"""
The service's rules for what users choose: environments, names, counts, ranges,
time-outs, how far back an alarm looks, and how often an endpoint publishes metrics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from cdk_sagemaker_llm.catalog.instances import host_image_names
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.parameters import API, IMPOSSIBLE_NAME, OUTSIDE_RANGE
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration, Size

# botocore 1.44.5: EndpointName, VariantName and InferenceComponentName.
_LONGEST_NAME = 63
_LONGEST_SUFFIX = len("-01234567")
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*\Z")
_TIMEOUT_SECONDS = (60, 3600)

# CreateModel, ContainerDefinition$Environment (botocore 1.44.5).
_MOST_VARIABLES = 100
_LONGEST_VALUE = 1024
_MOST_BYTES = 32 * 1024

LARGE_ENVIRONMENT = Rule(
    "LLM120", "the environment is larger than the service takes", API
)
IMPOSSIBLE_COUNT = Rule(
    "LLM105", "a count or bound is outside what the service takes", API
)
UNKNOWN_HOST_IMAGE = Rule("LLM184", "a host image is none that the API lists", API)
UNCOUNTABLE = Rule(
    "LLM129", "a time or a size is not in the whole units that the service counts", API
)

_counted: WeakKeyDictionary[Duration | Size, float | None] = WeakKeyDictionary()

# Smithy's integer, which the services' models count by.
_MOST = 2**31 - 1
_HOUR = 3600
_DAY = 24 * _HOUR
_WEEK = 7 * _DAY


def environment_size_findings(
    parameter: str, variables: Mapping[str, str | None], *, others: int = 0
) -> list[Finding]:
    """
    Check how large an environment is; of a value that is ``None`` nothing is known, and
    ``others`` counts the variables that nobody wrote, but a backend.
    """
    count = len(variables)
    shares = f"{count}, {others} of them the backend's" if others else str(count)
    found = []
    if count > _MOST_VARIABLES:
        written = count - others
        got = str(written) if written > _MOST_VARIABLES else shares
        found.append(
            LARGE_ENVIRONMENT.finding(
                f"{parameter} must have at most {_MOST_VARIABLES} variables, got {got}"
            )
        )
    size = sum(
        len(text.encode(errors="surrogatepass"))
        for pair in variables.items()
        for text in pair
        if text is not None and not is_unresolved(text)
    )
    if size > _MOST_BYTES:
        included = ", the backend's included" if others else ""
        found.append(
            LARGE_ENVIRONMENT.finding(
                f"{parameter} must have at most {_MOST_BYTES} bytes of names and "
                f"values together{included}, got {size}"
            )
        )
    return found + [
        LARGE_ENVIRONMENT.finding(
            f"{name} must be at most {_LONGEST_VALUE} characters long"
        )
        for name, value in variables.items()
        if value is not None
        and not is_unresolved(value)
        and len(value) > _LONGEST_VALUE
    ]


def name_findings(parameter: str, name: str | None) -> list[Finding]:
    """
    Check a name: at most 63 letters, digits and inner hyphens.
    """
    if name is None or is_unresolved(name):
        return []
    if len(name) <= _LONGEST_NAME and _NAME.match(name):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            f"{parameter} must be at most {_LONGEST_NAME} letters, digits and inner "
            f"hyphens, got {name!r}",
        )
    ]


def prefix_findings(parameter: str, prefix: str) -> list[Finding]:
    """
    Check the beginning of a name, which a hyphen and eight characters follow.
    """
    most = _LONGEST_NAME - _LONGEST_SUFFIX
    if is_unresolved(prefix):
        return [
            IMPOSSIBLE_NAME.finding(
                f"{parameter} must be known at synth, got a placeholder",
                "pass the whole name",
            )
        ]
    if len(prefix) <= most and _NAME.match(prefix):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            f"{parameter} must be at most {most} letters, digits and inner hyphens, "
            f"got {prefix!r}",
        )
    ]


def least_findings(parameter: str, value: float | None, least: float) -> list[Finding]:
    """
    Check that a number is not below what the API accepts.
    """
    if value is None or is_unresolved(value) or value >= least:
        return []
    return [
        OUTSIDE_RANGE.finding(f"{parameter} must be at least {least:g}, got {value:g}")
    ]


def host_image_findings(parameter: str, name: str | None) -> list[Finding]:
    """
    Check that the API, which lists them all, has a host image.
    """
    names = host_image_names()
    if name is None or is_unresolved(name) or name in names:
        return []
    return [
        UNKNOWN_HOST_IMAGE.finding(
            f"{parameter} must be one that the API has, got {name!r}",
            f"use {any_of(nearest(name, names) or names)}, or leave it out",
        )
    ]


def timeout_findings(
    parameter: str, timeout: Duration | None, *, least: float = _TIMEOUT_SECONDS[0]
) -> list[Finding]:
    """
    Check a time-out against the API's bounds.
    """
    most = _TIMEOUT_SECONDS[1]
    return time_findings(parameter, timeout) or range_findings(
        parameter, seconds(timeout), least, most, " seconds"
    )


def range_findings(
    parameter: str, value: float | None, least: float, most: float, unit: str = ""
) -> list[Finding]:
    """
    Check that a number is within what the API accepts.
    """
    if value is None or is_unresolved(value) or least <= value <= most:
        return []
    return [
        OUTSIDE_RANGE.finding(
            f"{parameter} must be {least:g} to {most:g}{unit}, got {value:g}",
        )
    ]


def minute_findings(parameter: str, time: Duration | None) -> list[Finding]:
    """
    Check that the service can count a time: in whole minutes.
    """
    if time is None:
        return []
    return _unit_findings(parameter, minutes(time), "minutes", "Duration.minutes")


def size_findings(parameter: str, size: Size | None) -> list[Finding]:
    """
    Check that the service can count a size: in whole GiB.
    """
    if size is None:
        return []
    return _unit_findings(parameter, gibibytes(size), "GiB", "Size.gibibytes")


def count_findings(parameter: str, value: float, least: int) -> list[Finding]:
    """
    Check a count against its lower bound, and what the services count to.
    """
    if is_unresolved(value) or least <= value <= _MOST:
        return []
    bound = f"at least {least}" if value < least else f"at most {_MOST}"
    return [IMPOSSIBLE_COUNT.finding(f"{parameter} must be {bound}, got {value}")]


def bounds_findings(
    least_name: str, least: float, most_name: str, most: float
) -> list[Finding]:
    """
    Check that a lower bound is not above its upper one.
    """
    if is_unresolved(least) or is_unresolved(most) or least <= most:
        return []
    return [
        IMPOSSIBLE_COUNT.finding(
            f"{most_name} must be at least {least_name}, got {most_name}={most} and "
            f"{least_name}={least}",
        )
    ]


def minutes(time: Duration | None) -> float | None:
    """
    Return a duration in minutes; ``None`` for none, and for a placeholder in another
    unit.
    """
    if time is None:
        return None
    try:
        return time.to_minutes(integral=False)
    except RuntimeError:
        # What deployment alone knows cannot be converted.
        return None


def gibibytes(size: Size | None) -> float | None:
    """
    Return a size in GiB; ``None`` for none, and for a placeholder in another unit.
    """
    if size is None:
        return None
    from aws_cdk import SizeRoundingBehavior  # noqa: PLC0415 - who has a size has it

    unrounded = SizeRoundingBehavior.NONE
    return _count(size, lambda: size.to_gibibytes(rounding=unrounded))


def together_findings(period: float | None, evaluation_periods: int) -> list[Finding]:
    """
    Check an alarm's periods together (CloudWatch API reference, PutMetricAlarm).
    """
    if period is None or is_unresolved((period, evaluation_periods)):
        return []
    most, words = (_DAY, "day") if period < _HOUR else (_WEEK, "week")
    if period * evaluation_periods <= most:
        return []
    return [
        OUTSIDE_RANGE.finding(
            f"evaluation_periods of {period:g} seconds must be at most a {words} "
            f"together, got {evaluation_periods}"
        )
    ]


def time_findings(parameter: str, time: Duration | None) -> list[Finding]:
    """
    Check that the service can count a time: in whole seconds.
    """
    if time is None:
        return []
    return _unit_findings(parameter, seconds(time), "seconds", "Duration.seconds")


def seconds(timeout: Duration | None) -> float | None:
    """
    Return a duration in seconds; ``None`` for none, and for a placeholder in another
    unit.
    """
    if timeout is None:
        return None
    return _count(timeout, lambda: timeout.to_seconds(integral=False))


def _unit_findings(
    parameter: str, count: float | None, unit: str, factory: str
) -> list[Finding]:
    if count is None:
        return [
            UNCOUNTABLE.finding(
                f"{parameter} is known only at deployment, and must be in {unit} then",
                f"write {factory}(...)",
            )
        ]
    if is_unresolved(count) or (count <= _MOST and float(count).is_integer()):
        return []
    if count > _MOST:
        return [
            UNCOUNTABLE.finding(f"{parameter} must be at most {_MOST} {unit}, got more")
        ]
    return [
        UNCOUNTABLE.finding(
            f"{parameter} must be of whole {unit}, got {count:g}",
            f"write {factory}({math.ceil(count)})",
        )
    ]


def _count(amount: Duration | Size, convert: Callable[[], float]) -> float | None:
    if amount not in _counted:
        try:
            # A call into Node (ADR 2), and several checks ask the same.
            _counted[amount] = convert()
        except RuntimeError:
            # What deployment alone knows cannot be converted.
            _counted[amount] = None
    return _counted[amount]
