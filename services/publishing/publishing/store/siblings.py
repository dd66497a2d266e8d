"""SQL for siblings: rows of `pages` that are the same page on a platform, linked in several brands or accounts."""


def siblings_of(page_id: str) -> str:
    """Returns a subquery for the ids of a page's siblings, including unlinked ones and the page itself. `page_id` is an
    SQL expression for the page's id."""
    return f"""
        SELECT s.id FROM pages mine JOIN pages s
            ON s.remote_account_id = mine.remote_account_id AND s.platform = mine.platform
        WHERE mine.id = {page_id}"""
