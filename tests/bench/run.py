"""Run the benchmarks: ``python tests/bench/run.py [name ...]`` runs ``bench_<name>.py``.

Each ``main()`` prints one table; without a name all of them run.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# the benchmarks' neighbours, and the builders and references of the tests
sys.path[:0] = [str(HERE), str(HERE.parent)]


def main(arguments: list[str]) -> int:
    names = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    wanted = arguments or names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    from measure import machine

    print(machine(), flush=True)
    for name in wanted:
        print(f"\n## {name}\n", flush=True)
        importlib.import_module(f"bench_{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
