"""
Gathering an engine's checks from its modules.
"""

from __future__ import annotations

from types import ModuleType

from cdk_sagemaker_llm.serving.checks import checks_of
from cdk_sagemaker_llm.serving.lmi.checks import launcher, parallelism
from cdk_sagemaker_llm.serving.tgi import tgi_variables


def test_a_check_is_found_where_it_stands() -> None:
    """
    Module by module, and in each as it is written: users read the findings in order.
    """
    found = checks_of(parallelism, launcher)

    assert [check.__name__ for check in found][:6] == [
        "degree_findings",
        "device_count_findings",
        "stage_findings",
        "head_findings",
        "launcher_engine_findings",
        "backend_engine_findings",
    ]


def test_what_a_module_only_imports_is_no_check_of_its_own() -> None:
    """
    It would be run twice.
    """
    borrowing = ModuleType("checks_of_tomorrow")
    vars(borrowing).update(
        model_id_findings=tgi_variables.model_id_findings, limit_findings=4
    )

    assert checks_of(borrowing) == ()
    assert tgi_variables.model_id_findings in checks_of(tgi_variables)


def test_helpers_are_no_checks() -> None:
    """
    What takes more than the subject is called by name.
    """
    assert hasattr(launcher, "backend_findings")
    assert "backend_findings" not in [c.__name__ for c in checks_of(launcher)]
