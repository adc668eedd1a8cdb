import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENTRY_KINDS, type EntryKind, LIFECYCLE } from '../../../src/proof/statement/kinds.ts'
import { differencesOf, readSecondVerifier } from '../../helpers/second-verifier.ts'

const { kinds, steps } = readSecondVerifier()

test('the second verifier has the same kinds, each with the same subjects, members, scope and signers', () => {
  assert.deepEqual([...kinds.keys()], Object.keys(ENTRY_KINDS))
  for (const [kind, second] of kinds)
    assert.deepEqual(differencesOf(ENTRY_KINDS[kind as EntryKind], second), [], kind)
})

test('the second verifier has the same steps of records', () => {
  const own = LIFECYCLE.filter(({ from }) => from !== null)
  assert.deepEqual(
    steps,
    own.map(({ from, kind, outcome = '', to }) => `${from} ${kind} ${outcome} ${to}`),
  )
})
