import { readEnvelopes } from '../../db/chain/read-entries.ts'
import type { Db } from '../../db/connect/client.ts'
import { ApiError } from '../../errors.ts'
import { Slice } from '../../load/slice.ts'
import { equalBytes } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { leafHash, TILE_HASHES } from '../../proof/tree/merkle.ts'
import type { TileAddress } from '../../proof/tree/tile-address.ts'
import { splitHashes } from '../../proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../signing/native.ts'
import { proveTile } from './prove-tree.ts'

/** Bytes of the length prefix before each entry in a bundle. */
const LENGTH_BYTES = 2

/**
 * Returns a file of C2SP tlog-tiles, after it was proved in the tree of `note`. `note` MUST cover the file's entries.
 *
 * A file has hashes of 32 bytes, or entries with length prefixes. It has at most 8 MiB (TILE_HASHES envelopes of
 * ENVELOPE_BYTES_MAX). Throws ApiError `integrity_fault` if the stored tile differs from the signed tree.
 */
export async function readTile(
  pool: Db,
  ledgerId: Uuid,
  address: TileAddress,
  note: string,
): Promise<Buffer> {
  try {
    return await readProved(pool, ledgerId, address, note)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('integrity_fault', 'a tile in the database differs from what was signed', {
      cause: error,
    })
  }
}

async function readProved(
  pool: Db,
  ledgerId: Uuid,
  { level, tile, width }: TileAddress,
  note: string,
): Promise<Buffer> {
  if (level !== 'entries')
    return Buffer.from(await proveTile(pool, ledgerId, { level, tile, count: width }, note))
  const from = tile * TILE_HASHES
  const [envelopes, hashes] = await Promise.all([
    readEnvelopes(pool, ledgerId, from, from + width),
    proveTile(pool, ledgerId, { level: 0, tile, count: width }, note),
  ])
  return bundle(envelopes, splitHashes(hashes))
}

/** Makes an entry bundle. Throws unless each envelope has the proved hash. */
async function bundle(envelopes: readonly Buffer[], leaves: readonly Uint8Array[]): Promise<Buffer> {
  const bytes = Buffer.alloc(envelopes.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0))
  const slice = new Slice()
  let at = 0
  for (const [i, leaf] of leaves.entries()) {
    if (slice.isOver) await slice.next()
    const envelope = envelopes[i]
    if (!envelope || !equalBytes(leafHash(nativeProviders.sha256, envelope), leaf))
      throw new ProofError('merkle_path', `entry ${i} of the tile does not match its leaf`)
    at = bytes.writeUInt16BE(envelope.length, at)
    at += envelope.copy(bytes, at)
  }
  return bytes
}
