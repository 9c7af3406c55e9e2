"""Contrastive losses on two views of labelled or unlabelled images (MetaGCD, Eqs. 1-3).

Each comes twice: of the unit rows `z`, view 1 stacked on view 2, and of their similarity matrix z z'.
"""

from jaxtyping import Float, Int
from torch import Tensor

from metagcd.losses._cross_entropy import check_share, cosines, cross_entropy, itself, siblings


def info_nce(z: Float[Tensor, "m d"], *, temperature: float) -> Float[Tensor, ""]:
    """Tell the other view of the same image from all other views (Eq. 1)."""
    return info_nce_from_similarity(cosines(z), temperature=temperature)


def info_nce_from_similarity(similarity: Float[Tensor, "m m"], *, temperature: float) -> Float[Tensor, ""]:
    """Return `info_nce` (Eq. 1) of the views that have this similarity matrix."""
    target = siblings(similarity).to(similarity.dtype)
    return cross_entropy(similarity, target, temperature=temperature)


def supcon(z: Float[Tensor, "m d"], labels: Int[Tensor, " n"], *, temperature: float) -> Float[Tensor, ""]:
    """Tell the other views of the same class, equally, from all other views (Eq. 2)."""
    return supcon_from_similarity(cosines(z), labels, temperature=temperature)


def supcon_from_similarity(
    similarity: Float[Tensor, "m m"], labels: Int[Tensor, " n"], *, temperature: float
) -> Float[Tensor, ""]:
    """Return `supcon` (Eq. 2) of the views that have this similarity matrix."""
    if len(similarity) != 2 * len(labels):
        raise ValueError(f"{len(labels)} labels belong to {2 * len(labels)} views; got {len(similarity)} rows.")
    classes = labels.repeat(2)
    positive = (classes[:, None] == classes).masked_fill(itself(similarity), value=False)
    target = positive.to(similarity.dtype)
    return cross_entropy(similarity, target / target.sum(dim=1, keepdim=True), temperature=temperature)


def labelled(
    z: Float[Tensor, "m d"],
    labels: Int[Tensor, " n"],
    *,
    balance: float,
    unsupervised_temperature: float,
    supervised_temperature: float,
) -> Float[Tensor, ""]:
    """Return (1 - balance) `info_nce` + balance `supcon` (Eq. 3; `balance` is the paper's lambda)."""
    return labelled_from_similarity(
        cosines(z),
        labels,
        balance=balance,
        unsupervised_temperature=unsupervised_temperature,
        supervised_temperature=supervised_temperature,
    )


def labelled_from_similarity(
    similarity: Float[Tensor, "m m"],
    labels: Int[Tensor, " n"],
    *,
    balance: float,
    unsupervised_temperature: float,
    supervised_temperature: float,
) -> Float[Tensor, ""]:
    """Return `labelled` (Eq. 3) of the views that have this similarity matrix."""
    check_share("balance", balance)
    unsupervised = info_nce_from_similarity(similarity, temperature=unsupervised_temperature)
    supervised = supcon_from_similarity(similarity, labels, temperature=supervised_temperature)
    return (1 - balance) * unsupervised + balance * supervised
