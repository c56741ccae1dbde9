"""
What goes wrong with an answer: one family, which keeps what had come by then.
"""

from __future__ import annotations

from cdk_sagemaker_llm.client.tokens import ToolCall


class LlmError(Exception):
    """
    No answer, or not the whole of it.

    Attributes:
        message: What happened.

        remedy: What to do about it.

        text: The answer as far as it came.

        reasoning: The reasoning as far as it came.

        tool_calls: The tool calls as far as they came.
    """

    remedy = ""

    def __init__(self, message: str, *, remedy: str = "", text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or type(self).remedy
        self.text = text
        self.reasoning = ""
        self.tool_calls: tuple[ToolCall, ...] = ()

    def __str__(self) -> str:
        """
        Return the message: what happened, and what to do.
        """
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class ModelError(LlmError):
    """
    The container's own error: before a stream, in the middle of one, or instead.

    Attributes:
        status: The container's HTTP status; ``None`` where it gave none.

        model_message: What the container said.
    """

    remedy = "read the container's log group for what came before"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        model_message: str = "",
        remedy: str = "",
        text: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy, text=text)
        self.status = status
        self.model_message = model_message


class ContextTooLongError(ModelError):
    """
    Prompt and answer do not fit the model's context.

    Attributes:
        limit: How many tokens fit; ``None`` where the container did not say.

        requested: How many were asked for; ``None`` where it did not say.
    """

    remedy = "shorten the prompt, ask for fewer tokens, or deploy a longer context"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        model_message: str = "",
        limit: int | None = None,
        requested: int | None = None,
    ) -> None:
        super().__init__(message, status=status, model_message=model_message)
        self.limit = limit
        self.requested = requested


class ThrottledError(LlmError):
    """
    Too many requests: for the account, or for the container's queue.
    """

    remedy = "send fewer at once, scale out, or ask for a higher quota"


class NoCapacityError(LlmError):
    """
    No copy of the model is there to answer.

    Attributes:
        waited: How many seconds were waited for one.
    """

    remedy = (
        "wait for one with wait_for_capacity=, raise the least number of copies, or "
        "see why none could be started"
    )

    def __init__(self, message: str, *, waited: float = 0.0) -> None:
        super().__init__(message)
        self.waited = waited


class ComponentNameError(LlmError):
    """
    The name of the inference component is missing, unknown, or not wanted.
    """

    remedy = 'name the component: LlmClient(endpoint, "component")'


class RefusedError(LlmError):
    """
    SageMaker refuses the request before any container sees it.

    Attributes:
        code: AWS's code of the error.
    """

    remedy = "check the endpoint's name, the region and the permissions"

    def __init__(self, message: str, *, code: str = "", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class UnavailableError(LlmError):
    """
    SageMaker itself fails.

    It is not tried again by itself: the model may have worked on the request.
    """

    remedy = "try again"


class AnswerTimeoutError(LlmError, TimeoutError):
    """
    The answer, or the next part of it, took too long.
    """

    remedy = "stream the answer, ask for fewer tokens, or allow more time (Timeouts)"


class ConnectionCutError(LlmError, ConnectionError):
    """
    The connection broke, or the answer ended before its end.
    """

    remedy = "ask again with the text so far as the beginning of the answer"


class CancelledRequestError(LlmError):
    """
    The request was given up by its own program.
    """


class UnreadableAnswerError(LlmError):
    """
    What came is in no format that is known here.
    """

    remedy = "check that a language model answers on this endpoint"


class AnswerTooLargeError(LlmError):
    """
    The answer is larger than what may be kept of it.
    """

    remedy = "ask for fewer tokens, or allow more with max_bytes="
