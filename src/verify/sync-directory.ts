import { open } from 'node:fs/promises'

/**
 * Writes the names of a directory's files to the disk. After this function returns, the names survive a power failure.
 */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
