"""
The shipped fixtures, as a ``conftest.py`` of an app has them.
"""

from cdk_sagemaker_llm.testing import (  # noqa: F401 - pytest finds them by their names
    deployer,
    embedded_aws,
    llm_client,
    template_snapshot,
)
