import { constants, type Stats } from 'node:fs'
import { chmod, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { SpoolError } from '../errors.ts'

/** Matches the names of files that a spool creates or moves aside, and of files that every new volume has. */
const SPOOL_NAME =
  /^(\d{16}\.(ndjson|parts)|(refused|handles)\.ndjson|owner\.json|lock|inbox|reserve|calls|sender\.log|lost\+found)(\..+)?$/

/**
 * Flag that makes opening a symbolic link fail. An attacker who can write to the directory could put a link where a
 * file is expected. Windows has no such flag.
 */
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0

/**
 * Makes the directory private if it belongs to this user. A directory of root is accepted unchanged, because
 * Kubernetes volumes belong to root and to their group.
 *
 * Throws SpoolError for a directory of another user, because that user could read and change all files in it. Also
 * throws for a directory that contains other files.
 */
export async function takeDirectory(path: string): Promise<void> {
  const { uid, mode } = await stat(path)
  const own = ownUid()
  if (own === null) return
  if (uid === own) {
    if ((mode & 0o077) === 0) return
    // A directory with other files is refused, because a shared directory must stay readable for others: the path
    // could name /tmp, or all of /var/spool.
    if ((await readdir(path)).some((name) => !SPOOL_NAME.test(name)))
      throw new SpoolError(
        `the directory ${path} has other files, and other users may read it. What to do: use a directory inside it, only for the spool`,
      )
    await chmod(path, 0o700)
  } else if (uid !== 0)
    throw new SpoolError(
      `the directory ${path} belongs to the user ${uid}, who could read and change the records in it, but this process runs as ${own}. What to do: give the directory to ${own} (chown), or use another one`,
    )
}

/** Returns whether the path is a regular file of this user. */
export function isOwnFile(found: Stats): boolean {
  const own = ownUid()
  return found.isFile() && (own === null || found.uid === own)
}

/** Returns the id of this user, or null if the platform has no file owners. */
function ownUid(): number | null {
  return process.geteuid?.() ?? null
}

/**
 * Creates a file and syncs it. Throws EEXIST if the path exists, even if it is a link. If it fails, no file is left.
 */
export async function makeFile(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } catch (error) {
    await unlink(path)
    throw error
  } finally {
    await file.close()
  }
}

/** Replaces a file atomically. The change survives a power cut only after the directory is synced. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const made = `${path}.tmp`
  await rm(made, { force: true })
  await makeFile(made, content)
  await rename(made, path)
}
