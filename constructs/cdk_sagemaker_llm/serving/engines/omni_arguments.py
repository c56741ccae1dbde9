"""
vLLM-Omni's own arguments, beside those of vLLM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import (
    EngineArgument,
    is_release_between,
)
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS
from cdk_sagemaker_llm.serving.engines.known_names import OMNI

_NEWEST_READ = "0.28.0"


def find_omni_argument(name: str, release: str | None) -> EngineArgument | None:
    """
    Look up one of vLLM-Omni's own arguments; ``None`` where a release has none such.

    Between releases that were read one goes by those around it; the newest is taken to
    have what the newest that was read has.

    Args:
        name: The long name, without dashes in front.

        release: vLLM-Omni's release; ``None`` where it is not known.
    """
    if name not in OMNI:
        return None
    kind, first, last = OMNI[name]
    if not is_release_between(release or _NEWEST_READ, first, last or None):
        return None
    is_switch = kind in {"bool", "negatable"}
    several = kind == "several"
    return EngineArgument(
        name=name,
        kind="bool" if is_switch else "str" if several else kind,
        nargs="+" if several else None,
        has_negative=kind == "negatable",
    )


def without_own(
    environment: Mapping[str, str], image: EngineRelease
) -> Iterator[tuple[str, str]]:
    """
    Yield the variables that vLLM's table can be asked about.
    """
    rule = ENTRY_POINTS[image.rule] if image.rule is not None else None
    for name, value in environment.items():
        is_told = rule is not None and name.startswith(rule.prefix)
        flag = rule.flag(name).removeprefix("--") if rule is not None else ""
        own = find_omni_argument(flag, image.engine_version) or find_omni_argument(
            flag.removeprefix("no-"), image.engine_version
        )
        if not is_told or own is None:
            yield name, value
