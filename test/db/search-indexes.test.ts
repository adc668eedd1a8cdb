import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { OTHER_MEMBERS } from '../../src/proof/statement/record-members.ts'

const SCHEMA = readFileSync(new URL('../../migrations/schema.sql', import.meta.url), 'utf8')

test('each searched member without a column has an index', () => {
  const searched = OTHER_MEMBERS.filter(([, { filter }]) => filter).map(([name]) => name)
  assert.deepEqual(withoutIndex(SCHEMA, searched), [], 'add it to migrations/0004-records.sql')
})

test('a member whose index is missing, or is of another member, is found', () => {
  const index = (name: string, member: string) =>
    `CREATE INDEX records_by_${name} ON tallystick.records USING btree (ledger_id, ((other_members ->> '${member}'::text)) COLLATE "C", first_seq NULLS FIRST);`
  const schema = [index('label', 'label'), index('area', 'label')].join('\n')
  assert.deepEqual(withoutIndex(schema, ['label', 'area', 'team']), ['area', 'team'])
})

function withoutIndex(schema: string, names: readonly string[]): string[] {
  return names.filter(
    (name) =>
      !schema.split('\n').some((line) => {
        const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
        return line.startsWith(`CREATE INDEX records_by_${snake} `) && line.includes(`->> '${name}'`)
      }),
  )
}
