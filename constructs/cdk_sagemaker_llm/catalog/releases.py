"""
Releases of engines: their order, the spans of them that tables name, and which of them
an image of the catalogue has.
"""

from __future__ import annotations

import functools
import re

from cdk_sagemaker_llm.catalog.engine_releases import (
    engine_families,
    engine_of,
    find_engine_release,
)
from cdk_sagemaker_llm.catalog.images import find_image, image_versions
from cdk_sagemaker_llm.catalog.lmi import LmiVersion

# Families whose images are numbered as the engine inside is, or name it in their tag.
_NUMBERED = {"tgi": "huggingface-llm", "tgi-neuron": "huggingface-llm-neuronx"}
_TAGGED = {
    "tensorrt-llm": ("djl-tensorrtllm", re.compile(r"tensorrtllm([\d.]+)")),
    "deepspeed": ("djl-deepspeed", re.compile(r"deepspeed([\d.]+)")),
}
_LMI_FAMILIES = ("djl-deepspeed", "djl-lmi")
_PARTS = re.compile(r"\d+(?:\.\d+)*")
_BEHIND = re.compile(r"(dev|a|b|rc|post)(\d+)")
_ORDER = {"dev": -4, "a": -3, "b": -2, "rc": -1, "post": 1}


@functools.cache
def images_by_release(engine: str) -> tuple[tuple[str, str], ...]:
    """
    Return the releases of an engine that images of the catalogue have, oldest first,
    each with the family and version of one of them.
    """
    found: list[tuple[str, str]] = []
    for family, version in _images(engine):
        release = _inside(engine, family, version)
        if release is not None:
            found.append((release, f"{family} {version}"))
    return tuple(sorted(found, key=lambda one: release_key(one[0])))


def known_releases(engine: str) -> tuple[str, ...]:
    """
    Return the releases of an engine that images of the catalogue have, oldest first.
    """
    return tuple(dict.fromkeys(release for release, _ in images_by_release(engine)))


def image_within(engine: str, spans: str) -> str | None:
    """
    Return the oldest image with a release within spans, or the newest where the spans
    end; ``None`` if there is none.
    """
    within = [
        image for release, image in images_by_release(engine) if _within(release, spans)
    ]
    return within[-1 if last_of(spans) else 0] if within else None


def _images(engine: str) -> list[tuple[str, str]]:
    if engine in _NUMBERED:
        families = [_NUMBERED[engine]]
    elif engine in _TAGGED:
        families = [_TAGGED[engine][0]]
    else:
        families = [one for one in engine_families() if engine_of(one) == engine]
        if engine in {"vllm", "lmi-dist"}:
            families = [*_LMI_FAMILIES, *families]
    return [(family, one) for family in families for one in image_versions(family)]


def _inside(engine: str, family: str, version: str) -> str | None:
    if engine in _NUMBERED:
        return version
    if engine in _TAGGED:
        match = _TAGGED[engine][1].search(find_image(family, version).tag)
        return match[1] if match else None
    if family in _LMI_FAMILIES:
        lmi = LmiVersion.parse(version)
        return lmi.vllm if engine == "vllm" else lmi.lmi_dist
    inside = find_engine_release(family, version)
    return inside.engine_version if inside is not None else None


@functools.lru_cache(maxsize=512)
def release_key(release: str) -> tuple[tuple[int, ...], int, int]:
    """
    Return what releases are ordered by: numbers, and what stands behind them.
    """
    numbers = _PARTS.search(release)
    parts = tuple(map(int, numbers[0].split("."))) if numbers else ()
    behind = _BEHIND.search(release.partition("+")[0])
    if behind is None:
        return parts, 0, 0
    return parts, _ORDER[behind[1]], int(behind[2])


def is_between(release: str, first: str, last: str = "") -> bool:
    """
    Whether a release is within a span; without the last, whether it is not older.

    A candidate comes before its release here, and a later build after it; the tables of
    arguments name plain releases, for which ``is_release_between`` is enough.
    """
    key = release_key(release)
    return release_key(first) <= key and (not last or key <= release_key(last))


def in_spans(release: str, spans: str, releases: tuple[str, ...]) -> bool | None:
    """
    Whether a release is within spans such as ``0.2.7..0.4.2 0.6.2..``.

    ``None`` where nobody knows: between two of the known releases, of which one is
    within and the other is not.
    """
    below = [one for one in releases if release_key(one) <= release_key(release)]
    if below and release_key(below[-1]) == release_key(release):
        return _within(below[-1], spans)
    above = releases[len(below) : len(below) + 1]
    sides = {_within(one, spans) for one in (*below[-1:], *above)}
    return sides.pop() if len(sides) == 1 else None


def first_of(spans: str) -> str:
    """
    Return the first release within spans.
    """
    return spans.partition("..")[0]


def last_of(spans: str) -> str:
    """
    Return the last release within spans; empty where it is the newest one read.
    """
    return spans.rpartition("..")[2]


def _within(release: str, spans: str) -> bool:
    return any(is_between(release, *span.split("..")) for span in spans.split())
