"""
What the tests of an app need: an AWS to deploy to, snapshots of templates, findings.

``pytest_plugins = ["cdk_sagemaker_llm.testing"]`` in a ``conftest.py`` gives tests the
fixtures ``embedded_aws``, ``deployer``, ``llm_client`` and ``template_snapshot``.

What belongs here is used by the tests of apps, and loads pytest and syrupy; install it
with ``pip install 'cdk-sagemaker-llm[testing]'``.
A ``conftest.py`` may also import from here (PYTEST_DONT_REWRITE).
"""

try:
    from cdk_sagemaker_llm.testing.deployer import Deployer, DeploymentResult
    from cdk_sagemaker_llm.testing.fixtures import (
        deployer,
        embedded_aws,
        llm_client,
        template_snapshot,
    )
    from cdk_sagemaker_llm.testing.templates import (
        TemplateSnapshotExtension,
        findings_of,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the tests of an app need pytest, syrupy and what the embedded AWS needs: "
        "pip install 'cdk-sagemaker-llm[testing]'",
        name=error.name,
    ) from error

__all__ = [
    "Deployer",
    "DeploymentResult",
    "TemplateSnapshotExtension",
    "deployer",
    "embedded_aws",
    "findings_of",
    "llm_client",
    "template_snapshot",
]
