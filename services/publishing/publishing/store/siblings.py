"""SQL for siblings: pages that are the same page of a platform, linked in several brands or accounts."""


def siblings_of(page_id: str) -> str:
    """Returns a query for the ids of a page's siblings, itself and unlinked ones included; `page_id` is an SQL
    expression.
    """
    return f"""
        SELECT s.id FROM pages mine JOIN pages s
            ON s.remote_account_id = mine.remote_account_id AND s.platform = mine.platform
        WHERE mine.id = {page_id}"""
