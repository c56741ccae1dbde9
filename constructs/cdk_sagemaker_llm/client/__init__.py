"""
The client: generate, stream, chat, embed, and one reader for every wire format.

What belongs here needs boto3 alone, and the reader not even that: no CDK, no Node. An
application ships it, also in a Lambda, where the CDK is too large.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.client.answers import (
        Embeddings,
        FinishReason,
        Generation,
        Ranked,
        Token,
        ToolCall,
        Usage,
        confidence,
        gather,
    )
    from cdk_sagemaker_llm.client.async_client import (
        AsyncLlmClient,
        AsyncPendingAnswer,
    )
    from cdk_sagemaker_llm.client.asynchronous import PendingAnswer
    from cdk_sagemaker_llm.client.base_client import BaseClient
    from cdk_sagemaker_llm.client.bearer import bearer_token
    from cdk_sagemaker_llm.client.bidirectional import BidirectionalStream
    from cdk_sagemaker_llm.client.errors import (
        AnswerTimeoutError,
        AnswerTooLargeError,
        CancelledRequestError,
        ComponentNameError,
        ConnectionCutError,
        ContextTooLongError,
        LlmError,
        ModelError,
        NoCapacityError,
        RefusedError,
        ThrottledError,
        UnavailableError,
        UnreadableAnswerError,
    )
    from cdk_sagemaker_llm.client.langchain import (
        langchain_chat_handler,
        langchain_prompt_handler,
    )
    from cdk_sagemaker_llm.client.llm_client import LlmClient
    from cdk_sagemaker_llm.client.reader import read_body, read_embeddings, read_stream
    from cdk_sagemaker_llm.client.requests import (
        ChatOptions,
        Message,
        Options,
        Schema,
    )
    from cdk_sagemaker_llm.client.runtime import Timeouts
    from cdk_sagemaker_llm.client.stored import ClientOptions
    from cdk_sagemaker_llm.client.wire.step import WireFormat

__all__ = [
    "AnswerTimeoutError",
    "AnswerTooLargeError",
    "AsyncLlmClient",
    "AsyncPendingAnswer",
    "BaseClient",
    "BidirectionalStream",
    "CancelledRequestError",
    "ChatOptions",
    "ClientOptions",
    "ComponentNameError",
    "ConnectionCutError",
    "ContextTooLongError",
    "Embeddings",
    "FinishReason",
    "Generation",
    "LlmClient",
    "LlmError",
    "Message",
    "ModelError",
    "NoCapacityError",
    "Options",
    "PendingAnswer",
    "Ranked",
    "RefusedError",
    "Schema",
    "ThrottledError",
    "Timeouts",
    "Token",
    "ToolCall",
    "UnavailableError",
    "UnreadableAnswerError",
    "Usage",
    "WireFormat",
    "bearer_token",
    "confidence",
    "gather",
    "langchain_chat_handler",
    "langchain_prompt_handler",
    "read_body",
    "read_embeddings",
    "read_stream",
]

_ERRORS = "client.errors"
_ANSWERS = "client.answers"
_LANGCHAIN = "client.langchain"
_READING = "client.reader"
_REQUESTS = "client.requests"
# Where each name is, below the library's own package.
_HOMES = {
    "AnswerTimeoutError": _ERRORS,
    "AnswerTooLargeError": _ERRORS,
    "AsyncLlmClient": "client.async_client",
    "AsyncPendingAnswer": "client.async_client",
    "BaseClient": "client.base_client",
    "BidirectionalStream": "client.bidirectional",
    "CancelledRequestError": _ERRORS,
    "ChatOptions": _REQUESTS,
    "ClientOptions": "client.stored",
    "ComponentNameError": _ERRORS,
    "ConnectionCutError": _ERRORS,
    "ContextTooLongError": _ERRORS,
    "Embeddings": _ANSWERS,
    "FinishReason": _ANSWERS,
    "Generation": _ANSWERS,
    "LlmClient": "client.llm_client",
    "LlmError": _ERRORS,
    "Message": _REQUESTS,
    "ModelError": _ERRORS,
    "NoCapacityError": _ERRORS,
    "Options": _REQUESTS,
    "PendingAnswer": "client.asynchronous",
    "Ranked": _ANSWERS,
    "RefusedError": _ERRORS,
    "Schema": _REQUESTS,
    "ThrottledError": _ERRORS,
    "Timeouts": "client.runtime",
    "Token": _ANSWERS,
    "ToolCall": _ANSWERS,
    "UnavailableError": _ERRORS,
    "UnreadableAnswerError": _ERRORS,
    "Usage": _ANSWERS,
    "WireFormat": "client.wire.step",
    "bearer_token": "client.bearer",
    "confidence": _ANSWERS,
    "gather": _ANSWERS,
    "langchain_chat_handler": _LANGCHAIN,
    "langchain_prompt_handler": _LANGCHAIN,
    "read_body": _READING,
    "read_embeddings": _READING,
    "read_stream": _READING,
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
