"""
cfn-lint, whose rules are read once for all templates: that takes as long as it takes to
hold a template to them.
"""

from __future__ import annotations

import functools
from typing import Any

from cfnlint.config import ConfigMixIn  # type: ignore[import-untyped]  # it has no types
from cfnlint.decode.decode import decode_str  # type: ignore[import-untyped]  # likewise
from cfnlint.runner import Runner  # type: ignore[import-untyped]  # likewise
from cfnlint.runner.template import (  # type: ignore[import-untyped]  # likewise
    run_template_by_data,
)


def lint(template: str) -> list[Any]:
    """
    Return what cfn-lint finds in a template.
    """
    decoded, errors = decode_str(template)
    return errors or list(run_template_by_data(decoded, _config(), _rules()))


def _config() -> Any:  # noqa: ANN401 - it has no types
    # A new one for each template, whose metadata may change it.
    return ConfigMixIn(regions=["us-east-1"])


@functools.cache
def _rules() -> Any:  # noqa: ANN401 - it has no types
    return Runner(_config()).rules
