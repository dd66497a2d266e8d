"""`page`: connected platform accounts."""

from collections.abc import Iterator

import click
from msgspec.structs import replace

from contracts.accounts import GetBrand, GetUser
from contracts.platforms import PLATFORMS, parse_platform
from contracts.publishing import GetPage, LinkPage, ListPages, Page
from ctl import simulator
from ctl.session import Session, pass_session

COLUMNS = ("id", "platform", "name", "account_id", "brand_id", "brand_name", "followers", "expired")


class PlatformType(click.ParamType[str]):
    """The type of a command's argument: a platform's code or full name, in any case."""

    name = "platform"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        code = parse_platform(value)
        return code or self.fail(f"{value!r} is not one of {', '.join(PLATFORMS)}", param, ctx)


@click.group()
def page() -> None:
    """Manage pages: accounts on platforms that are connected to brands."""


@page.command()
@click.option("--brand", "brand_id", required=True, help="Id of the brand that will own the page.")
@click.option(
    "--platform", type=PlatformType(), required=True, help=f"{', '.join(PLATFORMS)}, or a full name."
)
@click.option("--name", help="The account's name; without it the simulator makes one up.")
@pass_session
def link(session: Session, brand_id: str, platform: str, name: str | None) -> None:
    """Create an account in the simulator and connect it to a brand. Works only on the local stack."""
    owner = session.accounts.get_brand_owner(session.caller, GetBrand(brand_id=brand_id, field="brand_id"))
    account = simulator.new_account(session.config, platform, name)
    request = LinkPage(
        owner_account_id=owner.account_id,
        brand_id=owner.brand.id,
        brand_name=owner.brand.name,
        platform=platform,
        remote_account_id=account.account_id,
        access_token=account.access_token,
        name=account.name,
        username=account.username,
        followers=account.followers,
        picture=account.picture,
    )
    session.show(session.publishing.link_page(session.caller, request))


@page.command()
@click.argument("page_id")
@pass_session
def expire(session: Session, page_id: str) -> None:
    """Mark the connection of PAGE_ID as expired, as if its platform had ended it."""
    session.show(session.publishing.expire_page(session.caller, GetPage(id=page_id)))


@page.command("list")
@click.option("--user", "user_id", required=True, help="Id of the account.")
@pass_session
def list_(session: Session, user_id: str) -> None:
    """List the pages of an account, of all its brands."""
    account = session.accounts.get_user(session.caller, GetUser(user_id=user_id))
    session.show_all(_pages(session, account.id), COLUMNS)


def _pages(session: Session, account_id: str) -> Iterator[Page]:
    caller = replace(session.caller, account_id=account_id)
    cursor: str | None = None
    while True:
        found = session.publishing.list_pages(caller, ListPages(limit=100, cursor=cursor))
        yield from found.pages
        cursor = found.next_cursor
        if cursor is None:
            return
