"""
The worker that mirrors images against registries on a socket.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from unittest import mock

import boto3
import pytest

from cdk_sagemaker_llm.staging import images, signalling
from tests.local.conftest import REGION, ROOT
from tests.local.mirroring.registry_server import (
    RegistryServer,
    Repository,
    digest_of,
)

LAYERS = (b"base" * 50_000, bytes(range(256)) * 800, b"{}")
TAG = "0.20.2-mirrored"


def order(digest: str, **more: object) -> dict[str, object]:
    """
    Write an order.
    """
    return {
        "source_account": "763104351884",
        "source_region": "us-west-2",
        "source_repository": "vllm",
        "digest": digest,
        "platform": "linux/amd64",
        "repository": "mine",
        "tag": TAG,
        **more,
    }


def environment(server: RegistryServer, asked: Mapping[str, object]) -> dict[str, str]:
    """
    Return what a worker runs with: Amazon ECR is where an SDK is told that it is.
    """
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("AWS_")},
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL_ECR": server.url,
        "STAGING_RETRY_SECONDS": "0.01",
        "NO_PROXY": "127.0.0.1,localhost",
        "STAGING_ORDER": json.dumps(asked),
    }


def mirror(
    server: RegistryServer, asked: Mapping[str, object]
) -> subprocess.CompletedProcess[str]:
    """
    Run the worker to its end, in this process: starting one takes longer.
    """
    output = io.StringIO()
    with (
        mock.patch.dict(os.environ, environment(server, asked), clear=True),
        mock.patch.object(signalling, "_PAUSE", 0.01),
        mock.patch.object(boto3, "DEFAULT_SESSION", None),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        status = images.main()
    return subprocess.CompletedProcess("images", status, output.getvalue())


def test_copies_an_image_and_puts_its_tag_last() -> None:
    """
    The same bytes under the same digest, read once each, from the account and the
    region that were named.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS, tag="0.20.2")
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        done = mirror(server, order(digest, source_tag="0.20.2"))

    assert done.returncode == 0, done.stdout
    assert mine.manifests == {digest: source.manifests[digest]}
    assert mine.blobs == source.blobs
    assert mine.tags == {TAG: digest}
    assert server.written[-1] == TAG
    assert sorted(server.written[:-1]) == sorted(source.blobs)
    assert server.asked_of_ecr == [{}, {"registryIds": ["763104351884"]}]
    assert "[4/4]" in done.stdout
    assert "100% of 0.00 GB" in done.stdout
    assert f"vllm@{digest[:19]} is mirrored: " in done.stdout
    assert "stands for" not in done.stdout


def test_a_mirrored_image_is_not_asked_for_again() -> None:
    """
    Its tag is enough: the source is not needed any more.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        mirror(server, order(digest))
        server.repositories.pop("vllm")
        server.written.clear()
        done = mirror(server, order(digest))

    assert done.returncode == 0, done.stdout
    assert "is mirrored already" in done.stdout
    assert server.written == []


def test_layers_of_another_image_are_not_copied_again() -> None:
    """
    What the repository has of them stays.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    mine.add_image(*LAYERS[:2], tag="other")
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        done = mirror(server, order(digest))

    assert done.returncode == 0, done.stdout
    assert server.written == [digest_of(LAYERS[2]), TAG]
    assert done.stdout.count("is there already") == 3


def test_an_index_is_copied_with_all_its_images() -> None:
    """
    Its digest stays the same only with all of them.
    """
    source, mine = Repository(), Repository()
    amd = source.add_image(*LAYERS)
    arm = source.add_image(LAYERS[0], b"other", architecture="arm64")
    digest = source.add_index(amd64=amd, arm64=arm)
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        done = mirror(server, order(digest, platform="linux/arm64"))

    assert done.returncode == 0, done.stdout
    assert mine.manifests == source.manifests
    assert mine.blobs == source.blobs
    assert mine.tags == {TAG: digest}
    assert server.written[-3:] == [amd, arm, TAG]


def test_an_open_registry_hands_out_its_token() -> None:
    """
    The public gallery asks for no account.
    """
    source, mine = Repository(is_open=True), Repository()
    digest = source.add_image(*LAYERS)
    name = "deep-learning-containers/vllm"
    with RegistryServer({name: source, "mine": mine}) as server:
        asked = order(digest, source_url=server.url, source_repository=name)
        done = mirror(server, {**asked, "source_account": "", "source_region": ""})

    assert done.returncode == 0, done.stdout
    assert mine.tags == {TAG: digest}
    assert server.asked_of_ecr == [{}]


def test_tells_that_a_tag_has_moved_on() -> None:
    """
    The digest is what counts; who reads the log learns that there is a newer one.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS, tag="0.20.2")
    newer = source.add_image(*LAYERS, b"patched", tag="0.20.2")
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        done = mirror(server, order(digest, source_tag="0.20.2"))

    assert done.returncode == 0, done.stdout
    assert f"stands for {newer} now" in done.stdout
    assert mine.tags == {TAG: digest}


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(n, marks=() if n in {0, 5} else pytest.mark.whole)
        for n in range(10)
    ],
)
def test_goes_on_where_it_was_killed(point: int) -> None:
    """
    Killed at a layer that is read, and run again, it ends with the same bytes.
    """
    source, mine = Repository(), Repository()
    # The configuration is read once more before, for what it is built for.
    digest = source.add_image(*(bytes([i]) * 30_000 for i in range(10)))
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        asked = order(digest, threads=1)
        running = subprocess.Popen(
            [sys.executable, "-m", "cdk_sagemaker_llm.staging.images"],
            cwd=ROOT,
            env=environment(server, asked),
        )

        def kill(_: str) -> None:
            if len(server.read) == point + 2:
                running.send_signal(signal.SIGKILL)

        server.on_blob = kill
        assert running.wait() == -signal.SIGKILL
        assert len(mine.blobs) == point
        assert mine.tags == {}
        server.on_blob = lambda _: None
        server.read.clear()
        done = mirror(server, asked)

    assert done.returncode == 0, done.stdout
    assert len(server.read) == 1 + 11 - point
    assert mine.blobs == source.blobs
    assert mine.tags == {TAG: digest}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_survives_a_busy_registry(status: int) -> None:
    """
    It is asked again.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    with RegistryServer(
        {"vllm": source, "mine": mine}, busy=5, busy_status=status
    ) as server:
        done = mirror(server, order(digest))

    assert done.returncode == 0, done.stdout
    assert mine.tags == {TAG: digest}


def test_gives_up_on_a_registry_that_stays_busy() -> None:
    """
    With what it said last.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    with RegistryServer({"vllm": source, "mine": mine}, busy=6) as server:
        done = mirror(server, order(digest))

    assert done.returncode == 1
    assert (
        "/mine failed in 6 attempts, and said last: 429 Too Many Requests; deploy "
        "again to go on from here" in done.stdout
    )
    assert mine.tags == {}


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_goes_on_where_the_line_breaks_off(*, knows_ranges: bool) -> None:
    """
    A layer that breaks off is gone on with from its last byte, also where the server
    begins anew.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    broken = digest_of(LAYERS[1])
    with RegistryServer(
        {"vllm": source, "mine": mine}, broken={broken: 3}, knows_ranges=knows_ranges
    ) as server:
        done = mirror(server, order(digest))

    assert done.returncode == 0, done.stdout
    assert server.read.count(broken) == 4
    assert mine.blobs == source.blobs


def test_sends_a_layer_again_that_broke_off() -> None:
    """
    An upload that is not answered is begun anew; one that is there is not.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    unsent, lost = digest_of(LAYERS[0]), digest_of(LAYERS[1])
    with RegistryServer(
        {"vllm": source, "mine": mine}, unsent={unsent: 2}, lost={lost: 1}
    ) as server:
        done = mirror(server, order(digest))

    assert done.returncode == 0, done.stdout
    assert server.read.count(unsent) == 3
    assert server.read.count(lost) == 1
    assert mine.tags == {TAG: digest}


def test_takes_no_other_contents() -> None:
    """
    What is corrupted on its way is brought again, and in the end refused.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    wrong = digest_of(LAYERS[1])
    with RegistryServer({"vllm": source, "mine": mine}, corrupted={wrong: 5}) as server:
        refused = mirror(server, order(digest))
        assert server.corrupted[wrong] == 2
        assert wrong not in mine.blobs
        assert mine.tags == {}
        done = mirror(server, order(digest))

    assert refused.returncode == 1
    assert (
        f"{wrong} of {server.url.removeprefix('http://')}/vllm arrived 3 times with "
        "other contents than its digest says, and was not put in place"
        in refused.stdout
    )
    assert done.returncode == 0, done.stdout
    assert mine.blobs == source.blobs


def test_takes_no_other_manifest() -> None:
    """
    The digest is held against what comes.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    with RegistryServer(
        {"vllm": source, "mine": mine}, corrupted={digest: 1}
    ) as server:
        done = mirror(server, order(digest))

    assert done.returncode == 1
    assert f"/vllm gave another manifest than {digest}" in done.stdout
    assert mine == Repository()


def test_logs_in_again_when_a_login_ends() -> None:
    """
    It lasts twelve hours.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    with RegistryServer({"vllm": source, "mine": mine}) as server:

        def end(_: str) -> None:
            server.logins = 1

        server.on_blob = end
        done = mirror(server, order(digest, threads=1))

    assert done.returncode == 0, done.stdout
    assert mine.tags == {TAG: digest}
    assert len(server.asked_of_ecr) == 4


BAD: dict[str, tuple[dict[str, object], dict[str, Repository], str]] = {
    "an unknown digest": (
        {"digest": "sha256:" + "0" * 64},
        {},
        f"/vllm has no sha256:{'0' * 64}; name a digest of that repository",
    ),
    "an unknown source": (
        {"source_repository": "other"},
        {},
        "there is no repository 127.0.0.1",
    ),
    "a closed source": (
        {},
        {"vllm": Repository(is_closed=True)},
        "/vllm (403 Forbidden: no policy allows it); let it in by its own policy",
    ),
    "a closed target": (
        {},
        {"mine": Repository(is_closed=True)},
        "/mine (403 Forbidden",
    ),
    "an unknown target": (
        {"repository": "nowhere"},
        {},
        "/nowhere",
    ),
    "another platform": (
        {"platform": "linux/arm64"},
        {},
        "is built for linux/amd64, and linux/arm64 is wanted",
    ),
    "a tag of another image": (
        {},
        {"mine": Repository(tags={TAG: "sha256:other"}, manifests={})},
        f"answered PUT {TAG} with 400 Bad Request: the tag exists, and is immutable",
    ),
    "an order that is none": ({"surprise": 1}, {}, "STAGING_ORDER is not what it"),
}


@pytest.mark.parametrize("name", BAD)
def test_says_what_stands_in_the_way(name: str) -> None:
    """
    One clear line, and no tag.
    """
    changed, repositories, words = BAD[name]
    source = Repository()
    digest = source.add_image(*LAYERS)
    # Each run begins with what is written here.
    given = {key: replace(one) for key, one in repositories.items()}
    mine = given.get("mine", Repository())
    before = dict(mine.tags)
    with RegistryServer({"vllm": source, "mine": mine, **given}) as server:
        done = mirror(server, {**order(digest), **changed})

    assert done.returncode == 1
    (line,) = (one for one in done.stdout.splitlines() if "not mirrored" in one)
    assert words in line
    assert "Traceback" not in done.stdout
    assert mine.tags == before


def test_a_region_that_knows_nobody_is_told_from_the_rest() -> None:
    """
    Credentials of one partition are none in another one.
    """
    with RegistryServer({}) as server:
        given = environment(server, order("sha256:" + "0" * 64))
        given["AWS_ENDPOINT_URL_ECR"] = "http://127.0.0.1:1"
        done = subprocess.run(
            [sys.executable, "-m", "cdk_sagemaker_llm.staging.images"],
            cwd=ROOT,
            env={**given, "AWS_MAX_ATTEMPTS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert "not mirrored: Amazon ECR of this region does not let the role log in" in (
        done.stdout
    )


def test_no_login_is_in_the_log() -> None:
    """
    Neither where it works, nor where it is refused.
    """
    source, mine = Repository(), Repository()
    digest = source.add_image(*LAYERS)
    with RegistryServer({"vllm": source, "mine": mine}) as server:
        done = mirror(server, order(digest))
        mine.is_closed = True
        refused = mirror(server, order(digest))

    assert server.password not in done.stdout + refused.stdout
