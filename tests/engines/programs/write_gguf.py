"""
Write the tiny model as llama.cpp reads it, into the file that is named.

With ``mean`` behind it, vectors are one for a text, and not one for each token of it.
"""

from __future__ import annotations

import sys

import tiny
from gguf import GGUFWriter, PoolingType, TokenType

_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers": "blk",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}

model = tiny.tiny_model()
writer = GGUFWriter(sys.argv[1], "llama")
writer.add_context_length(tiny.CONTEXT)
writer.add_vocab_size(len(model.tokens))
writer.add_embedding_length(tiny.WIDTH)
writer.add_block_count(tiny.LAYERS)
writer.add_feed_forward_length(tiny.INNER)
writer.add_head_count(tiny.HEADS)
writer.add_head_count_kv(tiny.KEY_HEADS)
writer.add_rope_dimension_count(tiny.WIDTH // tiny.HEADS)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_file_type(0)
if "mean" in sys.argv[2:]:
    writer.add_pooling_type(PoolingType.MEAN)

writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("gpt-2")
writer.add_token_list(model.tokens)
writer.add_token_types(
    [
        TokenType.CONTROL if token in tiny.SPECIAL else TokenType.NORMAL
        for token in model.tokens
    ]
)
writer.add_token_merges([" ".join(pair) for pair in model.merges])
writer.add_bos_token_id(model.tokens.index(tiny.BEGIN))
writer.add_eos_token_id(model.tokens.index(tiny.END))
writer.add_chat_template(tiny.TEMPLATE)

for name, tensor in model.weights.items():
    renamed = name
    for theirs, ours in _NAMES.items():
        renamed = renamed.replace(theirs, ours)
    writer.add_tensor(renamed, tensor)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
