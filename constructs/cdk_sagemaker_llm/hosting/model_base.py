"""
What models defined here and imported ones have in common.
"""

from __future__ import annotations

from aws_cdk import Resource
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.imports import name_in, named


class ModelBase(Resource):
    """
    What models defined here and imported ones have in common.
    """

    model_name: str
    """The name that a variant is filled with."""
    definition: ModelDefinition | None
    """What was checked; ``None`` for an imported one, of which nothing is known."""
    role: iam.IRole | None
    """The execution role; ``None`` for an imported one."""

    @staticmethod
    def from_model_name(scope: Construct, id: str, model_name: str) -> ModelBase:
        """
        Refer to an existing model in the stack's account and region.

        Raises:
            ValueError: If the service would refuse the name.
        """
        return _ImportedModel(
            scope, id, model_name, named(scope, id, "model", model_name)
        )

    @staticmethod
    def from_model_arn(scope: Construct, id: str, model_arn: str) -> ModelBase:
        """
        Refer to an existing model by its ARN.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        return _ImportedModel(
            scope, id, name_in(scope, id, "model", model_arn), model_arn
        )

    @property
    def model_arn(self) -> str:
        """
        The ARN.
        """
        raise NotImplementedError


class _ImportedModel(ModelBase):
    def __init__(self, scope: Construct, id: str, name: str, arn: str) -> None:
        super().__init__(scope, id, environment_from_arn=arn)
        self.model_name = name
        self.definition = None
        self.role = None
        self._arn = arn

    @property
    def model_arn(self) -> str:
        return self._arn
