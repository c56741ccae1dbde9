"""
What a sequence keeps on each accelerator, as the engine's release lays it out.
"""

from __future__ import annotations

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.fit.releases import Case, Windows
from cdk_sagemaker_llm.fit.setting import Setting

# vLLM keeps its cache in blocks of 16 tokens (CacheConfig.block_size).
BLOCK_TOKENS = 16
_LATENT_BYTES = 256
# SGLang's swa_full_tokens_ratio: tokens of a layer with a window, for one without.
_POOLED = 0.8
# llama.cpp's cache of a layer with a window is in whole 256 (llama-kv-cache-iswa.cpp).
_RING_TOKENS = 256


def token_bytes(setting: Setting) -> int:
    """
    Return the cache of one token on each accelerator, a draft model's with it: both
    have as many blocks (split_num_cache_blocks_evenly of vLLM up to 0.9; groups of one
    cache since).
    """
    drafted = 0 if setting.draft is None else _token_bytes(setting.draft)
    return _token_bytes(setting) + drafted


def sequence_bytes(
    setting: Setting, case: Case, context_length: int | None = None
) -> int:
    """
    Return the cache of a sequence on each accelerator, in whole blocks, a draft model's
    with it.

    What left a window is deducted as far as the release forgets it; where it is not
    known to, in the best case alone. Without a length the sequence has the setting's.
    """
    own = _sequence_bytes(setting, case, context_length)
    if setting.draft is None:
        return own
    return own + _sequence_bytes(setting.draft, case, context_length)


def state_bytes(setting: Setting) -> int:
    """
    Return what a sequence keeps on each accelerator however long it is: of layers with
    linear attention, of which the heads are split. It has the model's own format,
    whatever the cache's; 32 bits in llama.cpp.
    """
    whole = setting.architecture.state_bytes(setting.computed_bytes)
    return ceil_div(whole, setting.degree)


def frees_windows(setting: Setting) -> bool:
    """
    Whether a long sequence takes less than its tokens times a token's cache.
    """
    windowed = setting.architecture.windowed_layers
    return bool(windowed) and setting.release.windows is not Windows.KEPT


def _token_bytes(setting: Setting) -> int:
    """
    Return the cache of one token of a model alone.

    Key and value heads are split as far as there are any, and copied beyond; the one
    latent vector of multi-head latent attention is on every accelerator.
    """
    model, release = setting.architecture, setting.release
    whole = _bytes(model.kv_elements_per_token, setting)
    layers = model.num_hidden_layers
    if release.groups_windows:
        # vLLM lays layers of two kinds out in groups as large as the smaller kind, and
        # fills the last group of each (kv_cache_utils.py): Gemma 3 4B has 35 layers
        # instead of 34.
        size = _group_of(*_kinds(model), release.alike)
        grouped = sum(ceil_div(kind, size) * size for kind in _kinds(model))
        whole = whole * grouped // layers
    if model.class_name in release.pooled:
        plain = layers - model.windowed_layers
        whole = int(whole * (plain + _POOLED * model.windowed_layers) / layers)
    if release.pads_latent and setting.is_latent:
        whole = layers * ceil_div(whole // layers, _LATENT_BYTES) * _LATENT_BYTES
    return ceil_div(whole, _shards(setting))


def _sequence_bytes(setting: Setting, case: Case, context_length: int | None) -> int:
    if not setting.keeps_cache:
        return 0
    length = context_length or setting.context_length
    tokens = ceil_div(length, BLOCK_TOKENS) * BLOCK_TOKENS
    windows = setting.release.windows
    if windows is Windows.RING:
        return _ringed(setting, tokens) + state_bytes(setting)
    if case is Case.BEST and not setting.release.pooled:
        return _least(setting, tokens)
    if windows is Windows.FREED and setting.architecture.windowed_layers:
        return _freed(setting, case, tokens)
    if setting.release.state_blocks.of(case) and state_bytes(setting):
        return _with_state_blocks(setting, case, tokens)
    tokens_alone = tokens * _token_bytes(setting)
    pooled = setting.release.state_pool
    return tokens_alone + (0 if pooled else state_bytes(setting))


def _bytes(elements: int, setting: Setting) -> int:
    return int(elements * setting.number_bytes)


def _shards(setting: Setting) -> int:
    if setting.release.splits_layers:
        return setting.degree
    return min(setting.degree, setting.architecture.kv_cache_shards)


def _least(setting: Setting, tokens: int) -> int:
    """
    Return what no release can do without: each window, and no padding.
    """
    model = setting.architecture
    state = model.state_elements_per_sequence
    kept = model.kv_cache_bytes(tokens, 1) - state
    return ceil_div(_bytes(kept, setting), _shards(setting)) + state_bytes(setting)


def _freed(setting: Setting, case: Case, tokens: int) -> int:
    """
    Return how many blocks of a sequence a layer with a window keeps.

    They hold the window, the tokens that are worked off at once, and the block in
    which the window begins (SlidingWindowSpec); the chunks of Llama 4 begin where a
    block does (ChunkedLocalAttentionSpec).
    """
    model, release = setting.architecture, setting.release
    steps = int(release.in_flight.of(case)) * setting.prefill_tokens
    has_chunks = model.model_type.startswith("llama4")
    window = (model.sliding_window or 0) - (0 if has_chunks else 1) + steps
    blocks = ceil_div(min(window, tokens), BLOCK_TOKENS) + (0 if has_chunks else 1)
    size = _group_of(*_kinds(model), release.alike)
    plain, windowed = (ceil_div(layers, size) for layers in _kinds(model))
    layer = ceil_div(_bytes(_layer_elements(model), setting), _shards(setting))
    in_all = plain * (tokens // BLOCK_TOKENS) + windowed * blocks
    return in_all * size * layer * BLOCK_TOKENS


def _with_state_blocks(setting: Setting, case: Case, tokens: int) -> int:
    """
    Return the blocks of a sequence, of which each state is one: a block is of so many
    tokens that one of attention is as large (Platform.update_block_size_for_backend).
    """
    model, release = setting.architecture, setting.release
    # How many layers keep keys and values, where the others keep a state.
    elements = 2 * (model.num_key_value_heads or 1) * model.head_dim
    plain = max(1, model.kv_elements_per_token // elements)
    linear = model.num_hidden_layers - plain
    layer = _token_bytes(setting) // plain
    state = ceil_div(state_bytes(setting), linear)
    block = ceil_div(state, BLOCK_TOKENS * layer) * BLOCK_TOKENS
    size = _group_of(plain, linear, release.alike)
    states = ceil_div(linear, size) * int(release.state_blocks.of(case))
    in_all = ceil_div(plain, size) * ceil_div(tokens, block) + states
    return in_all * size * layer * block


def _ringed(setting: Setting, tokens: int) -> int:
    """
    Return the cache of a whole context, where layers with a window have room for the
    windows of all slots and one step.
    """
    model = setting.architecture
    plain, windowed = _kinds(model)
    kept = tokens
    # A model of which all layers have it is of a family that keeps all.
    if plain and model.sliding_window is not None:
        most = model.sliding_window * setting.sequences + setting.prefill_tokens
        kept = ceil_div(min(tokens, most), _RING_TOKENS) * _RING_TOKENS
    elements = _layer_elements(model) * (plain * tokens + windowed * kept)
    return ceil_div(_bytes(elements, setting), _shards(setting))


def _layer_elements(model: ModelArchitecture) -> int:
    return model.kv_elements_per_token // model.num_hidden_layers


def _kinds(model: ModelArchitecture) -> tuple[int, int]:
    """
    Return how many layers have no window, and how many have one.
    """
    return model.num_hidden_layers - model.windowed_layers, model.windowed_layers


def _group_of(one: int, other: int, alike: float) -> int:
    few, many = sorted((one, other))
    if not few:
        return many
    return many if many < few * alike else few


def ceil_div(whole: int, parts: int) -> int:
    """
    Divide, and round up.
    """
    return -(-whole // parts)
