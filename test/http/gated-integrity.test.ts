import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../src/db/connect/client.ts'
import { parseId } from '../../src/proof/ids.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import {
  type AgentName,
  buildGatedApp,
  FAILING,
  type GatedApp,
  type StepName,
  sharedGatedApp,
} from '../helpers/gated-app.ts'

/*
 * Changes columns as the owner of the database, who can write anything into them and can insert copies of signed
 * entries. These tests check that the server compares the columns with the signed entries before it signs an entry that
 * moves money.
 */

async function tamper(
  app: GatedApp,
  record: { id: string },
  sql: string,
  values: unknown[] = [],
): Promise<void> {
  await withClient(app.database.superuserUrl, async (client) => {
    await client.query("set session_replication_role = 'replica'")
    const { rowCount } = await client.query(sql, [parseId('rec', record.id), ...values])
    assert.ok(rowCount! > 0, 'nothing was tampered with')
  })
}

async function assertFault(app: GatedApp, { id }: { id: string }, steps: readonly StepName[]): Promise<void> {
  const before = await app.written()
  for (const step of steps) {
    const problem = assertProblem(await app.step(id, step), 500, 'integrity_fault')
    assert.equal(problem['retryable'], false)
  }
  assert.deepEqual(await app.written(), before)
}

const moveTo = `update tallystick.gated_records set state = $2 where record_id = $1`

test('columns whose state contradicts the entries', async (t) => {
  const app = await sharedGatedApp()

  for (const from of ['CREATED', 'ACTIVE', 'SUBMITTED', 'CANCELLED', 'ACCEPTED', 'REJECTED', 'DISCREPANT']) {
    await t.test(`VERIFIED instead of ${from}: verdict and revision get integrity_fault`, async () => {
      const record = await app.reach(from)
      await tamper(app, record, moveTo, ['VERIFIED'])
      await assertFault(app, record, ['verdict', 'revision'])
    })
  }

  await t.test('REJECTED instead of ACCEPTED: overturn gets integrity_fault', async () => {
    const record = await app.reach('ACCEPTED')
    await tamper(app, record, moveTo, ['REJECTED'])
    await assertFault(app, record, ['overturn'])
  })

  await t.test('REJECTED instead of VERIFIED: overturn gets integrity_fault', async () => {
    const record = await app.reach('VERIFIED')
    await tamper(app, record, moveTo, ['REJECTED'])
    await assertFault(app, record, ['overturn'])
  })

  await t.test('the reason of the fault is in the log, and not in the answer', async () => {
    const record = await app.reach('SUBMITTED')
    await tamper(app, record, moveTo, ['VERIFIED'])
    const response = await app.step(record.id, 'verdict')
    const { requestId } = assertProblem(response, 500, 'integrity_fault')
    assert.doesNotMatch(response.body, /SUBMITTED|columns/)
    const line = app
      .logs()
      .split('\n')
      .find((text) => text.includes(requestId as string) && text.includes('transition_refused'))
    assert.ok(line, 'the log says why')
  })
})

test('columns whose version, digest or entry contradicts the entries', async (t) => {
  const app = await sharedGatedApp()

  await t.test('a higher or lower version: verdict and revision get integrity_fault', async () => {
    for (const by of [1, -1]) {
      const record = await app.reach('VERIFIED')
      await tamper(
        app,
        record,
        `update tallystick.gated_records set version = version + $2 where record_id = $1`,
        [by],
      )
      await assertFault(app, record, ['verdict', 'revision'])
    }
  })

  await t.test('a row rolled back to an earlier round: the verdict is refused', async () => {
    const { id } = await app.reach('VERIFIED')
    const verified = await app.get(id)
    await app.take(id, 'revision')
    await app.take(id, 'completions', { body: { evidence: FAILING } })
    const sql = `update tallystick.gated_records set state = 'VERIFIED', version = $2, last_seq = $3, revisions = 0
      where record_id = $1`
    await tamper(app, { id }, sql, [verified.version, verified.entry.seq])
    // The changed columns agree with each other, and contradict only the entries.
    const response = await app.step(id, 'verdict')
    assert.notEqual(response.statusCode, 200, 'an entry of this version is there already')
  })

  for (const [what, sql] of [
    [
      'the payload',
      `update tallystick.records set digest = sha256('another') where record_id = $1 and $2 > 0`,
    ],
    [
      'the evidence',
      `update tallystick.documents set digest = sha256('another') 
        where ledger_id = (select ledger_id from tallystick.records where record_id = $1) and seq = $2`,
    ],
  ] as const) {
    await t.test(`another digest of ${what}: verdict and revision get integrity_fault`, async () => {
      const record = await app.reach('VERIFIED')
      await tamper(app, record, sql, [record.gated.completion.seq])
      await assertFault(app, record, ['verdict', 'revision'])
    })
  }

  await t.test('another envelope of the last entry: verdict and revision get integrity_fault', async () => {
    const record = await app.reach('VERIFIED')
    const other = await app.reach('VERIFIED')
    const sql = `update tallystick.entries e set envelope = o.envelope, leaf = o.leaf from tallystick.entries o
      where e.subject_id = $1 and e.seq = $2 and o.ledger_id = e.ledger_id and o.seq = $3`
    await tamper(app, record, sql, [record.entry.seq, other.entry.seq])
    await assertFault(app, record, ['verdict', 'revision'])
  })
})

test('columns whose parties or terms contradict the entries', async (t) => {
  const app = await sharedGatedApp()
  const idOf = (name: AgentName) => parseId('agt', app.agents[name].id)
  async function assertFaultOf(record: { id: string }, step: StepName, as: AgentName): Promise<void> {
    const before = await app.written()
    assertProblem(await app.step(record.id, step, { as }), 500, 'integrity_fault')
    assert.deepEqual(await app.written(), before)
  }
  const set = (column: string) => `update tallystick.gated_records set ${column} = $2 where record_id = $1`

  await t.test('another principal: its verdict and revision get integrity_fault', async () => {
    const record = await app.reach('VERIFIED')
    await tamper(app, record, set('principal_id'), [idOf('gateway')])
    for (const step of ['verdict', 'revision'] as const) await assertFaultOf(record, step, 'gateway')
  })

  await t.test('another performer: the real performer’s overturn gets integrity_fault', async () => {
    const both = await app.addAgent('performs and overturns', ['records:write', 'verdicts:overturn'])
    for (const performer of [both.id, undefined]) {
      const { id } = await app.create({ performer })
      await app.take(id, 'activate', { as: both })
      await app.take(id, 'completions', { as: both })
      await app.verify(id)
      await app.take(id, 'verdict', { body: { verdict: 'reject' } })
      await tamper(app, { id }, set('performer_id'), [idOf('stranger')])
      const before = await app.written()
      assertProblem(await app.step(id, 'overturn', { as: both }), 500, 'integrity_fault')
      assert.deepEqual(await app.written(), before)
    }
  })

  await t.test(
    'gate principal instead of auto: verification fails, and the principal cannot judge',
    async () => {
      const { id } = await app.create({ gate: 'auto' })
      await app.take(id, 'activate')
      await app.take(id, 'completions', { body: { evidence: FAILING } })
      await tamper(app, { id }, set('gate'), ['principal'])
      await assert.rejects(app.verify(id), /the database has the gate principal, but auto was signed/)
      assertProblem(await app.step(id, 'verdict'), 409, 'state_conflict')
    },
  )

  await t.test('a higher number of revisions: revision gets integrity_fault', async () => {
    const record = await app.reach('VERIFIED', { maxRevisions: 0 })
    await tamper(app, record, set('max_revisions'), [5])
    await assertFaultOf(record, 'revision', 'principal')
  })
})

test('an old pass verification that is inserted again after a revision', async (t) => {
  const app = await buildGatedApp(t)

  /**
   * Makes a record with two completions. The first completion passed the rules and was sent back for revision. The
   * second completion failed the rules or waits for verification.
   */
  async function revised(last: 'SUBMITTED' | 'DISCREPANT') {
    const { id, entry: old } = await app.reach('VERIFIED')
    await app.take(id, 'revision')
    await app.take(id, 'completions', { body: { evidence: FAILING } })
    const record = last === 'DISCREPANT' ? await app.verify(id) : await app.get(id)
    return { old, record }
  }

  /** Copies the entry at `old` to the end of the chain, as the record's next step. */
  async function insertAgain(
    record: { id: string; entry: { seq: number } },
    old: number,
    version: string,
  ): Promise<void> {
    await app.sql('drop index if exists tallystick.entries_by_record')
    const columns = 'ledger_id, kind, subject_id, actor_id, key_id, recorded_at, leaf, envelope'
    await tamper(
      app,
      record,
      `insert into tallystick.entries (${columns}, seq, version, prev_seq, chain)
       select ${columns
         .split(', ')
         .map((c) => `e.${c}`)
         .join(', ')}, h.size, ${version}, g.last_seq, sha256(h.chain || e.leaf)
       from tallystick.entries e
       join tallystick.chain_heads h on h.ledger_id = e.ledger_id
       join tallystick.gated_records g on g.ledger_id = e.ledger_id and g.record_id = e.subject_id
       where e.subject_id = $1 and e.seq = $2`,
      [old],
    )
    await tamper(
      app,
      record,
      `update tallystick.gated_records g set state = 'VERIFIED', last_seq = e.seq, version = e.version
       from (select * from tallystick.entries where subject_id = $1 order by seq desc limit 1) e
       where g.record_id = $1`,
    )
    await tamper(app, record, `update tallystick.chain_heads set size = size + 1 where $1::uuid is not null`)
  }

  for (const last of ['SUBMITTED', 'DISCREPANT'] as const) {
    for (const [what, version] of [
      ['as the next version', 'g.version + 1'],
      ['as the version that it was', 'e.version'],
    ] as const) {
      await t.test(
        `${what}, with the new completion ${last}: verdict and revision get integrity_fault`,
        async () => {
          const { old, record } = await revised(last)
          await insertAgain(record, old.seq, version)
          assert.equal((await app.get(record.id)).state, 'VERIFIED')
          await assertFault(app, record, ['verdict', 'revision'])
        },
      )
    }
  }
})
