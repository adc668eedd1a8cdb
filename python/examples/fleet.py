"""A fleet of agents: each records its tool calls through a spool without waiting, signed with its own key.

Run it beside `npm start`, with TALLYSTICK_URL and TALLYSTICK_API_KEY, as often as you like: `python examples/fleet.py DIRECTORY`.
"""

import asyncio
import random
import sys
from pathlib import Path

from tallystick import Tallystick
from tallystick.actions import Actions, accountable
from tallystick.notarizer import open_spool
from tallystick.signing import agent_signer, make_private_key

AGENTS = 3
TASKS = 5


def join(manager: Tallystick, directory: Path, name: str) -> Tallystick:
    """Returns a client for an agent with its own API key and signing key. From then on only this
    client can sign in the agent's name.
    """
    made = manager.keys.create(name=f'{directory.resolve().name}-{name}', scopes=['records:write', 'records:read:own'])
    file = directory / f'{name}.pem'
    is_first = not file.exists()
    if is_first:
        file.write_text(make_private_key())
        file.chmod(0o600)
    signer = agent_signer(file.read_text())
    if is_first:
        registration = signer.registration(ledger=manager.ledger.get().id, agent=made.agent, required=True)
        manager.agents.register_signing_key(made.agent, **registration)
    return Tallystick(api_key=made.key, signer=signer)


async def work(client: Tallystick, directory: Path, name: str) -> int:
    actions = Actions(client, framework='fleet-example/1', spool=open_spool(directory / name))

    @accountable(actions=actions)
    async def look_up(metal: str) -> float:
        await asyncio.sleep(0.01)
        if random.random() < 0.2:
            raise LookupError(f'no price of {metal}')
        return round(random.uniform(1, 10_000), 2)

    @accountable(actions=actions, kind='agent', name=name)
    async def task(number: int) -> str:
        prices = await asyncio.gather(look_up('copper'), look_up('tin'), return_exceptions=True)
        return f'{number}: {sum(price for price in prices if isinstance(price, float))}'

    try:
        await asyncio.gather(*(task(number) for number in range(TASKS)))
    finally:
        await asyncio.to_thread(actions.close)  # the spool stores unsent records for the next run
    return actions.stats.recorded


async def main(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    manager = Tallystick()
    clients = {f'agent-{number}': join(manager, directory, f'agent-{number}') for number in range(AGENTS)}
    counts = await asyncio.gather(*(work(client, directory, name) for name, client in clients.items()))
    print(f'{sum(counts)} records of {len(counts)} agents, each signed by the agent that wrote it')


asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else 'fleet')))
