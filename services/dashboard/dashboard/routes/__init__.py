"""The screens, a module per noun."""

from dashboard.routes import account, brands, calendar, compose, developers, overview, pages, posts, sign_in

BLUEPRINTS = tuple(
    it.screens for it in (sign_in, overview, posts, calendar, compose, pages, brands, developers, account)
)
#: The screens of the main navigation: endpoint, text.
NAVIGATION = (
    ("overview.show", "Overview"),
    ("posts.index", "Posts"),
    ("calendar.show", "Calendar"),
    ("pages.index", "Pages"),
    ("brands.index", "Brands"),
    ("developers.show", "Developers"),
    ("account.show", "Account"),
)
