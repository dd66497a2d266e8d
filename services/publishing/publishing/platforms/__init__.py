"""The platforms: each has a folder, all share one interface (`base`), and `registry` lists them."""
