import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Writes the pieces to a stream and leaves the stream open. Returns when all pieces are written.
 *
 * Errors of `pieces` are thrown unchanged. Errors of the stream are converted by `localFault`, so that an error about a
 * full disk does not name the server that sent the pieces.
 */
export async function copyStream(
  pieces: AsyncIterable<Uint8Array | string>,
  to: Writable,
  localFault: (error: NodeJS.ErrnoException) => Error,
): Promise<void> {
  let broken: { readonly error: unknown } | null = null
  async function* read() {
    try {
      yield* pieces
    } catch (error) {
      broken = { error }
      throw error
    }
  }
  try {
    await pipeline(read(), to, { end: false })
    await written(to)
  } catch (error) {
    const { error: cause } = (broken ?? {}) as { readonly error?: unknown }
    throw cause ?? localFault(error as NodeJS.ErrnoException)
  }
}

/**
 * Returns when everything is written. Throws the stream's error. An earlier error of the stream is checked first,
 * because a stream calls no callback after an error.
 */
function written(to: Writable): Promise<void> {
  return new Promise((done, fail) => {
    if (to.errored) return fail(to.errored)
    to.once('error', fail)
    to.write('', (error) => {
      to.off('error', fail)
      error ? fail(error) : done()
    })
  })
}
