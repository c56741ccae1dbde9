"""
The staging worker against a Hub on a socket and the embedded AWS.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import boto3
import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.conftest import REGION, ROOT
from tests.local.staging.hub_server import REVISION, Hub, Repository
from tests.secrecy import TOKEN

MODEL = "tiny/model"
FILES = {
    "config.json": b'{"architectures": ["LlamaForCausalLM"]}',
    "tokenizer.json": b"{}",
    "model-00001-of-00002.safetensors": bytes(range(256)) * 400,
    "model-00002-of-00002.safetensors": b"second" * 20_000,
    "pytorch_model.bin": b"pickle" * 10_000,
    "original/consolidated.00.pth": b"twice" * 10_000,
}
# git hash-object of what the Hub keeps in Git, and sha256sum of what is large.
DIGESTS = {
    "config.json": "git:09887a33a6b2566789cb159f5fe5e2e41abd70f5",
    "tokenizer.json": "git:9e26dfeeb6e641a33dae4961196235bdb965b21b",
    "model-00001-of-00002.safetensors": "sha256:"
    "27783e87963a4efb6829b531c9ba57b44f45797f6770bd637fbf0d807cbdbae0",
    "model-00002-of-00002.safetensors": "sha256:"
    "7e50d3f282dbc6fb01ec8fd49b87e8796462103e5123245e202dfc540d769d31",
}
EMPTY = "git:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
STAGED = [
    "config.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "tokenizer.json",
]

NOTHING_KEPT = TemporaryDirectory()

Stage = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(name="s3")
def _s3(embedded_aws: EmbeddedAws) -> Untyped:
    """
    A client of the embedded AWS.
    """
    return boto3.client("s3", **client_arguments(embedded_aws))


def client_arguments(aws: EmbeddedAws) -> dict[str, Any]:
    """
    Return how a client reaches the server.
    """
    return {
        "endpoint_url": aws.process_environment["AWS_ENDPOINT_URL"],
        "region_name": REGION,
        "aws_access_key_id": "testing",
        "aws_secret_access_key": "testing",
    }


def order(bucket: str, **more: object) -> dict[str, object]:
    """
    Write an order.
    """
    return {
        "model_id": MODEL,
        "revision": REVISION,
        "bucket": bucket,
        "prefix": f"models/tiny--model/{REVISION}/",
        "manifest": f"manifests/tiny--model/{REVISION}.json",
        **more,
    }


def environment(aws: EmbeddedAws, hub: Hub, **more: str) -> dict[str, str]:
    """
    Return what a worker runs with.
    """
    return {
        **os.environ,
        **aws.process_environment,
        "HF_ENDPOINT": hub.url,
        # Files that are kept there would be taken, and the Hub not be asked.
        "HF_HOME": NOTHING_KEPT.name,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "STAGING_RETRY_SECONDS": "0.01",
        "NO_PROXY": "127.0.0.1,localhost",
        **more,
    }


def stage(
    aws: EmbeddedAws, hub: Hub, asked: dict[str, object], **more: str
) -> subprocess.CompletedProcess[str]:
    """
    Run the worker to its end.
    """
    return subprocess.run(
        [sys.executable, "-m", "cdk_sagemaker_llm.staging"],
        cwd=ROOT,
        env=environment(aws, hub, STAGING_ORDER=json.dumps(asked), **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def contents(s3: Untyped, bucket: str) -> dict[str, bytes]:
    """
    Return all objects of a bucket.
    """
    found = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
    return {
        one["Key"]: s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        for one in found
    }


def test_stages_a_revision_and_writes_the_manifest_last(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    What an engine needs is there, byte by byte, and listed.
    """
    s3.create_bucket(Bucket="staging-whole")
    with Hub({MODEL: Repository(FILES)}) as hub:
        done = stage(embedded_aws, hub, order("staging-whole"))

    assert done.returncode == 0, done.stdout
    found = contents(s3, "staging-whole")
    listed = json.loads(found.pop(f"manifests/tiny--model/{REVISION}.json"))
    prefix = f"models/tiny--model/{REVISION}/"
    assert found == {prefix + path: FILES[path] for path in STAGED}
    assert listed == {
        "model_id": MODEL,
        "revision": REVISION,
        "prefix": prefix,
        "files": {
            path: {"size": len(FILES[path]), "digest": DIGESTS[path]} for path in STAGED
        },
    }
    assert "[4/4]" in done.stdout
    assert f"tiny/model at {REVISION[:12]} is staged: s3://staging-whole/" in (
        done.stdout
    )


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(n, marks=() if n in {0, 5} else pytest.mark.whole)
        for n in range(10)
    ],
)
def test_goes_on_where_it_was_killed(
    embedded_aws: EmbeddedAws, s3: Untyped, point: int
) -> None:
    """
    Killed at a file that is asked for, and run again, it ends with the same bytes.
    """
    bucket = f"staging-killed-{point}"
    s3.create_bucket(Bucket=bucket)
    files = {f"part-{i}.safetensors": bytes([i]) * 30_000 for i in range(10)}
    with Hub({MODEL: Repository(files)}) as hub:
        asked = order(bucket, threads=1)
        running = subprocess.Popen(
            [sys.executable, "-m", "cdk_sagemaker_llm.staging"],
            cwd=ROOT,
            env=environment(embedded_aws, hub, STAGING_ORDER=json.dumps(asked)),
        )

        def kill(_: str) -> None:
            if len(hub.asked) == point + 1:
                running.send_signal(signal.SIGKILL)

        hub.on_file = kill
        assert running.wait() == -signal.SIGKILL
        left = contents(s3, bucket)
        hub.asked.clear()
        hub.on_file = lambda _: None
        done = stage(embedded_aws, hub, asked)

    assert done.returncode == 0, done.stdout
    assert len(left) == point
    assert not any(key.startswith("manifests/") for key in left)
    assert len(hub.asked) == len(files) - point
    found = contents(s3, bucket)
    assert found.pop(f"manifests/tiny--model/{REVISION}.json")
    prefix = f"models/tiny--model/{REVISION}/"
    assert found == {prefix + path: data for path, data in files.items()}


def test_each_object_says_what_it_was_held_against(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    By a checksum of S3's own on its way, and under the key that was named.
    """
    s3.create_bucket(Bucket="staging-held")
    key = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000"
    with Hub({MODEL: Repository(FILES)}) as hub:
        done = stage(embedded_aws, hub, order("staging-held", kms_key=key))

    assert done.returncode == 0, done.stdout
    prefix = f"models/tiny--model/{REVISION}/"
    for path in STAGED:
        head = s3.head_object(
            Bucket="staging-held", Key=prefix + path, ChecksumMode="ENABLED"
        )
        digest = hashlib.sha256(FILES[path]).digest()
        assert head["Metadata"] == {"hub-digest": DIGESTS[path]}
        assert head["ChecksumSHA256"] == base64.b64encode(digest).decode()
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", key)


def test_files_of_a_size_come_in_the_order_of_their_names(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    The largest first, whatever order the Hub lists them in, each in its folder; what
    is empty is not asked for, and nothing is left behind on the disk.
    """
    s3.create_bucket(Bucket="staging-order")
    files = {
        "c.json": b"{}",
        "b.safetensors": bytes(20_000),
        "folder/a.json": b"[]",
        "a.json": b"10",
        "c.safetensors": bytes(30_000),
        "empty.txt": b"",
    }
    with TemporaryDirectory() as home, Hub({MODEL: Repository(files)}) as hub:
        places = {"HF_HOME": f"{home}/hub", "TMPDIR": home}
        done = stage(embedded_aws, hub, order("staging-order", threads=1), **places)
        left = [one for one in Path(home).rglob("*") if one.is_file()]

    assert done.returncode == 0, done.stdout
    assert hub.asked == [
        "c.safetensors",
        "b.safetensors",
        "a.json",
        "c.json",
        "folder/a.json",
    ]
    assert [one for one in left if one.stat().st_size in {2, 20_000, 30_000}] == []
    found = contents(s3, "staging-order")
    assert found[f"models/tiny--model/{REVISION}/folder/a.json"] == b"[]"
    listed = json.loads(found[f"manifests/tiny--model/{REVISION}.json"])["files"]
    assert listed["empty.txt"] == {"size": 0, "digest": EMPTY}


BAD: dict[str, tuple[dict[str, object], Repository, str]] = {
    "a vanished revision": (
        {"revision": "f" * 40},
        Repository(FILES),
        "tiny/model has no revision ffffffffffffffffffffffffffffffffffffffff",
    ),
    "a gated model without a token": (
        {},
        Repository(FILES, token=TOKEN),
        "tiny/model is gated, and no token has no access to it",
    ),
    "an unknown repository": (
        {"model_id": "tiny/other"},
        Repository(FILES),
        "the Hub has no repository tiny/other",
    ),
    "pickles alone": (
        {},
        Repository({"config.json": b"{}", "pytorch_model.bin": b"x"}),
        "the repository holds its weights as pickles alone (pytorch_model.bin)",
    ),
    "a pattern that matches nothing": (
        {"include": ["*.gguf"]},
        Repository(FILES),
        "include='*.gguf' matches no file of the repository",
    ),
    "a bucket that is not there": (
        {"bucket": "staging-nowhere"},
        Repository(FILES),
        "bucket staging-nowhere does not exist",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_says_what_stands_in_the_way(
    embedded_aws: EmbeddedAws, s3: Untyped, name: str
) -> None:
    """
    One clear line, and no manifest.
    """
    changed, repository, words = BAD[name]
    bucket = "staging-bad"
    s3.create_bucket(Bucket=bucket)
    with Hub({MODEL: repository}) as hub:
        asked = order(bucket)
        asked.update(changed)
        done = stage(embedded_aws, hub, asked)

    assert done.returncode == 1
    assert f"not staged: {words}" in done.stdout
    assert not any(key.startswith("manifests/") for key in contents(s3, bucket))


def test_wrong_token_is_told_from_none(embedded_aws: EmbeddedAws, s3: Untyped) -> None:
    """
    The words say that the token is the matter, and never what it is.
    """
    s3.create_bucket(Bucket="staging-gated")
    wrong = TOKEN[:-1] + "y"
    with Hub({MODEL: Repository(FILES, token=TOKEN)}) as hub:
        refused = stage(embedded_aws, hub, order("staging-gated"), HF_TOKEN=wrong)
        done = stage(embedded_aws, hub, order("staging-gated"), HF_TOKEN=TOKEN)

    assert "the token that was given has no access to it" in refused.stdout
    assert done.returncode == 0, done.stdout
    assert TOKEN not in refused.stdout + done.stdout
    assert wrong not in refused.stdout + done.stdout


def test_survives_a_busy_hub_and_a_broken_line(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    429, a connection that breaks off, and other contents: each is tried again.
    """
    s3.create_bucket(Bucket="staging-busy")
    first, second = (f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    with Hub(
        {MODEL: Repository(FILES)}, busy=2, broken={first: 2}, corrupted={second: 1}
    ) as hub:
        done = stage(embedded_aws, hub, order("staging-busy"))

    assert done.returncode == 0, done.stdout
    found = contents(s3, "staging-busy")
    prefix = f"models/tiny--model/{REVISION}/"
    assert found[prefix + first] == FILES[first]
    assert found[prefix + second] == FILES[second]


def test_a_file_may_come_with_other_contents_twice(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    The third time it is the Hub's.
    """
    s3.create_bucket(Bucket="staging-twice")
    path = "model.safetensors"
    files = {path: bytes(range(256)) * 100}
    with Hub({MODEL: Repository(files)}, corrupted={path: 2}) as hub:
        done = stage(embedded_aws, hub, order("staging-twice"))

    assert done.returncode == 0, done.stdout
    assert hub.asked == [path] * 3
    key = f"models/tiny--model/{REVISION}/{path}"
    assert contents(s3, "staging-twice")[key] == files[path]


def test_refuses_a_file_that_stays_corrupted(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    Contents that are not the Hub's never reach S3.
    """
    s3.create_bucket(Bucket="staging-corrupted")
    path = "model-00001-of-00002.safetensors"
    with Hub({MODEL: Repository(FILES)}, corrupted={path: 9}) as hub:
        done = stage(embedded_aws, hub, order("staging-corrupted"))

    assert done.returncode == 1
    assert f"{path} of tiny/model at {REVISION[:12]} arrived three times" in done.stdout
    assert not any(path in key for key in contents(s3, "staging-corrupted"))


def test_a_staged_revision_is_not_asked_for_again(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    A manifest is enough: the Hub is not needed any more.
    """
    s3.create_bucket(Bucket="staging-again")
    with Hub({MODEL: Repository(FILES)}) as hub:
        stage(embedded_aws, hub, order("staging-again"))
        hub.repositories.clear()
        done = stage(embedded_aws, hub, order("staging-again"))

    assert done.returncode == 0
    assert "is staged already" in done.stdout


def test_a_manifest_of_another_revision_says_nothing(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    It is written anew.
    """
    s3.create_bucket(Bucket="staging-moved")
    manifest = f"manifests/tiny--model/{REVISION}.json"
    s3.put_object(Bucket="staging-moved", Key=manifest, Body=b'{"revision": "other"}')
    with Hub({MODEL: Repository(FILES)}) as hub:
        done = stage(embedded_aws, hub, order("staging-moved"))

    assert done.returncode == 0, done.stdout
    assert len(hub.asked) == len(STAGED), done.stdout
    written = json.loads(contents(s3, "staging-moved")[manifest])
    assert written["revision"] == REVISION


def test_an_object_of_another_size_is_brought_again(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    Whatever is written beside it.
    """
    s3.create_bucket(Bucket="staging-short")
    path = "model-00001-of-00002.safetensors"
    digest = f"sha256:{hashlib.sha256(FILES[path]).hexdigest()}"
    key = f"models/tiny--model/{REVISION}/{path}"
    s3.put_object(
        Bucket="staging-short",
        Key=key,
        Body=FILES[path][:-1],
        Metadata={"hub-digest": digest},
    )
    with Hub({MODEL: Repository(FILES)}) as hub:
        done = stage(embedded_aws, hub, order("staging-short"))

    assert done.returncode == 0, done.stdout
    assert contents(s3, "staging-short")[key] == FILES[path]


class _Handle(BaseHTTPRequestHandler):
    """
    The address of a wait condition, as CloudFormation makes one.
    """

    told: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_PUT(self) -> None:
        """
        Take a signal in.
        """
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.headers["Content-Type"] or ""
        self.told.append((kind, json.loads(body)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing.
        """


def test_the_wait_condition_is_told_how_it_went(
    embedded_aws: EmbeddedAws, s3: Untyped
) -> None:
    """
    Why not, in one line; and that it is there.
    """
    s3.create_bucket(Bucket="staging-told")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handle)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    handle = f"http://127.0.0.1:{server.server_port}/handle"
    asked = order("staging-told")
    with Hub({MODEL: Repository(FILES)}) as hub:
        stage(
            embedded_aws,
            hub,
            {**asked, "revision": "f" * 40},
            STAGING_HANDLE=handle,
        )
        stage(embedded_aws, hub, asked, STAGING_HANDLE=handle)
    server.shutdown()
    server.server_close()

    failed, done = _Handle.told
    # The handle's signature covers an empty content type.
    assert failed[0] == done[0] == ""
    assert failed[1]["Status"] == "FAILURE"
    assert failed[1]["Reason"].startswith("tiny/model has no revision ffff")
    assert done[1] == {
        "Status": "SUCCESS",
        "Reason": "staged",
        "UniqueId": f"manifests/tiny--model/{REVISION}.json",
        "Data": "",
    }
