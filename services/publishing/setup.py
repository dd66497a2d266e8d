"""Which packages there are: found, so that a platform's folder is named nowhere. All else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["publishing", "publishing.*"]), "publishing.migrations"],
    package_dir={"publishing.migrations": "migrations"},
)
