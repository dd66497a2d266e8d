"""`brand`: the brands of an account."""

from collections.abc import Iterator

import click

from contracts.accounts import Brand, CreateBrand, ListBrands
from ctl.session import Session, pass_session


@click.group()
def brand() -> None:
    """Brands of an account."""


@brand.command()
@click.option("--user", "user_id", required=True, help="The owner.")
@click.option("--name", required=True, help="Its name.")
@click.option(
    "--timezone", default="UTC", show_default=True, help="IANA zone name, for example Europe/Berlin."
)
@click.option("--description", help="What it is about.")
@click.option("--logo", help="http(s) address of a picture.")
@click.option("--image-guidelines", help="What its AI images and videos keep to.")
@click.option("--caption-guidelines", help="What its AI captions keep to.")
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
@click.option("--user", "user_id", required=True, help="The owner.")
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
