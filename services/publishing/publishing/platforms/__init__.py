"""The platforms: a folder each, one interface (`base`), found by their rows (`registry`)."""
