"""The settings of `--compact`: all six services in one process, with sizes for a small server.

The figures suit one or two cores and a few thousand posts a day. The compact profile of docker-compose.yml has the
same settings (`deploy/tests/compose/test_compose.py` compares them).
"""

#: The process that replaces the six; called services come before their callers.
NAME = "services"
SERVICES = ("accounts", "quota", "media", "publishing", "ai", "webhooks")

#: Overrides of the full stack's settings. Workers and connections are per service.
SETTINGS = {
    "AI_REFERENCE_ROOM_BYTES": "33554432",
    "COMMENT_CALLS": "4",
    "CONNECTIONS": "200",
    "DATABASE_POOL_SIZE": "4",
    "DOWNLOADS_AT_ONCE": "16",
    "EVENTLET_THREADPOOL_SIZE": "4",
    "MALLOC_ARENA_MAX": "1",
    "MAX_WORKERS": "32",
    "MEDIA_CONFINED_AT_ONCE": "1",
    "MEDIA_VIDEOS_AT_ONCE": "1",
    "PUBLISH_LANES": "12",
    "PUBLISH_LIVE_CALLS": "16",
    "UPLOADS_AT_ONCE": "8",
    "WEBHOOK_ATTEMPTS_AT_ONCE": "64",
    "WORKERS": "1",
}

POSTGRES = {
    "shared_buffers": "16MB",
    "max_connections": "80",
    "wal_buffers": "512kB",
    "work_mem": "2MB",
    "maintenance_work_mem": "16MB",
    "max_worker_processes": "1",
}

#: For Erlang: one scheduler, and unused memory is returned.
ERLANG = "+S 1:1 +SDcpu 1:1 +SDio 1 +MBas aobf +MHas aobf +MBlmbcs 512 +MHlmbcs 512 +hms 256"
