"""The source archive and the wheels built from it, each from a copy of this source tree."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HAS_NVCC = shutil.which("nvcc") is not None
JUNK = shutil.ignore_patterns(
    "build", "dist", "*.egg-info", ".git", ".*_cache", "__pycache__", "*.so", ".hypothesis", ".venv"
)

# what work in a tree leaves behind, none of which belongs in an archive
LITTER = [
    "build/lib.linux/nb26stats/_cuda.so",
    "csrc/cpu/oja.cpp~",
    "csrc/cpu/.oja.cpp.swp",
    "csrc/cpu/oja.o",
    "data/A2929_nb26stats.nwb",
    "data/A2929_report.html",
    "data/.A2929.nwb.host.1.ab.part",
    "nb26stats/_core.cpython.so",
    "nb26stats/__pycache__/_check.cpython.pyc",
    "notebooks/.ipynb_checkpoints/01_streaming-checkpoint.ipynb",
    "tests/.hypothesis/examples/ab",
    "tests/.pytest_cache/README.md",
    "tests/test_house.py.orig",
]


def run(
    *command: str | Path, folder: Path, preexec: Callable[[], None] | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``folder``, without the coverage and build settings of this run."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COV", "NB26STATS"))}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=600,
        env={**kept, **env},
        preexec_fn=preexec,
    )


def setup_py(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "setup.py", "build_ext", folder=folder, **env)


def wheel(folder: Path, out: Path, **env: str) -> tuple[Path, str]:
    """Build a wheel in ``folder`` (whose ``build`` is kept, as in a working tree)."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, "."]
    done = run(*command, folder=folder, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return path, done.stdout


def names(path: Path) -> set[str]:
    return set(zipfile.ZipFile(path).namelist())


def extensions(path: Path) -> set[str]:
    return {Path(n).name.split(".")[0] for n in names(path) if n.endswith(".so")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, built from a copy of the tree."""
    tree = tmp_path_factory.mktemp("checkout") / "a tree"
    shutil.copytree(ROOT, tree, ignore=JUNK)
    for name in LITTER:
        tree.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tree.joinpath(name).touch()
    out = tree.parent / "dist"
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, "."]
    done = run(*command, folder=tree)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def source(archive: Path) -> Path:
    """The unpacked source archive; builds in it share one ``build`` folder, as a user's would."""
    folder = archive.parent / "unpacked here"
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def without_nvcc(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with everything that is on the present one, except nvcc."""
    folders = []
    for entry in os.environ["PATH"].split(os.pathsep):
        if not Path(entry, "nvcc").exists():
            folders.append(entry)
            continue
        copy = tmp_path_factory.mktemp("bin")
        for program in Path(entry).iterdir():
            if program.name != "nvcc":
                copy.joinpath(program.name).symlink_to(program)
        folders.append(str(copy))
    path = os.pathsep.join(folders)
    assert shutil.which("nvcc", path=path) is None
    return path


@pytest.fixture(scope="module")
def plain(source: Path, without_nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a machine without a CUDA compiler, nothing asked for."""
    path, printed = wheel(source, tmp_path_factory.mktemp("plain"), PATH=without_nvcc)
    assert "nb26stats: building without CUDA: nvcc is not on PATH" in printed
    return path


@pytest.fixture(scope="module")
def installed(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the unpacked wheel."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(plain).extractall(folder)
    return folder


def test_the_source_archive_is_a_whole_tree(archive: Path, source: Path) -> None:
    tree = archive.parent.parent / "a tree"
    litter = {n for n in LITTER if source.joinpath(n).exists()}
    assert not litter
    for folder in ("csrc", "data", "nb26stats", "notebooks", "tests", ".ci"):
        files = [p for p in (tree / folder).rglob("*") if p.is_file()]
        here = {p.relative_to(tree).as_posix() for p in files} - set(LITTER)
        there = {p.relative_to(source).as_posix() for p in (source / folder).rglob("*")}
        assert here <= there, f"the archive lacks {sorted(here - there)}"
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md"):
        assert source.joinpath(name).is_file(), name


def test_the_archives_own_tests_run(source: Path, installed: Path) -> None:
    some = ["tests/test_native_philox.py", "tests/test_stubs.py", "tests/test_helpers.py"]
    # -P: the folder pytest starts from holds the package too, with no built extension
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    done = run(*command, *some, folder=source, PYTHONPATH=str(installed), PYTEST_ADDOPTS="")
    assert done.returncode == 0, done.stdout + done.stderr
    everything = [*command, "--collect-only", "tests"]
    done = run(*everything, folder=source, PYTHONPATH=str(installed), PYTEST_ADDOPTS="")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_holds_every_module_and_data_file(plain: Path, source: Path) -> None:
    found = names(plain)
    want = {
        p.relative_to(source).as_posix()
        for p in (source / "nb26stats").rglob("*")
        if p.suffix in (".py", ".pyi", ".typed", ".R") or p.name == "py.typed"
    }
    want |= {f"nb26stats/data/{p.name}" for p in (source / "data").iterdir() if p.is_file()}
    assert want <= found, f"the wheel lacks {sorted(want - found)}"
    others = {n.split("/")[0] for n in found if ".dist-info/" not in n}
    assert others == {"nb26stats"}
    assert extensions(plain) == {"_core"}


def test_the_code_in_the_wheel_is_small(plain: Path) -> None:
    entries = zipfile.ZipFile(plain).infolist()
    code = sum(e.compress_size for e in entries if not e.filename.startswith("nb26stats/data/"))
    assert code < 5e6


def test_a_stale_cuda_extension_is_not_packed(source: Path, plain: Path, tmp_path: Path) -> None:
    (core,) = source.glob("build/lib*/nb26stats/_core.*.so")
    stale = core.with_name(core.name.replace("_core", "_cuda"))
    shutil.copy(core, stale)
    path, _ = wheel(source, tmp_path, NB26STATS_CUDA="0")
    assert extensions(path) == {"_core"}
    assert not stale.exists()
    assert names(path) == names(plain)


@pytest.mark.slow
def test_cuda_off_on_off(source: Path, plain: Path, tmp_path: Path, without_nvcc: str) -> None:
    if not HAS_NVCC:
        done = setup_py(source, NB26STATS_CUDA="1")
        assert done.returncode != 0
        return
    path, _ = wheel(source, tmp_path / "on", NB26STATS_CUDA="1")
    assert extensions(path) == {"_core", "_cuda"}
    folder = tmp_path / "site"
    zipfile.ZipFile(path).extractall(folder)
    script = """
from nb26stats import _cuda
from nb26stats._dispatch import choose_device
n, reason = _cuda.device_count(), _cuda.device_reason()
assert (n > 0) != bool(reason), (n, reason)
try:
    print(choose_device("cuda"))
except RuntimeError as err:
    assert n == 0 and reason in str(err)
    print(err)
"""
    done = run(sys.executable, "-P", "-c", script, folder=tmp_path, PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    assert "cuda" in done.stdout
    if shutil.which("ldd"):
        (extension,) = folder.glob("nb26stats/_cuda.*.so")
        needs = run("ldd", extension, folder=tmp_path).stdout
        assert "libc.so" in needs
        assert "libcuda" not in needs
        assert "libcudart" not in needs
    path, _ = wheel(source, tmp_path / "off", NB26STATS_CUDA="0")
    assert extensions(path) == {"_core"}


def test_asking_for_cuda_without_nvcc_is_fatal(source: Path, without_nvcc: str) -> None:
    done = setup_py(source, PATH=without_nvcc, NB26STATS_CUDA="1")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "NB26STATS_CUDA=1, but the CUDA extension cannot be built: nvcc is not on PATH" in last


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("NB26STATS_CUDA", "nonsense", "NB26STATS_CUDA='nonsense' must be one of auto, 1, 0"),
        ("NB26STATS_CUDA", "yes", "NB26STATS_CUDA='yes' must be one of auto, 1, 0"),
        ("NB26STATS_CUDA_ARCHS", "80,90", "NB26STATS_CUDA_ARCHS='80,90' must look like 80;90"),
        ("NB26STATS_SANITIZE", "everything", "must be one of address"),
    ],
)
def test_other_settings_are_errors(source: Path, variable: str, value: str, says: str) -> None:
    done = setup_py(source, **{variable: value})
    assert done.returncode != 0
    assert says in done.stderr.strip().splitlines()[-1]


def fake_nvcc(folder: Path, toolkit: Path) -> str:
    """A PATH on which nvcc tells where its toolkit is and then fails to compile."""
    folder.mkdir()
    script = folder / "nvcc"
    script.write_text(
        f"#!/bin/sh\ncase \"$*\" in *--dryrun*) echo '#$ TOP={toolkit}' >&2; exit 0;; esac\n"
        "echo 'unsupported host compiler' >&2\nexit 1\n"
    )
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_a_toolkit_without_its_static_runtime_is_left_out(
    source: Path, plain: Path, tmp_path: Path
) -> None:
    path = fake_nvcc(tmp_path / "bin", tmp_path / "toolkit")
    done = setup_py(source, PATH=path)
    assert done.returncode == 0, done.stderr
    assert "building without CUDA: libcudart_static.a is not under" in done.stdout
    done = setup_py(source, PATH=path, NB26STATS_CUDA="1")
    assert done.returncode != 0
    assert "libcudart_static.a is not under" in done.stderr.strip().splitlines()[-1]


def test_a_compiler_that_fails_costs_only_the_cuda_extension(
    source: Path, plain: Path, tmp_path: Path
) -> None:
    library = tmp_path / "toolkit" / "lib64" / "libcudart_static.a"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"!<arch>\n")
    path = fake_nvcc(tmp_path / "bin", tmp_path / "toolkit")
    done = setup_py(source, PATH=path)
    assert done.returncode == 0, done.stderr
    assert "building without CUDA: nvcc could not compile csrc/cuda/" in done.stdout
    done = setup_py(source, PATH=path, NB26STATS_CUDA="1")
    assert done.returncode != 0
    assert "nvcc could not compile csrc/cuda/" in done.stderr.strip().splitlines()[-1]


def lose_the_right_to_write_anywhere() -> None:
    """Give up root's right to write where permissions forbid it; holds for the next program."""
    pr_capbset_drop, cap_dac_override = 24, 1
    ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override, 0, 0, 0)


@pytest.mark.parametrize("home", ["unset", "read-only"])
def test_a_read_only_install_without_a_home(installed: Path, tmp_path: Path, home: str) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    locked = tmp_path / "home"
    locked.mkdir()
    for path in [*site.rglob("*"), site, locked]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    script = """
import os, sys
import nb26stats
package = os.path.dirname(nb26stats.__file__)
try:
    open(os.path.join(package, "probe"), "w")
except OSError:
    pass
else:
    raise SystemExit("the install can be written to")
from nb26stats._dispatch import core
from nb26stats._numba.spikes import count_spikes
import numpy as np
assert core().math_exp(np.zeros(3)).tolist() == [1, 1, 1]
(counts,), lost = count_spikes(
    np.array([0.5, 1.5, 1.75]),
    np.array([0, 3]),
    [np.array([0])],
    np.array([0.0]),
    w0=0.0,
    bin_size=1.0,
    n_bins=2,
    tol=0.0,
)
from nb26stats import datasets, nwb
units = nwb.units(datasets.path("A8604-211122_phy.nwb"))
print(package, counts.ravel().tolist(), len(units))
"""
    env = {} if home == "unset" else {"HOME": str(locked)}
    keep = ("PATH", "LD_LIBRARY_PATH", "LANG")
    done = subprocess.run(
        [sys.executable, "-P", "-B", "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={
            **{k: os.environ[k] for k in keep if k in os.environ},
            "PYTHONPATH": str(site),
            "MPLCONFIGDIR": str(tmp_path / "mpl"),
            **env,
        },
        preexec_fn=lose_the_right_to_write_anywhere if os.geteuid() == 0 else None,
    )
    for path in [site, *site.rglob("*"), locked]:
        path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{site / 'nb26stats'} [1, 2] 3"


@pytest.mark.slow
def test_the_extension_under_address_sanitizer(
    source: Path, installed: Path, tmp_path: Path
) -> None:
    # the C++ library comes along, or the sanitizer would not find what throws exceptions
    libraries = [
        run("g++", f"-print-file-name={name}", folder=tmp_path).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    assert all(Path(library).exists() for library in libraries), libraries
    where = ["--build-lib", tmp_path / "lib", "--build-temp", tmp_path / "temp"]
    env = {"NB26STATS_CUDA": "0", "NB26STATS_SANITIZE": "address"}
    done = run(sys.executable, "setup.py", "build_ext", *where, folder=source, **env)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    for extension in site.glob("nb26stats/_core.*"):
        if extension.suffix == ".so":
            extension.unlink()
    (built,) = tmp_path.glob("lib/nb26stats/_core.*.so")
    shutil.copy(built, site / "nb26stats")
    done = run(
        *[sys.executable, "-P", "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"],
        *["tests/test_native_philox.py", "tests/test_native_math.py", "tests/test_native_oja.py"],
        *["-k", "not million"],
        folder=source,
        PYTHONPATH=str(site),
        PYTEST_ADDOPTS="",
        LD_PRELOAD=" ".join(libraries),
        ASAN_OPTIONS="detect_leaks=0",
    )
    assert done.returncode == 0, done.stdout + done.stderr
