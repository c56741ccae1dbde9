"""
``--forward``: a real server on loopback answers for an endpoint or a component.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import boto3
import pytest
import typer
from botocore.config import Config
from typer.testing import CliRunner
from werkzeug.datastructures import Headers

from cdk_sagemaker_llm.cli.commands import add_command
from cdk_sagemaker_llm.client import (
    ConnectionCutError,
    FinishReason,
    LlmClient,
    LlmError,
    ModelError,
)
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.forwards import Forward
from cdk_sagemaker_llm.local.aws.settings import Settings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.runtime import forwarding
from tests.local.bearer import CHAT, address, ask
from tests.local.client.commands import run
from tests.local.hosting_requests import (
    LMI_36,
    make_config,
    make_model,
    put_weights,
)
from tests.local.model_server import WAIT, ModelServer, model_server
from tests.local.test_command import LOCAL, read_to, started
from tests.local.waiting import endpoint_status

VLLM = "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:0.11.0-gpu-py312-cu128"
Client = Callable[..., LlmClient]


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(name="aws", scope="module")
def _aws(server: ModelServer) -> Iterator[EmbeddedAws]:
    """
    An endpoint that is forwarded, one to a path, one to nobody, one that is not, and a
    component with an adapter.
    """
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
    forward = {
        "chat": f"{server.url}/v1",
        "exact": f"{server.url}/predict",
        "nobody": nobody,
        "part": server.url,
    }
    with EmbeddedAws(forward=forward) as aws:
        sagemaker = aws.client("sagemaker")
        for name in ("chat", "exact", "nobody", "plain"):
            image = LMI_36 if name == "plain" else VLLM
            variant = {"ModelName": make_model(aws, image=image)}
            sagemaker.create_endpoint(
                EndpointName=name,
                EndpointConfigName=make_config(
                    aws, variant={**variant, "InstanceType": "ml.g5.12xlarge"}
                ),
            )
        sagemaker.create_endpoint(
            EndpointName="host", EndpointConfigName=make_config(aws)
        )
        _component(aws, "part")
        _component(aws, "other")
        yield aws


def _component(aws: EmbeddedAws, name: str) -> None:
    aws.client("sagemaker").create_inference_component(
        InferenceComponentName=name,
        EndpointName="host",
        VariantName="AllTraffic",
        Specification={
            "ModelName": make_model(aws, image=LMI_36),
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": 1,
                "MinMemoryRequiredInMb": 1024,
            },
        },
        RuntimeConfig={"CopyCount": 1},
    )


@pytest.fixture(name="client")
def _client(aws: EmbeddedAws, server: ModelServer) -> Client:
    server.reset()
    session = boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        region_name="us-east-1",
    )

    def client(
        endpoint: str, component: str | None = None, **more: Untyped
    ) -> LlmClient:
        direct = Config(proxies={"http": ""})
        given: dict[str, Untyped] = {"session": session, "config": direct, **more}
        return LlmClient(endpoint, component, endpoint_url=aws.url, **given)

    return client


class TestRoutes:
    """
    The body's form says which of the server's routes takes it.
    """

    def test_a_chat(self, client: Client, server: ModelServer) -> None:
        """
        With the model's name, as a container knows its own.
        """
        answer = client("chat").chat("Hi", max_new_tokens=3)

        path, body, headers = server.seen[0]
        assert (answer.text, answer.finish_reason) == ("by tiny", FinishReason.STOP)
        assert path == "/v1/chat/completions"
        assert body == {
            "messages": [{"role": "user", "content": "Hi"}],
            "max_tokens": 3,
            "model": "tiny",
        }
        assert headers["content-type"] == "application/json"
        assert "authorization" not in headers

    def test_a_prompt(self, client: Client, server: ModelServer) -> None:
        """
        A name that the client gives is left as it is, and so is its absence where the
        server lists no models.
        """
        asking = client("chat", schema="openai")
        named = asking.generate("Hi", parameters={"model": "mine"})
        server.model = None
        unnamed = asking.generate("Hi")

        assert (named.text, unnamed.text) == ("by mine", "by None")
        assert [path for path, _, _ in server.seen] == ["/v1/completions"] * 2
        assert "model" not in server.seen[1][1]

    def test_a_name_that_was_listed_in_vain(
        self, client: Client, server: ModelServer
    ) -> None:
        """
        Is left out then; one that the client gives is its own.
        """
        server.behaviour = "pinned"

        unnamed = client("chat").chat("Hi")
        with pytest.raises(ModelError, match="I am not 'mine'"):
            client("chat").chat("Hi", model="mine")

        assert unnamed.text == "by None"
        assert [body.get("model") for _, body, _ in server.seen] == [
            *("tiny", None),
            "mine",
        ]

    def test_embeddings(self, client: Client, server: ModelServer) -> None:
        """
        Vectors come back.
        """
        found = client("chat", schema="openai").embed("Hi")

        assert found.vectors == ((0.5, 0.25),)
        assert server.seen[0][:2] == (
            "/v1/embeddings",
            {"input": ["Hi"], "model": "tiny"},
        )

    def test_anything_else(
        self, aws: EmbeddedAws, client: Client, server: ModelServer
    ) -> None:
        """
        As it is, with what SageMaker hands a container.
        """
        client("chat", custom_attributes="a=b").generate("Hi")
        runtime = aws.client("sagemaker-runtime")
        answer = runtime.invoke_endpoint(EndpointName="chat", Body=b'{"x": 1}')

        path, body, headers = server.seen[0]
        assert (path, body["inputs"]) == ("/invocations", "Hi")
        assert "model" not in body
        assert headers["x-amzn-sagemaker-custom-attributes"] == "a=b"
        assert answer["ContentType"] == "application/json; charset=utf-8"
        assert answer["InvokedProductionVariant"] == "AllTraffic"

    def test_a_path_of_its_own(self, client: Client, server: ModelServer) -> None:
        """
        Gets everything, as it is.
        """
        client("exact").chat("Hi")

        path, body, _ = server.seen[0]
        assert path == "/predict"
        assert "model" not in body

    def test_a_component(self, client: Client, server: ModelServer) -> None:
        """
        And not the one beside it, nor another endpoint.
        """
        assert client("host", "part").chat("Hi").text == "by tiny"
        assert client("host", "other").chat("Hi").text != "by tiny"
        assert client("plain").chat("Hi").text != "by tiny"
        assert len(server.seen) == 1

    def test_an_adapter(
        self, aws: EmbeddedAws, client: Client, server: ModelServer
    ) -> None:
        """
        Is answered by its base's server, which is asked for it by name, and whose base
        model does not answer in its place.
        """
        put_weights(aws, "adapters", "german")
        aws.client("sagemaker").create_inference_component(
            InferenceComponentName="german",
            EndpointName="host",
            Specification={
                "BaseInferenceComponentName": "part",
                "Container": {"ArtifactUrl": "s3://adapters/german/"},
            },
        )

        assert client("host", "german").chat("Hi").text == "by german"
        assert len(server.seen) == 1
        server.behaviour = "pinned"
        with pytest.raises(ModelError, match="I am not 'german'"):
            client("host", "german").chat("Hi")
        assert len(server.seen) == 2

    def test_where_time_passes(self, server: ModelServer) -> None:
        """
        The server takes its own.
        """
        server.reset()
        server.go_on.set()
        forward = {"timed": server.url}
        with EmbeddedAws(clock="by hand", forward=forward) as aws:
            sagemaker = aws.client("sagemaker")
            variant = {"ModelName": make_model(aws, image=VLLM)}
            sagemaker.create_endpoint(
                EndpointName="timed",
                EndpointConfigName=make_config(
                    aws, variant={**variant, "InstanceType": "ml.g5.12xlarge"}
                ),
            )
            aws.advance(3600)
            assert endpoint_status(sagemaker, "timed") == "InService"
            asked = ("timed", "Hi", "--chat", "--endpoint-url", aws.url)
            whole = run(aws.process_environment, "invoke", *asked)
            streamed = run(aws.process_environment, "stream", *asked)

        assert (whole.stdout, streamed.stdout) == ("by tiny\n", "Hello\n")


class TestOpenAisClients:
    """
    At SageMaker's own route for them.
    """

    def test_a_chat(self, aws: EmbeddedAws, server: ModelServer) -> None:
        """
        The token stays here, and an empty name becomes the first that is listed.
        """
        server.reset()

        reply = ask(aws, address("chat"))

        ((path, body, fields),) = server.seen
        assert reply.document["choices"][0]["message"]["content"] == "by tiny"
        assert (path, body["model"]) == ("/v1/chat/completions", "tiny")
        assert "authorization" not in fields

    def test_a_stream(self, aws: EmbeddedAws, server: ModelServer) -> None:
        """
        As the server writes it, without frames; broken off where the server does.
        """
        server.reset()
        server.go_on.set()

        whole = ask(aws, address("chat"), {**CHAT, "stream": True})
        server.behaviour = "cut"
        with pytest.raises(http.client.IncompleteRead) as caught:
            ask(aws, address("chat"), {**CHAT, "stream": True})

        assert whole.kind == "text/event-stream"
        assert whole.body.endswith(b"data: [DONE]\n\n")
        assert b"Hel" in caught.value.partial

    def test_a_refusal(self, aws: EmbeddedAws, server: ModelServer) -> None:
        """
        With the server's own status and words.
        """
        server.reset()
        server.status = 422

        reply = ask(aws, address("host", "part"))

        assert (reply.status, reply.error["code"]) == (422, "model_error")
        assert "too hot" in reply.error["message"]


class TestStreams:
    """
    Chunk by chunk.
    """

    def test_a_part_comes_before_the_next_is_written(
        self, aws: EmbeddedAws, client: Client, server: ModelServer
    ) -> None:
        """
        Others are answered meanwhile.
        """
        tokens = client("chat").stream_chat("Hi")

        first = next(tokens)
        names = aws.client("sagemaker").list_endpoints()["Endpoints"]
        server.go_on.set()
        rest = list(tokens)
        assert (first.text, len(names)) == ("Hel", 5)
        assert "".join(token.text for token in rest) == "lo"
        assert rest[-1].finish_reason is FinishReason.STOP

    def test_one_that_breaks_off(self, client: Client, server: ModelServer) -> None:
        """
        With what had come.
        """
        server.behaviour = "cut"
        server.go_on.set()

        with pytest.raises(ConnectionCutError) as caught:
            list(client("chat").stream_chat("Hi"))
        assert caught.value.text == "Hel"

    def test_a_fault_cuts_it_too(
        self, aws: EmbeddedAws, client: Client, server: ModelServer
    ) -> None:
        """
        As it does with the stand-in.
        """
        server.go_on.set()
        aws.fault("errors", "chat", answer="cut")
        try:
            with pytest.raises(ConnectionCutError):
                list(client("chat").stream_chat("Hi"))
        finally:
            aws.clear_faults()

    def test_a_client_that_leaves(self, client: Client, server: ModelServer) -> None:
        """
        The server notices.
        """
        server.behaviour = "endless"
        server.go_on.set()
        with closing(client("chat").stream_chat("Hi")) as tokens:
            next(tokens)

        assert server.left.wait(WAIT)

    def test_while_a_whole_answer_takes_its_time_others_go_on(
        self, aws: EmbeddedAws, client: Client, server: ModelServer
    ) -> None:
        """
        Also where it is not streamed to the client.
        """
        found: list[bytes] = []

        def ask() -> None:
            runtime = aws.client("sagemaker-runtime")
            body = json.dumps({"messages": [], "stream": True}).encode()
            answer = runtime.invoke_endpoint(EndpointName="chat", Body=body)
            found.append(answer["Body"].read())

        thread = threading.Thread(target=ask)
        thread.start()
        assert client("plain").chat("Hi").text
        is_waiting = not found
        server.go_on.set()
        thread.join(WAIT)
        assert is_waiting
        assert found[0].endswith(b"data: [DONE]\n\n")


class TestTroubles:
    """
    Whatever the server does is an error of the model's.
    """

    @pytest.mark.parametrize("status", [400, 404, 503])
    def test_its_status_and_message(
        self, client: Client, server: ModelServer, status: int
    ) -> None:
        """
        As the server has them, streamed or not.
        """
        server.status = status

        with pytest.raises(ModelError, match="too hot") as whole:
            client("chat").chat("Hi")
        with pytest.raises(ModelError, match="too hot") as streamed:
            list(client("chat").stream_chat("Hi"))
        assert whole.value.status == streamed.value.status == status

    def test_it_has_no_such_route(self, client: Client, server: ModelServer) -> None:
        """
        It says which, and how to ask for one that it has.
        """
        server.status = 404

        with pytest.raises(ModelError) as prompt:
            client("chat", schema="lmi").generate("Hi")
        with pytest.raises(ModelError) as vectors:
            client("chat", schema="openai").embed("Hi")
        assert prompt.value.status == vectors.value.status == 404
        assert (
            "to which chat is forwarded, has no /invocations, where a body goes that "
            'has none of messages, prompt, input; ask with schema="openai" '
            "(--schema openai), or for a chat (--chat)"
        ) in str(prompt.value)
        assert "has no /v1/embeddings; correct" in str(vectors.value)

    def test_nobody_is_there(self, aws: EmbeddedAws, client: Client) -> None:
        """
        It says where, and what to do; in the command too.
        """
        with pytest.raises(ModelError, match="no model server answers at http") as one:
            client("nobody").chat("Hi")
        done = run(aws.process_environment, "stream", "nobody", "Hi")

        assert one.value.status == 503
        assert "to which nobody is forwarded: Connection refused; start" in str(
            one.value
        )
        assert done.returncode == 1
        assert "Connection refused; start it, or correct --forward" in done.stderr

    @pytest.mark.parametrize(
        ("behaviour", "told"),
        [
            ("silent", "ended the connection without"),
            ("cut", "broke off in the middle"),
        ],
    )
    def test_half_an_answer(
        self, client: Client, server: ModelServer, behaviour: str, told: str
    ) -> None:
        """
        Is none.
        """
        server.behaviour = behaviour

        with pytest.raises(LlmError, match=told) as caught:
            client("chat").chat("Hi")
        assert isinstance(caught.value, ModelError)
        assert caught.value.status == 502


class TestPatience:
    """
    A server has as long as a container has.
    """

    @pytest.fixture(name="forward")
    def _forward(
        self, server: ModelServer, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Forward]:
        monkeypatch.setattr(forwarding, "PATIENCE", 0.4)
        server.reset()
        yield Forward("chat", server.url)
        server.go_on.set()

    def test_it_says_nothing(self, forward: Forward, server: ModelServer) -> None:
        """
        Not even a head.
        """
        server.behaviour = "slow"

        with pytest.raises(forwarding.LateError):
            forwarding.ask(forward, b"{}", Headers(), None)

    def test_its_stream_falls_silent(self, forward: Forward) -> None:
        """
        What came before counts.
        """
        reply = forwarding.ask(forward, b'{"stream": true}', Headers(), None)

        pieces = reply.pieces()
        assert b"Hel" in next(pieces)
        with pytest.raises(forwarding.LateError):
            next(pieces)

    def test_it_never_comes_to_an_end(
        self, forward: Forward, server: ModelServer
    ) -> None:
        """
        A stream may; a whole answer is given up, and the server notices.
        """
        server.behaviour = "endless"
        server.go_on.set()
        reply = forwarding.ask(forward, b'{"stream": true}', Headers(), None)

        with pytest.raises(forwarding.LateError):
            reply.whole()
        assert server.left.wait(WAIT)


class TestSettings:
    """
    What ``--forward`` takes.
    """

    @pytest.mark.parametrize(
        "url",
        [
            "http://localhost:8000",
            "http://127.0.0.1",
            "http://127.8.9.1:1/v1/",
            "http://[::1]:65535/generate",
        ],
    )
    def test_this_machine(self, url: str) -> None:
        """
        Plainly.
        """
        settings = Settings(forward={"chat": url}, faults=[])

        assert Settings.from_json(settings.to_json()) == settings

    @pytest.mark.parametrize(
        "url",
        ["http://gpu:8000", "http://10.0.0.1", "https://localhost", "http://0.0.0.0:1"],
    )
    def test_other_machines(self, url: str) -> None:
        """
        Only if that is allowed.
        """
        with pytest.raises(
            ValueError, match="forward leads to http:// on this machine"
        ):
            Settings(forward={"chat": url})
        settings = Settings(forward={"chat": url}, forward_anywhere=True, faults=[])
        assert Settings.from_json(settings.to_json()) == settings

    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("localhost:8000", "must lead to http://HOST:PORT, got 'localhost:8000'"),
            ("ftp://localhost", "must lead to http://HOST:PORT"),
            ("http://", "must lead to http://HOST:PORT"),
            ("http://localhost:65536", "must lead to http://HOST:PORT"),
            ("http://localhost:0", "must lead to http://HOST:PORT"),
            ("http://[::1", "must lead to http://HOST:PORT"),
            ("http://localhost?a=b", "and nothing else, for chat"),
            ("http://{}:{}@localhost".format("me", "x"), "and nothing else, for chat"),
        ],
    )
    def test_no_address(self, url: str, told: str) -> None:
        """
        Is refused, whatever is allowed.
        """
        with pytest.raises(ValueError, match="forward ") as caught:
            Settings(forward={"chat": url}, forward_anywhere=True, faults=[])
        assert told in str(caught.value)

    @pytest.mark.parametrize(
        ("written", "told"),
        [
            (["chat"], "must be NAME=URL, as chat=http://127.0.0.1:8000, got 'chat'"),
            (["=http://localhost"], "must be NAME=URL"),
            (["chat="], "must be NAME=URL"),
            (["a=http://localhost", "a=http://localhost:2"], "names a twice"),
            (["a=http://gpu"], "forward_anywhere allows more, got http://gpu for a"),
        ],
    )
    def test_on_the_command_line(
        self, written: list[str], told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Misuse names the option.
        """
        monkeypatch.setenv("COLUMNS", "300")
        app = typer.Typer()
        add_command(app, "local")
        arguments = [part for one in written for part in ("--forward", one)]

        done = CliRunner().invoke(app, [*arguments, "--port", "0", "--", "true"])
        assert done.exit_code == 2
        assert "--forward" in done.output
        assert told in " ".join(done.output.replace("│", " ").split())

    def test_the_command_says_who_answers(self) -> None:
        """
        When it starts.
        """
        forward = ("--forward", "chat=http://localhost:8000")
        with started(*LOCAL, *forward) as running:
            shown = read_to(running, "Ctrl-C stops it")

        assert "Requests to chat are answered by http://localhost:8000\n" in shown

    def test_the_command_forwards(self, server: ModelServer, tmp_path: Path) -> None:
        """
        From the option to the answer.
        """
        server.reset()
        server.go_on.set()
        script = tmp_path / "deploy.py"
        script.write_text(
            "import boto3\n"
            "sagemaker = boto3.client('sagemaker')\n"
            "role = 'arn:aws:iam::123456789012:role/Hosting'\n"
            "sagemaker.create_model(ModelName='m', ExecutionRoleArn=role,\n"
            f"    PrimaryContainer={{'Image': '{VLLM}'}})\n"
            "sagemaker.create_endpoint_config(EndpointConfigName='c',\n"
            "    ProductionVariants=[{'VariantName': 'v', 'ModelName': 'm',\n"
            "    'InstanceType': 'ml.g5.xlarge', 'InitialInstanceCount': 1}])\n"
            "sagemaker.create_endpoint(EndpointName='e', EndpointConfigName='c')\n",
            encoding="utf-8",
        )
        asked = f"python {script} && sagemaker-llm stream e Hi --chat"

        done = run(
            {**EmbeddedAws().process_environment},
            *("local", "--port", "0", "--forward", f"e={server.url}"),
            *("--", "sh", "-c", asked),
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "Hello\n", "")
