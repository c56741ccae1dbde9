"""
Saying in which releases an argument is known, and what to write in its place.
"""

from __future__ import annotations

from collections.abc import Callable

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    argument_names,
    argument_span,
    find_argument,
    is_release_between,
)
from cdk_sagemaker_llm.text import nearest

# What took the place of arguments that are gone, in vLLM's own release notes.
_INSTEAD = {
    "calculate-kv-scales": "leave it out",
    "cuda-graph-sizes": "use cudagraph-capture-sizes",
    "disable-log-requests": "leave it out: requests are logged only if asked for",
    "enable-reasoning": "leave it out: the reasoning parser alone switches it on",
    "guided-decoding-backend": "use structured-outputs-config",
    "max-seq-len-to-capture": "use max-cudagraph-capture-size",
    "num-scheduler-steps": "leave it out",
    "override-pooler-config": "use pooler-config",
    "rope-scaling": "use hf-overrides",
    "rope-theta": "use hf-overrides",
    "swap-space": "leave it out",
    "task": "use runner, and convert",
    "use-v2-block-manager": "leave it out",
}


def when_known(engine: Engine, name: str, release: str) -> str:
    """
    Say in which releases an argument is known.

    Args:
        engine: ``vllm`` or ``sglang``.

        name: The argument's long name.

        release: A release that does not know it.
    """
    first, last = argument_span(engine, name)
    if not is_release_between(release, first):
        return f"it came with {first}"
    if last is not None and is_release_between(release, last):
        return f"it was last known in {last}"
    return "it is in others alone"


def way_out(
    engine: Engine, name: str, release: str, shown: Callable[[str], str] = str
) -> str:
    """
    Say what to do about an argument that a release does not know.

    Args:
        engine: ``vllm`` or ``sglang``.

        name: The argument's long name.

        release: A release that does not know it.

        shown: How an argument is written, by its long name.
            If left out, it is the name.
    """
    first, last = argument_span(engine, name)
    if not is_release_between(release, first):
        return "leave it out, or take a newer image"
    if last is None or not is_release_between(release, last):
        return "leave it out"
    if engine == "vllm" and name in _INSTEAD:
        return _INSTEAD[name]
    before = find_argument(engine, name, last)
    if before is not None and before.instead:
        return f"use {shown(before.instead)}"
    near = nearest(name, argument_names(engine, release), count=1)
    return f"did you mean {shown(near[0])}?" if near else "leave it out"
