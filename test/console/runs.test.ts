import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Branch, branchesOf } from '../../console/runs.ts'
import type { LedgerRecord } from '../../sdk/generated/api.ts'

const record = (id: string, type: string, parent: string | null) => ({ id, type, parent }) as LedgerRecord
const drawn = (branches: readonly Branch[]): unknown[] =>
  branches.map(({ record: { id }, isOpen, below }) => [isOpen ? `${id} open` : id, ...drawn(below)])

test('records are drawn below their parents, and actions without an outcome are marked', () => {
  const records = [
    record('a', 'agent-action/1', null),
    record('b', 'agent-action/1', 'a'),
    record('c', 'agent-outcome/1', 'b'),
    record('d', 'agent-action/1', 'a'),
    record('e', 'approval/1', 'd'),
    record('f', 'agent-outcome/1', 'a'),
    record('g', 'generic/1', 'elsewhere'),
  ]
  assert.deepEqual(drawn(branchesOf(records)), [['a', ['b', ['c']], ['d open', ['e']], ['f']], ['g']])
})
