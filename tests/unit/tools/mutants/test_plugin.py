"""
The order in which chosen tests run.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tools.mutants.plugin import Chooser


def test_chosen_tests_run_in_their_order_and_renamed_ones_with_any_parameter() -> None:
    """
    A change of a table renames the tests that have its rows for parameters.
    """
    items: list[Any] = [
        SimpleNamespace(nodeid=name)
        for name in ("t.py::a", "t.py::b[1]", "t.py::b[2]", "t.py::c[new]", "t.py::d")
    ]

    Chooser(["t.py::d", "t.py::c[old]", "t.py::b[2]"]).pytest_collection_modifyitems(
        items
    )
    assert [item.nodeid for item in items] == ["t.py::d", "t.py::c[new]", "t.py::b[2]"]
