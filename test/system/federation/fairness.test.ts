import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../../src/db/connect/client.ts'
import { withTransaction } from '../../../src/db/connect/transaction.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { type Organisation, startOrganisations } from '../../helpers/federation.ts'
import { OPERATOR_KEY } from '../../helpers/federation-organisation.ts'
import { until } from '../../helpers/wait.ts'
import { Mallory } from './mallory.ts'

const RECORDS = 12

type Second = { readonly ledger: string; readonly key: string }

async function addLedger(home: Organisation): Promise<Second> {
  const body = { name: 'second', agent: 'administrator' }
  const { ledger, key } = await home.ask('POST', '/v1/ledgers', { key: OPERATOR_KEY, body })
  return { ledger: ledger.id, key: key.key }
}

async function peerWith(home: Organisation, { key }: Second, good: Organisation): Promise<string> {
  const { id, invitation } = await home.ask('POST', '/v1/peers', { key, body: { name: good.name } })
  await good.ask('POST', '/v1/peers', { body: { name: home.name, invitation } })
  const stateAt = async (side: Organisation, ask: { key?: string }) =>
    (await side.ask('GET', `/v1/peers/${id}`, ask)).state
  await until(
    async () => (await stateAt(home, { key })) === 'active' && (await stateAt(good, {})) === 'active',
    20_000,
  )
  return id
}

async function countReceived(side: Organisation, ledger: string): Promise<number> {
  const [row] = await side.sql<{ received: number }>(
    'select count(*)::int as received from tallystick.remote_records where ledger_id = $1',
    [parseId('led', ledger)],
  )
  return row!.received
}

test('a peer that never answers, and one with endless requests, delay no other ledger’s peer', async (t) => {
  const [home, good] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const second = await addLedger(home)
  const id = await peerWith(home, second, good)
  const hanging = await Mallory.meet(t, home)
  const costly = await Mallory.meet(t, home)
  const never = new Promise<never>(() => {})
  hanging.lie = () => never
  const share = (peer: string) => ({
    type: 'task/1',
    payload: {},
    share: [{ peer, documents: 'whole' }],
  })
  await home.ask('POST', '/v1/records', { body: share(hanging.peer) })
  await until(async () => hanging.heard.length > 0)

  let isEnded = false
  let requests: Promise<void>[] = []
  await withClient(home.database.superuserUrl, (client) =>
    withTransaction(client, async () => {
      // The transaction locks the head, so that an append for the costly peer takes as long as the transaction.
      const heads = 'select from tallystick.chain_heads where ledger_id = $1 for update'
      await client.query(heads, [parseId('led', home.ledger)])
      requests = Array.from({ length: 3 }, () => costly.take([costly.record().last()]))
      void Promise.all(requests).then(
        () => {
          isEnded = true
        },
        () => {},
      )
      for (let i = 0; i < RECORDS; i++) {
        await good.ask('POST', '/v1/records', { body: share(id) })
        await home.ask('POST', '/v1/records', { key: second.key, body: share(id) })
      }
      const isThere = async () =>
        (await countReceived(home, second.ledger)) === RECORDS &&
        (await countReceived(good, good.ledger)) === RECORDS
      await until(isThere, 9_000)
      assert.equal(isEnded, false)
    }),
  )
  await Promise.allSettled(requests)
})
