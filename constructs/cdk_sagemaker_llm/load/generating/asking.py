"""
Asking the endpoint, and keeping what came of it; before it is loaded, whether it
answers at all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from botocore.exceptions import BotoCoreError

from cdk_sagemaker_llm.client import (
    ComponentNameError,
    Generation,
    LlmClient,
    Message,
    ModelError,
    RefusedError,
    Timeouts,
    Token,
    ToolCall,
)
from cdk_sagemaker_llm.client.requests import ChatOptions, Options
from cdk_sagemaker_llm.load.measured import UNFINISHED, Measured, Record
from cdk_sagemaker_llm.load.prompts import Conversation, Prompts
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.load.tokens import writer_of
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest

# How many requests of one process are under way at most.
MOST_IN_FLIGHT = 5000
# The same as this process's wake-ups have: often enough to see a short stall.
EVERY = 0.02

_REMEDY = "name a region with --region or AWS_DEFAULT_REGION, or choose an AWS_PROFILE"


class Asking:
    """
    One process's requests.
    """

    def __init__(self, settings: LoadSettings, number: int) -> None:
        self.settings = settings
        self._number = number
        self._prompts = Prompts(settings, number, writer_of(settings))
        # Each process draws its own, and the same again with the same seed.
        self._arrivals = random.Random(f"{settings.seed} {number}")  # noqa: S311 - no secret
        self._client = _client(settings)
        self._options: Options = {"parameters": settings.parameters}
        if settings.max_new_tokens is not None:
            self._options["max_new_tokens"] = settings.max_new_tokens
        self._tools: ChatOptions = {"tools": settings.tools} if settings.tools else {}
        self._kept = Measured()
        self._begun: tuple[float, float] | None = None
        self._is_over = False

    def begin(self) -> None:
        """
        Count from now on: all users are there.
        """
        if self._begun is not None:
            # Locust says so once more when a worker that was silent is back.
            return
        self._begun = time.perf_counter(), time.process_time()
        self._kept.gaps = Histogram()
        self._kept.delays = {self._number: Histogram()}

    def end(self) -> None:
        """
        Take no more notice of this process's own delay: the load has ended.
        """
        self._note_cpu()
        self._is_over = True

    def late(self, seconds: float) -> None:
        """
        Take notice of how late this process woke up.
        """
        if self._begun is not None and not self._is_over:
            self._kept.delays[self._number].add([max(0.0, seconds)])

    def take(self) -> Measured:
        """
        Hand over what was measured since the last time.
        """
        if self._begun is None:
            # What came between the tokens before all users were there does not count.
            self._kept.gaps = Histogram()
        else:
            self._note_cpu()
        taken, self._kept = self._kept, Measured()
        self._kept.delays = {self._number: Histogram()}
        return taken

    def next_arrival(self) -> float:
        """
        Draw how many seconds pass until the next request arrives here.
        """
        rate = (self.settings.arrival_rate or 1.0) / self.settings.process_count
        return self._arrivals.expovariate(rate)

    def converse(self) -> Conversation:
        """
        Begin a conversation.
        """
        return self._prompts.converse()

    def traced(self) -> Iterator[tuple[TracedRequest, str]]:
        """
        Return this process's part of the trace, a prompt each.
        """
        trace, count = self.settings.trace, self.settings.process_count
        # A worker that takes the place of a lost one has a further number.
        for request in trace[(self._number - 1) % count :: count]:
            yield request, self._prompts.traced(request)

    def ask(
        self, due: float | None = None, conversation: Conversation | None = None
    ) -> None:
        """
        Send one request and keep what came of it.

        Args:
            due: When it was to be sent, in seconds since 1970. If omitted, now.

            conversation: What it continues. If omitted, it begins one.
        """
        answer = _Answer(due)
        talk = conversation or self.converse()
        is_chat = self.settings.is_chat
        prompt = talk.messages() if is_chat else talk.prompt()
        if due is None:
            # Making a prompt up is not waiting for its answer.
            answer = _Answer(None)
        answer.turn = talk.turn
        if self._keep(prompt, answer, self._options):
            talk.answered(answer.text, answer.calls)
        else:
            talk.end()

    def replay(self, due: float, request: TracedRequest, prompt: str) -> None:
        """
        Send one request of a trace and keep what came of it.

        Args:
            due: When it was to be sent, in seconds since 1970.

            request: What the trace says of it.

            prompt: What it asks.
        """
        options: Options = {**self._options, "max_new_tokens": request.output_tokens}
        self._keep(prompt, _Answer(due), options)

    def try_once(self) -> None:
        """
        Send one request that is not counted.
        """
        talk = self.converse()
        prompt = talk.messages() if self.settings.is_chat else talk.prompt()
        self._read(prompt, _Answer(None), self._options)

    def _keep(
        self, prompt: str | Sequence[Message], answer: _Answer, options: Options
    ) -> bool:
        try:
            self._read(prompt, answer, options)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            failure = type(error).__name__
            if isinstance(error, ModelError) and error.status is not None:
                failure = f"{failure} {error.status}"
            self._kept.messages.setdefault(failure, str(error))
        except BaseException:
            # gevent ends the user.
            self._kept.records.append(answer.ended(UNFINISHED))
            raise
        else:
            failure = ""
        self._kept.records.append(answer.ended(failure))
        self._kept.gaps.add(answer.gaps)
        return not failure

    def _read(
        self, prompt: str | Sequence[Message], answer: _Answer, options: Options
    ) -> None:
        client = self._client
        if self.settings.is_chat:
            chat_options: ChatOptions = {**options, **self._tools}
            if self.settings.is_streamed:
                answer.stream(client.stream_chat(prompt, **chat_options))
            else:
                answer.whole(client.chat(prompt, **chat_options))
        elif self.settings.is_streamed:
            answer.stream(client.stream(str(prompt), **options))
        else:
            answer.whole(client.generate(str(prompt), **options))

    def _note_cpu(self) -> None:
        if self._begun is not None and not self._is_over:
            wall, cpu = self._begun
            seconds = max(time.perf_counter() - wall, 1e-9)
            self._kept.cpus[self._number] = (time.process_time() - cpu) / seconds


def prepared(settings: LoadSettings, number: int) -> Asking:
    """
    Return the asker of this process, after it has asked once.
    """
    try:
        asking = Asking(settings, number)
    except ValueError as error:
        raise HopelessError(f"{error}; correct the setting") from error
    except RefusedError as error:
        raise _at_fault(error.__cause__ or error) from error
    except BotoCoreError as error:
        raise _at_fault(error) from error
    try:
        asking.try_once()
    except BotoCoreError as error:
        raise _at_fault(error) from error
    except (ComponentNameError, RefusedError) as error:
        raise HopelessError(str(error)) from error
    except Exception:  # noqa: BLE001, S110 - what may pass is measured, not judged
        pass
    return asking


class HopelessError(Exception):
    """
    The load cannot begin, and waiting does not help.
    """


def _client(settings: LoadSettings) -> LlmClient:
    return LlmClient(
        settings.endpoint,
        settings.component,
        variant=settings.variant,
        schema=settings.schema,
        timeouts=Timeouts(read=settings.timeout, total=settings.timeout),
        # What is tried again, or waits for a copy, would look like a slow answer.
        retries=0,
        wait_for_capacity=0,
        max_connections=max(settings.user_count, MOST_IN_FLIGHT),
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        session=settings.session() if settings.profile else None,
    )


class _Answer:
    """
    An answer as it comes.
    """

    def __init__(self, due: float | None) -> None:
        now = time.time()
        self._start = now if due is None else due
        self._began = time.perf_counter() - max(0.0, now - self._start)
        self._first: float | None = None
        self._tokens = 0
        self._prompt_tokens: int | None = None
        self.gaps: list[float] = []
        self.turn = 1
        self.text = ""
        self.calls: tuple[ToolCall, ...] = ()

    def stream(self, tokens: Iterator[Token]) -> None:
        last = 0.0
        texts = []
        for token in tokens:
            texts.append(token.text)
            self.calls += token.tool_calls
            if token.is_counted:
                now = time.perf_counter()
                if self._first is None:
                    self._first = now - self._began
                else:
                    self.gaps.append(now - last)
                last = now
                self._tokens += 1
            if token.usage is not None:
                self._prompt_tokens = token.usage.prompt_tokens
                self._tokens = token.usage.completion_tokens or self._tokens
        self.text = "".join(texts)

    def whole(self, answer: Generation) -> None:
        self.text, self.calls = answer.text, answer.tool_calls
        self._tokens = answer.completion_tokens
        self._prompt_tokens = answer.usage.prompt_tokens if answer.usage else None

    def ended(self, failure: str) -> Record:
        return Record(
            start=self._start,
            latency=time.perf_counter() - self._began,
            first_token=self._first,
            tokens=self._tokens,
            prompt_tokens=self._prompt_tokens,
            failure=failure,
            turn=self.turn,
        )


def _at_fault(error: BaseException) -> HopelessError:
    return HopelessError(f"{error} The settings of AWS are at fault: {_REMEDY}")
