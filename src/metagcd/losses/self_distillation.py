"""Self-distillation: each view of an image learns the sharpened prediction for the other (SimGCD, ICCV 2023)."""

from jaxtyping import Float
from torch import Tensor

from metagcd.losses._cross_entropy import check_positive


def self_distillation(
    logits: Float[Tensor, "m c"], *, student_temperature: float, teacher_temperature: float
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of a view's prediction against the other view's, which is held constant.

    View 1 is stacked on view 2. A teacher temperature below the student's sharpens the target.
    """
    check_positive("student_temperature", student_temperature)
    check_positive("teacher_temperature", teacher_temperature)
    if len(logits) == 0 or len(logits) % 2:
        raise ValueError(f"View 1 is stacked on view 2, so their number must be even and positive; got {len(logits)}.")
    log_p = (logits / student_temperature).log_softmax(dim=1)
    target = (logits.detach() / teacher_temperature).softmax(dim=1)  # the teacher is no function of the parameters
    return -(target.roll(len(logits) // 2, dims=0) * log_p).sum(dim=1).mean()


def teacher_temperature(epoch: int, *, first: float, last: float, epochs: int) -> float:
    """Return the temperature in an epoch: evenly from `first` to `last` over so many epochs, `last` from then on."""
    if epoch >= epochs:
        return last
    return first + (last - first) * epoch / max(epochs - 1, 1)
