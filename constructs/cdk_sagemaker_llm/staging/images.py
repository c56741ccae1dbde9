"""
Mirroring an image in a build: ``python3 -m cdk_sagemaker_llm.staging.images``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from cdk_sagemaker_llm.staging.copying import Blob, Copying
from cdk_sagemaker_llm.staging.ending import ended
from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.image_order import ImageOrder
from cdk_sagemaker_llm.staging.logins import source_of, target_of
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.registry import INDEXES, Manifest, Registry


def mirror(order: ImageOrder) -> None:
    """
    Mirror an image, unless it is there.

    The tag is put last: what has it is there as a whole.

    Raises:
        StagingError: If that cannot be done; what was brought stays for the next time.
    """
    target = target_of(order)
    if target.digest_at(order.tag) == order.digest:
        say(f"{order.title} is mirrored already")
        return
    source = source_of(order)
    manifests = list(_manifests(source, order.digest))
    _hold_platform(order, source, manifests[-1])
    _tell_of_tag(order, source)
    Copying(source, target, _blobs(manifests), order.threads).run()
    for one in manifests[:-1]:
        target.put_manifest(one.digest, one)
    target.put_manifest(order.tag, manifests[-1])
    say(f"{order.title} is mirrored: {target.title}:{order.tag}")


def _manifests(source: Registry, digest: str) -> Iterator[Manifest]:
    """
    Return what a digest stands for, and before it the images that it names: a registry
    takes an index only after these.
    """
    found = source.manifest(digest)
    if found.media_type in INDEXES:
        for one in found.said.get("manifests", []):
            yield from _manifests(source, one["digest"])
    yield found


def _blobs(manifests: Sequence[Manifest]) -> list[Blob]:
    """
    Return the layers and configurations of images, each once.
    """
    found = {
        one["digest"]: Blob(one["digest"], one["size"])
        for manifest in manifests
        if manifest.media_type not in INDEXES
        for one in (manifest.said["config"], *manifest.said["layers"])
    }
    return list(found.values())


def _hold_platform(order: ImageOrder, source: Registry, root: Manifest) -> None:
    """
    Refuse an image that is built for other processors: it would fail at its start.
    """
    built_for = sorted(_platforms(source, root))
    if order.platform in built_for:
        return
    raise StagingError(
        f"{order.title} is built for {', '.join(built_for)}, and {order.platform} is "
        "wanted; name the digest of that one"
    )


def _platforms(source: Registry, root: Manifest) -> set[str]:
    if root.media_type in INDEXES:
        named = [one.get("platform", {}) for one in root.said.get("manifests", [])]
        return {_platform(one) for one in named}
    return {_platform(json.loads(source.read_blob(root.said["config"]["digest"])))}


def _platform(said: dict[str, str]) -> str:
    return f"{said.get('os', 'unknown')}/{said.get('architecture', 'unknown')}"


def _tell_of_tag(order: ImageOrder, source: Registry) -> None:
    """
    Say where a tag has moved on since its digest was taken.
    """
    if not order.source_tag:
        return
    now = source.digest_at(order.source_tag)
    if now != order.digest:
        said = now or "nothing"
        say(f"{order.source_tag} of {source.title} stands for {said} now")


def main() -> int:
    """
    Mirror what the environment asks for, and signal how it went.
    """
    return ended(
        ImageOrder.from_environment,
        mirror,
        named=lambda order: order.digest,
        otherwise="image",
        failed="not mirrored",
    )


if __name__ == "__main__":
    sys.exit(main())
