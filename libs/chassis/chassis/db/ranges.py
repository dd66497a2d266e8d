"""Which values an indexed column has, found by skipping from each to the next: the number of rows costs nothing.

For lists of rows whose column is one of many values: each value's newest rows are the head of an index range.
"""


def distinct_values(name: str, table: str, column: str, condition: str) -> str:
    """A recursive query `name` (`column`), to stand behind WITH RECURSIVE; null is none of its values' ends.

    `condition` is what the rows' index begins with, `column` what comes next in it; both belong to `table`.
    """
    first = (
        f"SELECT {column} FROM {table} WHERE {condition} AND {column} IS NOT NULL ORDER BY {column} LIMIT 1"
    )
    return f"""
    {name} ({column}) AS (
        ({first})
        UNION ALL
        SELECT (SELECT t.{column} FROM {table} t WHERE {condition} AND t.{column} > before.{column}
            ORDER BY t.{column} LIMIT 1)
        FROM {name} AS before WHERE before.{column} IS NOT NULL)
    """
