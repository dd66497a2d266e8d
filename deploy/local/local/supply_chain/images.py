"""`./dev images`: lists the third-party images that we build on or run, each with tag and digest.

A tag can be moved to another image at any time. A digest cannot: it is the hash of the image's manifest list, the same
on every architecture and in every registry that mirrors the image. `./dev lint` requires that a name and tag has the
same digest in every file.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local.paths import ROOT
from local.processes.table import NotReady

#: The files of a checkout that name images.
FILES = (
    "docker-compose.yml", "deploy/**/*.yaml", "deploy/**/*.yml", "deploy/images/Dockerfile", "deploy/backup/Dockerfile",
)  # fmt: skip
#: A line that names an image: `image: X`, `image: ${VARIABLE:-X}`, `FROM X`, or an `ARG …_IMAGE=X` that a FROM names.
NAMED = re.compile(r"^(?: *(?:- )?image: +|ARG \w+_IMAGE=|FROM +)(?P<image>\S+)", re.MULTILINE)
#: Images that are built here, and the Dockerfiles' names for their own stages and arguments.
OURS = re.compile(r"(?:\$\{POSTHASTE_IMAGES:-posthaste}|posthaste)/|\$\{\w+}$")
DEFAULT = re.compile(r"^\$\{\w+:-(?P<image>[^}]*)}$")
#: Host and port, path, tag and digest, as Docker reads them.
REFERENCE = re.compile(
    r"^(?P<tagged>[a-z0-9][\w./-]*(?::\d+/[\w./-]+)?:\w[\w.-]*)(?:@(?P<digest>sha256:[0-9a-f]{64}))?$"
)
#: Name and tag → why it has no digest. Empty: all have one.
WITHOUT_DIGEST: dict[str, str] = {}
#: A registry answers within a second or two; give up after a minute.
ASK_SECONDS = 60


@dataclass(frozen=True)
class Reference:
    """A third-party image, as named in one line of a file."""

    path: Path
    line: int
    #: The text in the file.
    text: str
    #: Name and tag, as in `postgres:18.4-alpine`; empty where the text has no tag.
    tagged: str
    #: `sha256:…`, or empty.
    digest: str


def image_of(line: re.Match[str]) -> str | None:
    """Returns the third-party image that a line names, or None if the image is ours. For a line with a variable,
    returns the variable's default.
    """
    image = line["image"].strip("\"'")
    if OURS.match(image):
        return None
    return default["image"] if (default := DEFAULT.match(image)) else image


def references(root: Path = ROOT) -> Iterator[Reference]:
    """Yields every reference to a third-party image, in the order of files and lines."""
    for path in sorted({path for pattern in FILES for path in root.glob(pattern)}):
        text = path.read_text()
        for line in NAMED.finditer(text):
            if (image := image_of(line)) is None:
                continue
            found = REFERENCE.match(image)
            number = text.count("\n", 0, line.start("image")) + 1
            tagged, digest = (found["tagged"], found["digest"] or "") if found else ("", "")
            yield Reference(path, number, image, tagged, digest)


def problems(root: Path = ROOT) -> list[str]:
    """Returns a sentence, with file and line, for each reference without a tag or digest, or with another digest than
    the same tag has elsewhere.
    """
    digests: dict[str, Reference] = {}
    found = []
    for one in references(root):
        where = f"{one.path.relative_to(root)}:{one.line}: {one.text}"
        if not one.tagged or one.tagged.endswith(":latest"):
            found.append(f"{where} is not pinned: name a version as its tag")
            continue
        first = digests.setdefault(one.tagged, one)
        if one.digest != first.digest:
            found.append(f"{where} has another digest than {first.path.relative_to(root)}:{first.line}")
        elif not one.digest and one.tagged not in WITHOUT_DIGEST:
            found.append(f"{where} has no digest: ./dev images --pin fills it in")
    return found


def current_digest(tagged: str) -> str:
    """Asks the registry for the present digest of a tag. Raises NotReady with what to do if it does not answer."""
    docker = shutil.which("docker")
    if docker is None:
        raise NotReady("docker with its buildx plugin is needed to ask a registry for a digest")
    command = [docker, "buildx", "imagetools", "inspect", "--format", "{{json .Manifest}}", tagged]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ASK_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotReady(f"{tagged}: the registry did not answer within {ASK_SECONDS} s") from None
    if done.returncode:
        raise NotReady(f"{tagged}: docker could not ask the registry:\n{done.stderr.strip()}")
    digest = str(json.loads(done.stdout).get("digest"))
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise NotReady(f"{tagged}: docker printed no digest: {done.stdout.strip()}")
    return digest


def pin(root: Path = ROOT) -> list[str]:
    """Writes the present digest of each tag into all files. Returns the tags whose digest has changed.

    Asks for all digests before it writes. Raises NotReady if one is missing.
    """
    known = {one.tagged: one.digest for one in references(root) if one.tagged}
    asked = {tagged: current_digest(tagged) for tagged in sorted(known)}

    def with_digest(line: re.Match[str]) -> str:
        found = REFERENCE.match(image_of(line) or "")
        return line[0].replace(found[0], f"{found['tagged']}@{asked[found['tagged']]}") if found else line[0]

    for path in {one.path for one in references(root)}:
        before = path.read_text()
        if (text := NAMED.sub(with_digest, before)) != before:
            replace(path, text)
    return [tagged for tagged in asked if asked[tagged] != known[tagged]]


def replace(path: Path, text: str) -> None:
    """Writes `text` to a file atomically: another process sees the old or the new contents."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.chmod(path.stat().st_mode)
    os.replace(new, path)


def main(arguments: list[str]) -> int:
    """Lists the references to third-party images; with --pin, first updates their digests from the registries. Returns
    1 if a reference has no tag or digest, or another digest than the same tag has elsewhere.
    """
    if arguments == ["--pin"]:
        for tagged in pin():
            print(f"{tagged} has a new digest: check what changed, then commit")
    elif arguments:
        raise NotReady("usage: ./dev images [--pin]")
    for tagged, digest in sorted({(one.tagged or one.text, one.digest) for one in references()}):
        print(f"{tagged:<50} {digest or 'no digest'}")
    for problem in (found := problems()):
        print(problem)
    return int(bool(found))
