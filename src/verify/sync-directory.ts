import { open } from 'node:fs/promises'

/** Returns when the names in a directory would survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
