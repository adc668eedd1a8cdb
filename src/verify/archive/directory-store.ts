import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, realpath, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../../sdk/node/make-directory.ts'
import { syncDirectory } from '../sync-directory.ts'
import { BodyTooLong, readBody } from './read-body.ts'
import { type ArchiveStore, ArchiveStoreError } from './store.ts'

/** Returns a store of an archive in a directory, with one file for each object. */
export function directoryStore(directory: string): ArchiveStore {
  return {
    name: directory,
    get: (name, bytesMax) => failing(name, () => readObject(directory, name, bytesMax)),
    put: (name, bytes) => failing(name, () => putObject(join(directory, name), bytes)),
    replace: (name, bytes) => failing(name, () => replaceObject(join(directory, name), bytes)),
  }
}

/**
 * Reads a regular file. Throws for a symbolic link below the directory. Otherwise whoever makes an archive could make a
 * reader open files outside of it.
 */
async function readObject(directory: string, name: string, bytesMax: number): Promise<Buffer | null> {
  const root = await realpath(directory).catch(onlyIf(['ENOENT'], null))
  const path = root && (await realpath(join(root, name)).catch(onlyIf(['ENOENT', 'ENOTDIR'], null)))
  if (root === null || path === null) return null
  if (path !== join(root, name)) throw new Error('it is a symbolic link, or behind one')
  // With O_NONBLOCK, opening a named pipe does not wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error('it is not a file')
    if (stat.size > bytesMax) throw new BodyTooLong(bytesMax)
    return await readBody(file.createReadStream({ autoClose: false }), bytesMax)
  } finally {
    await file.close()
  }
}

/**
 * Publishes an object by a hard link, which fails if the name exists. If two writers publish the same name, exactly one
 * succeeds, and the published object is complete.
 */
async function putObject(path: string, bytes: Uint8Array): Promise<'written' | 'exists'> {
  const draft = await writeDraft(path, bytes)
  try {
    const outcome = await link(draft, path).then(
      () => 'written' as const,
      onlyIf(['EEXIST'], 'exists' as const),
    )
    await syncDirectory(dirname(path))
    return outcome
  } finally {
    await unlink(draft)
  }
}

async function replaceObject(path: string, bytes: Uint8Array): Promise<void> {
  await rename(await writeDraft(path, bytes), path)
  await syncDirectory(dirname(path))
}

async function writeDraft(path: string, bytes: Uint8Array): Promise<string> {
  const made: string[] = []
  makeDirectory(dirname(path), 0o750, made)
  // The parent of each new directory is synced, because the parent contains the name of the new directory.
  for (const directory of made) await syncDirectory(dirname(directory))
  const draft = `${path}.${randomUUID()}.new`
  const file = await open(draft, 'wx', 0o640)
  try {
    await file.writeFile(bytes)
    await file.datasync()
    await file.close()
  } catch (error) {
    await file.close().catch(() => {})
    await unlink(draft)
    throw error
  }
  return draft
}

async function failing<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new ArchiveStoreError(`${name}: ${(error as Error).message}`, { cause: error })
  }
}

function onlyIf<T>(codes: readonly string[], instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (codes.includes(error.code!)) return instead
    throw error
  }
}
