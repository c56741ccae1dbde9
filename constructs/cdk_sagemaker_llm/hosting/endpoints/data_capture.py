"""
Data capture: requests and answers of an endpoint, kept on S3.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import range_findings
from cdk_sagemaker_llm.hosting.roles.places import (
    Place,
    key_statements,
    place_findings,
    place_of,
    prefix_findings,
    write_statement,
)
from cdk_sagemaker_llm.hosting.roles.statements import Statement
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3

# botocore 1.44.5: SamplingPercentage, JsonContentTypes and CsvContentTypes.
_MOST_PERCENT = 100
_MOST_TYPES, _LONGEST_TYPE = 10, 256
_TYPE = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*/[a-zA-Z0-9](-*[a-zA-Z0-9.])*\Z")

EMPTY_CAPTURE = Rule(
    "LLM348", "data capture is of nothing, or of content types that are none", API
)
UNSURE_CAPTURE = Rule(
    "LLM436",
    "data capture is set where the guide does not say that it works",
    "SageMaker developer guide, model-monitor-data-capture",
)

CaptureProperty = sagemaker.CfnEndpointConfig.DataCaptureConfigProperty


class CaptureMode(enum.StrEnum):
    """
    The half of a request that is captured.
    """

    INPUT = "Input"
    OUTPUT = "Output"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataCapture:
    """
    Keep requests and answers of an endpoint on S3, as lines of JSON.

    ``DataCapture(bucket=bucket, prefix="captured", sampling_percent=10)``

    Args:
        bucket: Where they are written, into a folder of the endpoint's name.

        prefix:
            What the keys begin with.
            If omitted, the folder of the endpoint's name is the first.

        sampling_percent: How many of a hundred requests are captured, 0 to 100.

        capture: Whether requests, answers or both are.

        kms_key:
            The key to encrypt them with, which the role may then use.
            If omitted, the bucket's own encryption applies.

        json_content_types:
            Which content types are written as the JSON that they are; others are
            written in base64.

        csv_content_types:
            Which content types are written as text of comma-separated values.
            If omitted, none is.
    """

    bucket: s3.IBucket | str
    prefix: str = ""
    sampling_percent: int = 100
    capture: Sequence[CaptureMode] = (CaptureMode.INPUT, CaptureMode.OUTPUT)
    kms_key: kms.IKey | None = None
    json_content_types: Sequence[str] = ("application/json",)
    csv_content_types: Sequence[str] = ()

    def __post_init__(self) -> None:
        hold_kinds(self)

    def to_property(self) -> CaptureProperty:
        """
        Render for the L1 class.
        """
        config = sagemaker.CfnEndpointConfig
        # The API has InputAndOutput too, which CreateEndpoint refused
        # (boto/boto3#3440): one for each has the same effect.
        modes = [
            config.CaptureOptionProperty(capture_mode=mode.value)
            for mode in self.capture
        ]
        types = None
        if self.json_content_types or self.csv_content_types:
            types = config.CaptureContentTypeHeaderProperty(
                json_content_types=list(self.json_content_types) or None,
                csv_content_types=list(self.csv_content_types) or None,
            )
        return CaptureProperty(
            enable_capture=True,
            destination_s3_uri=_place_of(self).uri,
            initial_sampling_percentage=self.sampling_percent,
            capture_options=modes,
            capture_content_type_header=types,
            kms_key_id=self.kms_key.key_arn if self.kms_key else None,
        )


def capture_findings(
    capture: DataCapture, *, hosts_components: bool, is_async: bool
) -> list[Finding]:
    """
    Check what is to be captured, and whether that is documented to work.
    """
    unusable = place_findings("bucket", capture.bucket)
    modes, wrong_modes = capture.capture, ""
    if not modes:
        wrong_modes = "capture must name at least one mode, got none"
    elif len(set(modes)) < len(modes):
        wrong_modes = f"capture must name each mode once, got {', '.join(modes)}"
    return [
        *(unusable or prefix_findings("prefix", _place_of(capture))),
        *range_findings("sampling_percent", capture.sampling_percent, 0, _MOST_PERCENT),
        *([EMPTY_CAPTURE.finding(wrong_modes)] if wrong_modes else []),
        *_type_findings("json_content_types", capture.json_content_types),
        *_type_findings("csv_content_types", capture.csv_content_types),
        *(
            UNSURE_CAPTURE.finding(
                "data_capture is documented for endpoints that one model fills and "
                f"that answer at once, and not for {kind}",
                "see after the first requests that something is captured",
            )
            for kind, is_there in (
                ("inference components", hosts_components),
                ("asynchronous inference", is_async),
            )
            if is_there
        ),
    ]


def capture_statements(capture: DataCapture) -> list[Statement]:
    """
    Return the permissions that the role needs to write the captured data.
    """
    place = _place_of(capture)
    return [
        write_statement("WriteCaptured", place),
        *key_statements("EncryptCaptured", capture.kms_key, place.key),
    ]


def _place_of(capture: DataCapture) -> Place:
    found, prefix = place_of(capture.bucket), capture.prefix.strip("/")
    return replace(found, uri=f"{found.uri}/{prefix}") if prefix else found


def _type_findings(parameter: str, types: Sequence[str]) -> list[Finding]:
    found = []
    if len(types) > _MOST_TYPES:
        found.append(
            EMPTY_CAPTURE.finding(
                f"{parameter} must be at most {_MOST_TYPES}, got {len(types)}"
            )
        )
    return found + [
        EMPTY_CAPTURE.finding(
            f"{parameter} must be content types such as 'application/json', of at most "
            f"{_LONGEST_TYPE} characters, got {name!r}"
        )
        for name in types
        if not is_unresolved(name)
        and not (len(name) <= _LONGEST_TYPE and _TYPE.match(name))
    ]
