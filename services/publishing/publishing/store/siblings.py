"""Pages that are the same page of a platform, connected in several brands or accounts: SQL shared by statements."""


def siblings_of(page_id: str) -> str:
    """A query for the ids of all pages with the platform's page behind the one that this SQL expression names, itself
    and unlinked ones included."""
    return f"""
        SELECT s.id FROM pages mine JOIN pages s
            ON s.remote_account_id = mine.remote_account_id AND s.platform = mine.platform
        WHERE mine.id = {page_id}"""
