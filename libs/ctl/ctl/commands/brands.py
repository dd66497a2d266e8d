"""`brand`: the brands of an account."""

from collections.abc import Iterator

import click

from contracts.accounts import Brand, CreateBrand, ListBrands
from ctl.session import Session, pass_session


@click.group()
def brand() -> None:
    """Brands of an account."""


@brand.command()
@click.option("--user", "user_id", required=True, help="Id of the owner's account.")
@click.option("--name", required=True, help="Name of the brand.")
@click.option(
    "--timezone", default="UTC", show_default=True, help="IANA zone name, for example Europe/Berlin."
)
@click.option("--description", help="Description of the brand.")
@click.option("--logo", help="http(s) URL of an image.")
@click.option("--image-guidelines", help="Guidelines for AI images and videos.")
@click.option("--caption-guidelines", help="Guidelines for AI captions.")
@pass_session
def create(
    session: Session,
    user_id: str,
    name: str,
    timezone: str,
    description: str | None,
    logo: str | None,
    image_guidelines: str | None,
    caption_guidelines: str | None,
) -> None:
    """Create a brand."""
    request = CreateBrand(
        user_id=user_id,
        name=name,
        timezone=timezone,
        description=description,
        logo=logo,
        image_guidelines=image_guidelines,
        caption_guidelines=caption_guidelines,
    )
    session.show(session.accounts.create_brand(session.caller, request))


@brand.command("list")
@click.option("--user", "user_id", required=True, help="Id of the owner's account.")
@pass_session
def list_(session: Session, user_id: str) -> None:
    """List the brands of an account, newest first."""
    session.show_all(_brands(session, user_id), ("id", "name", "timezone", "description", "created_at"))


def _brands(session: Session, user_id: str) -> Iterator[Brand]:
    cursor: str | None = None
    while True:
        found = session.accounts.list_brands(
            session.caller, ListBrands(user_id=user_id, limit=100, cursor=cursor)
        )
        yield from found.brands
        cursor = found.next_cursor
        if cursor is None:
            return
