"""How the services talk, store and run, safely: everything under a service but its business rules."""
