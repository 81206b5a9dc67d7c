"""Command line: ``nb26stats info|validate|report FILE`` and ``nb26stats batch FILES``."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from ._version import __version__

DONE, PROBLEMS, REFUSED, INTERRUPTED = 0, 1, 2, 130
_NEGATIVE = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors take one line, and that reads -1e-3 as a number."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        text = " ".join(message.split())
        self.exit(REFUSED, f"nb26stats: {text} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        0 done; 1 ``validate`` found problems, or ``batch`` could not read a file; 2 unreadable
        input, bad arguments or refused output.
    """
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            if not arguments.debug:
                # what matters to the user is part of the output
                warnings.simplefilter("ignore")
            code: int = arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        # the reader of a pipe left early: nothing to say, and nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print("nb26stats: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as err:
        if arguments.debug:
            traceback.print_exc()
        print(f"nb26stats: {_harmless(_one_line(err))}", file=sys.stderr)
        return REFUSED


def _parser() -> argparse.ArgumentParser:
    common = _Parser(add_help=False)
    common.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show where an error arose"
    )
    parser = _Parser(prog="nb26stats", description="Look at an NWB file: contents, checks, report.")
    parser.add_argument("--version", action="version", version=f"nb26stats {__version__}")
    parser.add_argument("--debug", action="store_true", help="show where an error arose")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    info = commands.add_parser("info", parents=[common], help="say what is in a file")
    info.add_argument("file", metavar="FILE")
    info.add_argument("--json", action="store_true", help="for programs")
    info.set_defaults(run=_info)

    validate = commands.add_parser(
        "validate",
        parents=[common],
        help="look for what would make an analysis wrong",
        description="Exit code 0: nothing found, 1: problems, 2: unreadable. Whether a file obeys "
        "the NWB schema is checked by nwbinspector and dandi validate, not here.",
    )
    validate.add_argument("file", metavar="FILE")
    validate.set_defaults(run=_validate)

    report = commands.add_parser("report", parents=[common], help="write a report as one HTML file")
    report.add_argument("file", metavar="FILE")
    report.add_argument("-o", "--out", metavar="OUT", help="file to write (NAME_report.html here)")
    report.add_argument("--json", action="store_true", help="write OUT.json too, for programs")
    _add_choices(report)
    report.add_argument("--force", action="store_true", help="replace a report that exists")
    report.set_defaults(run=_report)

    batch = commands.add_parser(
        "batch",
        parents=[common],
        help="write the reports of many files into a folder",
        description="Writes NAME_report.html and NAME_report.json for each file. A run that was "
        "stopped goes on where it was: finished reports are skipped. Exit code 0: all there, "
        "1: some files failed (listed at the end), 2: bad arguments.",
    )
    batch.add_argument("files", metavar="FILE", nargs="+", help="NWB file, or a folder of them")
    batch.add_argument("-o", "--out", metavar="FOLDER", required=True, help="where to write")
    batch.add_argument("--n-jobs", type=int, metavar="N", help="files at a time (1); -1: all cores")
    _add_choices(batch)
    batch.add_argument("--force", action="store_true", help="make reports again that are there")
    batch.set_defaults(run=_batch)
    return parser


def _add_choices(command: argparse.ArgumentParser) -> None:
    """Add what can be chosen about a report."""
    command.add_argument("--table", metavar="NAME", help="table of intervals to use (trials)")
    command.add_argument("--align", metavar="COL", help="column to align to")
    command.add_argument(
        "--relative-to", metavar="WHERE", help="session, start_time or another column"
    )
    command.add_argument("--window", nargs=2, type=float, metavar=("A", "B"), help="seconds")
    command.add_argument("--bin", type=float, metavar="B", help="bin width in seconds")
    command.add_argument("--areas", nargs="+", metavar="AREA", help="areas to use (all)")
    command.add_argument("--quality", metavar="Q", help="word or query that units must fit")
    command.add_argument("--trials", metavar="QUERY", help="query that rows must fit")
    command.add_argument("--sections", nargs="+", metavar="NAME", help="parts to make (all)")


def _info(arguments: argparse.Namespace) -> int:
    from .nwb import open as open_nwb
    from .report._info import as_text, facts

    with open_nwb(arguments.file) as session:
        found = facts(session)
    if arguments.json:
        import json

        _say(json.dumps(found, indent=2, allow_nan=False))
    else:
        _say(as_text(found))
    return DONE


def _validate(arguments: argparse.Namespace) -> int:
    from .nwb import open as open_nwb
    from .report._checks import find_problems

    with open_nwb(arguments.file) as session:
        problems = find_problems(session)
    for problem in problems:
        _say(f"{problem.check}: {problem.what} {problem.advice}".strip())
    if problems:
        n = len(problems)
        _say(f"{n} problem{'' if n == 1 else 's'}")
        return PROBLEMS
    _say("no problems found (schema checks: nwbinspector, dandi validate)")
    return DONE


def _report(arguments: argparse.Namespace) -> int:
    from .nwb._open import local_path
    from .report._build import assemble, check_target, json_path

    options = _options(arguments)
    source = local_path(arguments.file)
    out = f"{source.stem}_report.html" if arguments.out is None else arguments.out
    target = check_target(out, source, overwrite=arguments.force)
    if arguments.json:
        check_target(json_path(target), source, overwrite=arguments.force)
    report = assemble(arguments.file, options, strict=arguments.debug)
    written = report.save(out, overwrite=arguments.force, json=arguments.json)
    _say(str(written))
    return DONE


def _batch(arguments: argparse.Namespace) -> int:
    from .report._batch import FAILED, count, run_batch

    outcomes = run_batch(
        arguments.files,
        arguments.out,
        _options(arguments),
        n_jobs=arguments.n_jobs,
        overwrite=arguments.force,
        say=lambda outcome: _say(f"{outcome.status}: {outcome.file}"),
        explain=_one_line,
    )
    failed = [outcome for outcome in outcomes if outcome.status == FAILED]
    for outcome in failed:
        print(f"nb26stats: {_harmless(f'{outcome.file}: {outcome.error}')}", file=sys.stderr)
    _say(", ".join(f"{n} {status}" for status, n in count(outcomes).items()))
    return PROBLEMS if failed else DONE


def _options(arguments: argparse.Namespace) -> Any:
    from .report._options import make_options

    return make_options(
        table=arguments.table,
        align_to=arguments.align,
        relative_to=arguments.relative_to,
        window=arguments.window,
        bin_size=arguments.bin,
        areas=arguments.areas,
        quality=arguments.quality,
        trials=arguments.trials,
        sections=arguments.sections,
    )


def _say(text: str) -> None:
    """Print, with escapes for what the terminal cannot show."""
    # the caller may have closed the output
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(_harmless(text).encode(encoding, "backslashreplace").decode(encoding))


def _harmless(text: str) -> str:
    """Escape control characters: text from a file must not steer the terminal."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def _one_line(err: BaseException) -> str:
    text = " ".join(str(err).split()) or type(err).__name__
    if isinstance(err, OSError) and err.strerror and err.filename and err.strerror not in text:
        text = f"{text}: {err.strerror}"
    # errors of our own explain themselves; others need their name
    ours = type(err).__module__.startswith("nb26stats") or isinstance(
        err, (ValueError, TypeError, OSError, ImportError)
    )
    return text if ours else f"{type(err).__name__}: {text}"


if __name__ == "__main__":
    sys.exit(main())
