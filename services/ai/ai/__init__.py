"""The AI service: credits, and what they are spent on."""
