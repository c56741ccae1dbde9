"""
Asking the Hub: what is tried again, what is refused, and what contents are held
against.
"""

from __future__ import annotations

import errno
from pathlib import Path

import httpcore2
import httpx2
import pytest
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from cdk_sagemaker_llm.staging.hub import HubFile, digest_of, retried
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.signalling import StagingError

ORDER = Order(
    model_id="a/b",
    revision="c" * 40,
    bucket="bucket",
    prefix="models/",
    manifest="manifest.json",
)


def answered(
    status: int, kind: type[HfHubHTTPError] = HfHubHTTPError
) -> HfHubHTTPError:
    """
    Return what a client raises at an answer of the Hub.
    """
    request = httpx2.Request("GET", "https://huggingface.co/a/b")
    return kind(
        "said this\nand more", response=httpx2.Response(status, request=request)
    )


class Call:
    """
    A call that fails some times, one fault after the other.
    """

    def __init__(self, *faults: Exception) -> None:
        self._faults = list(faults)
        self.times = 0

    def __call__(self) -> str:
        """
        Fail, or answer.
        """
        self.times += 1
        if self._faults:
            raise self._faults.pop(0)
        return "done"


@pytest.fixture(name="pauses")
def _pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """
    Note how long it would have slept.
    """
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


def test_each_pause_is_twice_the_one_before(pauses: list[float]) -> None:
    """
    Six attempts in all, of which the sixth may succeed.
    """
    call = Call(*(answered(429) for _ in range(5)))

    assert retried(ORDER, call) == "done"
    assert call.times == 6
    first = pauses[0]
    assert pauses == [first, 2 * first, 4 * first, 8 * first, 16 * first]


@pytest.mark.parametrize(
    "fault",
    [
        answered(500),
        answered(503),
        httpx2.ReadTimeout("late"),
        httpx2.StreamClosed(),
        httpcore2.ReadError("broken"),
        ConnectionResetError(errno.ECONNRESET, "reset"),
        OSError("Consistency check failed"),
    ],
    ids=lambda fault: f"{type(fault).__name__}-{fault}"[:24],
)
@pytest.mark.usefixtures("pauses")
def test_what_passes_is_asked_again(fault: Exception) -> None:
    """
    A server's fault, and a line that breaks off.
    """
    call = Call(fault)

    assert retried(ORDER, call) == "done"
    assert call.times == 2


@pytest.mark.parametrize(
    "fault", [OSError(errno.ENOSPC, "full"), ValueError("ours")], ids=["disk", "ours"]
)
def test_what_is_no_fault_of_the_hub_is_raised_at_once(
    fault: Exception, pauses: list[float]
) -> None:
    """
    As it is.
    """
    call = Call(fault)

    with pytest.raises(type(fault)) as caught:
        retried(ORDER, call)
    assert caught.value is fault
    assert (call.times, pauses) == (1, [])


def test_fails_if_the_hub_stays_busy(pauses: list[float]) -> None:
    """
    It says how often it asked, and the first line of the last answer.
    """
    call = Call(*(answered(429) for _ in range(9)))

    with pytest.raises(StagingError) as caught:
        retried(ORDER, call)
    assert str(caught.value) == (
        "the Hub did not give a/b at cccccccccccc in 6 attempts, and said last: said "
        "this; deploy again to go on from here"
    )
    assert (call.times, len(pauses)) == (6, 6)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (httpx2.ReadTimeout(""), "ReadTimeout"),
        (httpx2.ReadTimeout(" \n\n  late \nand more"), "late"),
    ],
    ids=["nothing", "blank lines"],
)
@pytest.mark.usefixtures("pauses")
def test_the_last_answer_is_told_in_a_line(fault: Exception, words: str) -> None:
    """
    The first that says something, or else the fault's kind.
    """
    with pytest.raises(StagingError, match=f"and said last: {words}; deploy again"):
        retried(ORDER, Call(*[fault] * 6))


OTHER = "name one of its commits"
TERMS = "accept its terms on the Hub, and pass the token of that account"
REFUSED: dict[str, tuple[Exception, str]] = {
    "revision": (
        answered(404, RevisionNotFoundError),
        f"a/b has no revision {'c' * 40}: it was removed, or never was; {OTHER}",
    ),
    "gated": (
        answered(403, GatedRepoError),
        f"a/b is gated, and {{given}} has no access to it; {TERMS}",
    ),
    "hidden": (
        answered(401, RepositoryNotFoundError),
        "the Hub has no repository a/b, or shows it to others than {given} only",
    ),
    "other": (answered(400), "the Hub refused a/b at cccccccccccc: said this"),
    "last": (answered(499), "the Hub refused a/b at cccccccccccc: said this"),
}


@pytest.mark.parametrize("token", ["", "given"])
@pytest.mark.parametrize("name", REFUSED)
def test_fails_if_the_hub_refuses(
    name: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    At once, with what to do; whether a token was given is said, and never which.
    """
    fault, words = REFUSED[name]
    monkeypatch.setenv("HF_TOKEN", token)
    call = Call(fault)

    with pytest.raises(StagingError) as caught:
        retried(ORDER, call)
    given = "the token that was given" if token else "no token"
    assert str(caught.value) == words.format(given=given)
    assert call.times == 1


@pytest.mark.parametrize(
    ("kind", "contents", "digest"),
    [
        # git hash-object, and sha256sum.
        ("git", b"hello\n", "git:ce013625030ba8dba906f756967f9e9ca394464a"),
        ("git", b"", "git:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        (
            "sha256",
            b"hello\n",
            "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        ),
        (
            "sha256",
            b"0" * (1024 * 1024 + 1),
            "sha256:730b665dc1a5b8f05df551d0fe17f5a2df35517f4b9c69a9c2eca6ddb637e13a",
        ),
    ],
    ids=["git", "empty", "large", "two reads"],
)
def test_a_digest_is_of_the_kind_that_the_hub_names(
    kind: str, contents: bytes, digest: str, tmp_path: Path
) -> None:
    """
    Git's own of what is small, and SHA-256 of what is large.
    """
    local = tmp_path / "file"
    local.write_bytes(contents)

    assert digest_of(local, HubFile("file", len(contents), f"{kind}:x")) == digest
