"""
Gathering an engine's checks from its modules.
"""

from __future__ import annotations

from types import ModuleType

from cdk_sagemaker_llm.serving.checks import checks_of
from cdk_sagemaker_llm.serving.lmi.checks import launcher, parallelism
from cdk_sagemaker_llm.serving.tgi.tgi_family import tgi_variables


def test_a_check_is_found_where_it_stands() -> None:
    """
    Module by module, and in each as it is written: users read the findings in order.
    """
    found = checks_of(parallelism, launcher)

    assert [check.__name__ for check in found][:6] == [
        "check_degrees",
        "check_devices",
        "check_stages",
        "check_heads",
        "check_engine",
        "check_engine_of_backend",
    ]


def test_what_a_module_only_imports_is_no_check_of_its_own() -> None:
    """
    It would be run twice.
    """
    borrowing = ModuleType("checks_of_tomorrow")
    vars(borrowing).update(check_model_id=tgi_variables.check_model_id, check_limit=4)

    assert checks_of(borrowing) == ()
    assert tgi_variables.check_model_id in checks_of(tgi_variables)


def test_helpers_are_no_checks() -> None:
    """
    What takes more than the subject is called by name.
    """
    assert hasattr(launcher, "backend_findings")
    assert "backend_findings" not in [c.__name__ for c in checks_of(launcher)]
