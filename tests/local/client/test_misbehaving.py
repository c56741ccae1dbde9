"""
Whatever a server does, a call ends: in the documented exception or the right answer.
"""

from __future__ import annotations

import json
import logging
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    AnswerTooLargeError,
    ConnectionCutError,
    FinishReason,
    LlmError,
    ModelError,
    NoCapacityError,
    RefusedError,
    ThrottledError,
    Timeouts,
    Token,
    UnavailableError,
    UnreadableAnswerError,
)
from cdk_sagemaker_llm.local.aws import protocols
from cdk_sagemaker_llm.local.runtime.invocations import NO_CAPACITY
from tests.local.client.conftest import Connect
from tests.local.client.misbehaving import Behaviour, Misbehaving, Peer
from tests.unit.client.wire_examples import chunk, events

THE = b'{"token": {"id": 1124, "text": "The", "log_prob": -0.5}}\n'
CAT = b'{"token": {"id": 278, "text": " cat", "log_prob": -1.25}}\n'
END = (
    b'{"token": {"id": 2, "text": "", "log_prob": -0.1}, "generated_text": "The cat",'
    b' "details": {"finish_reason": "eos_token"}}\n'
)
WHOLE = b'{"generated_text": "The cat", "details": {"finish_reason": "eos_token"}}'
QUICK = Timeouts(connect=2, read=0.4)
LITTLE = 1_000_000


def stream(*parts: bytes) -> Behaviour:
    """
    Send the parts and end well.
    """

    def behave(peer: Peer) -> None:
        peer.begin()
        for part in parts:
            peer.part(part)
        peer.end()

    return behave


def cut_after(*sent: Callable[[Peer], None]) -> Behaviour:
    """
    Do some steps of an answer and end the connection.
    """

    def behave(peer: Peer) -> None:
        for step in sent:
            step(peer)
        peer.cut()

    return behave


def answer(peer: Peer) -> None:
    """
    Answer well, in whichever way was asked.
    """
    if b'"stream": true' in peer.body:
        stream(THE, CAT, END)(peer)
    else:
        peer.whole(WHOLE)


def walk(tokens: Iterator[Token]) -> tuple[str, LlmError | None]:
    """
    Read a stream to its end or its error.
    """
    text = ""
    try:
        for token in tokens:
            text += token.text
    except LlmError as error:
        return text, error
    return text, None


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """
    Hold that something ends in time.
    """
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


FRAME = protocols.payload_part(CAT)
BEGIN: tuple[Callable[[Peer], None], ...] = (Peer.begin, lambda peer: peer.part(THE))


class TestCut:
    """
    The connection ends where it should not.
    """

    @pytest.mark.parametrize(
        ("behave", "text"),
        [
            (cut_after(), ""),
            (cut_after(lambda peer: peer.send(b"HTTP/1.1 20")), ""),
            (cut_after(lambda peer: peer.send(b"HTTP/1.1 200 OK\r\nConte")), ""),
            (cut_after(Peer.begin), ""),
            (cut_after(Peer.begin, lambda peer: peer.chunk(FRAME[:20])), ""),
            (cut_after(*BEGIN), "The"),
            (cut_after(*BEGIN, lambda peer: peer.send(b"ff\r\nabc")), "The"),
            (cut_after(*BEGIN, lambda peer: peer.chunk(FRAME[:40])), "The"),
            (cut_after(*BEGIN, lambda peer: peer.part(CAT[:30])), "The"),
            (stream(THE, CAT[:30]), "The"),
            (stream(THE), "The"),
            (stream(), ""),
        ],
        ids=[
            "instead of an answer",
            "in the status",
            "in the head",
            "after the head",
            "in the first event",
            "between events",
            "in a chunk",
            "in an event",
            "in a line",
            "in a line, well framed",
            "without an end, well framed",
            "before the first token, well framed",
        ],
    )
    def test_a_stream(self, connect: Connect, behave: Behaviour, text: str) -> None:
        """
        What came is kept, and nothing is asked twice.
        """
        with Misbehaving(behave) as server, within(5):
            came, error = walk(connect(server.url).stream("Who?"))

        assert type(error) is ConnectionCutError
        assert isinstance(error, ConnectionError)
        assert (came, error.text) == (text, text)
        assert ("text so far" in error.remedy) is bool(text)
        assert len(server.requests) == 1

    def test_a_service_that_says_so(self, connect: Connect) -> None:
        """
        SageMaker ends the stream with an exception of its own.
        """
        told = cut_after(*BEGIN, lambda peer: peer.chunk(protocols.broken_off()))
        with Misbehaving(told) as server:
            came, error = walk(connect(server.url).stream("Who?"))

        assert type(error) is ConnectionCutError
        assert (came, error.text) == ("The", "The")
        assert "interrupted" in str(error)

    def test_a_model_that_takes_too_long(self, connect: Connect) -> None:
        """
        SageMaker's reason is beside its words, where boto3 does not look.
        """
        late = protocols.broken_off("ModelInvocationTimeExceeded")
        with Misbehaving(cut_after(*BEGIN, lambda peer: peer.chunk(late))) as server:
            came, error = walk(connect(server.url).stream("Who?"))

        assert type(error) is AnswerTimeoutError
        assert (came, error.text) == ("The", "The")
        assert "the model took too long" in str(error)

    def test_an_exception_that_boto3_does_not_know(self, connect: Connect) -> None:
        """
        It has its name and its words, and it is no refusal.
        """
        told = protocols.broken_off(kind="ModelGoneError")
        with Misbehaving(cut_after(*BEGIN, lambda peer: peer.chunk(told))) as server:
            came, error = walk(connect(server.url).stream("Who?"))

        assert type(error) is ConnectionCutError
        assert (came, error.text) == ("The", "The")
        assert "SageMaker ends the stream (ModelGoneError): The stream" in str(error)

    @pytest.mark.parametrize(("count", "is_whole"), [(1, True), (2, False)])
    def test_one_of_two_answers_has_not_begun(
        self, connect: Connect, count: int, *, is_whole: bool
    ) -> None:
        """
        The first is whole, and the stream is not.
        """
        first = events(chunk({"content": "Yes"}, "stop"), done=False)
        behave = cut_after(Peer.begin, lambda peer: peer.part(first))
        with Misbehaving(behave) as server:
            client = connect(server.url, schema="openai")
            for tokens in (
                client.stream("Who?", parameters={"n": count}),
                client.stream_chat("Who?", parameters={"n": count}),
            ):
                _, error = walk(tokens)
                assert (error is None) is is_whole

    def test_after_the_end_nothing_is_missing(self, connect: Connect) -> None:
        """
        The finish reason has come: the answer is whole.
        """
        behave = cut_after(*BEGIN, lambda peer: peer.part(END))
        with Misbehaving(behave) as server:
            tokens = list(connect(server.url).stream("Who?"))

        assert tokens[-1].finish_reason is FinishReason.STOP

    def test_a_document(self, connect: Connect) -> None:
        """
        The text that it had begun is kept.
        """

        def behave(peer: Peer) -> None:
            peer.head(Content_Type="application/json", Content_Length="500")
            peer.send(b'{"generated_text": "The c')
            peer.cut()

        with Misbehaving(behave) as server, pytest.raises(ConnectionCutError) as caught:
            connect(server.url).generate("Who?")

        assert caught.value.text == "The c"
        assert len(server.requests) == 1

    def test_nobody_listens(self, connect: Connect) -> None:
        """
        Tried again, as nothing was sent; then it says where to look.
        """
        with Misbehaving(answer) as server:
            url = server.url
        with within(5), pytest.raises(ConnectionCutError, match="endpoint URL"):
            connect(url, retries=1).generate("Who?")


class TestErrors:
    """
    Errors before, in the middle of and instead of an answer.
    """

    def test_an_error_in_mid_stream(self, connect: Connect) -> None:
        """
        The container's words and status, and the text before them.
        """
        told = {"error": {"message": "boom", "type": "InternalError", "code": 500}}
        failing = stream(THE, json.dumps(told).encode() + b"\n")
        with Misbehaving(failing) as server:
            came, error = walk(connect(server.url).stream("Who?"))

        assert isinstance(error, ModelError)
        assert (came, error.text) == ("The", "The")
        assert (error.status, error.model_message) == (500, "boom")

    @pytest.mark.parametrize("method", ["generate", "stream"])
    def test_a_container_that_is_busy(self, connect: Connect, method: str) -> None:
        """
        429: it refused the request, so that it may be sent again.
        """
        busy: Behaviour = lambda peer: refuse_as_model(peer, 429, "overloaded")  # noqa: E731 - one line
        with Misbehaving(busy, busy, answer) as server:
            client = connect(server.url, retries=2)
            assert said(client, method) == "The cat"
            assert len(server.requests) == 3
        with Misbehaving(busy) as server:
            client = connect(server.url, retries=1)
            with pytest.raises(ThrottledError, match="overloaded.*scale out"):
                said(client, method)
            assert len(server.requests) == 2

    @pytest.mark.parametrize("method", ["generate", "stream"])
    def test_a_container_that_is_down(self, connect: Connect, method: str) -> None:
        """
        503 may come after the model has begun: nothing is sent again.
        """
        body = '{"code": 503, "type": "ServiceUnavailable", "message": "queue full"}'
        down: Behaviour = lambda peer: refuse_as_model(peer, 503, body)  # noqa: E731 - one line
        with Misbehaving(down) as server:
            client = connect(server.url)
            with pytest.raises(
                ModelError, match="503: queue full; its queue"
            ) as caught:
                said(client, method)

        assert caught.value.status == 503
        assert len(server.requests) == 1

    def test_a_service_that_throttles(self, connect: Connect) -> None:
        """
        Before any container has seen the request.
        """

        def throttle(peer: Peer) -> None:
            peer.refuse("ThrottlingException", "Rate exceeded", 400)

        with Misbehaving(throttle, answer) as server:
            assert connect(server.url).generate("Who?").text == "The cat"
        with Misbehaving(throttle) as server:
            with pytest.raises(ThrottledError, match="Rate exceeded"):
                connect(server.url, retries=0).generate("Who?")
            assert len(server.requests) == 1

    @pytest.mark.parametrize("code", ["ServiceUnavailable", "InternalFailure"])
    def test_a_service_that_is_down(self, connect: Connect, code: str) -> None:
        """
        Nobody knows whether the model has worked on it.
        """
        status = 503 if code == "ServiceUnavailable" else 500
        down: Behaviour = lambda peer: peer.refuse(code, "Sorry", status)  # noqa: E731 - one line
        with Misbehaving(down) as server:
            with pytest.raises(UnavailableError, match="Sorry; try again"):
                connect(server.url).generate("Who?")
            assert len(server.requests) == 1

    def test_a_request_that_is_too_large(self, connect: Connect) -> None:
        """
        SageMaker's own answer to it has no code.
        """
        told = b'{"message": "HTTP content length exceeded 6291456 bytes."}'
        with (
            Misbehaving(lambda peer: peer.whole(told, 413)) as server,
            pytest.raises(RefusedError, match="exceeded.*shorten the prompt"),
        ):
            connect(server.url).generate("Who?")


class TestGarbage:
    """
    What is no answer.
    """

    @pytest.mark.parametrize(
        "body", [b"<html>502</html>", b"\x00\xff\xfe", b'{"generated_text": ]}', b"42"]
    )
    @pytest.mark.parametrize("method", ["generate", "stream"])
    def test_in_the_body(self, connect: Connect, body: bytes, method: str) -> None:
        """
        It is shown, shortened.
        """

        def behave(peer: Peer) -> None:
            if method == "stream":
                stream(THE, body)(peer)
            else:
                peer.whole(body)

        with Misbehaving(behave) as server, pytest.raises(UnreadableAnswerError) as got:
            said(connect(server.url), method)

        assert got.value.text == ("The" if method == "stream" else "")

    def test_in_the_framing(self, connect: Connect) -> None:
        """
        A checksum that is wrong.
        """
        spoilt = FRAME[:-1] + bytes([FRAME[-1] ^ 1])
        behave = cut_after(*BEGIN, lambda peer: peer.chunk(spoilt))
        with Misbehaving(behave) as server:
            came, error = walk(connect(server.url).stream("Who?"))

        assert type(error) is UnreadableAnswerError
        assert (came, error.text) == ("The", "The")

    def test_instead_of_http(self, connect: Connect) -> None:
        """
        Whatever botocore makes of it is in the family.
        """
        with (
            Misbehaving(cut_after(lambda peer: peer.send(b"\x16\x03\x01" * 9))) as it,
            pytest.raises(LlmError),
        ):
            connect(it.url).generate("Who?")

    def test_blank_lines_without_end(self, connect: Connect) -> None:
        """
        Fast ones end by their number.
        """

        def behave(peer: Peer) -> None:
            peer.begin()
            peer.part(THE)
            while True:
                peer.part(b"\n" * 50_000)

        with Misbehaving(behave) as server, within(10):
            came, error = walk(connect(server.url).stream("Who?"))

        assert type(error) is UnreadableAnswerError
        assert "blank lines" in str(error)
        assert (came, error.text) == ("The", "The")

    @pytest.mark.parametrize("silence", [b"\n", b":\n\n"], ids=["blank", "keep-alive"])
    def test_blank_lines_now_and_then(self, connect: Connect, silence: bytes) -> None:
        """
        Slow ones end by the time since the last part that said something.
        """

        def behave(peer: Peer) -> None:
            peer.begin()
            peer.part(THE)
            while True:
                peer.part(silence)
                time.sleep(0.05)

        with Misbehaving(behave) as server, within(5):
            came, error = walk(connect(server.url, timeouts=QUICK).stream("Who?"))

        assert type(error) is AnswerTimeoutError
        assert (came, error.text) == ("The", "The")


class TestTime:
    """
    What takes too long, and what does not.
    """

    @pytest.mark.parametrize("method", ["generate", "stream"])
    def test_a_stall_before_the_answer(self, connect: Connect, method: str) -> None:
        """
        Given up, the connection freed, and not asked again.
        """
        left: list[bool] = []
        with Misbehaving(lambda peer: left.append(peer.left())) as server, within(5):
            with pytest.raises(AnswerTimeoutError) as caught:
                said(connect(server.url, timeouts=QUICK), method)
            assert isinstance(caught.value, TimeoutError)
            until(lambda: left == [True])
            assert len(server.requests) == 1

    def test_a_stall_in_the_middle(self, connect: Connect) -> None:
        """
        What came is kept.
        """
        left: list[bool] = []

        def behave(peer: Peer) -> None:
            for step in BEGIN:
                step(peer)
            left.append(peer.left())

        with Misbehaving(behave) as server, within(5):
            came, error = walk(connect(server.url, timeouts=QUICK).stream("Who?"))
            until(lambda: left == [True])

        assert type(error) is AnswerTimeoutError
        assert (came, error.text) == ("The", "The")

    @pytest.mark.parametrize("method", ["generate", "stream"])
    def test_a_trickle(self, connect: Connect, method: str) -> None:
        """
        Never silent, never done: only the time for the whole ends it.
        """

        def behave(peer: Peer) -> None:
            if method == "stream":
                peer.begin()
                while True:
                    peer.part(THE)
                    time.sleep(0.05)
            peer.head(Content_Type="application/json", Content_Length="50000")
            peer.send(b'{"generated_text": "')
            while True:
                peer.send(b"a")
                time.sleep(0.05)

        with Misbehaving(behave) as server, within(3):
            client = connect(server.url, timeouts=Timeouts(total=0.5))
            with pytest.raises(AnswerTimeoutError, match="within 0.5 s") as caught:
                said(client, method)

        if method == "stream":
            assert caught.value.text.startswith("TheThe")

    def test_a_slow_first_token(self, connect: Connect) -> None:
        """
        Slower than one part comes after the other, but not than what is allowed.
        """

        def behave(peer: Peer) -> None:
            time.sleep(0.2)
            peer.begin()
            time.sleep(0.2)
            peer.part(THE + CAT)
            peer.part(END)
            peer.end()

        with Misbehaving(behave) as server:
            assert walk(connect(server.url, timeouts=QUICK).stream("Who?")) == (
                "The cat",
                None,
            )

    def test_silences_do_not_add_up(self, connect: Connect) -> None:
        """
        Each part that says something ends one.
        """

        def behave(peer: Peer) -> None:
            peer.begin()
            for _ in range(4):
                peer.part(CAT)
                time.sleep(0.15)
                peer.part(b"\n")
            peer.part(END)
            peer.end()

        with Misbehaving(behave) as server:
            assert walk(connect(server.url, timeouts=QUICK).stream("Who?")) == (
                " cat" * 4,
                None,
            )

    def test_a_reader_that_takes_its_time(self, connect: Connect) -> None:
        """
        What it does with a token is no silence of the server.
        """
        with Misbehaving(stream(THE, b"\n", CAT, b":\n\n", END)) as server:
            text = ""
            for token in connect(server.url, timeouts=QUICK).stream("Who?"):
                text += token.text
                time.sleep(0.5)

        assert text == "The cat"

    def test_the_time_for_the_whole_counts_waiting(self, connect: Connect) -> None:
        """
        For capacity, too, which is what is missing then.
        """

        def empty(peer: Peer) -> None:
            peer.refuse("ValidationError", NO_CAPACITY, 400)

        with Misbehaving(empty) as server, within(3):
            client = connect(server.url, timeouts=Timeouts(total=0.4))
            with pytest.raises(NoCapacityError):
                client.generate("Who?")


class TestCapacity:
    """
    A model that sleeps.
    """

    def test_it_waits_and_says_so(
        self, connect: Connect, caplog: pytest.LogCaptureFixture
    ) -> None:
        """
        In the log, and to whoever asked.
        """
        told: list[str] = []

        def empty(peer: Peer) -> None:
            peer.refuse("ValidationError", NO_CAPACITY, 400)

        with (
            Misbehaving(empty, answer) as server,
            caplog.at_level(logging.WARNING),
        ):
            client = connect(server.url, wait_for_capacity=30, on_wait=told.append)
            assert client.generate("Who?").text == "The cat"

        assert told == caplog.messages
        assert told[0].startswith("no copy of the model is there yet")
        assert "30 s at most" in told[0]

    @pytest.mark.parametrize("bound", [0, 0.3])
    def test_the_wait_has_a_bound(self, connect: Connect, bound: float) -> None:
        """
        After it, SageMaker's words and the way out.
        """

        def empty(peer: Peer) -> None:
            peer.refuse("ValidationError", NO_CAPACITY, 400)

        with Misbehaving(empty) as server, within(4):
            client = connect(server.url, wait_for_capacity=bound)
            with pytest.raises(
                NoCapacityError, match="no capacity.*wait_for"
            ) as caught:
                walk_all(client.stream("Who?"))
            assert len(server.requests) == (2 if bound else 1)

        assert (caught.value.waited >= bound) if bound else caught.value.waited == 0


class TestSize:
    """
    More than memory holds.
    """

    @pytest.mark.parametrize(
        "more",
        [b" " * 65_000, b"a" * 65_000, b'"a",' * 16_000],
        ids=["spaces", "a text", "a list"],
    )
    @pytest.mark.parametrize("method", ["generate", "stream"])
    def test_a_document_without_end(
        self, connect: Connect, more: bytes, method: str
    ) -> None:
        """
        It ends at what may be kept, which is about all that is.
        """

        def behave(peer: Peer) -> None:
            send: Callable[[bytes], None] = peer.send
            if method == "stream":
                peer.begin()
                send = peer.part
            else:
                peer.head(Content_Type="application/json", Content_Length="99999999999")
            send(b'{"generated_text": "The')
            while True:
                send(more)

        with Misbehaving(behave) as server, within(20), less_than(12 * LITTLE):
            client = connect(server.url, max_bytes=LITTLE)
            with pytest.raises(AnswerTooLargeError, match="max_bytes=") as caught:
                said(client, method)

        assert caught.value.text.startswith("The")
        assert len(caught.value.text) <= LITTLE + 65_536

    def test_tokens_without_end(self, connect: Connect) -> None:
        """
        The text is kept up to there.
        """
        token = {"token": {"id": 5, "text": "x" * 50_000, "log_prob": -1.0}}
        line = json.dumps(token).encode() + b"\n"

        def behave(peer: Peer) -> None:
            peer.begin()
            while True:
                peer.part(line)

        with Misbehaving(behave) as server, within(20), less_than(12 * LITTLE):
            client = connect(server.url, max_bytes=LITTLE)
            with pytest.raises(AnswerTooLargeError) as caught:
                walk_all(client.stream("Who?"))

        assert set(caught.value.text) == {"x"}
        assert len(caught.value.text) >= LITTLE


class TestConnections:
    """
    What is open, and for how long.
    """

    def test_a_stream_that_is_closed(self, connect: Connect) -> None:
        """
        The server notices at once.
        """
        left: list[bool] = []

        def behave(peer: Peer) -> None:
            for step in BEGIN:
                step(peer)
            left.append(peer.left())

        with Misbehaving(behave) as server, within(5):
            tokens = connect(server.url).stream("Who?")
            assert next(tokens).text == "The"
            tokens.close()
            until(lambda: left == [True])

    def test_one_connection_serves_many_answers(self, connect: Connect) -> None:
        """
        Streams are read to their end, so that it can be used again.
        """
        with Misbehaving(answer) as server:
            client = connect(server.url)
            for _ in range(3):
                assert walk(client.stream("Who?")) == ("The cat", None)
                assert client.generate("Who?").text == "The cat"

            assert (server.connections, len(server.requests)) == (1, 6)


def refuse_as_model(peer: Peer, status: int, body: str) -> None:
    """
    Refuse as SageMaker does when the container does.
    """
    peer.refuse(
        "ModelError",
        f"Received error ({status}) from primary",
        424,
        OriginalStatusCode=status,
        OriginalMessage=body,
    )


def said(client: object, method: str) -> str:
    """
    Ask in one way or the other.
    """
    answered = getattr(client, method)("Who?")
    if method == "stream":
        return "".join(token.text for token in answered)
    return str(answered.text)


def walk_all(tokens: Iterator[Token]) -> None:
    """
    Read a stream and keep nothing of it.
    """
    for _ in tokens:
        pass


def until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """
    Wait for something to become true.
    """
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    assert holds()


@contextmanager
def less_than(size: int) -> Iterator[None]:
    """
    Hold that no more bytes were in use at any time.
    """
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size
