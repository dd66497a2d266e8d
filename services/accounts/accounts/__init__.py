"""Who may do what: users, brands, collaborators, API tokens and the audit log."""
