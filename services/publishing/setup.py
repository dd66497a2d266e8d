"""Finds the packages to install, so that no platform's folder has to be named. All else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["publishing", "publishing.*"]), "publishing.migrations"],
    package_dir={"publishing.migrations": "migrations"},
)
