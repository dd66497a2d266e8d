"""Pictures, films and captions as AI providers make them. Each provider's package has its own requests."""
