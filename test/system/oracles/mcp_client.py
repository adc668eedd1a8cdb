"""Uses a ledger with the client of PyPI's mcp, in one era of the protocol. Usage: mcp_client.py ERA http URL KEY | ERA stdio COMMAND ARG…
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceTemplateReference

VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@asynccontextmanager
async def connected(era: str, kind: str, rest: list[str]):
    if kind == "stdio":
        command, *args = rest
        transport = stdio_client(StdioServerParameters(command=command, args=args))
    else:
        url, key = rest
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
        transport = streamable_http_client(url, http_client=http)
    async with Client(transport, mode=era) as client:
        yield client


async def main(era: str, kind: str, *rest: str) -> None:
    async with connected(era, kind, list(rest)) as client:
        assert client.protocol_version == VERSIONS[era], client.protocol_version
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"notarize", "verify_record", "verdict"} <= tools, tools

        async def call(name: str, **arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            assert json.loads(result.content[0].text) == result.structured_content
            return result.structured_content

        first = await call("notarize", payload={"did": "ä"}, idempotencyKey=f"{era}-{kind}")
        again = await call("notarize", payload={"did": "ä"}, idempotencyKey=f"{era}-{kind}")
        record = first["id"]
        assert again["id"] == record
        found = await call("search_records", limit=1)
        assert found["records"][0]["payload"] == {"did": "ä"}
        proved = await call("verify_record", record=record)
        assert proved["verified"], proved
        refused = await client.call_tool("get_record", {"record": "rec_x"})
        assert refused.is_error and "404 not_found" in refused.content[0].text

        uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert "tallystick://ledger" in uris, uris
        shown = (await client.read_resource(f"tallystick://records/{record}")).contents[0]
        assert json.loads(shown.text)["id"] == record
        template = ResourceTemplateReference(type="ref/resource", uri="tallystick://records/{id}")
        offered = await client.complete(template, {"name": "id", "value": record})
        assert offered.completion.values == [record]
        prompt = await client.get_prompt("audit_run", {"record": record})
        assert record in prompt.messages[0].content.text
        print(f"{client.protocol_version}, {len(tools)} tools: {proved['summary'].split(':')[0]}")


asyncio.run(main(*sys.argv[1:]))
