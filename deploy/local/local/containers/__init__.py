"""A container engine for `./dev test --containers`: Debian's Docker in its own namespaces, without image registries."""
