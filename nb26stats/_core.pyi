"""Native kernels; called by the package only."""

from typing import Any

from numpy.typing import NDArray

def broja(pmfs: NDArray[Any], tol: float, max_iter: int, n_threads: int) -> tuple[Any, ...]:
    """BROJA decomposition of tables (m, nX, nY, nS): I_X, I_Y, I_XY and I_U in nats (m, 4), gap,
    converged, n_iter (m,), and the tables of least information (m, nX, nY, nS)."""

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
    n_threads: int,
) -> tuple[Any, ...]:
    """Bounds at queries x (m, p), y (m,) or None, own rows (m,) in each arm. An arm is x (p, n), y
    (n,), k, hx, hy, counts (B, n); rule is (quantile, threshold, ratio_quantile). Returns prior,
    lfdr (m,), mean, ess (2, m), prior_b (m, B), mean_b (2, m, B) or None, and the densities (2, m,
    G) with lower and upper bounds (2, 2, m, G), bound first, or None."""

def density_loo(
    x: NDArray[Any],
    y: NDArray[Any],
    k: NDArray[Any],
    hx: NDArray[Any],
    hy: NDArray[Any],
    first: int,
    last: int,
    n_threads: int,
) -> NDArray[Any]:
    """Log density of the rows first..last of x (p, n), y (n,) given all others under every setting:
    (rows, k, hx, hy)."""

def density_resamples(
    n: int,
    n_bootstrap: int,
    arm: int,
    seed: int,
    n_threads: int = ...,
) -> NDArray[Any]:
    """How often each resample of an arm (0 control, 1 treated) counts each row, (B, n)."""

def density_spread(
    x: NDArray[Any],
    ranks: NDArray[Any],
    first: int,
    last: int,
    n_threads: int,
) -> NDArray[Any]:
    """Distance of the rows first..last of x (p, n) to their ranks-th nearest other row."""

def gaussian_pid(
    covs: NDArray[Any],
    dims: tuple[Any, ...],
    bartlett: object,
    n_threads: int,
) -> tuple[Any, ...]:
    """I_X, I_Y, I_XY, I_U in nats (m, 4) of covariances (m, d, d) in the order X, Y, M, their means
    over the draws L A A' L', A in bartlett (B, d, d), or None, and how each ended: 0 good, 1 not
    positive definite, 2 infinite information."""

def gaussian_pid_channels(
    r: NDArray[Any],
    k: NDArray[Any],
    bartlett: object,
    n_threads: int,
) -> tuple[Any, ...]:
    """The same in white coordinates: Y = r (z_x, z_{y|x}) with r (bins, dy, dx + dy), and M = k
    (z_x, z_{y|x}) + noise of covariance I - k k', k (bins, n, dm, dx + dy)."""

def get_isa() -> int:
    """Instruction-set level in force: 0 plain, 1 AVX2, 2 AVX-512."""

def isa_supported() -> int:
    """Highest instruction-set level of this machine."""

def learning_fit(
    options: tuple[Any, ...],
    prior: object,
    max_iter: int,
    memory: int,
    ftol: float,
    gtol: float,
) -> object:
    """Fits of many animals that advance together, for the functions that follow."""

def learning_fit_add(
    fit: object,
    x: NDArray[Any],
    choice: NDArray[Any],
    drive: NDArray[Any],
    masks: NDArray[Any],
    which_mask: NDArray[Any],
    starts: NDArray[Any],
    free: NDArray[Any],
    lower: NDArray[Any],
    upper: NDArray[Any],
) -> None:
    """Adds an animal and one problem for each row of starts (n, P)."""

def learning_fit_advance(fit: object, seconds: float, forward_mode: bool, n_threads: int) -> int:
    """Goes on for about so long; returns how many problems finished."""

def learning_fit_ask(fit: object) -> tuple[Any, ...]:
    """Running problems (m,), and where each wants to be evaluated (m, P)."""

def learning_fit_optima(fit: object) -> tuple[Any, ...]:
    """u (n, P), objective, log-likelihood, iterations, evaluations, end (n,), gradient (n, P)."""

def learning_fit_tell(
    fit: object,
    index: NDArray[Any],
    loglik: NDArray[Any],
    gradient: NDArray[Any],
    diverged: NDArray[Any],
) -> None:
    """The answers to what was asked; gradients (m, P) are natural."""

def learning_fit_unfinished(fit: object) -> int:
    """How many problems still run."""

def learning_gradient(
    x: NDArray[Any],
    choice: NDArray[Any],
    drive: NDArray[Any],
    masks: NDArray[Any],
    which_mask: NDArray[Any],
    theta: NDArray[Any],
    options: tuple[Any, ...],
    forward_mode: bool,
    n_threads: int,
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
    n_threads: int,
) -> tuple[Any, ...]:
    """Log-likelihoods (n,) of one animal's choices under each row of theta (n, P), and the trial at
    which each diverged, or -1."""

def learning_objective(
    x: NDArray[Any],
    choice: NDArray[Any],
    drive: NDArray[Any],
    masks: NDArray[Any],
    which_mask: NDArray[Any],
    u: NDArray[Any],
    options: tuple[Any, ...],
    prior: object,
    gradient: bool,
    forward_mode: bool,
    n_threads: int,
) -> tuple[Any, ...]:
    """Objectives and log-likelihoods (n,) at rows of u (n, P), gradients (n, P; none without
    gradient) of the objectives in u, and the trial at which each diverged, or -1."""

def learning_simulate(
    x: NDArray[Any],
    side: NDArray[Any],
    theta: NDArray[Any],
    options: tuple[Any, ...],
    first_run: int,
    n_runs: int,
    seed: int,
    n_threads: int,
) -> tuple[Any, ...]:
    """Choices, rewards and P(right) (runs, T) of runs that choose for themselves, and their weights
    at the end (runs, q)."""

def learning_trajectory(
    x: NDArray[Any],
    choice: NDArray[Any],
    drive: NDArray[Any],
    theta: NDArray[Any],
    options: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Weights before each trial and at the end (T+1, q), logarithms of P(left) and P(right) (T,),
    and the trial of divergence, or -1."""

def math_cos(x: NDArray[Any]) -> NDArray[Any]:
    """Cosine of a vector, arguments in [-1000, 1000]."""

def math_exp(x: NDArray[Any]) -> NDArray[Any]:
    """Exponential of a vector, saturating outside [-708, 709]."""

def math_log(x: NDArray[Any]) -> NDArray[Any]:
    """Natural logarithm of a vector."""

def math_log1p(x: NDArray[Any]) -> NDArray[Any]:
    """Logarithm of one plus a vector."""

def math_sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    """Logistic function of a vector, 1 / (1 + exp(-x))."""

def oja_center(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    state: tuple[Any, ...],
    x: NDArray[Any],
    out: NDArray[Any],
) -> tuple[Any, ...]:
    """Centre rows of `x` into `out`: (rows taken, why it stopped)."""

def oja_close(
    sizes: tuple[Any, ...],
    state: tuple[Any, ...],
    slots: tuple[Any, ...],
    replicates: object,
    weights: tuple[Any, ...],
    first: int,
    n_threads: int,
) -> int:
    """Close the open block, if there is one: the number of blocks closed."""

def oja_errors(
    sizes: tuple[Any, ...],
    directions: NDArray[Any],
    replicates: object,
    n_threads: int,
) -> NDArray[Any]:
    """Squared subspace error (groups, lanes) of every replicate around the rows of `directions`."""

def oja_lanes(itemsize: int) -> int:
    """Replicates that are computed side by side."""

def oja_multipliers(
    weights: tuple[Any, ...],
    first: int,
    n_replicates: int,
    row: int,
    n: int,
) -> NDArray[Any]:
    """Weights of replicates (first, ...) for rows (row, ...), counted from 1."""

def oja_orthonormalise(sizes: tuple[Any, ...], replicates: object, n_threads: int) -> None:
    """Orthonormalise every replicate in place."""

def oja_pilot_start(
    sizes: tuple[Any, ...],
    rows: NDArray[Any],
    coefficients: NDArray[Any],
    replicates: object,
    n_threads: int,
) -> None:
    """Replicates from the coefficients of the pilot's rows."""

def oja_pilot_vectors(
    weights: tuple[Any, ...],
    gram: NDArray[Any],
    k: int,
    first: int,
    groups: int,
    n_threads: int,
) -> tuple[Any, ...]:
    """Leading directions of the weighted pilots of eight replicates per group, as coefficients of
    its rows (groups, n, k, 8), and how each ended: 0 good, 1 rank below k, 2 unsure."""

def oja_refresh(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    tracked: NDArray[Any],
    counts: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Recompute the gap and the automatic step from the sums of the epoch."""

def oja_replicates(
    sizes: tuple[Any, ...],
    weights: tuple[Any, ...],
    slots: tuple[Any, ...],
    blocks: int,
    replicates: object,
    first: int,
    n_threads: int,
) -> None:
    """Apply the blocks in the first slots to the replicates."""

def oja_rows(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    state: tuple[Any, ...],
    x: NDArray[Any],
    steps: object,
    slots: tuple[Any, ...],
    replicates: object,
    weights: tuple[Any, ...],
    first: int,
    keep: bool,
    n_threads: int,
) -> tuple[Any, ...]:
    """Absorb rows of `x`; closed blocks reach `replicates` or, with `keep`, stay in `slots`: (rows
    taken, blocks closed, why it stopped)."""

def oja_sparse_close(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    state: tuple[Any, ...],
    rows: tuple[Any, ...],
    slots: tuple[Any, ...],
) -> int:
    """Close the open block of sparse rows, if there is one: the number of blocks closed."""

def oja_sparse_pilot(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    state: tuple[Any, ...],
    rows: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Count sparse rows into the pilot: (rows taken, why it stopped)."""

def oja_sparse_replicates(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    weights: tuple[Any, ...],
    rows: tuple[Any, ...],
    slots: tuple[Any, ...],
    blocks: int,
    replicates: object,
    first: int,
    n_threads: int,
) -> None:
    """Apply the blocks of sparse rows in the first slots to the replicates."""

def oja_sparse_rows(
    sizes: tuple[Any, ...],
    rule: tuple[Any, ...],
    state: tuple[Any, ...],
    rows: tuple[Any, ...],
    steps: object,
    slots: tuple[Any, ...],
    replicates: object,
    weights: tuple[Any, ...],
    first: int,
    n_threads: int,
) -> tuple[Any, ...]:
    """Absorb the sparse rows after those that the state holds; closed blocks reach `replicates`:
    (rows taken, blocks closed, why it stopped)."""

def oja_sparse_settle(sizes: tuple[Any, ...], state: tuple[Any, ...]) -> None:
    """Recompute what depends on the directions and on the sum of the rows."""

def oja_stride(sizes: tuple[Any, ...]) -> int:
    """Elements from one stored row to the next."""

def philox_words(seed: int, salt: int, index: NDArray[Any], stream: NDArray[Any]) -> NDArray[Any]:
    """Four random words, shape (n, 4), for each pair of `index` and `stream` (uint64, (n,))."""

def set_isa(level: int) -> None:
    """Force an instruction-set level."""

def threads_for(requested: int, tasks: int) -> int:
    """Threads that a loop over `tasks` tasks takes; `requested` 0 means all that are offered."""

def threads_used(requested: int, tasks: int) -> int:
    """Open a parallel region as `threads_for` says and count its threads."""
