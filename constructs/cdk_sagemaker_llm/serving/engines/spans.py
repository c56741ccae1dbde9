"""
Saying since when an argument is known, and what took its place.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    argument_span,
    engine_releases,
    find_argument,
    is_release_between,
)

# What the engines' release notes name in their stead; of others the tables themselves
# know the successor.
_INSTEAD: dict[str, str] = {
    "guided-decoding-backend": "--structured-outputs-config",
    "disable-log-requests": "leave it out: requests are no longer logged by default",
    "rope-scaling": "--hf-overrides with rope_parameters",
    "rope-theta": "--hf-overrides with rope_parameters",
    "task": "--runner and --convert",
    "cuda-graph-sizes": "--cudagraph-capture-sizes",
    "max-seq-len-to-capture": "--max-cudagraph-capture-size",
}


def when_known(engine: Engine, name: str, release: str) -> str:
    """
    Say that an argument came later than a release, or went before it.

    Args:
        engine: ``vllm`` or ``sglang``.

        name: The argument's long name.

        release: A release that does not know it.
    """
    first, last = argument_span(engine, name)
    if not is_release_between(release, first):
        return f"it came with {first}"
    if last is None:
        return "it was left out of this release alone"
    gone = _after(engine, last)
    successor = _successor(engine, name, last)
    return f"it is gone since {gone}" + (f"; use {successor}" if successor else "")


def _successor(engine: Engine, name: str, last: str) -> str | None:
    argument = find_argument(engine, name, last)
    return (argument.instead if argument else None) or _INSTEAD.get(name)


def _after(engine: Engine, release: str) -> str:
    releases = engine_releases(engine)
    at = releases.index(release)
    return releases[at + 1]
