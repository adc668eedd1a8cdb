import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { withPooledTransaction } from '../../../src/db/connect/transaction.ts'
import { takeLeases } from '../../../src/db/jobs/leases.ts'
import { PEER_LEASES, type PeerLease } from '../../../src/db/peers/peer-leases.ts'
import { makeByteBudget } from '../../../src/load/budgets.ts'
import { parseAllowances } from '../../../src/outside/connector/allowances.ts'
import { Connector } from '../../../src/outside/connector/connector.ts'
import { PeerSenders } from '../../../src/outside/federation/peer-sender.ts'
import { formatId, parseId } from '../../../src/proof/ids.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { addPeer } from '../../helpers/test-peers.ts'

test('a comparison that takes longer than its lease renews the lease', async (t) => {
  const app = await lendApp(t)
  const { peerId } = await addPeer(app)
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const readCursor = async () => {
    const [cursor] = await app.sql<{ leased: boolean; summary: string | null }>(
      'select leased_until > now() as leased, summary from tallystick.peer_cursors where peer_id = $1',
      [peerId],
    )
    return cursor!
  }
  const isLeased: boolean[] = []
  const server = createServer(async (_, response) => {
    isLeased.push((await readCursor()).leased)
    // Simulates an answer that takes longer than the lease.
    await app.sql(`update tallystick.peer_cursors set leased_until = now() - interval '1 second'`)
    const record = formatId('rec', app.deps.entropy.uuidv7(Date.now()))
    const records = [{ record, version: 1, leaf: 'ab'.repeat(32) }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ records, next: isLeased.length < 3 ? record : null }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await app.sql('update tallystick.peers set remote_url = $1 where peer_id = $2', [url, peerId])
  await app.sql(
    `insert into tallystick.peer_cursors (ledger_id, peer_id, next_seq, known_kid, summary_wanted)
     select ledger_id, $2, size, envelope_kid, true from tallystick.chain_heads where ledger_id = $1`,
    [ledgerId, peerId],
  )
  const pool = openTestPool(app.database.workerUrl, { max: 2 })
  t.after(() => pool.end())
  const connector = new Connector({ allowances: parseAllowances('127.0.0.1') })
  t.after(() => connector.close())
  const { log, now, threads, signers, peerMacs, publicUrl } = app.deps
  const drains = new PeerSenders({
    ...{ pool, log, now, connector, threads, signers, peerMacs, publicUrl },
    answers: makeByteBudget(1_000_000),
    masterKey: makeMasterKey(new Uint8Array(32)),
    userAgent: 'test',
    observeSending: { request() {}, failure: (code) => assert.fail(code), entries() {} },
    tracePost: null,
  })
  const [lease] = await withPooledTransaction(pool, (client) =>
    takeLeases<PeerLease>(client, PEER_LEASES, { limit: 1, leaseMs: 60_000 }),
  )
  await drains.take(lease!)
  assert.deepEqual(isLeased, [true, true, true])
  assert.equal(JSON.parse((await readCursor()).summary!).records.length, 3)
})
