import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BODY_BYTES_MAX } from '../../../src/load/limits.ts'
import { parseInvitation } from '../../../src/outside/federation/invitation.ts'
import {
  PEER_INTRODUCTION_BYTES_MAX,
  PEER_REQUEST_BYTES_MAX,
} from '../../../src/outside/federation/limits.ts'
import { costlyTexts } from '../../helpers/costly-json.ts'
import { startOrganisations } from '../../helpers/federation.ts'
import { HELD_MS_MAX, heldWhile } from '../../helpers/held-loop.ts'
import { Mallory, meetMallory } from '../federation/mallory.ts'

/* Finding H4, for peers. Tests costly bodies that a peer sends, or that strangers send to the same routes. */

test('a costly body of a peer is refused without blocking the server', async (t) => {
  const mallory = await meetMallory(t)
  // The first large body starts a thread, so it is not measured.
  await mallory.request('entries', `{"x":"${'x'.repeat(BODY_BYTES_MAX)}"}`)
  for (const [what, text] of Object.entries(costlyTexts(PEER_REQUEST_BYTES_MAX, '"entries":'))) {
    await t.test(what, async (t) => {
      const { heldMs, result } = await heldWhile(() => mallory.request('entries', text))
      t.diagnostic(`held for ${heldMs} ms; ${result.body.code}`)
      assert.ok([400, 422].includes(result.status), JSON.stringify(result))
      assert.ok(heldMs < HELD_MS_MAX, `held for ${heldMs} ms`)
    })
  }
})

test('a costly introduction of an unknown peer is refused quickly, and a longer one with 413', async (t) => {
  const [victim] = await startOrganisations(t, 1)
  const mallory = await Mallory.open(t, victim!)
  const invitation = await mallory.invite()
  const { peer } = parseInvitation(invitation)!
  mallory.peer = peer
  // The sizes are the former maximum size of a body, and the current maximum size.
  for (const [bytes, statuses] of [
    [256 * 1024, [413]],
    [PEER_INTRODUCTION_BYTES_MAX, [400, 422]],
  ] as const) {
    for (const [what, text] of Object.entries(costlyTexts(bytes, '"peer":', ',"invited":{},"token":""'))) {
      const { heldMs, result } = await heldWhile(() => mallory.request('peerings', text))
      assert.ok((statuses as readonly number[]).includes(result.status), `${what}: ${result.status}`)
      assert.ok(heldMs < HELD_MS_MAX, `${what}: held for ${heldMs} ms`)
    }
  }
  // An identity with the longest allowed name is still accepted.
  const url = `${mallory.url}/${'x'.repeat(2_000)}`
  const { status, body } = await mallory.introduce(invitation, { invited: mallory.identity({ url }) })
  assert.equal(status, 200, JSON.stringify(body))
})
