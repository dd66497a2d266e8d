"""What attackers send: ids of other accounts, URLs into our own network, and texts that contain scripts."""
