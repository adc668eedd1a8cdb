import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TILE_HASHES } from '../../../src/proof/tree/merkle.ts'
import {
  formatTileAddress,
  isCovered,
  parseTileAddress,
  type TileAddress,
} from '../../../src/proof/tree/tile-address.ts'
import { runs } from '../../helpers/runs.ts'

const addresses: fc.Arbitrary<TileAddress> = fc.record(
  {
    level: fc.oneof(fc.integer({ min: 0, max: 63 }), fc.constant('entries' as const)),
    tile: fc.oneof(fc.maxSafeNat(), fc.nat(2_000_000)),
    width: fc.integer({ min: 1, max: TILE_HASHES }),
  },
  { noNullPrototype: true },
)

/**
 * Writes an address literally as C2SP tlog-tiles does: three digits in each element, and an x before each element but
 * the last.
 */
function spell({ level, tile, width }: TileAddress): string {
  const digits = String(tile)
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0')
  const elements = padded.match(/.../g)!
  const last = elements.pop()!
  return `${level}/${[...elements.map((three) => `x${three}`), last].join('/')}${width < 256 ? `.p/${width}` : ''}`
}

test('a tile address is formatted as in the specification, and parsed back', () => {
  assert.equal(formatTileAddress({ level: 0, tile: 1_234_067, width: 256 }), '0/x001/x234/067')
  fc.assert(
    fc.property(addresses, (address) => {
      assert.equal(formatTileAddress(address), spell(address))
      assert.deepEqual(parseTileAddress(spell(address)), address)
    }),
    { numRuns: runs(2_000) },
  )
})

test('any other text is refused, and no tile has two addresses', () => {
  const none = [
    '',
    '0',
    '0/',
    '/000',
    '0/0',
    '0/1000',
    '0/000.p',
    '0/000.p/',
    '0/000.p/0',
    '0/000.p/256',
    '0/000.p/01',
  ]
  const others = [
    '64/000',
    '00/000',
    '-1/000',
    '+1/000',
    '0/x000/000',
    '0/x001',
    '0/x001/',
    '0/X001/000',
    '0/001/000',
  ]
  const large = [
    '0/x009/x007/x199/x254/x740/992',
    '0/x001/x000/x000/x000/x000/x000/000',
    '256/000',
    'entries/x000/001',
  ]
  const odd = [
    '0/000\n',
    ' 0/000',
    '0/٠٠٠',
    'entries/000/',
    'Entries/000',
    '0/000.p/1/2',
    '0/000?x',
    '0/000%2e',
  ]
  for (const text of [...none, ...others, ...large, ...odd]) assert.equal(parseTileAddress(text), null, text)
  assert.notEqual(parseTileAddress('0/x009/x007/x199/x254/x740/991'), null)
  const characters = fc.string({ unit: fc.constantFrom(...'0123456789x/.pentriesW-'), maxLength: 40 })
  fc.assert(
    fc.property(fc.oneof(characters, fc.string()), (text) => {
      const address = parseTileAddress(text)
      if (address) assert.equal(spell(address), text)
    }),
    { numRuns: runs(20_000) },
  )
})

test('isCovered is true exactly for tiles whose subtrees are complete in a log of the size', () => {
  fc.assert(
    fc.property(addresses, fc.nat(70_000_000), (address, size) => {
      const level = address.level === 'entries' ? 0 : address.level
      const last = (BigInt(address.tile) * 256n + BigInt(address.width)) * 256n ** BigInt(level)
      assert.equal(isCovered(address, size), last <= BigInt(size))
    }),
    { numRuns: runs(2_000) },
  )
  // These addresses are the example of C2SP tlog-tiles.
  const widths = [0, 1, 2, 3].map((level) => {
    const covered = (tile: number, width: number) => isCovered({ level, tile, width }, 70_000)
    let tile = 0
    while (covered(tile, 256)) tile++
    let width = 0
    while (covered(tile, width + 1)) width++
    return [tile, width]
  })
  assert.deepEqual(widths, [
    [273, 112],
    [1, 17],
    [0, 1],
    [0, 0],
  ])
})
