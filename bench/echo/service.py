"""The echo service, through chassis like any other."""

from echo.api import EchoApi, Words

from chassis.service import rpc
from contracts.caller import Caller


class EchoService:
    name = "echo"
    api = EchoApi

    @rpc
    def echo(self, caller: Caller, request: Words) -> Words:
        return request
