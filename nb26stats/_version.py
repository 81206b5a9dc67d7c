"""The version, written once; the build reads this file."""

__version__ = "0.1.0"
