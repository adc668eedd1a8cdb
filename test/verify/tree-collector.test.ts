import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HASH_BYTES } from '../../src/proof/crypto.ts'
import { TILE_HASHES } from '../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { TileDigests } from '../../src/verify/archive/tile-digests.ts'
import { TreeCollector } from '../../src/verify/tree-collector.ts'
import { heldBytes } from '../helpers/held-bytes.ts'

const collectors = {
  TreeCollector: () => new TreeCollector(nativeProviders.sha256, TILE_HASHES),
  TileDigests: () => new TileDigests([]),
}

for (const [name, make] of Object.entries(collectors)) {
  test(`hashes of a growing tile in ${name} do not retain the buffers that they came in`, async () => {
    const bytes = await heldBytes(() => {
      const collector = make()
      for (let size = 1; size < TILE_HASHES; size++)
        collector.leaf(Buffer.alloc(65_536).subarray(0, HASH_BYTES), { size, hashes: [] })
      return collector
    })
    assert.ok(bytes < TILE_HASHES * 1_024, `${bytes} bytes of ${TILE_HASHES - 1} hashes`)
  })
}
