"""Packaging: everything is read from settings.ini, the file that nbdev reads too."""

from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
parser = ConfigParser(delimiters=["="], interpolation=None)
parser.read(HERE / "settings.ini", encoding="utf-8")
cfg = parser["DEFAULT"]
lib = cfg["lib_name"]
readers = cfg["readers_requirements"].split()
release = cfg["release_requirements"].split() + readers
demo = cfg["demo_requirements"].split() + release
app = cfg["app_requirements"].split() + demo
extras = {"readers": readers, "release": release, "demo": demo, "app": app,
          "dev": cfg["dev_requirements"].split() + app}
readme = HERE / "README.md"

setup(
    name=lib,
    version=cfg["version"],
    description=cfg["description"],
    long_description=readme.read_text(encoding="utf-8") if readme.exists() else cfg["description"],
    long_description_content_type="text/markdown",
    author=cfg["author"],
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: {each}" for each in cfg["pythons"].split()),
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    keywords=cfg["keywords"].split(),
    packages=find_packages(include=[lib, f"{lib}.*"]),
    package_data={lib: ["py.typed"]},
    python_requires=f">={cfg['min_python']}",
    install_requires=cfg["requirements"].split(),
    extras_require=extras,
    entry_points={
        "console_scripts": cfg["console_scripts"].split(),
        "nbdev": [f"{lib}={lib}._modidx:d"],
    },
    zip_safe=False,
)
