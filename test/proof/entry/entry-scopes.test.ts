import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES } from '../../../src/ledgers/scopes.ts'
import { scopeOfEntry } from '../../../src/proof/entry/entry-scopes.ts'
import { LedgerActors } from '../../../src/proof/ledger/actors.ts'
import { ENTRY_KINDS, type EntryKind } from '../../../src/proof/statement/kinds.ts'
import { makeId } from '../../helpers/test-chain.ts'
import { assertRefused } from '../../helpers/verify-chain.ts'

const [agent, key, ledger] = [makeId('agt'), makeId('key'), makeId('led')]
const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[]

function actorsWith(scopes: readonly string[]): LedgerActors {
  const actors = new LedgerActors()
  actors.registerAgent(agent, '00')
  actors.createKey(key, '00', { agent, scopes: [...scopes], expiresAt: null }, { key: null, atMs: 0 })
  return actors
}

const by = (kind: EntryKind, actor: string, actorKey: string | null) => ({
  kind,
  actor,
  key: actorKey,
  actedFor: [],
  atMs: 0,
  statement: null,
})

for (const kind of KINDS) {
  const { scope, system } = ENTRY_KINDS[kind]
  test(`${kind} is accepted only from ${[scope, system && 'system'].filter(Boolean).join(' and ')}`, () => {
    const asSystem = () => actorsWith([]).verifyActor(by(kind, 'system', null))
    if (system) asSystem()
    else assertRefused('actor_not_entitled', asSystem, /must be an agent, not system/)
    const asKey = (scopes: readonly string[]) => actorsWith(scopes).verifyActor(by(kind, agent, key))
    if (scope === null) {
      assertRefused('actor_not_entitled', () => asKey(SCOPES), /must be system, not an agent/)
      return
    }
    asKey([scope])
    const others = SCOPES.filter((one) => one !== scope)
    assert.equal(others.length, SCOPES.length - 1, 'a scope that no key can have')
    assertRefused('actor_not_entitled', () => asKey(others), /lacks the scope/)
  })
}

test('an entry by a remote agent needs no key of this ledger', () => {
  actorsWith([]).verifyActor(by('record-activated', `${ledger}/${agent}`, null))
})

test('scopeOfEntry returns payloads:erase for payload-erased', () => {
  assert.equal(scopeOfEntry('payload-erased'), 'payloads:erase')
})
