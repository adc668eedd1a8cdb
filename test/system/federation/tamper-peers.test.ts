import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseId } from '../../../src/proof/ids.ts'
import {
  live,
  type Organisation,
  offer,
  peer,
  registerDelivery,
  share,
  startOrganisations,
  untilBoth,
} from '../../helpers/federation.ts'
import {
  type Column,
  deleteRow,
  dropDefences,
  keepTable,
  listColumns,
  nameOf,
  restoreTable,
  tamper,
  verdictOf,
} from '../../helpers/tamper.ts'
import { until } from '../../helpers/wait.ts'

/**
 * Columns of a ledger's data about its peers that are not evidence, each with the reason. This test works like
 * tamper-columns.test.ts.
 */
const NOT_EVIDENCE: Record<string, string> = {
  'peers.name': 'what the administrator calls the peer',
  'peers.created_by': 'who asked for the peering; what was agreed stands in the handshake',
  'peers.created_at': 'when the peering was asked for; when it was agreed its entry says',
  'peers.expires_at': 'of the invitation, which is used or gone',
  'peers.sealed_token': 'of the invitation, which is used or gone',
  'peers.token_hash': 'of the invitation, which is used or gone',
  'peer_keys.mac': 'says who is believed from now on, nothing about what was done',
  'peer_keys.since': 'when it was heard of; its stretch is in the chain',
  'peer_budgets.*': 'how much more is taken',
  'peer_inboxes.*': 'locks',
  'peer_nonces.*': 'which requests came lately',
  'peer_cursors.*': 'how far the other side was told; anybody who doubts it asks it',
  'ledger_rotations.*': 'which entries peers are told of first: what they are told is the entries',
  'peer_backlog.*': 'what the other side is to be told',
  'peer_receipts.*': 'what the other side signed, as its own chain holds it',
  'peer_dead_letters.*': 'what the other side would not take',
  'peer_witnesses.*':
    'what the other side has signed, and the keys of witnesses: readers name those that they trust',
  'peer_forks.*': 'what the other side signed and this one refused; in no chain of this side',
}

const EVIDENCE_TABLES = [
  'peers',
  'peer_keys',
  'shared_records',
  'received_entries',
  'remote_records',
  'offers',
]
/**
 * Tables of copies. A missing copy is no fault, because nothing signed shows that it arrived. But a stored copy must
 * equal what was signed.
 */
const COPIES = ['received_documents', 'received_types']

const OPERATIONAL = Object.keys(NOT_EVIDENCE)
  .filter((name) => name.endsWith('.*'))
  .map((name) => name.slice(0, -2))

test('a change by the database’s owner to rows about peers is found', {
  timeout: 280_000,
}, async (t) => {
  const [one, other] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  await fill(one, other)
  for (const part of ['worker', 'api'] as const) await one.stop(part)
  await fillOperational(one)
  await dropDefences(one)
  const ledgerId = parseId('led', one.ledger)
  const verdict = () => verdictOf(one.database.superuserUrl, one.ledger)
  await t.test('an unchanged ledger verifies', async () => assert.equal(await verdict(), 'OK'))

  const columns = (await listColumns(one)).filter(isOfPeers)
  for (const column of columns.filter((one) => !reasonOf(one))) {
    await t.test(`${nameOf(column)} is verified`, async () => {
      const restore = await tamper(one, column, ledgerId)
      const found = await verdict()
      await restore()
      assert.notEqual(found, 'OK', `${nameOf(column)} was changed, and verify did not see it`)
    })
  }
  for (const table of EVIDENCE_TABLES) {
    for (const order of ['asc', 'desc'] as const) {
      await t.test(`${table}: the ${order === 'asc' ? 'first' : 'last'} row deleted`, async () => {
        await keepTable(one, table)
        await deleteRow(one, table, order, ledgerId)
        const found = await verdict()
        await restoreTable(one, table)
        assert.notEqual(found, 'OK')
      })
    }
  }
  await t.test('all columns that are listed as no evidence may change at once', async () => {
    for (const column of columns.filter(reasonOf)) await tamper(one, column, ledgerId)
    assert.equal(await verdict(), 'OK')
  })
})

const reasonOf = (column: Column) => NOT_EVIDENCE[nameOf(column)] ?? NOT_EVIDENCE[`${column.table}.*`]

function isOfPeers(column: Column): boolean {
  const tables = [...EVIDENCE_TABLES, ...COPIES, ...OPERATIONAL]
  return tables.includes(column.table) || nameOf(column) === 'gated_records.performer_remote'
}

/** Makes each organisation the home and the guest of records with every kind of document, one of them erased. */
async function fill(one: Organisation, other: Organisation): Promise<void> {
  const id = await peer(one, other)
  for (const [home, guest] of [
    [one, other],
    [other, one],
  ] as const) {
    await registerDelivery(home)
    const performer = await guest.addAgent('performer')
    const shared = { home, guest, peer: id, performer }
    const record = await share(shared, { references: ['erp:order/1'] })
    await live(record)
    await home.ask('DELETE', `/v1/records/${record.id}/payload`, { body: { code: 'expired' } })
    const pending = await share({ ...shared, documents: 'digests' })
    await untilBoth(pending, 'CREATED')
    await offer(pending, 'activate')
    await untilBoth(pending, 'ACTIVE')
    const kept = await share(shared, { references: ['erp:order/2'] })
    await untilBoth(kept, 'CREATED')
  }
  await until(async () => {
    const [erased] = await one.sql('select from tallystick.received_documents where erased_seq is not null')
    return erased !== undefined
  })
}

/** Fills tables that have rows only during an operation, or after a fault. */
async function fillOperational(side: Organisation): Promise<void> {
  const peerIds = 'select ledger_id, peer_id from tallystick.peers'
  await side.sql(`insert into tallystick.peer_backlog select p.*, p.peer_id, 0 from (${peerIds}) p`)
  await side.sql(`insert into tallystick.peer_dead_letters (ledger_id, peer_id, seq, kind, code)
    select p.*, 0, 'record-created', 'test' from (${peerIds}) p`)
  await side.sql(`insert into tallystick.peer_forks (ledger_id, peer_id, leaf, remote_seq, held_leaf, envelope)
    select p.*, sha256('fork'), 0, sha256('held'), 'x' from (${peerIds}) p`)
  await side.sql(
    `insert into tallystick.ledger_rotations select ledger_id, 0, sha256('key') from tallystick.ledgers`,
  )
  await side.sql(`insert into tallystick.peer_nonces (ledger_id, peer_id, nonce)
    select p.*, substr(sha256('nonce'), 1, 16) from (${peerIds}) p`)
}
