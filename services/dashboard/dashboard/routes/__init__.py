"""The screens of the dashboard, one module per noun."""

from dashboard.routes import (
    account,
    activity,
    assist,
    brands,
    calendar,
    codes,
    comments,
    compose,
    developers,
    invitations,
    media,
    overview,
    pages,
    posts,
    shared_work,
    sign_in,
    sign_up,
    usage,
)

BLUEPRINTS = tuple(
    it.screens
    for it in (
        *(sign_in, sign_up, invitations, shared_work, overview, calendar, posts, comments, compose, assist),
        *(media, pages, brands, usage, activity, developers, account, codes),
    )
)
#: The screens of the main navigation in their groups: endpoint, text, and the scope without which a collaborator does
#: not get it; None: everybody gets it.
NAVIGATION = (
    (
        ("overview.show", "Overview", None),
        ("calendar.show", "Calendar", None),
        ("posts.index", "Posts", None),
        ("comments.index", "Comments", None),
    ),
    (("media.index", "Library", None), ("pages.index", "Pages", None), ("brands.index", "Brands", None)),
    (
        ("usage.show", "Usage and billing", "read:account"),
        ("activity.audit", "Activity", "manage:brands"),
        ("developers.show", "Developers", "manage:webhooks"),
        ("account.show", "Account", None),
    ),
)
