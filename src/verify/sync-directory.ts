import { open } from 'node:fs/promises'

/** Writes the names in a directory to the disk. Once it returns, they survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
