"""The command `upload`, and the function with which all commands upload a file and show the progress."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from posthaste import records
from posthaste.cli import output
from posthaste.cli.session import Session, pass_session

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def upload_file(session: Session, file: Path, in_parts: bool | None = None) -> records.UploadedMedia:
    """Uploads a file, and shows the progress if standard error is a terminal."""
    with click.progressbar(
        length=file.stat().st_size, label=file.name, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        return session.client.upload(
            file, in_parts=in_parts, on_progress=lambda sent, _: bar.update(max(0, sent - bar.pos))
        )


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--in-parts/--in-one", default=None, help="By default files over 8 MiB go in parts.")
@pass_session
def upload(session: Session, files: tuple[Path, ...], in_parts: bool | None) -> None:
    """Upload images and videos, and print their ids for --media-id."""
    made = [upload_file(session, file, in_parts) for file in files]
    rows = [(one.media_id, one.filename, one.mime_type, one.size_bytes) for one in made]
    session.show(made, output.table(("ID", "FILE", "TYPE", "BYTES"), rows, ""))


COMMANDS = (upload,)
