"""The platform connectors: one module a platform, one interface (`base`), one table (`registry`)."""
