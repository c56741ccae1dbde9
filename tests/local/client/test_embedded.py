"""
The client on the embedded AWS: every container that it knows, over a socket.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.client import (
    ComponentNameError,
    ConnectionCutError,
    FinishReason,
    LlmClient,
    ModelError,
    NoCapacityError,
    RefusedError,
    Schema,
    ThrottledError,
    confidence,
)
from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.hosting_requests import (
    LMI_26,
    LMI_28,
    LMI_36,
    TGI,
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    serve,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

PROMPT = "Who are you?"
CONTAINERS: dict[str, tuple[str, dict[str, str], Schema]] = {
    "lmi-0.26": (LMI_26, {}, Schema.LMI),
    "lmi-0.26-lines": (LMI_26, {"output_formatter": "jsonlines"}, Schema.LMI),
    "lmi-0.28": (LMI_28, {}, Schema.LMI),
    "lmi-0.28-tgi": (LMI_28, {"tgi_compat": "true"}, Schema.LMI),
    "lmi-0.36": (LMI_36, {}, Schema.LMI),
    "tgi-1": (TGI, {}, Schema.TGI),
    "tgi-3": (TGI_3, {}, Schema.TGI),
}
EACH = pytest.mark.parametrize("name", CONTAINERS)


def client_of(aws: EmbeddedAws, connect: Connect, name: str) -> LlmClient:
    """
    Deploy a container and make its client.
    """
    image, options, schema = CONTAINERS[name]
    return connect(aws.url, serve(aws, image, None, **options), schema=schema)


@EACH
def test_a_stream_and_a_document_say_the_same(
    embedded_aws: EmbeddedAws, connect: Connect, name: str
) -> None:
    """
    Ids, log probabilities, texts and the reason, whichever container answers.
    """
    told = continue_prompt(PROMPT, 7)
    client = client_of(embedded_aws, connect, name)

    whole = client.generate(PROMPT, max_new_tokens=7)
    tokens = list(client.stream(PROMPT, max_new_tokens=7))
    expected = [(token.id, token.text, token.log_prob) for token in told.tokens]
    for found in (whole.tokens, tokens):
        assert [(t.token_id, t.text, t.log_prob) for t in found] == expected
    assert whole.text == "".join(token.text for token in tokens) == told.text
    assert whole.finish_reason is FinishReason.LENGTH
    assert tokens[-1].finish_reason is FinishReason.LENGTH
    assert whole.confidence == confidence(tokens) == client.confidence(whole)
    assert 0 < (whole.confidence or 0) < 1


@EACH
def test_it_continues_to_the_end(
    embedded_aws: EmbeddedAws, connect: Connect, name: str
) -> None:
    """
    As many requests as it takes, with the tokens of all of them.
    """
    told = continue_prompt(PROMPT, 10_000)
    client = client_of(embedded_aws, connect, name)

    answer = client.continue_to_end(PROMPT, max_new_tokens=25)
    assert answer.text == told.text
    assert answer.finish_reason is FinishReason.STOP
    assert answer.requests == -(-len(told.all_tokens) // 25)
    assert [t.text for t in answer.tokens if t.text] == [t.text for t in told.tokens]
    assert answer.usage is not None
    assert (answer.usage.completion_tokens or 0) >= len(told.tokens)
    assert [t.finish_reason for t in answer.tokens if t.finish_reason] == [
        FinishReason.STOP
    ]


def test_the_chain_has_bounds(embedded_aws: EmbeddedAws, connect: Connect) -> None:
    """
    Of requests and of tokens; the reason is still the length.
    """
    client = client_of(embedded_aws, connect, "lmi-0.28")

    few = client.continue_to_end(PROMPT, max_requests=2, max_new_tokens=5)
    short = client.continue_to_end(PROMPT, max_total_tokens=12, max_new_tokens=5)
    assert (few.requests, few.completion_tokens) == (2, 10)
    assert (short.requests, short.completion_tokens) == (3, 15)
    assert {few.finish_reason, short.finish_reason} == {FinishReason.LENGTH}
    with pytest.raises(ValueError, match="max_requests must be at least 1, got 0"):
        client.continue_to_end(PROMPT, max_requests=0)


@pytest.mark.parametrize("name", ["lmi-0.28", "lmi-0.36", "tgi-3"])
def test_chats(embedded_aws: EmbeddedAws, connect: Connect, name: str) -> None:
    """
    Messages, plain and streamed, with what was counted.
    """
    client = client_of(embedded_aws, connect, name)
    messages = [{"role": "user", "content": PROMPT}]

    whole = client.chat(messages, max_new_tokens=7)
    tokens = list(client.stream_chat(PROMPT, max_new_tokens=7))
    told = continue_prompt(PROMPT, 7).text
    assert whole.text == "".join(token.text for token in tokens) == told
    assert whole.finish_reason is FinishReason.LENGTH
    assert tokens[-1].finish_reason is FinishReason.LENGTH
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 7


def test_in_asyncio(embedded_aws: EmbeddedAws, connect_async: ConnectAsync) -> None:
    """
    The same answers.
    """
    endpoint = serve(embedded_aws, LMI_28)

    async def main() -> None:
        async with connect_async(embedded_aws.url, endpoint) as client:
            whole = await client.continue_to_end(PROMPT, max_new_tokens=25)
            chat = await client.chat(PROMPT, max_new_tokens=3)
            said = [t async for t in client.stream_chat(PROMPT, max_new_tokens=3)]
            assert whole.text == continue_prompt(PROMPT, 10_000).text
            assert chat.text == "".join(t.text for t in said)

    asyncio.run(main())


class TestErrors:
    """
    What the service and the containers refuse.
    """

    def test_an_unknown_endpoint(
        self, embedded_aws: EmbeddedAws, connect: Connect
    ) -> None:
        """
        With SageMaker's words and the way out.
        """
        with pytest.raises(RefusedError, match="x of account .* not found; check"):
            connect(embedded_aws.url, "x").generate(PROMPT)

    def test_component_names(self, embedded_aws: EmbeddedAws, connect: Connect) -> None:
        """
        Missing, unknown, and not wanted.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint)
        other = serve(embedded_aws, TGI)
        url = embedded_aws.url

        with pytest.raises(ComponentNameError, match="none is named; name the comp"):
            connect(url, endpoint).generate(PROMPT)
        with pytest.raises(ComponentNameError, match="nobody of endpoint"):
            connect(url, endpoint, "nobody").generate(PROMPT)
        with pytest.raises(ComponentNameError, match="leave the component's name out"):
            connect(url, other, name).generate(PROMPT)
        assert connect(url, endpoint, name).generate(PROMPT).text

    def test_a_component_that_sleeps_and_wakes(
        self, embedded_aws: EmbeddedAws, connect: Connect
    ) -> None:
        """
        Waited for, until there is a copy.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint, copies=0)
        sagemaker = embedded_aws.client("sagemaker")

        def wake(_: str) -> None:
            sagemaker.update_inference_component_runtime_config(
                InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 1}
            )

        with pytest.raises(NoCapacityError, match="no capacity"):
            connect(embedded_aws.url, endpoint, name, wait_for_capacity=0).generate(
                PROMPT
            )
        client = connect(embedded_aws.url, endpoint, name, on_wait=wake)
        assert client.generate(PROMPT).text

    def test_what_a_container_refuses(
        self, embedded_aws: EmbeddedAws, connect: Connect
    ) -> None:
        """
        Its status and its words.
        """
        client = client_of(embedded_aws, connect, "tgi-3")

        with pytest.raises(ModelError, match="strictly positive") as caught:
            client.generate(PROMPT, parameters={"max_new_tokens": -1})
        assert caught.value.status == 422
        assert caught.value.model_message.startswith("Input validation error")

    def test_faults(self, embedded_aws: EmbeddedAws, connect: Connect) -> None:
        """
        A stream that is cut keeps its text; throttling and failures say so.
        """
        endpoint = serve(embedded_aws, LMI_28)
        client = connect(embedded_aws.url, endpoint, retries=0)
        whole = client.generate(PROMPT, max_new_tokens=20).text
        raised = {}
        for answer in ("cut", "throttled", "503"):
            embedded_aws.fault("errors", endpoint, answer=answer)
            try:
                with pytest.raises(
                    (ConnectionCutError, ThrottledError, ModelError)
                ) as caught:
                    list(client.stream(PROMPT, max_new_tokens=20))
            finally:
                embedded_aws.clear_faults()
            raised[answer] = caught.value

        assert type(raised["cut"]) is ConnectionCutError
        assert 0 < len(raised["cut"].text) < len(whole)
        assert whole.startswith(raised["cut"].text)
        assert type(raised["throttled"]) is ThrottledError
        assert isinstance(raised["503"], ModelError)
        assert raised["503"].status == 503
