"""The accounts service: users, brands, collaborators, API tokens and the audit log. It decides who may do what."""
