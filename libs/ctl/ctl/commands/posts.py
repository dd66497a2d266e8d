"""`post`: the operator's actions on a post."""

import click

from contracts.accounts import RecordAudit
from contracts.publishing import PostId
from ctl.session import Session, pass_session


@click.group()
def post() -> None:
    """Make a post due now."""


@post.command()
@click.argument("post_id")
@click.option("--reason", help="What the brand's owner reads in the audit log as the reason.")
@pass_session
def due(session: Session, post_id: str, reason: str | None) -> None:
    """Make the queued post POST_ID due now. An entry in the brand's audit log is made first."""
    asked = PostId(id=post_id)
    found = session.publishing.get_scheduled_post(session.caller, asked)
    if found.status == "queued":
        details: dict[str, object] = {"page_id": found.page_id}
        if reason:
            details["reason"] = reason
        # Recorded first: a repeated command could not record it once the post is published.
        entry = RecordAudit(
            brand_id=found.brand_id, action="post.brought_due", subject_id=found.id, details=details
        )
        session.accounts.record_audit(session.caller, entry)
    session.show(session.publishing.bring_post_due(session.caller, asked))
