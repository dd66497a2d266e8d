"""`./dev sbom IMAGE…`: extracts the bill of materials of built images and checks it against the CycloneDX schema.

The bill was made and stored in the image while the image was built (deploy/images/sbom.py). So it belongs to exactly
this image.
"""

import argparse
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from local.processes.table import NotReady

#: Where deploy/images/Dockerfile puts it.
IN_IMAGE = "/usr/share/sbom/posthaste.cdx.json"
#: Starting a container takes a second; a busy machine gets a minute.
READ_SECONDS = 60


def read(image: str) -> str:
    """Returns the bill of materials in a local image. Raises NotReady if there is none."""
    docker = shutil.which("docker")
    if docker is None:
        raise NotReady("docker is needed to read an image")
    # Nothing is pulled: the bill is of the image that was built here, or of none.
    command = [docker, "run", "--rm", "--pull=never", "--network=none", "--entrypoint=cat", image, IN_IMAGE]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=READ_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotReady(f"{image}: docker did not answer within {READ_SECONDS} s") from None
    if done.returncode:
        raise NotReady(f"{image}: docker could not read {IN_IMAGE}:\n{done.stderr.strip()}")
    return done.stdout


def fault(document: str) -> str:
    """Returns what is wrong with a bill of materials by the strict schema of CycloneDX 1.6; empty if nothing is."""
    # Here, because it takes a moment that no other command of ./dev should wait for.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(document)
    return "" if error is None else str(error)


def summary(document: str) -> str:
    """Returns the number of components by kind, such as `2 generic, 62 deb, 45 pypi`."""
    purls = [it.get("purl", "") for it in json.loads(document)["components"]]
    kinds = Counter(purl.removeprefix("pkg:").partition("/")[0] for purl in purls if purl)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def main(arguments: Sequence[str]) -> int:
    """Writes the bill of materials of each named image to a file in the folder that `--into` names, or in `sbom`.
    Raises NotReady if a bill is missing or invalid, and SystemExit on wrong usage.
    """
    parser = argparse.ArgumentParser(prog="./dev sbom")
    parser.add_argument("image", nargs="+", help="a local image, such as posthaste/quota:1.3.0")
    parser.add_argument("--into", type=Path, default=Path("sbom"), help="the folder (default: sbom)")
    options = parser.parse_args(arguments)
    options.into.mkdir(parents=True, exist_ok=True)
    for image in options.image:
        document = read(image)
        if found := fault(document):
            raise NotReady(f"{image}: its bill of materials is not valid CycloneDX 1.6: {found}")
        name = re.sub(r"[^\w.-]+", "_", image)
        path = options.into / f"{name}.cdx.json"
        path.write_text(document)
        print(f"{path}: {summary(document)}")
    return 0
