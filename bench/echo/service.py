"""The echo service, built with chassis as the product's services are."""

from echo.api import EchoApi, Words

from chassis.service import rpc
from contracts.caller import Caller


class EchoService:
    name = "echo"
    api = EchoApi

    @rpc
    def echo(self, caller: Caller, request: Words) -> Words:
        return request
