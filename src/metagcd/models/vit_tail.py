"""The last block of a vision transformer, computed for the class token alone."""

from typing import Any, cast

from jaxtyping import Float
from timm.models.vision_transformer import Attention, Block, VisionTransformer
from torch import Tensor, nn
from torch.nn.functional import linear


class ClassTokenBlock(nn.Module):
    """A block that returns its first token alone, in terms of the block's own parameters, under their names.

    Keys and values are folded into the query: with h_j the normalised tokens and q the query of one head, the
    scores are (W_k' q).h_j and the mixed value is W_v (sum_j a_j h_j) + b_v, so that no token but the first is
    ever projected. The key's bias adds the same number to every score, which the softmax does not see.

    Note: exact, with equal gradients of every order, up to rounding.
    """

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        for name, child in block.named_children():
            self.add_module(name, child)

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b 1 d"]:
        """Return the first token after the block."""
        block = cast(Any, self)
        first = x[:, :1] + block.ls1(class_attention(block.attn, block.norm1(x)))
        return first + block.ls2(block.mlp(block.norm2(first)))


def class_attention(attention: nn.Module, h: Float[Tensor, "b n d"]) -> Float[Tensor, "b 1 d"]:
    """Return the attention's output for the first token."""
    layer = cast(Any, attention)
    of_query, of_key, of_value = layer.qkv.weight.unflatten(0, (3, layer.num_heads, layer.head_dim))
    bias = layer.qkv.bias
    of_query_bias, _, of_value_bias = (None, None, None) if bias is None else bias.chunk(3)
    query = linear(h[:, 0], of_query.flatten(0, 1), of_query_bias).unflatten(-1, (layer.num_heads, -1))
    folded = (query.transpose(0, 1) @ of_key).transpose(0, 1)  # (b, heads, d)
    weights = (layer.scale * (folded @ h.transpose(1, 2))).softmax(dim=-1)
    mixed = (weights @ h).transpose(0, 1)  # (heads, b, d)
    value = (mixed @ of_value.transpose(1, 2)).transpose(0, 1).flatten(1)
    if of_value_bias is not None:
        value = value + of_value_bias
    return layer.proj(value).unsqueeze(1)


def foldable(model: nn.Module) -> bool:
    """Say whether the feature is the class token after a standard last block."""
    if type(model) is not VisionTransformer:
        return False
    network = cast(Any, model)
    block = network.blocks[-1]
    if network.global_pool != "token" or network.attn_pool is not None or type(block) is not Block:
        return False
    attention = block.attn
    # Earlier releases of timm have neither a gate nor a norm of the mixed values.
    if type(attention) is not Attention or getattr(attention, "gate", None) is not None:
        return False
    unused = (attention.q_norm, attention.k_norm, getattr(attention, "norm", None), block.drop_path1, block.drop_path2)
    return all(part is None or isinstance(part, nn.Identity) for part in unused) and not any(
        module.p for module in block.modules() if isinstance(module, nn.Dropout)
    )


def fold_last_block(model: nn.Module) -> None:
    """Let the model's last block compute the class token alone."""
    blocks = cast(Any, model).blocks
    blocks[-1] = ClassTokenBlock(blocks[-1])
