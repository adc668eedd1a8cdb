import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPooledTransaction } from '../../../src/db/connect/transaction.ts'
import { PEER_DRAINS_OF_LEDGER_MAX } from '../../../src/db/limits.ts'
import {
  endPeerTurn,
  hasWaitingPeers,
  type PeerTurn,
  takePeerTurns,
} from '../../../src/db/peers/peer-turns.ts'
import { formatId } from '../../../src/proof/ids.ts'
import { buildTestApp } from '../../helpers/app.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { addPeer } from '../../helpers/test-peers.ts'

const CURSORS = `insert into tallystick.peer_cursors (ledger_id, peer_id, next_seq, known_kid)
  select p.ledger_id, p.peer_id, 0, h.envelope_kid
  from tallystick.peers p join tallystick.chain_heads h on h.ledger_id = p.ledger_id`

test('a ledger with many peers leaves turns to the others', async (t) => {
  const app = await buildTestApp(t)
  const other = (await app.newLedger()).ledger.id
  for (let i = 0; i < 2 * PEER_DRAINS_OF_LEDGER_MAX; i++) await addPeer(app)
  await addPeer(app, 'active', other)
  await app.sql(CURSORS)
  const pool = openTestPool(app.database.workerUrl, { max: 1 })
  t.after(() => pool.end())
  const take = () => withPooledTransaction(pool, (client) => takePeerTurns(client, 1_000, 60_000))
  const countOf = (turns: readonly PeerTurn[]) => {
    const isOthers = ({ ledgerId }: PeerTurn) => formatId('led', ledgerId) === other
    return { others: turns.filter(isOthers).length, all: turns.length }
  }

  const turns = await take()
  assert.deepEqual(countOf(turns), { others: 1, all: PEER_DRAINS_OF_LEDGER_MAX + 1 })
  assert.equal(await hasWaitingPeers(pool), false)
  assert.deepEqual(await take(), [])

  await endPeerTurn(pool, turns.find(({ ledgerId }) => formatId('led', ledgerId) !== other)!, null)
  assert.equal(await hasWaitingPeers(pool), true)
})
