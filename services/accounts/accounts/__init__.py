"""The accounts service: users, brands, collaborators, API tokens and the audit log. It decides who may do what.

What is for the operator raises MISSING_SCOPE for everybody else; what is for the account's owner raises
COLLABORATOR_INSUFFICIENT for a collaborator.
"""
