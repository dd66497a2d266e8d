"""The accounts service: users, brands, collaborators, API tokens and the audit log. It decides who may do what.

Operations for the operator alone raise MISSING_SCOPE for everybody else. Operations for the account's owner raise
COLLABORATOR_INSUFFICIENT for a collaborator.
"""
