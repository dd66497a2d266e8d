"""What attackers send: ids of other accounts, URLs into our own network, texts that try to run."""
