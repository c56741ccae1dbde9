"""
Reading what a version of the transformers package knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.tools.catalog.written import written
from tools.catalog.transformers_package import read_transformers

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "transformers/models/auto/auto_mappings.py": """
CONFIG_MAPPING_NAMES = OrderedDict([("gpt2", "GPT2Config"), ("see", "SeeConfig")])
PROCESSOR_MAPPING_NAMES = OrderedDict([("see", ("SeeProcessor", None))])
""",
    "transformers/models/auto/configuration_auto.py": """
CONFIG_MAPPING_NAMES.update({"mlcd": "MLCDVisionConfig"})
CONFIG_MAPPING_NAMES = OrderedDict(**{"gpt-sw3": "GPT2Config"}, **CONFIG_MAPPING_NAMES)
""",
    "transformers/models/auto/modeling_auto.py": """
MODEL_MAPPING_NAMES = OrderedDict([("funnel", ("FunnelModel", "FunnelBaseModel"))])
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES: OrderedDict[str, str] = OrderedDict(
    [
        ("gpt-sw3", "GPT2LMHeadModel"),
        ("gpt2", "GPT2LMHeadModel"),
        ("qwen9", "OtherForCausalLM"),
        ("qwen9_text", "OtherForCausalLM"),
    ]
)
MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("t5", "T5Model")])
MODEL_FOR_CAUSAL_LM_MAPPING = _LazyAutoMapping(CONFIG_MAPPING_NAMES, X)
""",
    "transformers/models/gpt2/modeling_gpt2.py": """
class GPT2PreTrainedModel(PreTrainedModel):
    _supports_attention_backend = True
class GPT2ForCausalLM(GPT2PreTrainedModel): ...
class GPT2LMHeadModel(GPT2PreTrainedModel):
    _supports_attention_backend = False
class GPT2Model(GPT2PreTrainedModel): ...
""",
    "transformers/models/gpt2/modeling_tf_gpt2.py": "class TFForCausalLM: ...",
    "transformers/models/see/modeling_see.py": """
class SeeForConditionalGeneration(PreTrainedModel):
    _supports_attention_backend: bool = True
""",
    "transformers/models/see/processing_see.py": """
class SeeProcessor:
    def _get_num_multimodal_tokens(self): ...
""",
    "transformers/models/blind/modeling_blind.py": """
class BlindForConditionalGeneration(PreTrainedModel):
    _supports_attention_backend = True
    def get_image_features(self): ...
""",
    "transformers/models/blind/processing_blind.py": "class BlindProcessor: ...",
    "transformers/models/borrows/modeling_borrows.py": """
class BorrowsForConditionalGeneration(PreTrainedModel):
    _supports_attention_backend = True
    def get_image_features(self): ...
""",
}


def test_reads_what_a_version_of_transformers_knows(tmp_path: Path) -> None:
    """
    Types come from what is generated and from what is written beside it; flags are
    inherited; a class with pictures is run by vLLM if a processor counts them.
    """
    found = read_transformers(written(tmp_path, FILES)).names

    assert found["model_types"] == {"gpt2", "gpt-sw3", "see", "mlcd"}
    assert found["causal"] == {"gpt-sw3", "gpt2", "qwen9", "qwen9_text"}
    assert found["sequences"] == {"t5"}
    assert found["classes"] == {
        "GPT2ForCausalLM",
        "GPT2LMHeadModel",
        "SeeForConditionalGeneration",
        "BlindForConditionalGeneration",
        "BorrowsForConditionalGeneration",
    }
    assert found["attention"] == {
        "GPT2ForCausalLM",
        "SeeForConditionalGeneration",
        "BlindForConditionalGeneration",
        "BorrowsForConditionalGeneration",
    }
    assert found["backend"] == {
        "GPT2ForCausalLM",
        "SeeForConditionalGeneration",
        "BorrowsForConditionalGeneration",
    }


def test_takes_the_type_of_a_class_s_name(tmp_path: Path) -> None:
    """
    Where several have the class, and none is called as it is, the first counts.
    """
    found = read_transformers(written(tmp_path, FILES)).values["class_types"]

    assert found == {
        "FunnelModel": "funnel",
        "FunnelBaseModel": "funnel",
        "GPT2LMHeadModel": "gpt2",
        "OtherForCausalLM": "qwen9",
        "T5Model": "t5",
    }
