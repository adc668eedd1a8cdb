import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { makeCursorRound } from '../../../src/followers/audit/check-cursors.ts'
import { makeVerificationRound, verifyWaiting } from '../../../src/followers/verification/verify-waiting.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { auditOf, cursorOf, followAll, openFaults, undefended } from '../../followers/audit/set-up.ts'
import { openBoss, openDeps } from '../../followers/verification/set-up.ts'
import type { Test } from '../../helpers/app.ts'
import { connect } from '../../helpers/connect.ts'
import { buildGatedApp } from '../../helpers/gated-app.ts'

/*
 * Finding M3 (c) in SECURITY.md: an attacker has only the worker's database login, and moves the follower's cursor past
 * an unsigned entry. Without a defence no fault is found, and the worker signs entries that depend on the unsigned
 * entry.
 */

test('a cursor moved past an unsigned entry is refused, and the entry is found', async (t) => {
  const { app, audit, round, move } = await setUp(t)
  const before = await cursorOf(audit, app.ledger.ledger.id)
  const { id } = await app.create({ gate: 'auto' })
  await app.take(id, 'activate')
  await undefended(audit, unsignNewest)
  const unsigned = before + 1
  await app.take(id, 'completions')
  await move('size')
  await round()
  assert.equal((await app.get(id)).state, 'SUBMITTED')
  // The cursor is at the end of the chain, so the follower alone would have nothing to do.
  await makeCursorRound(audit.follower)()
  await followAll(audit)
  await round()
  assert.equal((await app.get(id)).state, 'SUBMITTED')
  const [fault] = await openFaults(audit)
  assert.deepEqual([fault?.found_by, Number(fault?.seq)], ['follower', unsigned])
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), unsigned)
  assert.match(JSON.stringify(audit.alarms[0]), new RegExp(`${app.ledger.ledger.id}`))
  await move('size')
  await round()
  assert.equal((await app.get(id)).state, 'SUBMITTED')
})

test('a cursor of another ledger, or moved while the ledger grows, is refused without a loop', async (t) => {
  const { app, audit, round, move } = await setUp(t)
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const { id } = await app.reach('SUBMITTED', { gate: 'auto' })
  const other = await app.newLedger()
  await followAll(audit)
  await audit.pool.query(
    `update tallystick.audit_cursors c set next_seq = o.next_seq, chain = o.chain, envelope_kid = o.envelope_kid, mac = o.mac
     from tallystick.audit_cursors o where c.ledger_id = $1 and o.ledger_id = $2`,
    [ledgerId, parseId('led', other.ledger.id)],
  )
  await round()
  assert.equal((await app.get(id)).state, 'SUBMITTED')
  await followAll(audit)
  assert.equal(audit.alarms.length, 1, 'said once')
  await move('size - 1')
  await app.notarize()
  await followAll(audit)
  assert.equal(audit.alarms.length, 3, 'both ledgers’ were moved')
  assert.deepEqual(await openFaults(audit), [], 'the ledger has no fault')
  await round()
  assert.equal((await app.get(id)).state, 'ACCEPTED')
})

test('an older cursor of the ledger delays verification and raises no alarm', async (t) => {
  const { app, audit, round } = await setUp(t)
  const { rows } = await audit.pool.query('select * from tallystick.audit_cursors')
  const { id } = await app.reach('SUBMITTED', { gate: 'auto' })
  await followAll(audit)
  for (const row of rows)
    await audit.pool.query(
      'update tallystick.audit_cursors set next_seq = $2, chain = $3, envelope_kid = $4, mac = $5 where ledger_id = $1',
      [row.ledgerId, row.nextSeq, row.chain, row.envelopeKid, row.mac],
    )
  await round()
  assert.equal((await app.get(id)).state, 'SUBMITTED')
  await followAll(audit)
  await round()
  assert.equal((await app.get(id)).state, 'ACCEPTED')
  assert.deepEqual(audit.alarms, [])
})

test('locks of the API’s login keep the follower from no ledger', async (t) => {
  const { app, audit } = await setUp(t)
  const thief = await connect(t, app.database.apiUrl)
  await thief.query(
    `begin; select pg_advisory_xact_lock(hashtextextended('audit cursor ' || ledger_id, 0)) from tallystick.ledgers`,
  )
  for (const how of ['update', 'no key update', 'share', 'key share'])
    await assert.rejects(
      (await connect(t, app.database.apiUrl)).query(`select from tallystick.audit_cursors for ${how}`),
      /permission denied/,
    )
  const before = await cursorOf(audit, app.ledger.ledger.id)
  await app.notarize()
  await followAll(audit)
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), before + 1)
})

const unsignNewest = `alter table tallystick.entries drop constraint entries_leaf;
  update tallystick.entries e set envelope = '\\x${randomBytes(64).toString('hex')}'
  from tallystick.chain_heads h where h.ledger_id = e.ledger_id and e.seq = h.size - 1 and e.kind = 'record-activated'`

async function setUp(t: Test) {
  const app = await buildGatedApp(t)
  const audit = await auditOf(t, app)
  const worker = openDeps(t, app)
  const boss = await openBoss(t, worker.pool)
  const deps = { ...worker, boss, wakeVerification() {}, typeWaitMsMax: 30_000 }
  // Runs the first round before any completion waits. If completions already wait when a worker starts, the worker
  // makes jobs that verify them.
  await makeVerificationRound(deps)()
  await followAll(audit)
  return {
    app,
    audit,
    round: () => verifyWaiting(deps),
    /** Moves the cursor with the worker's login and an invented MAC. */
    move: (to: string) =>
      audit.pool.query(
        `update tallystick.audit_cursors c set next_seq = ${to}, mac = $1,
           chain = (select e.chain from tallystick.entries e where e.ledger_id = c.ledger_id and e.seq = ${to} - 1)
         from tallystick.chain_heads h where h.ledger_id = c.ledger_id`,
        [randomBytes(32)],
      ),
  }
}
