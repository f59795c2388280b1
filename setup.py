"""`pip install .`: the Python package with the shared library inside. The library is built by CMake here, or taken from
$DKHO_LIBRARY when that is set; what it needs is in the README. Everything else is said in pyproject.toml."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:
    bdist_wheel = None

root = Path(__file__).resolve().parent


def build_library(folder: Path) -> Path:
    """Builds libdkho.so in a folder."""
    subprocess.run(["cmake", "-S", root, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "dkho", "--parallel", str(os.cpu_count() or 1)], check=True)
    return folder / "libdkho.so"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "dkho"
        given = os.environ.get("DKHO_LIBRARY")
        library = Path(given) if given else build_library(Path(self.get_finalized_command("build").build_temp).resolve())
        shutil.copy(library.resolve(), package / "libdkho.so")
        shutil.copy(root / "include" / "dkho.h", package / "dkho.h")


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


commands = {"build_py": BuildWithLibrary}
if bdist_wheel:
    class AnyPython(bdist_wheel):
        """For this kind of machine, but any version of Python: the library knows nothing of it."""

        def get_tag(self):
            return "py3", "none", super().get_tag()[2]

    commands["bdist_wheel"] = AnyPython

version = re.search(r"project\(dkho VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
setup(version=version, cmdclass=commands, distclass=WithLibrary)
