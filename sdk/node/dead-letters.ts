import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { SpoolError } from '../errors.ts'
import type { Refused } from '../notarizer/spool.ts'
import { isOwnFile, NO_FOLLOW } from './files.ts'
import { formatRefused } from './spool-lines.ts'

const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW

/**
 * Appends refused records to the file. Throws SpoolError if the file already has `bytesMax` bytes. The size is read
 * each time, because people remove the file after they have read it.
 */
export async function storeRefused(
  path: string,
  refused: readonly Refused[],
  bytesMax: number,
): Promise<void> {
  const refusedAt = new Date().toISOString()
  const bytes = Buffer.from(refused.map((one) => formatRefused(one, refusedAt)).join(''))
  const file = await open(path, FLAGS, 0o600)
  try {
    const found = await file.stat()
    const { size } = found
    if (!isOwnFile(found)) throw new SpoolError(`${path} is not a file of this user. What to do: remove it`)
    if (size >= bytesMax)
      throw new SpoolError(
        `${path} has ${size} bytes of refused records, and its limit is ${bytesMax}: the batch with the next refused record waits. What to do: check why records are refused, and move the file away`,
      )
    try {
      // A process that ended while it was writing has left half a line. A newline ends that line.
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
      if (size > 0 && buffer[0] !== 0x0a) await file.writeFile('\n')
      await file.writeFile(bytes)
      await file.sync()
    } catch (error) {
      // Removes an incomplete write, because half a line would damage the next line.
      await file.truncate(size)
      throw error
    }
  } finally {
    await file.close()
  }
}
