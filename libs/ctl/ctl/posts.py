"""`post`: what an operator may do to a post."""

import click

from contracts.accounts import RecordAudit
from contracts.publishing import PostId
from ctl.session import Session, pass_session


@click.group()
def post() -> None:
    """Posts."""


@post.command()
@click.argument("post_id")
@pass_session
def due(session: Session, post_id: str) -> None:
    """Bring the time of the queued POST_ID to now. It is noted in the brand's audit log."""
    brought = session.publishing.bring_post_due(session.caller, PostId(id=post_id))
    entry = RecordAudit(
        brand_id=brought.brand_id,
        action="post.brought_due",
        subject_id=brought.id,
        details={"page_id": brought.page_id},
    )
    session.accounts.record_audit(session.caller, entry)
    session.show(brought)
