"""
One model turns texts into vectors, and another ranks texts for a query.

``LlmClient(...).embed(["one", "two"])`` asks the first, and ``rerank("query", ["a",
"b"])`` the second.
"""

from aws_cdk import App, CfnOutput, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    TextEmbeddings,
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class SearchStack(Stack):
    """
    What a search over documents asks for.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        vectors = LlmEndpoint(
            self,
            "Vectors",
            model=HuggingFaceModel("BAAI/bge-m3"),
            serving=TextEmbeddings(max_client_batch_size=128),
            instance_type="ml.g5.xlarge",
        )
        instances = vectors.auto_scale_instance_count(max_capacity=4)
        instances.scale_on_invocations("Traffic", per_minute=600)
        ranking = LlmEndpoint(
            self,
            "Ranking",
            model=HuggingFaceModel("BAAI/bge-reranker-base"),
            serving=TextEmbeddings(),
            # Without a GPU it is TEI's image for x86_64 processors.
            instance_type="ml.c6i.2xlarge",
        )
        CfnOutput(self, "VectorsName", value=vectors.endpoint_name)
        CfnOutput(self, "RankingName", value=ranking.endpoint_name)


app = App()
SearchStack(app, "Search")
app.synth()
