"""The screens, a module per noun."""

from dashboard.routes import account, compose, developers, overview, pages, posts, sign_in

BLUEPRINTS = tuple(it.screens for it in (sign_in, overview, posts, compose, pages, developers, account))
#: The screens of the main navigation: endpoint, text.
NAVIGATION = (
    ("overview.show", "Overview"),
    ("posts.index", "Posts"),
    ("pages.index", "Pages"),
    ("developers.show", "Developers"),
    ("account.show", "Account"),
)
