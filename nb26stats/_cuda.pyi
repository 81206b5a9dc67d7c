"""CUDA kernels; called by the package only. Imports without a driver."""

from typing import Any

from numpy.typing import NDArray

def density_bootstrap(
    control: tuple[Any, ...],
    treated: tuple[Any, ...],
    x: NDArray[Any],
    y: object,
    own: tuple[Any, ...],
    grid: NDArray[Any],
    rule: tuple[Any, ...],
    resamples: bool,
    curves: bool,
) -> tuple[Any, ...]:
    """Bounds at queries x (m, p), y (m,) or None, own rows (m,) in each arm. An arm is x (p, n), y
    (n,), k, hx, hy, counts (B, n); rule is (quantile, threshold, ratio_quantile). Returns prior,
    lfdr (m,), mean, ess (2, m), prior_b (m, B), mean_b (2, m, B) or None, and the densities (2, m,
    G) with lower and upper bounds (2, 2, m, G), bound first, or None."""

def device_count() -> int:
    """Number of usable CUDA devices."""

def device_reason() -> str:
    """Why there is no usable device; empty when there is one."""

def gaussian_pid(covs: NDArray[Any], dims: tuple[Any, ...], bartlett: object) -> tuple[Any, ...]:
    """I_X, I_Y, I_XY, I_U in nats (m, 4) of covariances (m, d, d) in the order X, Y, M, their means
    over the draws L A A' L', A in bartlett (B, d, d), or None, and how each ended: 0 good, 1 not
    positive definite, 2 infinite information."""

def gaussian_pid_channels(r: NDArray[Any], k: NDArray[Any], bartlett: object) -> tuple[Any, ...]:
    """The same in white coordinates: Y = r (z_x, z_{y|x}) with r (bins, dy, dx + dy), and M = k
    (z_x, z_{y|x}) + noise of covariance I - k k', k (bins, n, dm, dx + dy)."""

def learning_gradient(
    x: NDArray[Any],
    choice: NDArray[Any],
    drive: NDArray[Any],
    masks: NDArray[Any],
    which_mask: NDArray[Any],
    theta: NDArray[Any],
    options: tuple[Any, ...],
    forward_mode: bool,
) -> tuple[Any, ...]:
    """Log-likelihoods (n,), gradients (n, P) and divergences (n,)."""

def learning_loglik(
    x: NDArray[Any],
    choice: NDArray[Any],
    drive: NDArray[Any],
    masks: NDArray[Any],
    which_mask: NDArray[Any],
    theta: NDArray[Any],
    options: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Log-likelihoods (n,) of one animal's choices under each row of theta (n, P), and the trial at
    which each diverged, or -1."""

def oja_fits(sizes: tuple[Any, ...]) -> bool:
    """Whether replicates of these sizes stay in the device's shared memory."""

def oja_replicates(
    sizes: tuple[Any, ...],
    weights: tuple[Any, ...],
    slots: tuple[Any, ...],
    blocks: int,
    replicates: object,
    first: int,
) -> None:
    """Apply the blocks in the first slots to the replicates."""
