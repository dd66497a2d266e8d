"""Finds the distinct values of an indexed column by skipping from each to the next (a loose index scan).

A list uses it to read only the newest rows of each value from the index. Finding the values costs one step for each
value, however many rows the table has.
"""


def distinct_values(name: str, table: str, column: str, condition: str) -> str:
    """Returns a recursive query with the name `name`, whose only column is `column`. Use it after WITH RECURSIVE. Its
    last row is null.

    Needs an index of `table` whose first columns are those of `condition`, followed by `column`.
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
