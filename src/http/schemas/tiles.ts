import { z } from 'zod'

export const tlogParams = z.strictObject({ ledger: z.string() })
export const tileParams = z.strictObject({
  ledger: z.string(),
  '*': z
    .string()
    .describe(
      'address of the tile: `<L>/<N>` or `entries/<N>`, with `.p/<W>` if the tile is not full (C2SP tlog-tiles)',
    ),
})

/** A tile (hashes of 32 bytes each) or an entry bundle (entries, each preceded by its length). */
export const tileBytes = { content: { 'application/octet-stream': { schema: z.string() } } }
