"""
Whose builds are whose.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.staging.builds import _handles


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        ({"environmentVariables": []}, []),
        (
            {
                "environmentVariables": [
                    {"name": "STAGING_ORDER", "value": "{}"},
                    {"name": "STAGING_HANDLE", "value": "https://handle"},
                ]
            },
            ["https://handle"],
        ),
    ],
    ids=["left out", "none", "ours"],
)
def test_a_build_has_the_handle_that_it_was_started_with(
    environment: dict[str, Any], expected: list[str]
) -> None:
    """
    Or none: CodeBuild may leave out what there is none of (API reference,
    ProjectEnvironment).
    """
    assert _handles({"environment": environment}) == expected
