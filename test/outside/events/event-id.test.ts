import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { eventId, formatEventId } from '../../../src/outside/events/event-id.ts'
import { bytesOfUuid, uuidOfBytes } from '../../../src/proof/ids.ts'

const uuid = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(uuidOfBytes)
const event = fc.record({
  ledgerId: uuid,
  endpoint: fc.option(uuid),
  seq: fc.nat(Number.MAX_SAFE_INTEGER),
  type: fc.constantFrom('verdict.rendered', 'signal.emitted'),
  timestampMs: fc.nat(2 ** 48 - 1),
})

test('an event’s id is a UUIDv7 of its time, and the same each time', () => {
  fc.assert(
    fc.property(event, (about) => {
      const id = Buffer.from(bytesOfUuid(eventId(about)))
      assert.equal(id.readUIntBE(0, 6), about.timestampMs)
      assert.equal(id[6]! >> 4, 7)
      assert.equal(id[8]! >> 6, 0b10)
      assert.equal(eventId({ ...about }), uuidOfBytes(id))
      assert.match(formatEventId(eventId(about)), /^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    }),
  )
})

test('events that differ in any property have different ids', () => {
  fc.assert(
    fc.property(event, event, (one, other) => {
      for (const name of ['ledgerId', 'endpoint', 'seq', 'type'] as const) {
        const changed = { ...one, [name]: other[name] }
        const isSame = JSON.stringify(changed) === JSON.stringify(one)
        assert.equal(eventId(changed) === eventId(one), isSame, name)
      }
    }),
  )
})

test('an event’s id equals the example of docs/reference/events.md', () => {
  const ledgerId = Buffer.alloc(16, 1)
  const seq = Buffer.alloc(8)
  seq.writeBigUInt64BE(41n)
  for (const endpoint of [null, Buffer.alloc(16, 2)]) {
    const hash = createHash('sha256')
      .update('tallystick-event-v1')
      .update(ledgerId)
      .update(endpoint ?? Buffer.alloc(16))
      .update(seq)
      .update('signal.emitted')
      .digest()
    const timestampMs = Date.parse('2026-11-20T12:00:00.123Z')
    const about = { seq: 41, type: 'signal.emitted', timestampMs }
    const id = eventId({
      ...about,
      ledgerId: uuidOfBytes(ledgerId),
      endpoint: endpoint && uuidOfBytes(endpoint),
    })
    const [wanted, made] = [Buffer.from(hash.subarray(0, 16)), Buffer.from(bytesOfUuid(id))]
    for (const each of [wanted, made]) {
      each.fill(0, 0, 6)
      each[6]! &= 0x0f
      each[8]! &= 0x3f
    }
    assert.deepEqual(made, wanted)
  }
})
