import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { linesOf } from '../../sdk/http/streams.ts'
import { openExport } from '../../sdk/verify/export-source.ts'

const PIECES = 50_000
/**
 * Maximum number of bytes of memory for each one-byte chunk. If each chunk were stored separately, it would take more
 * than 200 bytes.
 */
const BYTES_A_PIECE_MAX = 100

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Returns the bytes of memory for each one-byte chunk of an unfinished line. */
async function bytesAPiece(
  read: (pieces: () => AsyncGenerator<Uint8Array>) => Promise<unknown>,
): Promise<number> {
  const used = () => {
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = used()
  let after = before
  await read(async function* () {
    for (let i = 0; i < PIECES; i++) yield new Uint8Array([0x78])
    after = used()
  })
  return (after - before) / PIECES
}

test('lines received byte by byte use bounded memory', async () => {
  const asked = { name: 'GET /', idempotencyKey: null, repeatable: true }
  const ofLines = await bytesAPiece(async (pieces) => {
    const iterator = pieces()
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    })
    await assert.rejects(linesOf(stream, asked).next(), /ended in the middle of a line/)
  })
  const ofExport = await bytesAPiece((pieces) => openExport(pieces).readLastLine())
  assert.ok(Math.max(ofLines, ofExport) < BYTES_A_PIECE_MAX, `${ofLines}, ${ofExport}`)
})
