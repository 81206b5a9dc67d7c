"""Build of the native extensions ``nb26stats._core`` and, where a CUDA compiler is, ``_cuda``.

Environment variables:

``NB26STATS_CUDA``
    ``auto`` (default) builds ``_cuda`` when nvcc and its static runtime are found, and otherwise
    prints why it is left out; ``1`` makes that fatal; ``0`` never looks.
``NB26STATS_CUDA_ARCHS``
    Semicolon-separated compute capabilities, default ``80;90``; the last also gets PTX.
``NB26STATS_SANITIZE``
    ``address`` builds ``_core`` with AddressSanitizer.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pybind11
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError, SetupError

ROOT = Path(__file__).resolve().parent
FLAGS = [
    "-std=c++17",
    "-O3",
    "-g0",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
]
PACKAGES = [
    "nb26stats",
    "nb26stats._numba",
    "nb26stats.causal",
    "nb26stats.data",
    "nb26stats.datasets",
    "nb26stats.deep",
    "nb26stats.information",
    "nb26stats.learning",
    "nb26stats.nwb",
    "nb26stats.plotting",
    "nb26stats.r",
    "nb26stats.report",
    "nb26stats.streaming",
]


class CudaMissingError(Exception):
    """Why the CUDA extension cannot be built here."""


def choice(variable: str, allowed: tuple[str, ...]) -> str:
    """Return an environment variable; the first of ``allowed`` when it is unset or empty."""
    value = os.environ.get(variable) or allowed[0]
    if value not in allowed:
        raise SetupError(f"{variable}={value!r} must be one of {', '.join(filter(None, allowed))}")
    return value


def sources(*patterns: str) -> list[str]:
    """Return files under the root, sorted so that builds do not depend on the folder."""
    found = [p.relative_to(ROOT).as_posix() for pattern in patterns for p in ROOT.glob(pattern)]
    return sorted(found)


def core_extension() -> Extension:
    link = ["-fopenmp"]
    flags = list(FLAGS)
    if choice("NB26STATS_SANITIZE", ("", "address")):
        flags += ["-O1", "-fsanitize=address", "-fno-omit-frame-pointer"]
        link.append("-fsanitize=address")
    return Extension(
        "nb26stats._core",
        sources("csrc/cpu/*.cpp", "csrc/bind/core_*.cpp"),
        depends=sources("csrc/include/nb26/*.hpp", "csrc/cpu/*.hpp", "csrc/bind/*.hpp"),
        include_dirs=["csrc/include", pybind11.get_include()],
        extra_compile_args=flags,
        extra_link_args=link,
        language="c++",
    )


def cuda_extension() -> Extension:
    return Extension(
        "nb26stats._cuda",
        sources("csrc/cuda/*.cu", "csrc/bind/cuda_*.cpp"),
        depends=sources("csrc/include/nb26/*.hpp", "csrc/cuda/*.hpp", "csrc/bind/*.hpp"),
        include_dirs=["csrc/include", pybind11.get_include()],
        extra_compile_args=FLAGS,
        libraries=["rt", "dl", "pthread"],
        extra_link_args=["-Wl,--exclude-libs,ALL"],
        language="c++",
    )


def cuda_toolkit() -> tuple[str, Path]:
    """Return the paths of nvcc and its libcudart_static.a; CudaMissingError says what lacks."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise CudaMissingError("nvcc is not on PATH")
    # nvcc may be a script that starts the real one elsewhere, so it is asked where its toolkit is
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.cu")
        probe.write_text("")
        command = [nvcc, "--dryrun", "-c", probe.name]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as err:
            raise CudaMissingError(f"{nvcc} does not run: {err}") from err
    top = re.search(r"^#\$ TOP=(.+)$", done.stderr + done.stdout, re.MULTILINE)
    if top is None:
        raise CudaMissingError(f"{nvcc} --dryrun does not tell where its toolkit is")
    root = Path(top[1].strip())
    for folder in ("lib64", "lib", *(p.as_posix() for p in root.glob("targets/*/lib"))):
        library = root / folder / "libcudart_static.a"
        if library.is_file():
            return nvcc, library.resolve()
    raise CudaMissingError(f"libcudart_static.a is not under {root.resolve()}")


def cuda_archs() -> list[str]:
    """Return the flags of nvcc for the compute capabilities asked for."""
    text = os.environ.get("NB26STATS_CUDA_ARCHS") or "80;90"
    archs = text.split(";")
    if not all(re.fullmatch(r"\d{2,3}[a-z]?", arch) for arch in archs):
        raise SetupError(f"NB26STATS_CUDA_ARCHS={text!r} must look like 80;90")
    flags = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs]
    return [*flags, f"-gencode=arch=compute_{archs[-1]},code=compute_{archs[-1]}"]


class BuildExt(build_ext):
    """build_ext that compiles sources side by side, knows ``.cu`` and drops a stale ``_cuda``."""

    def finalize_options(self) -> None:
        self.cuda_mode = choice("NB26STATS_CUDA", ("auto", "1", "0"))
        self.cuda = cuda_extension() if self.cuda_mode != "0" else None
        # set, not appended to: an editable install finalises the command more than once
        self.distribution.ext_modules = [CORE]
        if self.cuda is not None:
            self.cuda_archs = cuda_archs()
            self.distribution.ext_modules.append(self.cuda)
        super().finalize_options()

    def run(self) -> None:
        if self.cuda is not None:
            try:
                self.nvcc, library = cuda_toolkit()
                self.cuda.extra_objects = [str(library)]
            except CudaMissingError as reason:
                self.leave_out_cuda(str(reason))
        else:
            self.remove_stale_cuda()
        super().run()

    def leave_out_cuda(self, reason: str) -> None:
        if self.cuda_mode == "1":
            raise SetupError(f"NB26STATS_CUDA=1, but the CUDA extension cannot be built: {reason}")
        print(f"nb26stats: building without CUDA: {reason}", flush=True)
        self.extensions.remove(self.cuda)
        self.remove_stale_cuda()

    def remove_stale_cuda(self) -> None:
        """Setuptools never empties build/lib*, so an older build's extension would be packed."""
        folders = [Path(self.build_lib, "nb26stats"), *ROOT.glob("build/lib*/nb26stats")]
        if self.inplace:
            folders.append(ROOT / "nb26stats")
        for folder in folders:
            for stale in [*folder.glob("_cuda.*.so"), *folder.glob("_cuda.so")]:
                stale.unlink(missing_ok=True)

    def build_extensions(self) -> None:
        compiler: Any = self.compiler
        compile_some, compile_object = compiler.compile, compiler._compile
        compiler.src_extensions = [*compiler.src_extensions, ".cu"]
        jobs = self.parallel if isinstance(self.parallel, int) else os.cpu_count() or 1

        def compile_one(obj: str, src: str, *rest: Any) -> None:
            if src.endswith(".cu"):
                self.compile_cuda(obj, src)
            else:
                compile_object(obj, src, *rest)

        def compile_all(files: list[str], **options: Any) -> list[str]:
            # device code first: where nvcc fails, nothing else was compiled in vain
            groups = [[f for f in files if f.endswith(".cu") is device] for device in (True, False)]
            objects: list[str] = []
            with ThreadPoolExecutor(max(1, min(jobs, len(files)))) as pool:
                for group in groups:
                    parts = pool.map(lambda file: compile_some([file], **options), group)
                    objects += [obj for part in parts for obj in part]
            return objects

        compiler._compile, compiler.compile = compile_one, compile_all
        self.parallel = None  # the pool above is over sources; setuptools' own is over extensions
        super().build_extensions()

    def compile_cuda(self, obj: str, src: str) -> None:
        host = ",".join(f for f in FLAGS if f not in ("-std=c++17", "-O3", "-fopenmp"))
        command = [self.nvcc, "-c", src, "-o", obj, "-std=c++17", "-O3", "-Icsrc/include"]
        try:
            self.spawn([*command, f"-Xcompiler=-fPIC,{host}", *self.cuda_archs])
        except Exception as err:
            raise CompileError(f"nvcc could not compile {src}: {err}") from err

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except (CompileError, LinkError) as err:
            if ext is not self.cuda:
                raise
            # found is not usable: a host compiler that nvcc refuses must not cost the CPU build
            self.leave_out_cuda(str(err))


CORE = core_extension()

setup(
    packages=PACKAGES,
    package_dir={"nb26stats.data": "data"},
    package_data={
        "nb26stats": ["py.typed", "*.pyi"],
        "nb26stats.r": ["*.R"],
        "nb26stats.data": ["*.nwb", "*.csv.gz", "*.md", "*.txt"],
    },
    # what save_results writes beside a file unless told otherwise
    exclude_package_data={"nb26stats.data": ["*_nb26stats.nwb"]},
    ext_modules=[CORE],
    cmdclass={"build_ext": BuildExt},
)
