"""
What is served where nothing is said: deployed, and asked by the
client and the command as users do, without saying how.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import boto3
import pytest

from cdk_sagemaker_llm.client import LlmClient, ModelError
from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer, synthesised
from tests.local.client import commands
from tests.local.hosting_requests import REGISTRY
from tests.local.test_engines import SGLANG, TEI, VLLM_UBUNTU, serve

APP = Path(__file__).with_name("default_app.py")
LLAMA_CPP = f"{REGISTRY}/llama-cpp:server-sagemaker-cuda-v1"
COMMAND = str(Path(sys.executable).with_name("sagemaker-llm"))
_WRONG = f"""
import boto3

client = boto3.client("sagemaker")
role = "arn:aws:iam::123456789012:role/any"
image = "{VLLM_UBUNTU}"
variables = {{"SM_VLLM_MODEL": "a/b", "SM_VLLM_MAX_MODEL_LENGTH": "9"}}
client.create_model(
    ModelName="wrong",
    ExecutionRoleArn=role,
    PrimaryContainer={{"Image": image, "Environment": variables}},
)
client.create_endpoint_config(
    EndpointConfigName="wrong",
    ProductionVariants=[
        {{
            "VariantName": "Main",
            "ModelName": "wrong",
            "InstanceType": "ml.g5.xlarge",
            "InitialInstanceCount": 2,
        }}
    ],
)
client.create_endpoint(EndpointName="wrong", EndpointConfigName="wrong")
status = client.describe_endpoint(EndpointName="wrong")["EndpointStatus"]
assert status == "Failed", status
"""
PROMPT = "Who is Roger Federer?"
LENGTH = ("--max-new-tokens", "6")


def client_of(aws: EmbeddedAws, endpoint: str) -> LlmClient:
    """
    Return a client that is told nothing but the endpoint's name.
    """
    session = boto3.Session("test", "test", region_name="us-east-1")
    return LlmClient(endpoint, session=session, endpoint_url=aws.url)


@pytest.fixture(name="outputs", scope="module")
def _outputs(
    deployer: Deployer, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    app = synthesised(APP, tmp_path_factory.mktemp("unsaid"))
    return deployer.deploy(app, "Unsaid").checked().outputs["Unsaid"]


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(outputs: Mapping[str, str]) -> str:
    (name,) = (value for key, value in outputs.items() if "EndpointName" in key)
    return name


def test_the_client_is_told_nothing(embedded_aws: EmbeddedAws, endpoint: str) -> None:
    """
    A prompt whole and streamed, and a chat whole and streamed.
    """
    with client_of(embedded_aws, endpoint) as client:
        whole = client.generate(PROMPT, max_new_tokens=6)
        streamed = [token.text for token in client.stream(PROMPT, max_new_tokens=6)]
        chat = client.chat(PROMPT, max_new_tokens=6)
        chunks = [token.text for token in client.stream_chat(PROMPT, max_new_tokens=6)]
        longer = client.continue_to_end(PROMPT, max_requests=3, max_new_tokens=6)

        assert whole.completion_tokens == chat.completion_tokens == 6
        assert "".join(streamed) == whole.text
        assert "".join(chunks) == chat.text
        assert longer.requests == 3
        assert longer.text.startswith(whole.text)


def test_a_stream_alone_learns_as_well(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    The first thing that this client ever sends.
    """
    with client_of(embedded_aws, endpoint) as client:
        tokens = list(client.stream(PROMPT, max_new_tokens=6))

        assert "".join(token.text for token in tokens).strip()
        assert tokens[-1].finish_reason == "length"


def test_what_was_said_is_not_corrected(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    The remedy names what would work.
    """
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient(
        endpoint, session=session, endpoint_url=embedded_aws.url, schema="lmi"
    )

    with client, pytest.raises(ModelError, match="Either prompt or") as caught:
        client.generate(PROMPT)

    assert "schema='openai'" in caught.value.remedy


def test_the_connection_says_it(
    embedded_aws: EmbeddedAws, outputs: Mapping[str, str]
) -> None:
    """
    In the outputs and in the parameter; nothing is refused on the way.
    """
    (text,) = (value for value in outputs.values() if value.startswith("{"))
    written = json.loads(text)
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient.from_ssm(
        "/llm/unsaid",
        session=session,
        ssm_endpoint_url=embedded_aws.url,
        endpoint_url=embedded_aws.url,
    )

    assert written["schema"] == "openai"
    assert written["litellm"]["model"].startswith("sagemaker_chat/")
    with client:
        assert client.generate(PROMPT, max_new_tokens=6).completion_tokens == 6


@pytest.mark.parametrize(
    "arguments",
    [("invoke", PROMPT), ("stream", PROMPT), ("invoke", PROMPT, "--chat")],
    ids=" ".join,
)
def test_the_command_is_told_nothing(
    embedded_aws: EmbeddedAws, endpoint: str, arguments: tuple[str, ...]
) -> None:
    """
    No flag is needed.
    """
    command, *rest = arguments
    variables = embedded_aws.process_environment
    done = commands.run(variables, command, endpoint, *rest, *LENGTH)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_chat_by_the_command(embedded_aws: EmbeddedAws, endpoint: str) -> None:
    """
    A line is a message.
    """
    variables = embedded_aws.process_environment
    done = commands.run(variables, "chat", endpoint, *LENGTH, said="Hello\nAgain\n")

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip().splitlines()) == 2


def test_a_load_test_is_told_nothing(
    embedded_aws: EmbeddedAws, endpoint: str, tmp_path: Path
) -> None:
    """
    What is learnt is learnt before the first request that counts.
    """
    load = ("--users", "2", "--duration", "2s", "--max-new-tokens", "4")
    table = tmp_path / "requests.csv"
    done = commands.run(
        embedded_aws.process_environment,
        "load-test",
        endpoint,
        *load,
        "--csv",
        str(table),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "ModelError" not in table.read_text()
    assert len(table.read_text().splitlines()) > 2


@pytest.mark.parametrize(
    ("image", "environment"),
    [
        (VLLM_UBUNTU, {"SM_VLLM_MODEL": "gpt2"}),
        (SGLANG, {"SM_SGLANG_MODEL_PATH": "gpt2"}),
        (LLAMA_CPP, {"SM_LLAMA_CPP_HF_REPO": "a/b"}),
    ],
    ids=["vLLM 0.26", "SGLang", "llama.cpp"],
)
def test_other_engines_say_what_they_take(
    embedded_aws: EmbeddedAws, image: str, environment: dict[str, str]
) -> None:
    """
    Prompts, or chats alone, in which a prompt is the only message.
    """
    endpoint = serve(embedded_aws, image, environment)
    with client_of(embedded_aws, endpoint) as client:
        whole = client.generate(PROMPT, max_new_tokens=6)
        streamed = [token.text for token in client.stream(PROMPT, max_new_tokens=6)]
        longer = client.continue_to_end(PROMPT, max_requests=2, max_new_tokens=6)

    assert whole.completion_tokens == 6
    assert "".join(streamed) == whole.text
    assert longer.requests == 2


def test_embeddings_by_inputs_stay_so(embedded_aws: EmbeddedAws) -> None:
    """
    TEI takes the first form that is tried.
    """
    endpoint = serve(embedded_aws, TEI, {"HF_MODEL_ID": "BAAI/bge-small-en-v1.5"})
    with client_of(embedded_aws, endpoint) as client:
        assert len(client.embed(["one", "two"]).vectors) == 2


def test_a_wrong_argument_fails_where_a_user_looks(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    The deployment in the service's words; vLLM's own in the endpoint's log group.
    """
    done = deployer.deploy(synthesised(APP, tmp_path), "Wrong", rollback=False)
    reason = "did not pass the ping health check"
    described = embedded_aws.client("sagemaker").describe_endpoint(
        EndpointName="wrong-engine"
    )
    logs = embedded_aws.client("logs")
    group = "/aws/sagemaker/Endpoints/wrong-engine"
    events = logs.filter_log_events(logGroupName=group)["events"]

    assert not done.succeeded
    assert reason in done.events
    assert described["EndpointStatus"] == "Failed"
    assert reason in described["FailureReason"]
    told = "unrecognized arguments: --max-model-length"
    assert any(told in event["message"] for event in events)


def test_the_command_says_at_once_why_a_container_does_not_start() -> None:
    """
    Where the embedded AWS runs around a command, which need not look for a log; the
    same once, whatever the number of copies.
    """
    done = subprocess.run(
        [COMMAND, "local", "--port", "0", "--", sys.executable, "-c", _WRONG],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    said = "A container does not start (/aws/sagemaker/Endpoints/wrong):"
    assert done.stderr.count(said) == 1
    words = "  api_server.py: error: unrecognized arguments: --max-model-length\n"
    assert words in done.stderr
