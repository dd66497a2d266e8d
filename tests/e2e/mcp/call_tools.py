"""Calls tools with the official MCP client. Runs in the environment of requirements.lock beside it.

Arguments: the URL and the client's mode. MCP_TOKEN: the token. Each line of standard input is a call, `["tool", {…}]`;
each line of standard output is a result, `{"isError": …, "structuredContent": …}`. The first line of output has the
facts on which client and server agreed.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=90) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = (await client.list_tools()).tools
        agreed = {"version": client.protocol_version, "tools": [tool.name for tool in tools]}
        print(json.dumps(agreed), flush=True)
        for line in sys.stdin:
            name, arguments = json.loads(line)
            result = await client.call_tool(name, arguments)
            told = {"isError": result.is_error, "structuredContent": result.structured_content}
            print(json.dumps(told), flush=True)


asyncio.run(main(*sys.argv[1:]))
