"""
A repository of a container registry: what it is asked, how often, and what its answers
mean.
"""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.error
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cdk_sagemaker_llm.staging import images, registry
from cdk_sagemaker_llm.staging.images import (
    _Blob,
    _blobs,
    _Copying,
    _ImageOrder,
    _manifests,
    _OpenLogin,
    _Pieces,
    _platforms,
    source_of,
)
from cdk_sagemaker_llm.staging.registry import (
    IMAGES,
    INDEXES,
    BusyError,
    Manifest,
    Registry,
    _reason,
)
from cdk_sagemaker_llm.staging.signalling import StagingError

ACCEPT = (
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json"
)
IMAGE = IMAGES[1]
Said = tuple[int, dict[str, str], bytes]


def digest_of(content: bytes) -> str:
    """
    Return the digest of bytes.
    """
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def refusal(status: int, code: str, message: str) -> Said:
    """
    Answer as a registry refuses.
    """
    errors = [{"code": code, "message": message}]
    return status, {}, json.dumps({"errors": errors}).encode()


class Scripted:
    """
    A server that answers as it is told, one request after the other.
    """

    def __init__(self) -> None:
        self.answers: list[Said] = []
        self.asked: list[tuple[str, str]] = []
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[bytes] = []
        self.logins: list[str] = []
        self.url = ""

    def login(self, challenge: str) -> str:
        """
        Let in, with another header each time.
        """
        self.logins.append(challenge)
        return f"Basic {len(self.logins)}"

    def repository(self, *answers: Said) -> Registry:
        """
        Return a repository that answers so.
        """
        self.answers += answers
        return Registry(f"{self.url}/", "a/mine", self.login)


class _Handler(BaseHTTPRequestHandler):
    of: Scripted

    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing.
        """

    def answer(self) -> None:
        """
        Answer the next request.
        """
        of = self.of
        of.asked.append((self.command, self.path))
        of.headers.append(dict(self.headers))
        chunked = self.headers.get("Transfer-Encoding") == "chunked"
        of.bodies.append(
            self._chunks()
            if chunked
            else self.rfile.read(int(self.headers.get("Content-Length", "0")))
        )
        status, headers, body = of.answers.pop(0)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Scripted]:
    script = Scripted()
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH")
    answers = {f"do_{method}": _Handler.answer for method in methods}
    handler = type("Handler", (_Handler,), {"of": script, **answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        script.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield script
        server.shutdown()
        thread.join()


@pytest.fixture(name="script")
def _script(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """
    The same server, that has not been asked yet.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for kept in (
        *(server.answers, server.asked, server.headers, server.bodies),
        server.logins,
    ):
        kept.clear()
    return server


@pytest.fixture(name="pauses", autouse=True)
def _pauses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """
    The attempts after which it waited, and did not.
    """
    found: list[int] = []
    monkeypatch.setattr(registry, "pause", found.append)
    monkeypatch.setattr(images, "pause", found.append)
    return found


def title(script: Scripted) -> str:
    """
    Return what messages call the repository.
    """
    return f"{script.url.removeprefix('http://')}/a/mine"


def test_a_manifest_is_asked_for_by_its_digest_or_tag(script: Scripted) -> None:
    """
    In each form, with the login; its kind comes without what is said beside it.
    """
    content = b'{"layers": []}'
    kind = {"Content-Type": f"{IMAGE}; charset=utf-8"}
    mine = script.repository((200, kind, content), (200, kind, content))

    found = mine.manifest(digest_of(content))

    assert found == mine.manifest("latest") == Manifest(content, IMAGE)
    assert (found.digest, found.parsed) == (digest_of(content), {"layers": []})
    assert script.asked == [
        ("GET", f"/v2/a/mine/manifests/{digest_of(content)}"),
        ("GET", "/v2/a/mine/manifests/latest"),
    ]
    assert {one["Accept"] for one in script.headers} == {ACCEPT}
    assert {one["Authorization"] for one in script.headers} == {"Basic 1"}
    assert script.logins == [""]


@pytest.mark.parametrize("kind", [*INDEXES, *IMAGES])
def test_a_manifest_is_of_an_image_or_an_index(script: Scripted, kind: str) -> None:
    """
    In the words of Docker, or those of OCI.
    """
    assert script.repository((200, {"Content-Type": kind}, b"{}")).manifest("a")


@pytest.mark.parametrize(
    ("reference", "headers", "words"),
    [
        (
            "latest",
            {"Content-Type": "application/json"},
            "latest of {} is of the kind application/json, and no image",
        ),
        ("latest", {}, "latest of {} is of the kind , and no image"),
        (
            "sha256:0",
            {"Content-Type": IMAGE},
            (
                "{} gave another manifest than sha256:0: it is "
                f"{digest_of(b'{}')}; nothing of it was taken"
            ),
        ),
    ],
)
def test_another_manifest_is_refused(
    script: Scripted, reference: str, headers: dict[str, str], words: str
) -> None:
    """
    With what it is.
    """
    with pytest.raises(StagingError) as raised:
        script.repository((200, headers, b"{}")).manifest(reference)

    assert str(raised.value) == words.format(title(script))


def test_what_is_there_is_found(script: Scripted) -> None:
    """
    Without reading it; what is not there is no fault.
    """
    mine = script.repository(
        (200, {"Docker-Content-Digest": "sha256:1"}, b""),
        (200, {}, b""),
        (404, {}, b""),
        (200, {}, b""),
        (404, {}, b""),
    )

    assert [mine.digest_at("a") for _ in range(3)] == ["sha256:1", "", None]
    assert [mine.has_blob("sha256:2") for _ in range(2)] == [True, False]
    assert script.asked == [
        *[("HEAD", "/v2/a/mine/manifests/a")] * 3,
        *[("HEAD", "/v2/a/mine/blobs/sha256:2")] * 2,
    ]
    assert ["Accept" in one for one in script.headers] == [True] * 3 + [False] * 2


def test_a_configuration_is_held_against_its_digest(script: Scripted) -> None:
    """
    Before it is read.
    """
    mine = script.repository((200, {}, b"{}"), (200, {}, b"[]"))

    assert mine.read_blob(digest_of(b"{}")) == b"{}"
    with pytest.raises(StagingError) as raised:
        mine.read_blob(digest_of(b"{}"))
    assert str(raised.value) == (
        f"{title(script)} gave other contents than {digest_of(b'{}')}"
    )


@pytest.mark.parametrize(
    ("start", "status", "body", "asked_for", "read"),
    [
        (0, 200, b"abcde", None, b"abcde"),
        (2, 206, b"cde", "bytes=2-", b"cde"),
        (2, 200, b"abcde", "bytes=2-", b"cde"),
        (5, 200, b"abcde", "bytes=5-", b""),
        (2**20 + 3, 200, b"x" * (2**20 + 3) + b"end", "bytes=1048579-", b"end"),
    ],
)
def test_a_layer_is_read_from_a_byte_on(
    script: Scripted,
    start: int,
    status: int,
    body: bytes,
    asked_for: str | None,
    read: bytes,
) -> None:
    """
    Also of a server that begins anew.
    """
    with script.repository((status, {}, body)).open_blob("sha256:1", start) as stream:
        assert stream.read() == read

    assert script.asked == [("GET", "/v2/a/mine/blobs/sha256:1")]
    assert script.headers[0].get("Range") == asked_for


def test_a_layer_that_ends_before_that_byte_is_broken_off(script: Scripted) -> None:
    """
    Another attempt may do.
    """
    with pytest.raises(BusyError, match="^the connection was closed$"):
        script.repository((200, {}, b"abc")).open_blob("sha256:1", 4)


@pytest.mark.parametrize(
    ("place", "finished"),
    [
        ("/up/1", "/up/1?digest=sha256%3A1"),
        ("{}/up/1?state=a", "/up/1?state=a&digest=sha256%3A1"),
        ("up/1", "/up/1?digest=sha256%3A1"),
    ],
)
def test_a_layer_is_sent_in_three_steps(
    script: Scripted, place: str, finished: str
) -> None:
    """
    Each to the address that the one before has named.
    """
    named = {"Location": place.format(script.url)}
    mine = script.repository(
        (202, {"Location": "/up/0"}, b""), (201, named, b""), (201, {}, b"")
    )

    mine.finish_blob(mine.send_blob(mine.begin_blob(), iter([b"ab", b"c"])), "sha256:1")

    assert script.asked == [
        ("POST", "/v2/a/mine/blobs/uploads/"),
        ("PATCH", "/up/0"),
        ("PUT", finished),
    ]
    assert script.bodies == [b"", b"abc", b""]
    kinds = {one["Content-Type"] for one in script.headers}
    assert kinds == {"application/octet-stream"}


def test_a_manifest_is_put_as_it_is(script: Scripted) -> None:
    """
    The bytes are what counts.
    """
    script.repository((201, {}, b"")).put_manifest("tag", Manifest(b"{ }", IMAGE))

    assert script.asked == [("PUT", "/v2/a/mine/manifests/tag")]
    assert script.headers[0]["Content-Type"] == IMAGE
    assert script.bodies == [b"{ }"]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_registry_is_asked_again(
    script: Scripted, pauses: list[int], status: int
) -> None:
    """
    Five times; after that it is given up, with what it said last.
    """
    mine = script.repository(*[(status, {}, b"")] * 5, (200, {}, b"x"))
    assert mine.has_blob("sha256:1")
    assert pauses == [0, 1, 2, 3, 4]

    script.answers += [refusal(status, "A", "slow")] * 6
    with pytest.raises(StagingError) as raised:
        mine.manifest("tag")

    assert pauses == [*range(5), *range(6)]
    assert str(raised.value).startswith(
        f"{title(script)} failed in 6 attempts, and said last: {status} "
    )
    assert str(raised.value).endswith(": slow; deploy again to go on from here")
    assert isinstance(raised.value.__cause__, BusyError)


def test_an_answer_that_breaks_off_is_asked_for_again(
    script: Scripted, pauses: list[int]
) -> None:
    """
    Of which it says as much as there is.
    """
    mine = script.repository(*[(200, {"Content-Length": "9"}, b"abc")] * 6)

    with pytest.raises(StagingError, match="said last: IncompleteRead.*; deploy again"):
        mine.manifest("tag")
    assert len(pauses) == 6


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (
            [refusal(403, "DENIED", "no")],
            (
                "the role may not {} ({}403 Forbidden: no); let it in by its own "
                "policy and "
                "by the repository's"
            ),
        ),
        (
            [(401, {}, b"")],
            (
                "the role may not {} ({}401 Unauthorized); let it in by its own policy "
                "and "
                "by the repository's"
            ),
        ),
        (
            [(401, {"WWW-Authenticate": "Basic"}, b"who")] * 2,
            (
                "the role may not {} ({}401 Unauthorized: who); let it in by its own "
                "policy "
                "and by the repository's"
            ),
        ),
    ],
)
@pytest.mark.parametrize("is_read", [True, False])
def test_a_registry_that_lets_nobody_in_is_told(
    script: Scripted, answers: list[Said], words: str, *, is_read: bool
) -> None:
    """
    For reading or for writing.
    """
    mine = script.repository(*answers)
    put = partial(mine.put_manifest, manifest=Manifest(b"", IMAGE))
    ask: Callable[[str], object] = mine.manifest if is_read else put

    with pytest.raises(StagingError) as raised:
        ask("tag")

    does = f"{'read from' if is_read else 'write to'} {title(script)}"
    assert str(raised.value) == words.format(does, "")
    assert script.answers == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            refusal(404, "MANIFEST_UNKNOWN", "no"),
            "{} has no tag; name a digest of that repository, as it is in that region",
        ),
        (refusal(404, "NAME_UNKNOWN", "no"), "there is no repository {}"),
        (refusal(400, "NAME_UNKNOWN", "no"), "there is no repository {}"),
        (refusal(400, "A", "no"), "{} answered GET tag with 400 Bad Request: no"),
        (refusal(499, "A", "no"), "{} answered GET tag with 499 : no"),
        ((405, {}, b""), "{} answered GET tag with 405 Method Not Allowed"),
        (
            (418, {}, b" <p>\n no  tea "),
            "{} answered GET tag with 418 I'm a Teapot: <p> no tea",
        ),
        (
            (400, {}, b"x" * 301),
            f"{{}} answered GET tag with 400 Bad Request: {'x' * 300}",
        ),
        (
            refusal(400, "A", "x" * 301),
            f"{{}} answered GET tag with 400 Bad Request: {'x' * 300}",
        ),
        (
            (400, {}, b'{"errors": []}'),
            '{} answered GET tag with 400 Bad Request: {{"errors": []}}',
        ),
        (
            (400, {}, b'{"errors": ["a"]}'),
            '{} answered GET tag with 400 Bad Request: {{"errors": ["a"]}}',
        ),
        ((400, {}, b"[]"), "{} answered GET tag with 400 Bad Request: []"),
        ((400, {}, b"{}"), "{} answered GET tag with 400 Bad Request: {{}}"),
        (
            (400, {}, b'{"errors": [{}]}'),
            "{} answered GET tag with 400 Bad Request",
        ),
    ],
)
def test_a_refusal_is_told_in_the_registrys_words(
    script: Scripted, pauses: list[int], answer: Said, words: str
) -> None:
    """
    As far as it has any, and at once.
    """
    with pytest.raises(StagingError) as raised:
        script.repository(answer).manifest("tag")

    assert str(raised.value) == words.format(title(script))
    assert pauses == []


def test_a_login_that_has_ended_is_made_again(script: Scripted) -> None:
    """
    With what the registry asks for, and once alone.
    """
    asks = (401, {"WWW-Authenticate": "Basic realm"}, b"")
    mine = script.repository((200, {}, b""), asks, (200, {}, b""))

    assert mine.has_blob("a")
    assert mine.has_blob("a")

    assert script.logins == ["", "Basic realm"]
    sent = [one["Authorization"] for one in script.headers]
    assert sent == ["Basic 1", "Basic 1", "Basic 2"]


def test_a_layer_that_met_the_end_of_a_login_is_begun_anew(script: Scripted) -> None:
    """
    It was read already.
    """
    asks = (401, {"WWW-Authenticate": "Basic realm"}, b"")
    mine = script.repository(asks)

    with pytest.raises(BusyError, match="^the login had ended$"):
        mine.send_blob(f"{script.url}/up", iter([b"a"]))
    assert script.logins == ["", "Basic realm"]


def test_a_login_is_for_its_registry_alone(script: Scripted) -> None:
    """
    Elsewhere the signature is in the address.
    """
    elsewhere = script.url.replace("127.0.0.1", "localhost")
    mine = script.repository((201, {"Location": "/up/2"}, b""), (201, {}, b""))

    place = mine.send_blob(f"{elsewhere}/up/1", iter([b"a"]))
    mine.finish_blob(place, "sha256:1")

    assert place == f"{script.url}/up/2"
    assert ["Authorization" in one for one in script.headers] == [False, True]


def test_an_address_is_one_of_the_web(script: Scripted) -> None:
    """
    A file of the machine is none.
    """
    with pytest.raises(StagingError) as raised:
        script.repository().finish_blob("file:///etc/passwd", "sha256:1")

    assert str(raised.value) == (
        f"{title(script)} named an address that is none: "
        "'file:///etc/passwd?digest=sha256%3A1'"
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (OSError("a"), "a"),
        (OSError(), "OSError"),
        (urllib.error.URLError("why"), "why"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_fault_is_told_by_its_reason(fault: Exception, words: str) -> None:
    """
    Or by its kind.
    """
    assert _reason(fault) == words


@pytest.mark.parametrize(
    ("challenge", "asked", "answer", "header"),
    [
        (
            'Bearer realm="{}/token",service="open",scope="aws"',
            "/token?service=open&scope=aws",
            b'{"token": "t", "access_token": "u"}',
            "Bearer t",
        ),
        (
            'bearer realm="{}/token"',
            "/token?",
            b'{"access_token": "u"}',
            "Bearer u",
        ),
        ('BEARER realm="{}/token"', "/token?", b"{}", "Bearer "),
        ('Basic realm="{}/token"', None, b"", ""),
        ('Bearer service="open"', None, b"", ""),
        ("", None, b"", ""),
    ],
)
def test_an_open_registry_hands_out_a_token(
    script: Scripted, challenge: str, asked: str | None, answer: bytes, header: str
) -> None:
    """
    At the address of its challenge, with the rest of it.
    """
    script.answers.append((200, {}, answer))

    assert _OpenLogin()(challenge.format(script.url)) == header

    assert script.asked == ([] if asked is None else [("GET", asked)])


def test_a_token_may_not_be_there(script: Scripted) -> None:
    """
    For the moment, or because its address is none.
    """
    script.answers += [(200, {}, b"<p>"), (500, {}, b"")]
    challenge = f'Bearer realm="{script.url}/token"'

    for _ in range(2):
        with pytest.raises(BusyError, match=f"^no token from {script.url}/token: "):
            _OpenLogin()(challenge)
    with pytest.raises(StagingError) as raised:
        _OpenLogin()('Bearer realm="file:///a"')
    assert str(raised.value) == (
        "a registry hands out tokens at no address: 'file:///a'"
    )


ORDER = {
    "source_repository": "a/mine",
    "digest": "sha256:0123456789abcdef",
    "platform": "linux/amd64",
    "repository": "to",
    "tag": "t",
}


def test_an_image_is_read_from_where_its_order_says(script: Scripted) -> None:
    """
    An address needs no login; the title has the beginning of the digest.
    """
    written = json.dumps({**ORDER, "source_url": script.url})
    order = _ImageOrder.from_environment({"STAGING_ORDER": written})
    script.answers.append((200, {}, b""))

    assert order.title == "a/mine@sha256:0123456789ab"
    assert (order.threads, order.source_tag) == (4, "")
    assert source_of(order).has_blob("a")
    assert "Authorization" not in script.headers[0]


@pytest.mark.parametrize("written", ["{", "[]", "{}", '{"a": 1}', None])
def test_an_order_that_is_none_is_told(written: str | None) -> None:
    """
    By the name of its variable.
    """
    variables = {} if written is None else {"STAGING_ORDER": written}

    with pytest.raises(StagingError, match="^STAGING_ORDER is not what it should be: "):
        _ImageOrder.from_environment(variables)


def manifest(kind: str = IMAGE, **said: object) -> Manifest:
    """
    Write a manifest.
    """
    return Manifest(json.dumps(said).encode(), kind)


def test_an_index_comes_after_its_images(script: Scripted) -> None:
    """
    As deep as it goes.
    """
    image = manifest(config={}, layers=[])
    inner = manifest(INDEXES[1], manifests=[{"digest": image.digest}])
    empty = manifest(INDEXES[0])
    outer = manifest(
        INDEXES[0], manifests=[{"digest": inner.digest}, {"digest": empty.digest}]
    )
    mine = script.repository(
        *(
            (200, {"Content-Type": one.media_type}, one.content)
            for one in (outer, inner, image, empty)
        )
    )

    assert list(_manifests(mine, outer.digest)) == [image, inner, empty, outer]


def test_each_layer_counts_once() -> None:
    """
    Those of every image, with their configurations; an index has none.
    """
    first = manifest(
        config={"digest": "c", "size": 1}, layers=[{"digest": "l", "size": 2}]
    )
    second = manifest(
        IMAGES[0],
        config={"digest": "d", "size": 3},
        layers=[{"digest": "l", "size": 2}, {"digest": "m", "size": 4}],
    )

    assert _blobs([first, second, manifest(INDEXES[0])]) == [
        _Blob("c", 1),
        _Blob("l", 2),
        _Blob("d", 3),
        _Blob("m", 4),
    ]


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"os": "linux", "architecture": "arm64"}, "linux/arm64"),
        ({"os": "linux"}, "linux/unknown"),
        ({"architecture": "arm64"}, "unknown/arm64"),
    ],
)
def test_an_image_says_what_it_is_built_for(
    script: Scripted, config: dict[str, str], found: str
) -> None:
    """
    In its configuration; of an index each image, as far as it is said.
    """
    content = json.dumps(config).encode()
    image = manifest(config={"digest": digest_of(content)})
    index = manifest(INDEXES[0], manifests=[{"platform": config}, {}])

    assert _platforms(script.repository((200, {}, content)), image) == {found}
    assert _platforms(script.repository(), index) == {found, "unknown/unknown"}
    assert _platforms(script.repository(), manifest(INDEXES[0])) == set()


def test_a_layer_that_stays_broken_is_given_up(
    script: Scripted, pauses: list[int]
) -> None:
    """
    After as many breaks as attempts; each byte is taken once.
    """
    broken = {"Content-Length": "9"}
    mine = script.repository(
        (200, broken, b"ab"), *[(206, broken, b"")] * 5, (206, {}, b"")
    )
    pieces = _Pieces(mine, _Blob(digest_of(b"abc"), 3))
    taken: list[bytes] = []

    with pytest.raises(StagingError) as raised:
        taken.extend(pieces)

    assert str(raised.value) == (
        f"{title(script)} failed in 6 attempts, and said last: the connection was "
        "closed; deploy again to go on from here"
    )
    assert taken == [b"ab"]
    assert pauses == [0, 1, 2, 3, 4, 5]
    assert [one.get("Range") for one in script.headers] == [None] + ["bytes=2-"] * 6


class Kept:
    """
    A repository that takes layers.
    """

    title = "kept"

    def __init__(self, *there: str) -> None:
        self.there = list(there)

    def has_blob(self, digest: str) -> bool:
        """
        Say whether a layer was there, or was finished.
        """
        return digest in self.there

    def begin_blob(self) -> str:
        """
        Return no address.
        """
        return ""

    def send_blob(self, place: str, pieces: Iterator[bytes]) -> str:
        """
        Take the bytes.
        """
        return place + b"".join(pieces).decode()

    def finish_blob(self, place: str, digest: str) -> None:
        """
        Keep that it is there.
        """
        assert place
        self.there.append(digest)


@pytest.mark.parametrize(
    ("there", "lines"),
    [
        (
            False,
            [
                "[1/2] {big} 0.00 GB in 0 s (0 MB/s), 60% of 0.00 GB",
                "[2/2] {small} 0.00 GB in 0 s (0 MB/s), 100% of 0.00 GB",
            ],
        ),
        (
            True,
            [
                "[1/2] {big} 0.00 GB is there already, 60% of 0.00 GB",
                "[2/2] {small} 0.00 GB in 0 s (0 MB/s), 100% of 0.00 GB",
            ],
        ),
    ],
)
def test_layers_are_copied_the_largest_first(
    script: Scripted,
    capsys: pytest.CaptureFixture[str],
    lines: list[str],
    *,
    there: bool,
) -> None:
    """
    One line each; what is there is not read.
    """
    small, big = digest_of(b"ab"), digest_of(b"abc")
    source = script.repository()
    script.answers += [(200, {}, b"abc")] * (not there) + [(200, {}, b"ab")]
    target: Any = Kept(*[big] * there)

    _Copying(source, target, [_Blob(small, 2), _Blob(big, 3)], 1).run()

    assert capsys.readouterr().out.splitlines() == [
        line.format(small=small[:19], big=big[:19]) for line in lines
    ]
    assert target.there == [big, small]


def test_a_layer_of_other_contents_is_refused_in_the_end(
    script: Scripted, pauses: list[int]
) -> None:
    """
    After three times, and is never finished.
    """
    source = script.repository(*[(200, {}, b"xyz")] * 3)
    digest, target = digest_of(b"abc"), Kept()
    blobs, to = [_Blob(digest, 3)], target
    anything: Any = to

    with pytest.raises(StagingError) as raised:
        _Copying(source, anything, blobs, 1).run()

    assert str(raised.value) == (
        f"{digest} of {title(script)} arrived 3 times with other contents than its "
        "digest says, and was not put in place"
    )
    assert target.there == []
    assert pauses == [0, 1]
