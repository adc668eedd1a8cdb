import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/**
 * Returns the number of bytes that the result of `make` keeps in memory, in the heap and in buffers outside the heap.
 */
export async function heldBytes(make: () => unknown): Promise<number> {
  const before = await liveBytes()
  const made = await make()
  const grown = (await liveBytes()) - before
  // Keeps the result alive until after the second measurement.
  if (made === undefined) throw new Error('make MUST return what holds them')
  return grown
}

async function liveBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
