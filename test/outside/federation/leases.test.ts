import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPooledTransaction } from '../../../src/db/connect/transaction.ts'
import { hasWaiting, takeLeases } from '../../../src/db/jobs/leases.ts'
import { PEER_DRAINS_OF_LEDGER_MAX } from '../../../src/db/limits.ts'
import { endDrain, PEER_LEASES, type PeerLease } from '../../../src/db/peers/peer-leases.ts'
import { formatId } from '../../../src/proof/ids.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { addPeer } from '../../helpers/test-peers.ts'

const CURSORS = `insert into tallystick.peer_cursors (ledger_id, peer_id, next_seq, known_kid)
  select p.ledger_id, p.peer_id, 0, h.envelope_kid
  from tallystick.peers p join tallystick.chain_heads h on h.ledger_id = p.ledger_id`

test('a ledger with many peers takes a limited number of leases, and others get theirs', async (t) => {
  const app = await lendApp(t)
  const other = (await app.newLedger()).ledger.id
  for (let i = 0; i < 2 * PEER_DRAINS_OF_LEDGER_MAX; i++) await addPeer(app)
  await addPeer(app, 'active', other)
  await app.sql(CURSORS)
  const pool = openTestPool(app.database.workerUrl, { max: 1 })
  t.after(() => pool.end())
  const take = () =>
    withPooledTransaction(pool, (client) =>
      takeLeases<PeerLease>(client, PEER_LEASES, { limit: 1_000, leaseMs: 60_000 }),
    )
  const countOf = (leases: readonly PeerLease[]) => {
    const isOthers = ({ ledgerId }: PeerLease) => formatId('led', ledgerId) === other
    return { others: leases.filter(isOthers).length, all: leases.length }
  }

  const leases = await take()
  assert.deepEqual(countOf(leases), { others: 1, all: PEER_DRAINS_OF_LEDGER_MAX + 1 })
  assert.equal(await hasWaiting(pool, PEER_LEASES), false)
  assert.deepEqual(await take(), [])

  await endDrain(pool, leases.find(({ ledgerId }) => formatId('led', ledgerId) !== other)!, null)
  assert.equal(await hasWaiting(pool, PEER_LEASES), true)
})
