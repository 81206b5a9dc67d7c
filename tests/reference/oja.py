"""Slow reference for OjaPCA: one row at a time, plain NumPy, straight from the definitions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

MASK = 0xFFFFFFFF


def philox_words(seed: int, b: int, t0: int) -> tuple[int, int, int, int]:
    """Return the four 32-bit words of Philox4x32-10 for replicate b and index t0."""
    c0, c1, c2, c3 = t0 & MASK, t0 >> 32, b & MASK, b >> 32
    lo, hi = seed & MASK, (seed >> 32) ^ 0x6F6A6100
    for turn in range(10):
        if turn:
            lo, hi = (lo + 0x9E3779B9) & MASK, (hi + 0xBB67AE85) & MASK
        m0, m1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (m1 >> 32) ^ c1 ^ lo, m1 & MASK, (m0 >> 32) ^ c3 ^ hi, m0 & MASK
    return c0, c1, c2, c3


def uniform(v: int, w: int) -> float:
    """Return a uniform number in (0, 1] from two words."""
    return (float((v >> 5) * 2**26 + (w >> 6)) + 0.5) * 2.0**-53


def multiplier(kind: str, seed: int, b: int, row: int, block: int = 1) -> float:
    """Return the weight of row (from 1) in replicate b."""
    words = philox_words(seed, b, (row - 1) // block)
    if kind == "double":
        return float(2 * (words[0] >> 31))
    if kind == "paired":
        length = math.sqrt(0.5) * math.sqrt(-2 * math.log(uniform(words[0], words[1])))
        return 1 + length * math.cos(2 * math.pi * uniform(words[2], words[3]))
    return -math.log(uniform(words[0], words[1]))


def positive_qr(columns: np.ndarray) -> np.ndarray:
    """Return Q of the QR factorisation with a positive diagonal."""
    q, r = np.linalg.qr(columns)
    return q * np.sign(np.diagonal(r))


def anchor_rows(n: int = 60, d: int = 5) -> np.ndarray:
    """Return deterministic rows for exact comparisons."""
    t, j = np.arange(n)[:, None], np.arange(d)[None, :]
    return np.cos(0.7 * (t + 1) * (j + 1)) / (j + 1) + 0.25 * np.sin(0.3 * t**2 + j)


def sin2(a: np.ndarray, b: np.ndarray) -> float:
    """Return the sum of squared sines between the spans of the rows of a and b."""
    residual = a - (a @ b.T) @ b
    return float(np.sum(residual**2))


@dataclass
class Reference:
    """Row-loop OjaPCA; columns of ``main`` and of ``replicates[b]`` are directions."""

    k: int
    d: int
    n_bootstrap: int = 0
    schedule: str = "auto"
    c: float = 1.5
    kappa: float = 0.5
    eta0: float = 0.0
    beta: float = 0.0
    gap: float | None = None
    center: bool = True
    start: np.ndarray | None = None
    pilot_size: int = 0
    block_size: int = 64
    growth_limit: float = 4.0
    kind: str = "double"
    multiplier_block: int = 1
    seed: int = 0
    closings: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.t = self.open = self.na = 0
        self.squares = self.steps = self.growth = self.lw = self.lt = 0.0
        self.mean = np.zeros(self.d)
        self.pilot: list[np.ndarray] = []
        self.next = 0
        self.a = self.off = 0.0
        self.ghat = self.gap or 0.0
        self.previous: tuple[np.ndarray, np.ndarray] | None = None
        if self.start is not None:
            self.pilot_size = 0
            self._begin(self.start.T.copy(), [self.start[: self.k].T.copy()] * self.n_bootstrap)
            if self.schedule == "auto":
                self.a = self.c / self.ghat

    def _begin(self, main: np.ndarray, replicates: list[np.ndarray]) -> None:
        self.main, self.replicates = main, [w.copy() for w in replicates]
        self.q = main.copy()
        k0 = main.shape[1]
        self.acc, self.la = np.zeros(k0), np.zeros(k0)
        self.num, self.den = np.zeros(self.k), np.zeros(self.k)

    def _gap(self, values: np.ndarray) -> None:
        trace = self.squares / self.t
        resolved = True
        if self.gap is None:
            last = values[self.k - 1]
            gap = last - values[self.k] if len(values) > self.k else last
            self.ghat = max(gap, 1e-3 * last, 1e-8 * trace)
            resolved = self.ghat == gap
        first = self.t == self.pilot_size
        if self.schedule == "auto" and (first or (self.gap is None and resolved)):
            self.a = self.c / self.ghat
            self.off = max(0.0, self.a * trace / self.kappa - self.t)
        self.next = 2 * self.t

    def _finish_pilot(self) -> None:
        y = np.array(self.pilot)
        k0 = min(self.k + 1, self.d)
        _, s, vt = np.linalg.svd(y, full_matrices=False)
        replicates = []
        kind = "double" if self.kind == "paired" else self.kind
        for b in range(self.n_bootstrap):
            omega = np.array(
                [
                    multiplier(kind, self.seed, b, row, self.multiplier_block)
                    for row in range(1, len(y) + 1)
                ]
            )
            _, sb, vb = np.linalg.svd(np.sqrt(omega)[:, None] * y, full_matrices=False)
            good = np.sum(sb**2 > 1e-12 * sb[0] ** 2) >= self.k
            replicates.append(vb[: self.k].T if good else vt[: self.k].T)
        self._begin(vt[:k0].T, replicates)
        self.pilot_values = s[:k0] ** 2 / self.t
        self._gap(self.pilot_values)

    def _eta(self) -> float:
        if self.schedule == "auto":
            return self.a / (self.off + self.t)
        if self.schedule == "decay":
            return self.eta0 / (self.beta + self.t)
        return self.eta0

    def row(self, x: np.ndarray) -> None:
        """Take one row."""
        self.t += 1
        t = self.t
        y = x
        if self.center:
            delta = x - self.mean
            y = math.sqrt((t - 1) / t) * delta
            self.mean = self.mean + delta / t
        square = float(y @ y)
        self.squares += square
        if t <= self.pilot_size:
            self.pilot.append(y)
            if t == self.pilot_size:
                self._finish_pilot()
            return
        eta = self._eta()
        self.steps += eta
        score = self.q.T @ y
        self.acc += score**2
        self.na += 1
        self.la += t * score**2
        self.lt += t * square
        self.lw += t
        own = score[: self.k]
        before = None
        if self.previous is not None:
            before, _ = y1, s1 = self.previous
            self.num += own * s1 * (y @ y1 - own @ s1)
            self.den += own**2 * (square - own @ own)
        self.previous = (y, own)
        self.main = self.main + eta * np.outer(y, y @ self.main)
        for b, w in enumerate(self.replicates):
            omega = multiplier(self.kind, self.seed, b, t, self.multiplier_block)
            if self.kind == "paired":
                self.replicates[b] = paired_update(w, y, before, eta, omega - 1)
            else:
                self.replicates[b] = w + eta * omega * np.outer(y, y @ w)
        self.open += 1
        self.growth += eta * square
        if self.open == self.block_size or self.growth > self.growth_limit * (1 + 1e-9):
            self.closings.append(t)
            self.main = positive_qr(self.main)
            self.replicates = [positive_qr(w) for w in self.replicates]
            self.q = self.main.copy()
            self.open, self.growth = 0, 0.0
        if t == self.next:
            self._gap(self.acc / self.na)
            self.acc[:] = 0
            self.na = 0

    def rows(self, x: np.ndarray) -> Reference:
        """Take rows in order."""
        for one in x:
            self.row(np.asarray(one, dtype=np.float64))
        return self

    @property
    def components(self) -> np.ndarray:
        """Rows (k, d), largest entry positive."""
        w = positive_qr(self.main)[:, : self.k].T
        return w * np.sign(w[np.arange(self.k), np.argmax(np.abs(w), axis=1)])[:, None]

    @property
    def boot(self) -> np.ndarray:
        """Replicates (B, k, d), signs matched to ``components``."""
        own = self.components
        out = np.array([positive_qr(w).T for w in self.replicates])
        return out * np.where(np.einsum("bkd,kd->bk", out, own) < 0, -1, 1)[:, :, None]

    @property
    def values(self) -> np.ndarray:
        """Eigenvalues of all tracked directions."""
        return self.la / self.lw if self.lw else self.pilot_values


def paired_update(
    w: np.ndarray, y: np.ndarray, before: np.ndarray | None, eta: float, g: float
) -> np.ndarray:
    """Return w (d, k) after one row with paired weights; the first row has none before it."""
    if before is None:
        return w + eta * np.outer(y, y @ w)
    return w + eta * ((1 + g) * np.outer(y, y @ w) - g * np.outer(before, before @ w))


def paired_block_update(
    w: np.ndarray, y: np.ndarray, before: np.ndarray | None, eta: np.ndarray, g: np.ndarray
) -> np.ndarray:
    """Return w (d, k) after the rows of y with paired weights, two corrections for each row."""
    first = before is None
    rows = y if first else np.vstack([before, y])
    p, gram = rows @ w, rows @ rows.T
    c = np.zeros_like(p)
    for j in range(len(y)):
        at = j if first else j + 1
        parts = [(at, eta[j] * (1.0 if at == 0 else 1 + g[j]) * p[at])]
        if at > 0:
            parts.append((at - 1, -eta[j] * g[j] * p[at - 1]))
        for i, change in parts:
            c[i] += change
            p += np.outer(gram[:, i], change)
    return w + rows.T @ c


def block_update(w: np.ndarray, y: np.ndarray, eta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return w (d, k) after the rows of y by the exact block form."""
    p, g = y @ w, y @ y.T
    c = np.empty_like(p)
    for j in range(len(y)):
        c[j] = eta[j] * omega[j] * p[j]
        for m in range(j + 1, len(y)):
            p[m] += g[m, j] * c[j]
    return w + y.T @ c
