import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytesOfUuid, parseIdBytes, type Uuid, uuidOfBytes } from '../../../src/proof/ids.ts'
import {
  firstRecordId,
  formatRecordIds,
  indexOfRecordId,
  isOfBatch,
  ownRecordId,
  recordIdAt,
} from '../../../src/proof/statement/batch-ids.ts'
import { runs } from '../../helpers/runs.ts'

const RUNS = { numRuns: runs(1_000) }
const BATCH_COUNT_MAX = 2_048

const id = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(uuidOfBytes)
const index = fc.integer({ min: 0, max: BATCH_COUNT_MAX - 1 })

const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
const valueOfId = (of: Uuid) => numberOf(bytesOfUuid(of))

test('the first id of a batch has cleared low 12 bits, and the others follow consecutively', () => {
  fc.assert(
    fc.property(id, index, (fresh, i) => {
      const first = firstRecordId(fresh)
      assert.equal(valueOfId(first), (valueOfId(fresh) >> 12n) << 12n)
      assert.equal(valueOfId(recordIdAt(first, i)), valueOfId(first) + BigInt(i))
      assert.equal(indexOfRecordId(recordIdAt(first, i)), i)
      assert.equal(recordIdAt(recordIdAt(first, i), 0), first)
    }),
    RUNS,
  )
})

test('formatRecordIds returns the ids of consecutive numbers', () => {
  fc.assert(
    fc.property(id, fc.integer({ min: 1, max: BATCH_COUNT_MAX }), (fresh, count) => {
      const first = firstRecordId(fresh)
      const numbers = formatRecordIds(first, count).map((text) => numberOf(parseIdBytes('rec', text)))
      assert.deepEqual(
        numbers,
        Array.from({ length: count }, (_, i) => valueOfId(first) + BigInt(i)),
      )
    }),
    { numRuns: runs(200) },
  )
})

test('a record of its own has an id outside every batch, with all other bits unchanged', () => {
  fc.assert(
    fc.property(id, index, (fresh, i) => {
      assert.equal(valueOfId(ownRecordId(fresh)), valueOfId(fresh) | 2_048n)
      assert.equal(isOfBatch(ownRecordId(fresh)), false)
      assert.equal(isOfBatch(recordIdAt(firstRecordId(fresh), i)), true)
      assert.equal(isOfBatch(fresh), (valueOfId(fresh) & 2_048n) === 0n)
    }),
    RUNS,
  )
})
