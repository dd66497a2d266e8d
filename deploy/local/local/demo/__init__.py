"""`./dev demo`: acts as a client of the API, from publishing a post to answering a comment; can also fill the demo
account.
"""
