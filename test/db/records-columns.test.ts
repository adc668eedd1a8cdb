import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseId } from '../../src/proof/ids.ts'
import { OTHER_MEMBERS } from '../../src/proof/statement/record-members.ts'
import { buildTestApp, expectStatus } from '../helpers/app.ts'
import { connect } from '../helpers/connect.ts'
import { openEraser } from '../helpers/eraser.ts'
import { fullRecord } from '../helpers/every-member.ts'
import { erase } from '../helpers/personal-records.ts'

/** Columns that an erasure does not change. They show that a record existed, but not its content. */
const KEPT = new Set([
  'ledger_id',
  'record_id',
  'type',
  'first_seq',
  'actor_id',
  'on_behalf_of',
  'occurred_at',
  'traceparent',
  'digest',
  'payload_erased_seq',
  'parent_id',
  'other_members',
])

/** Maps a type of columns to a value that no row of this test has. */
const OTHER: Readonly<Record<string, string>> = {
  uuid: 'gen_random_uuid()',
  text: `'other/1'`,
  bigint: '1',
  integer: '7',
  'timestamp with time zone': `'2001-01-01Z'`,
  jsonb: `'{"other":"member"}'`,
  bytea: `'\\x5b2278225d'`,
}

test('no column of a record may change, and an erasure clears the content columns', async (t) => {
  const app = await buildTestApp(t)
  const columns = await app.sql<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'tallystick' and table_name = 'records' order by ordinal_position`,
  )
  const parent = await app.notarize()
  const agent = app.ledger.agent.id
  const { body, headers } = fullRecord({ agents: [agent, agent], records: [parent.id, parent.id] })
  const full = await app.notarize(body, { headers })
  const record = parseId('rec', full.id)
  const held = async () =>
    (
      await app.sql<Record<string, unknown>>('select * from tallystick.records where record_id = $1', [
        record,
      ])
    )[0]!

  const before = await held()
  const empty = columns.filter(({ name }) => before[name] === null).map(({ name }) => name)
  // No member uses the column `other_members` yet.
  const others = OTHER_MEMBERS.length === 0 ? ['other_members'] : []
  assert.deepEqual(empty, ['payload_erased_seq', ...others], 'a new column needs a member in the fixture')

  const owner = await connect(t, app.database.ownerUrl)
  for (const { name, type } of columns) {
    await t.test(`${name} does not change`, async () => {
      const other = OTHER[type]
      assert.ok(other, `no value of the type ${type}`)
      await assert.rejects(
        owner.query(`update tallystick.records set ${name} = ${other} where record_id = $1`, [record]),
        /a record may change only by an erasure|violates|append-only/,
      )
    })
  }

  expectStatus(202, await erase(app, full.id))
  await openEraser(t, app).run()
  const after = await held()
  for (const { name } of columns) {
    await t.test(`${name} ${KEPT.has(name) ? 'is kept' : 'goes'}`, () => {
      if (name === 'payload_erased_seq') assert.notEqual(after[name], null)
      else assert.deepEqual(after[name], KEPT.has(name) ? before[name] : null)
    })
  }
})
