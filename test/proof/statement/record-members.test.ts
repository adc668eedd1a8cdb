import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseId } from '../../../src/proof/ids.ts'
import { checkOf } from '../../../src/proof/statement/predicates.ts'
import { filterOf } from '../../../src/proof/statement/record-filters.ts'
import {
  addSigned,
  type ColumnlessMember,
  columnsOfSigned,
  mapOthers,
  mapSearched,
  OTHER_MEMBERS,
  otherMembersOf,
  othersOf,
  type RecordMember,
  type SignedMembers,
  STORED_MEMBERS,
} from '../../../src/proof/statement/record-members.ts'

const AGENT = 'agt_01jegv5gyme018000000000002'
const SIGNED = {
  onBehalfOf: AGENT,
  occurredAt: '2026-11-19T08:30:00.000Z',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  parent: 'rec_01jegv5gyme05800000000000a',
} as const satisfies SignedMembers

test('signed members survive the conversion to columns and back', () => {
  const columns = columnsOfSigned(SIGNED)
  assert.deepEqual(
    STORED_MEMBERS.filter(({ row }) => columns[row] === null),
    [],
  )
  assert.equal(columns.otherMembers, null)
  const references = 'cd'.repeat(32)
  assert.deepEqual(addSigned({}, columns, references), { ...SIGNED, references })
  assert.deepEqual(addSigned({ record: 'rec' }, columnsOfSigned({}), null), { record: 'rec' })
})

test('addSigned formats agents with the caller’s function', () => {
  const found = addSigned({}, columnsOfSigned(SIGNED), null, (agent) => `agent ${agent}`)
  assert.equal(found.onBehalfOf, `agent ${parseId('agt', AGENT)}`)
})

const LABEL: RecordMember & ColumnlessMember = {
  of: 'record',
  pattern: /^[a-z]+$/,
  filter: true,
  shown: true,
  description: 'a word',
}

test('members without a column are ordered by name, and match their pattern', () => {
  const [stored] = Object.values(STORED_MEMBERS)
  const { name: _, ...column } = stored!
  const inColumn: RecordMember = { of: 'entry', stored: column, shown: true }
  assert.deepEqual(othersOf({ label: LABEL, inColumn, area: LABEL }), [
    ['area', LABEL],
    ['label', LABEL],
  ])
  const check = checkOf(LABEL)
  assert.deepEqual(['word', 'Word', 1].map(check), [true, false, false])
})

test('a member without a column is stored as signed, and searchable only if the table allows a filter', () => {
  const others = OTHER_MEMBERS as (readonly [string, ColumnlessMember])[]
  const added = [['label', LABEL] as const, ['secret', { ...LABEL, filter: false }] as const]
  others.push(...added)
  try {
    const signed = { ...SIGNED, label: 'red' } as SignedMembers
    const columns = columnsOfSigned(signed)
    assert.deepEqual(columns.otherMembers, { label: 'red' })
    assert.deepEqual(otherMembersOf({ label: 'red', secret: 'x' }), { label: 'red', secret: 'x' })
    assert.deepEqual(addSigned({}, columns, null), signed)
    const descriptions = Object.fromEntries(others.map(([name, member]) => [name, member.description]))
    assert.deepEqual(
      mapOthers((member) => member.description),
      descriptions,
    )
    assert.equal(
      Object.hasOwn(
        mapSearched((name: string) => name),
        'secret',
      ),
      false,
    )
    const option = ['label', 'TEXT', 'a word']
    const filter = { form: LABEL.pattern, description: 'a word', option, mcp: 'a word', label: 'label' }
    assert.deepEqual(filterOf('label', LABEL), filter)
  } finally {
    others.splice(-added.length)
  }
})
