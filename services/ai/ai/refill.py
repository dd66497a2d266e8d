"""Auto-refill: settings, the worker that asks for payment, and the provider's own calls (spec "AI credits" 3).

For service.py:
    @loop(interval_seconds=2.0, deadline_seconds=…)  `run_refills(database, settings.credits, settings.payments)` -> int
    set_auto_refill  -> `set_auto_refill(database, settings.credits, caller, request)`
    payment_hook     -> `take_hook(database, settings.credits, payments, request)`
where `payments` is `ai.payments.registry.provider(name, stripe_settings)`, made once per process.
"""
