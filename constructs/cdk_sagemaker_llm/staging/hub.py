"""
Downloads from the Hugging Face Hub: the files that a repository has, and one of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.signalling import StagingError, pause

_CHUNK = 1024 * 1024
_ATTEMPTS = 6
# How often contents may be others than the Hub's hash says.
_ARRIVALS = 3
_TOO_MANY = 429
_SERVERS_FAULT = 500

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class HubFile:
    """
    A file of a repository.

    Args:
        digest: What its contents are held against: ``sha256:`` of a large file, or
            ``git:`` with the hash that Git gives a small one.
    """

    path: str
    size: int
    digest: str


def list_files(order: Order) -> list[HubFile]:
    """
    Return the files of the revision, in the order of their paths.
    """
    info = retried(
        order,
        lambda: HfApi().model_info(
            order.model_id, revision=order.revision, files_metadata=True
        ),
    )
    found = [
        HubFile(
            one.rfilename,
            one.size or 0,
            f"sha256:{one.lfs.sha256}" if one.lfs else f"git:{one.blob_id}",
        )
        for one in info.siblings or ()
    ]
    return sorted(found, key=lambda one: one.path)


def fetch(order: Order, file: HubFile, folder: Path) -> Path:
    """
    Bring a file, and hold it against the Hub's hash.
    """
    ask = partial(
        hf_hub_download,
        order.model_id,
        file.path,
        revision=order.revision,
        local_dir=folder,
    )
    for attempt in range(_ARRIVALS):
        again = partial(ask, force_download=attempt > 0)
        local = Path(retried(order, again))
        if digest_of(local, file) == file.digest:
            return local
        local.unlink()
    raise StagingError(
        f"{file.path} of {order.title} arrived three times with other contents than "
        f"the Hub's {file.digest}"
    )


def digest_of(local: Path, file: HubFile) -> str:
    """
    Return the digest of a local file, of the kind that the Hub names for it.
    """
    kind = file.digest.partition(":")[0]
    if kind == "sha256":
        found = hashlib.sha256()
    else:
        found = hashlib.sha1(usedforsecurity=False)
        # Git's hash of a blob begins with what it is and how long.
        found.update(f"blob {local.stat().st_size}\0".encode())
    with local.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            found.update(chunk)
    return f"{kind}:{found.hexdigest()}"


def retried(order: Order, call: Callable[[], Result]) -> Result:
    """
    Ask the Hub, and again where it is busy or breaks off.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return call()
        except (RepositoryNotFoundError, GatedRepoError, RevisionNotFoundError) as no:
            raise _refused(order, no) from no
        except HfHubHTTPError as fault:
            status = fault.response.status_code if fault.response is not None else 0
            if status != _TOO_MANY and status < _SERVERS_FAULT:
                raise _refused(order, fault) from fault
            last: Exception = fault
        except OSError as fault:
            if fault.errno is not None and not isinstance(fault, ConnectionError):
                raise
            last = fault
        except Exception as fault:
            if not type(fault).__module__.startswith(("httpx", "httpcore", "requests")):
                raise
            last = fault
        pause(attempt)
    raise StagingError(
        f"the Hub did not give {order.title} in {_ATTEMPTS} attempts, and said last: "
        f"{_first_line(last)}; deploy again to go on from here"
    )


def _refused(order: Order, fault: Exception) -> StagingError:
    has_token = bool(os.environ.get("HF_TOKEN"))
    token = "the token that was given" if has_token else "no token"
    if isinstance(fault, RevisionNotFoundError):
        return StagingError(
            f"{order.model_id} has no revision {order.revision}: it was removed, or "
            "never was; name one of its commits"
        )
    if isinstance(fault, GatedRepoError):
        return StagingError(
            f"{order.model_id} is gated, and {token} has no access to it; accept its "
            "terms on the Hub, and pass the token of that account"
        )
    if isinstance(fault, RepositoryNotFoundError):
        return StagingError(
            f"the Hub has no repository {order.model_id}, or shows it to others than "
            f"{token} only"
        )
    return StagingError(f"the Hub refused {order.title}: {_first_line(fault)}")


def _first_line(fault: Exception) -> str:
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return lines[0] if lines else type(fault).__name__
