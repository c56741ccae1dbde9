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

from tests.conftest import REGION


def lint(template: str) -> list[Any]:
    """
    Return what cfn-lint finds in a template.
    """
    decoded, errors = decode_str(template)
    # A new one for each template, whose metadata may change it.
    config = ConfigMixIn(regions=[REGION])
    return errors or list(run_template_by_data(decoded, config, _rules()))


@functools.cache
def _rules() -> Any:  # noqa: ANN401 - it has no types
    return Runner(ConfigMixIn()).rules
