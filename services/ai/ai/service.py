"""Connects the AI service to the bus: RPC methods and worker loops. Contains no rules."""

from ai.config import Settings
from ai.context import AppContext
from ai.credits import auto_refill, billing, clawbacks, ledger_list, payment_notifications
from ai.jobs import captions, images, lost_jobs, video_steps, videos, views
from ai.payments import registry as payments
from ai.providers.registry import Providers
from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.runtime.locked_cache import locked_cache
from chassis.runtime.loops import FINISH_SECONDS
from chassis.service import (
    BusProvider,
    DatabaseProvider,
    call,
    finish,
    forget_old_operations,
    loop,
    repeat,
    rpc,
)
from contracts import ai as contract
from contracts.caller import Caller
from contracts.record import Nothing

#: Created at import, so that a wrong setting stops the process at its start.
_SETTINGS = Settings.from_env()
_PROVIDERS = Providers(_SETTINGS.gemini, _SETTINGS.openai, _SETTINGS.providers)
_PAYMENTS = payments.provider(_SETTINGS.credits.payment_provider, _SETTINGS.stripe)


@locked_cache
def _context(database: Database, bus: Bus) -> AppContext:
    return AppContext(database, _SETTINGS, bus.service("media"), _PROVIDERS, _PAYMENTS)


class AiService:
    name = "ai"
    api = contract.AiApi
    database = DatabaseProvider()
    bus = BusProvider()

    @property
    def app(self) -> AppContext:
        return _context(self.database, self.bus)

    generate_image = call(images.generate, live=True)
    edit_image = call(images.edit, live=True)
    generate_video = call(videos.generate, live=True)
    list_jobs = call(views.show_list)
    get_job = call(views.show)
    write_caption = call(captions.write, live=True)
    get_credits = call(billing.balance)
    list_ledger = call(ledger_list.show_list)
    grant_credits = call(billing.grant)
    set_auto_refill = call(billing.set_auto_refill)
    edit_auto_refill = call(billing.edit_auto_refill)

    @rpc
    def payment_hook(self, caller: Caller, request: contract.PaymentHook) -> Nothing:
        payment_notifications.receive(self.database, _SETTINGS.credits, _PAYMENTS, request)
        return Nothing()

    make_videos = repeat(video_steps.make_videos, 1.0, woken_by=videos.VIDEOS_DUE)

    @loop(interval_seconds=2.0, until_the_end=True)
    def renew_claims(self) -> int:
        self.app.renew_claims()
        return 0

    fail_lost_jobs = repeat(lost_jobs.fail_lost, 2.0)
    forget_captions = repeat(lost_jobs.forget_captions, 3600.0)

    forget_operations = forget_old_operations

    @loop(interval_seconds=3600.0)
    def forget_unmatched_payments(self) -> int:
        return clawbacks.forget_unmatched(self.database)

    @loop(interval_seconds=2.0)
    def run_refills(self) -> int:
        return auto_refill.run_refills(self.database, _SETTINGS.credits, _PAYMENTS)

    @finish
    def finish_steps(self) -> None:
        self.app.video_steps_pool.wait_idle(FINISH_SECONDS)
