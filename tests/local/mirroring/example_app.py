"""
The example as it stands, with builds that the context tells where Amazon ECR is.
"""

from __future__ import annotations

import runpy

import aws_cdk
from aws_cdk import aws_codebuild as codebuild

from tests.deployments import EXAMPLES


class Told(aws_cdk.App):
    """
    An app whose builds have one variable more, as SDKs of AWS read it.
    """

    def synth(self, **given: object) -> object:  # type: ignore[override] # the example passes nothing
        """
        Write the assembly.
        """
        told = {
            "Name": "AWS_ENDPOINT_URL_ECR",
            "Type": "PLAINTEXT",
            "Value": self.node.try_get_context("registry"),
        }
        for one in self.node.find_all():
            if isinstance(one, codebuild.CfnProject):
                place = "Environment.EnvironmentVariables"
                one.add_property_override(place, [told])
        return super().synth(**given)  # type: ignore[arg-type] # as above


if __name__ == "__main__":
    aws_cdk.App = Told  # type: ignore[misc] # a class of the same base
    example = EXAMPLES / "mirrored_image" / "app.py"
    runpy.run_path(str(example), run_name="__main__")
