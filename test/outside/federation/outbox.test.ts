import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DrainedPeer } from '../../../src/db/peers/peer-leases.ts'
import { entriesBody } from '../../../src/http/schemas/peers.ts'
import { validate } from '../../../src/http/zod-validation.ts'
import { PEER_REQUEST_BYTES_MAX, PEER_TYPES_PER_REQUEST_MAX } from '../../../src/outside/federation/limits.ts'
import { readOutgoing, renderOutgoing } from '../../../src/outside/federation/outbox.ts'
import type { SentEntries } from '../../../src/outside/federation/receive.ts'
import { RequestLimits } from '../../../src/outside/federation/request-limits.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { sharedApp } from '../../helpers/shared-app.ts'
import { addPeer } from '../../helpers/test-peers.ts'

const LONG = 60_000

test('every request fits the limits of a peer and has the types of its records', async (t) => {
  const app = await sharedApp()
  const { peer, peerId } = await addPeer(app)
  const post = async (url: string, body: object) => {
    const response = await app.send('POST', url, { body })
    assert.equal(response.statusCode, 201, response.body)
  }
  const names: string[] = []
  for (let i = 0; i < PEER_TYPES_PER_REQUEST_MAX + 6; i++) {
    const text = 'x'.repeat(i < 40 ? LONG : 1)
    const payloadSchema = { type: 'object', description: text }
    const name = `kind-${i}`
    await post('/v1/types', { name, version: 1, payloadSchema, evidenceSchema: { type: 'object' } })
    await post('/v1/records', {
      type: `${name}/1`,
      payload: { text },
      share: [{ peer, documents: 'whole' }],
    })
    names.push(name)
  }
  const pool = openTestPool(app.database.workerUrl, { max: 1 })
  t.after(() => pool.end())
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const size = (await app.entries()).length
  const known = new Set<string>()
  let [sent, nextSeq] = [0, 0]
  while (nextSeq < size) {
    const of = { ledgerId, peerId, nextSeq, size, backlog: null } as unknown as DrainedPeer
    const outgoing = await readOutgoing(pool, of, new RequestLimits(null).max)
    const body = renderOutgoing(outgoing)
    if (outgoing.entries.length > 0) {
      assert.ok(Buffer.byteLength(body) <= PEER_REQUEST_BYTES_MAX, `${body.length} bytes`)
      const { entries, types = [] } = validate(entriesBody, 'body', JSON.parse(body)) as SentEntries
      for (const { name } of types) known.add(name as string)
      sent += entries.length
      assert.deepEqual(
        names.slice(0, sent).filter((name) => !known.has(name)),
        [],
      )
    }
    assert.ok(outgoing.nextSeq > nextSeq)
    nextSeq = outgoing.nextSeq
  }
  assert.equal(sent, names.length)
})
