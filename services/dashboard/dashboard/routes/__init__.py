"""The screens, a module per noun."""

from dashboard.routes import (
    account,
    activity,
    assist,
    brands,
    calendar,
    comments,
    compose,
    developers,
    media,
    overview,
    pages,
    posts,
    sign_in,
    sign_up,
)

BLUEPRINTS = tuple(
    it.screens
    for it in (
        *(sign_in, sign_up, overview, calendar, posts, comments, compose, assist),
        *(media, pages, brands, activity, developers, account),
    )
)
#: The screens of the main navigation in their groups: endpoint, text.
NAVIGATION = (
    (
        ("overview.show", "Overview"),
        ("calendar.show", "Calendar"),
        ("posts.index", "Posts"),
        ("comments.index", "Comments"),
    ),
    (("media.index", "Library"), ("pages.index", "Pages"), ("brands.index", "Brands")),
    (("activity.usage", "Activity"), ("developers.show", "Developers"), ("account.show", "Account")),
)
