"""Native kernels; called by the package only."""

from typing import Any

from numpy.typing import NDArray

def get_isa() -> int:
    """Instruction-set level in force: 0 plain, 1 AVX2, 2 AVX-512."""

def isa_supported() -> int:
    """Highest instruction-set level of this machine."""

def math_exp(x: NDArray[Any]) -> NDArray[Any]:
    """Exponential of a vector, saturating outside [-708, 709]."""

def math_log(x: NDArray[Any]) -> NDArray[Any]:
    """Natural logarithm of a vector."""

def math_log1p(x: NDArray[Any]) -> NDArray[Any]:
    """Logarithm of one plus a vector."""

def math_sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    """Logistic function of a vector, 1 / (1 + exp(-x))."""

def philox_words(seed: int, salt: int, index: NDArray[Any], stream: NDArray[Any]) -> NDArray[Any]:
    """Four random words, shape (n, 4), for each pair of `index` and `stream` (uint64, (n,))."""

def set_isa(level: int) -> None:
    """Force an instruction-set level."""

def threads_for(requested: int, tasks: int) -> int:
    """Threads that a loop over `tasks` tasks takes; `requested` 0 means all that are offered."""

def threads_used(requested: int, tasks: int) -> int:
    """Open a parallel region as `threads_for` says and count its threads."""
