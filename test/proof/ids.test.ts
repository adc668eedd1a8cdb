import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  bytesOfUuid,
  formatId,
  formatIdBytes,
  type IdPrefix,
  isId,
  parseId,
  parseIdBytes,
  timeOfUuidv7,
  type Uuid,
  uuidOfBytes,
} from '../../src/proof/ids.ts'
import { refuses } from './refuses.ts'

const uuids = fc.uint8Array({ minLength: 16, maxLength: 16 })
const prefixes = fc.constantFrom<IdPrefix>('rec', 'bat', 'led', 'agt', 'key', 'cmp', 'whk', 'peer')

/** Encodes an id in Crockford's base32, by arithmetic on one large number. */
function slowId(prefix: string, uuid: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(uuid).toString('hex')}`)
  let digits = ''
  for (let i = 0; i < 26; i++) {
    digits = '0123456789abcdefghjkmnpqrstvwxyz'[Number(value % 32n)] + digits
    value /= 32n
  }
  return `${prefix}_${digits}`
}

test('an id decodes to the UUID from which it was made', () => {
  fc.assert(
    fc.property(prefixes, uuids, (prefix, uuid) => {
      const id = formatIdBytes(prefix, uuid)
      assert.equal(id, slowId(prefix, uuid))
      assert.ok(isId(prefix, id))
      assert.deepEqual(parseIdBytes(prefix, id), uuid)
    }),
  )
})

test('a UUID, its 16 bytes and its id convert into each other', () => {
  fc.assert(
    fc.property(prefixes, uuids, (prefix, bytes) => {
      const uuid = uuidOfBytes(bytes)
      assert.match(uuid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      assert.equal(uuid.replaceAll('-', ''), Buffer.from(bytes).toString('hex'))
      assert.deepEqual(bytesOfUuid(uuid), bytes)
      assert.equal(formatId(prefix, uuid), formatIdBytes(prefix, bytes))
      assert.equal(parseId(prefix, formatId(prefix, uuid)), uuid)
    }),
  )
})

test('the time of a UUIDv7 is its first 48 bits, as in RFC 9562, appendix A.6', () => {
  assert.equal(
    timeOfUuidv7('017f22e2-79b0-7cc3-98c4-dc0c0c07398f' as Uuid),
    Date.parse('2022-02-22T19:22:22Z'),
  )
})

test('ids sort like their UUIDs', () => {
  fc.assert(
    fc.property(uuids, uuids, (a, b) => {
      assert.equal(Math.sign(Buffer.compare(a, b)), order(formatIdBytes('rec', a), formatIdBytes('rec', b)))
    }),
  )
})

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

test('accepts the largest UUID', () => {
  const id = 'peer_7zzzzzzzzzzzzzzzzzzzzzzzzz'
  assert.deepEqual(parseIdBytes('peer', id), new Uint8Array(16).fill(0xff))
})

describe('refuses', () => {
  const good = 'rec_01jegv5gyme05800000000000a'
  const cases: Record<string, string> = {
    'another prefix': good.replace('rec', 'bat'),
    'upper case': good.toUpperCase(),
    'an upper-case digit': good.replace('j', 'J'),
    'a letter that is no digit': good.replace('j', 'u'),
    'a digit that Crockford would read as another': good.replace('j', 'o'),
    'a value beyond 128 bits': 'rec_80000000000000000000000000',
    'a first digit beyond any value': 'rec_z0000000000000000000000000',
    'a digit too few': good.slice(0, -1),
    'a digit too many': `${good}0`,
    'a space': ` ${good.slice(0, -1)}`,
    'a character beyond ASCII': good.replace('j', 'é'),
    'a character beyond the table': good.replace('j', '\u{4e00}'),
    'another separator': good.replace('_', '-'),
    nothing: '',
  }
  for (const [what, text] of Object.entries(cases)) {
    test(what, () => {
      assert.ok(!isId('rec', text))
      refuses('bad_id', () => parseIdBytes('rec', text))
    })
  }

  test('a UUID of another length', () => {
    refuses('bad_id', () => formatIdBytes('rec', new Uint8Array(15)))
  })
})
