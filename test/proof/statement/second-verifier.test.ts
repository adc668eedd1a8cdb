import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENTRY_KINDS, type EntryKind, LIFECYCLE } from '../../../src/proof/statement/kinds.ts'
import { ITEM_NAMES, SHOWN_TEXTS } from '../../../src/proof/statement/record-members.ts'
import { differencesOf, readSecondVerifier } from '../../helpers/second-verifier.ts'

const { kinds, steps, item, shown } = readSecondVerifier()

test('the Python verifier has the same kinds, with the same subjects, members, scopes and signers', () => {
  assert.deepEqual([...kinds.keys()], Object.keys(ENTRY_KINDS))
  for (const [kind, second] of kinds)
    assert.deepEqual(differencesOf(ENTRY_KINDS[kind as EntryKind], second), [], kind)
})

test('the Python verifier has the same steps of records', () => {
  const own = LIFECYCLE.filter(({ from }) => from !== null)
  assert.deepEqual(
    steps,
    own.map(({ from, kind, outcome = '', to }) => `${from} ${kind} ${outcome} ${to}`),
  )
})

test('the Python verifier has the same members of items, and compares the same shown members', () => {
  assert.deepEqual(item, ITEM_NAMES, 'python/src/tallystick/verify/line.py: _ITEM, _ITEM_OPTIONAL')
  assert.deepEqual(shown.toSorted(), SHOWN_TEXTS.toSorted(), 'python/src/tallystick/verify/shown.py: _signed')
})
