"""Encryption of signing secrets, signatures, and the private networks that webhook URLs may lead to."""
