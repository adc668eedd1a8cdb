import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPooledTransaction } from '../../../src/db/connect/transaction.ts'
import { findSeqOfVersion } from '../../../src/db/peers/peer-leases.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { buildGatedApp } from '../../helpers/gated-app.ts'

test('finds the seq of any version of a record, also repeatedly on one connection', async (t) => {
  const app = await buildGatedApp(t)
  const { id } = await app.reach('ACTIVE')
  const [ledgerId, recordId] = [parseId('led', app.ledger.ledger.id), parseId('rec', id)]
  const rows = await app.sql<{ seq: string }>(
    "select seq from tallystick.entries where kind in ('record-created', 'record-activated') order by seq",
  )
  const [created, activated] = rows.map(({ seq }) => Number(seq))
  await withPooledTransaction(app.deps.readPool, async (client) => {
    const find = (version: number) => findSeqOfVersion(client, ledgerId, recordId, version)
    assert.equal(await find(1), created)
    assert.equal(await find(2), activated)
    assert.equal(await find(3), null)
    assert.equal(await find(1), created)
  })
})
