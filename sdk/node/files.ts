import { constants, type Stats } from 'node:fs'
import { chmod, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { SpoolError } from '../errors.ts'

/** Names of files that a spool makes and moves aside, and that a new volume has. */
const SPOOL_NAME =
  /^(\d{16}\.(ndjson|parts)|(refused|handles)\.ndjson|owner\.json|lock|inbox|reserve|calls|sender\.log|lost\+found)(\..+)?$/

/** An attacker who can write into the directory could put a link where a file is expected. Windows has no such flag. */
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0

/**
 * A directory of this user is made private. One of root is taken as it is: volumes of Kubernetes are root's, and their group's.
 * Throws SpoolError for anybody else's, who could read and change all that is put there, and for one that holds other things.
 */
export async function takeDirectory(path: string): Promise<void> {
  const { uid, mode } = await stat(path)
  const own = ownUid()
  if (own === null) return
  if (uid === own) {
    if ((mode & 0o077) === 0) return
    // Nobody else may need it: the path could name /tmp or all of /var/spool, which are root's.
    if ((await readdir(path)).some((name) => !SPOOL_NAME.test(name)))
      throw new SpoolError(
        `the directory ${path} holds other things, and others may read it. What to do: name one in it that is the spool's alone`,
      )
    await chmod(path, 0o700)
  } else if (uid !== 0)
    throw new SpoolError(
      `the directory ${path} is the user ${uid}'s, who could read and change the records in it, and this process runs as ${own}. What to do: give it to ${own} (chown), or name another directory`,
    )
}

/** A regular file that nobody else has put there. */
export function isOwnFile(found: Stats): boolean {
  const own = ownUid()
  return found.isFile() && (own === null || found.uid === own)
}

/** null: files have no owners here. */
function ownUid(): number | null {
  return process.geteuid?.() ?? null
}

/** Throws EEXIST where there is something, also a link. A failure leaves nothing. */
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

/** All of it or nothing, also after a power cut, once the directory is synced. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const made = `${path}.tmp`
  await rm(made, { force: true })
  await makeFile(made, content)
  await rename(made, path)
}
