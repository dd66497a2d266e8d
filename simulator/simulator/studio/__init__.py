"""What an AI provider makes: pictures, films, captions. How a provider is asked for them is in its own room."""
