"""The package is described in settings.ini; tools/pyproject.py writes what setuptools reads from it."""

from setuptools import setup

setup()
