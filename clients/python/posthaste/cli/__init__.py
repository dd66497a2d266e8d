"""The command line `posthaste`. It needs click: pip install 'posthaste-social[cli]'."""
