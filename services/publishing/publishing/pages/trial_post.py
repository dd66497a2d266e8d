"""The test post of `posthaste platform check --post`. It is made on the operator's page and removed at once, which
shows whether publishing works there.

A row is stored before the post is made, and removed after the post. If a check is interrupted, its row stays. The next
check then removes the post. If it is unknown whether the post was made, looks it up first.
"""

from functools import partial
from typing import Any, Literal, NamedTuple

from chassis.db.leases import local_deadline
from chassis.ids import new_id
from contracts.platform_checks import CheckPlatform, PlatformCheck
from contracts.platforms import DAY_SECONDS, PLATFORMS
from publishing.context import AppContext
from publishing.platforms.base import (
    Account,
    Checkpoint,
    Connector,
    NotPublished,
    OpenAttempt,
    Outcome,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    StillUnknown,
)
from publishing.platforms.http_client import permission_until
from publishing.platforms.registry import PLUGINS
from publishing.platforms.trial import Trial
from publishing.records import PageRow
from publishing.store.trial_posts import TrialPost, TrialPosts

_CHECK = "test post"
#: How long one check may make its post; afterwards the post is another check's. Longer than the calls of a small post
#: take, and than the two minutes after which "not there" is believed. Our choice.
_SECONDS = 180.0
_AGAIN = "Run the check with --post again in three minutes: it finds the post and deletes it."


class Subject(NamedTuple):
    """The page that is checked, with the connector, credentials and settings for calling its platform."""

    page: PageRow
    trial: Trial
    connector: Connector
    account: Account
    #: The platform's own.
    settings: Any


def check(
    app: AppContext, page: PageRow, connector: Connector, account: Account, request: CheckPlatform
) -> PlatformCheck:
    """Makes the test post and removes it again. Returns the check's result.

    First looks for a test post that an earlier check left. If there is one, removes it and makes no other. If its
    outcome is unknown, makes no other for a day. If it was not published, makes a new one.

    The check is skipped if the platform cannot delete posts, if a needed photo is missing (neither the request nor the
    page has one), or if the test post would be public and the request does not allow that.
    """
    title, trial = PLATFORMS[page.platform].title, PLUGINS[page.platform].trial
    if trial is None:
        return _told(
            "a test post is made and deleted",
            "skipped",
            f"{title} deletes no post by its API",
            "Publish a private post as docs/platforms describes, and delete it in the app.",
        )
    subject = Subject(page, trial, connector, account, app.settings.platforms[page.platform])
    with app.database.reading() as connection:
        left = TrialPosts(connection).get(page.id)
    if left is not None:
        finished = _finish(app, subject, *left)
        if finished is not None:
            return finished
    photo = request.photo_url or page.picture or ""
    if trial.is_public and not request.is_public:
        advice = f"{title} has public posts alone. --yes-public makes one and deletes it at once."
        return _of(trial, "skipped", "not made", advice)
    if trial.needs_photo and not photo:
        return _of(
            trial, "skipped", "not made", "Add --photo with the address of a JPEG, such as an upload's url."
        )
    return _make(app, subject, photo)


def _make(app: AppContext, subject: Subject, photo: str) -> PlatformCheck:
    page, trial = subject.page, subject.trial
    text, deadline = f"Test of the connection by Posthaste, {new_id('tst')}", local_deadline(_SECONDS)
    with app.database.transaction() as connection:
        is_ours = TrialPosts(connection).begin(page.id, text)
    if not is_ours:
        return _of(trial, "unknown", "another check is making one", _AGAIN)
    try:
        with permission_until(deadline):
            remote_id = _sent(app, subject, text, photo)
    except PlatformRefusal as refusal:
        reason = f"{refusal.message} ({refusal.code})"
        with app.database.reading() as connection:
            begun = TrialPosts(connection).get(page.id)
        kept = begun and _clear(app, subject, begun[0], reason)
        return kept or _of(trial, "failed", reason, "A real post would be refused as well.")
    except OutcomeUnknown as error:
        return _of(trial, "unknown", f"it is not known whether it was made ({error})", _AGAIN)
    _save(app, page, text, remote_id=remote_id)
    return _removed(app, subject, text, remote_id, f"made as {remote_id}")


def _sent(app: AppContext, subject: Subject, text: str, photo: str) -> str:
    """Makes the test post and returns its id. Raises PlatformRefusal if the platform refuses it, and OutcomeUnknown if
    no usable answer comes.
    """
    trial = subject.trial
    if trial.stage is not None:
        return trial.stage(subject.settings, subject.account, text, photo)
    assert trial.content is not None
    keep = partial(_keep, app, subject.page, text)
    return subject.connector.publish(subject.account, trial.content(text), Checkpoint(store=keep)).remote_id


def _finish(app: AppContext, subject: Subject, left: TrialPost, age_seconds: float) -> PlatformCheck | None:
    """Removes the test post that an earlier check left. Returns the result of the present check.

    Returns None if a new post may be made: the earlier one was not published, or its outcome is still unknown after a
    day.
    """
    began = f"an earlier check began one at {left.began_at:%Y-%m-%d %H:%M} UTC"
    if left.remote_id is not None:
        return _removed(app, subject, left.text, left.remote_id, f"{began}, {left.remote_id}")
    if age_seconds < _SECONDS:
        return _of(subject.trial, "unknown", "another check is making one", _AGAIN)
    found = _outcome(subject, left)
    if isinstance(found, Published):
        _save(app, subject.page, left.text, remote_id=found.remote_id)
        return _removed(app, subject, left.text, found.remote_id, f"{began}, {found.remote_id}")
    if isinstance(found, StillUnknown) and age_seconds < DAY_SECONDS:
        advice = f'Look for "{left.text}" on the page and delete it. A new one can be made a day after that.'
        return _of(subject.trial, "unknown", f"{began}; whether it was made is not known", advice)
    return _clear(app, subject, left, began)


def _clear(app: AppContext, subject: Subject, failed: TrialPost, reason: str) -> PlatformCheck | None:
    """Removes what a failed test post has left on the platform, and then its row. Returns None, or the check's result
    if the removal failed.
    """
    remote_id = subject.trial.left(failed.checkpoint or {})
    if remote_id is None:
        _forget(app, subject.page, failed.text)
        return None
    _save(app, subject.page, failed.text, remote_id=remote_id)
    removed = _removed(app, subject, failed.text, remote_id, f"{reason}, {remote_id}")
    return None if removed.state == "ok" else removed


def _outcome(subject: Subject, left: TrialPost) -> Outcome:
    """Looks up a test post whose check was interrupted, and returns its outcome; StillUnknown if the look-up fails. If
    test posts on this platform are only prepared and never published, returns NotPublished without a look-up.
    """
    if subject.trial.content is None:
        return NotPublished(settled=True)
    content, checkpoint = subject.trial.content(left.text), Checkpoint(left.checkpoint or {})
    try:
        return subject.connector.outcome(OpenAttempt(subject.account, content, checkpoint, left.began_at))
    except PlatformRefusal:
        return StillUnknown()


def _removed(app: AppContext, subject: Subject, text: str, remote_id: str, found: str) -> PlatformCheck:
    remove = subject.trial.remove
    try:
        if remove is not None:
            remove(subject.settings, subject.account, remote_id)
    except PlatformRefusal as refusal:
        found = f"{found}, but not deleted: {refusal.message} ({refusal.code})"
        return _of(subject.trial, "failed", found, "Run the check with --post again, or delete it by hand.")
    _forget(app, subject.page, text)
    return _of(subject.trial, "ok", f"{found}, and deleted" if remove else found)


def _keep(app: AppContext, page: PageRow, text: str, values: dict[str, Any]) -> None:
    _save(app, page, text, checkpoint=values)


def _save(app: AppContext, page: PageRow, text: str, **values: Any) -> None:
    with app.database.transaction() as connection:
        TrialPosts(connection).save(page.id, text, **values)


def _forget(app: AppContext, page: PageRow, text: str) -> None:
    with app.database.transaction() as connection:
        TrialPosts(connection).forget(page.id, text)


State = Literal["ok", "failed", "unknown", "skipped"]


def _of(trial: Trial, state: State, found: str, advice: str = "") -> PlatformCheck:
    expected = f"{trial.what} is made{' and deleted' if trial.remove else ''}"
    return _told(expected, state, found, advice)


def _told(expected: str, state: State, found: str, advice: str) -> PlatformCheck:
    return PlatformCheck(check=_CHECK, state=state, expected=expected, found=found, advice=advice)
