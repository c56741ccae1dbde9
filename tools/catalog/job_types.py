"""
Making job_types.json: which hosting types with accelerators jobs may run on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, cast

import botocore.session
from botocore.model import StringShape

_ABOUT = (
    "Instance types of SageMaker real-time hosting with accelerators, by the kind of "
    "job that can run on them, made by tools/catalog. Names: ProcessingInstanceType "
    "and TrainingInstanceType of botocore; what both have is under processing."
)


def build(hosting: Collection[str]) -> dict[str, Any]:
    """
    Return the content of job_types.json.
    """
    processing = _names("ProcessingInstanceType") & set(hosting)
    training = (_names("TrainingInstanceType") & set(hosting)) - processing
    return {
        "about": _ABOUT,
        "processing": sorted(processing),
        "training": sorted(training),
        "neither": sorted(set(hosting) - processing - training),
    }


def render(content: Mapping[str, Any]) -> str:
    """
    Write the file.
    """
    return json.dumps(content, indent=1) + "\n"


def _names(shape: str) -> set[str]:
    model = botocore.session.get_session().get_service_model("sagemaker")
    return set(cast("StringShape", model.shape_for(shape)).enum)
