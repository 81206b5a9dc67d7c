"""Learning rules of single animals: small networks that learn trial by trial, fitted to choices."""

from __future__ import annotations

__all__: list[str] = []
