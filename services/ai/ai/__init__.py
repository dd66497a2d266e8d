"""The AI service: the ledger of credits, and the jobs (images, videos, captions) that credits pay for."""
