import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { makeProve, OPERATOR } from '../../../src/http/connections/prove.ts'
import { UNPROVEN } from '../../../src/load/unproven.ts'
import { expectStatus, OPERATOR_KEY } from '../../helpers/app.ts'
import { addKey } from '../../helpers/more-keys.ts'
import { sharedApp } from '../../helpers/shared-app.ts'

test('only a valid key proves an owner; other keys share one owner and cost no repeated query', async () => {
  const app = await sharedApp()
  const ledger = app.ledger.ledger.id
  const { key } = app.ledger.key
  const prove = makeProve(app.deps)
  const expired = await addKey(app, { scopes: ['records:write'], expiresAtMs: Date.now() + 60_000 })
  const later = makeProve({ ...app.deps, now: () => Date.now() + 60_000 })
  const misses = () => app.deps.callers.figures.misses

  const [first, known] = [prove({ authorization: `Bearer ${key}` }), await addKnown()]
  assert.ok(first instanceof Promise, 'a key that is new is looked up')
  assert.equal((await first).owner, ledger)
  assert.equal(known.owner, ledger)

  const before = misses()
  assert.equal(
    prove({ authorization: `bearer ${OPERATOR_KEY}` }),
    prove({ authorization: `Bearer ${OPERATOR_KEY}` }),
  )
  for (const [what, authorization, owner] of [
    ['a key that is known', `Bearer ${key}`, ledger],
    ['the operator’s', `Bearer ${OPERATOR_KEY}`, OPERATOR],
    ['another one with its prefix', `${OPERATOR_KEY.replace('tlo_', 'Bearer tlo_x')}`, UNPROVEN],
    ['none', undefined, UNPROVEN],
    ['an empty one', 'Bearer ', UNPROVEN],
    ['another scheme', `Basic ${key}`, UNPROVEN],
    ['a wrong checksum', `Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`, UNPROVEN],
    ['a name alone', `Bearer ${key.slice(0, 30)}${'0'.repeat(48)}`, UNPROVEN],
  ] as const) {
    const proof = prove({ authorization })
    assert.ok(!(proof instanceof Promise), what)
    assert.equal(proof.owner, owner, what)
  }
  assert.equal(misses(), before)

  const body = `${key.slice(0, 30)}${'0'.repeat(40)}`
  const invented = `Bearer ${body}${crc32(body).toString(16).padStart(8, '0')}`
  assert.deepEqual(await prove({ authorization: invented }), { owner: UNPROVEN, key: null, failure: null })
  const again = prove({ authorization: invented })
  assert.ok(!(again instanceof Promise), 'it was looked up just before')
  assert.equal(misses(), before + 1)

  const ended = await later({ authorization: `Bearer ${expired}` })
  assert.deepEqual([ended.owner, ended.key?.caller?.ledger], [UNPROVEN, ledger], 'a thief may have it')

  async function addKnown() {
    expectStatus(200, await app.send('GET', '/v1/ledger'))
    const proof = prove({ authorization: `Bearer ${key}` })
    assert.ok(!(proof instanceof Promise), 'a key that is known is not waited for')
    return proof
  }
})
