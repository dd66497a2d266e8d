"""Quota's verdict on each request, and month units given back."""
