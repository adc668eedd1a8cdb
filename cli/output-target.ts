import { constants, existsSync, fstatSync, type Stats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { SourceError } from '../src/verify/source.ts'

/** Target to which an output is written, with links resolved. */
export type OutputTarget =
  /**
   * A regular file, or a name that does not exist yet. The output is written under another name in the same folder
   * and renamed.
   */
  | { readonly kind: 'file'; readonly path: string; readonly exists: boolean }
  /** A descriptor that this process inherited, such as /dev/stdout, or /dev/fd/63 of `>(…)`. */
  | { readonly kind: 'descriptor'; readonly fd: number }
  | { readonly kind: 'pipe'; readonly path: string }
  | { readonly kind: 'device'; readonly path: string }

/** Maximum number of links that are followed, the same as in Linux. */
const LINKS_MAX = 40
/** Matches the path of a descriptor. On Linux /dev/fd is a link to /proc; elsewhere it is not. */
const DESCRIPTOR = /^(?:\/proc\/(?<pid>\d+)(?:\/task\/\d+)?|\/dev)\/fd\/(?<fd>\d+)$/

/**
 * Finds the target that an output's path names. A regular file, or a name that does not exist, will be replaced. Data
 * for any other target is written into it. Throws SourceError for a folder, a socket or a closed descriptor, and for a
 * link or a pipe that another user may have put there. `isPrivate`: a pipe must belong to this user.
 */
export async function findOutputTarget(
  given: string,
  { isPrivate }: { readonly isPrivate: boolean },
): Promise<OutputTarget> {
  try {
    return await follow(given, isPrivate)
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw cannotWrite(given, explain(given, (error as NodeJS.ErrnoException).code))
  }
}

function explain(given: string, code: string | undefined): string {
  if (code === 'ELOOP') return LOOP
  const folder = dirname(resolve(given))
  if (code === 'ENOENT' && !existsSync(folder)) return `(there is no folder ${folder})`
  if (code === 'ENOENT') return '(its link leads into a folder that does not exist)'
  if (code === 'ENOTDIR') return `(${folder} is not a folder)`
  return `(${code})`
}

const LOOP = '(its symbolic links form a loop)'

export function cannotWrite(path: string, why: string): SourceError {
  return new SourceError('io', `${path} cannot be written ${why}`)
}

async function follow(given: string, isPrivate: boolean): Promise<OutputTarget> {
  if (given.endsWith('/')) throw cannotWrite(given, '(a folder)')
  const { root } = parse(resolve(given))
  let folder = root
  let stat = await lstat(folder)
  const names = namesOf(isAbsolute(given) ? given : `${process.cwd()}${sep}${given}`)
  let links = 0
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const path = join(folder, name)
    const isLast = names.length === 0
    const { pid, fd } = (isLast && DESCRIPTOR.exec(path)?.groups) || {}
    if (fd !== undefined && (pid === undefined || Number(pid) === process.pid))
      return descriptor(given, Number(fd))
    // A descriptor of another process is not resolved, because the name in its link may not exist in the file system.
    if (fd !== undefined) return { kind: 'device', path }
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (isLast && error.code === 'ENOENT') return null
      throw error
    })
    if (found?.isSymbolicLink()) {
      if (isPlanted(found, stat)) throw cannotWrite(given, `(${PLANTED}: ${path} is a link of another user)`)
      if (++links > LINKS_MAX) throw cannotWrite(given, LOOP)
      const target = await readlink(path)
      if (isAbsolute(target)) folder = root
      names.unshift(...namesOf(target))
      stat = await lstat(folder)
    } else if (isLast) {
      if (found === null || found.isFile()) return { kind: 'file', path, exists: found !== null }
      if (found.isDirectory()) break
      if (found.isSocket()) throw cannotWrite(given, '(a socket: name a file, a pipe or a device)')
      if (!found.isFIFO()) return { kind: 'device', path }
      if (isPlanted(found, stat)) throw cannotWrite(given, `(${PLANTED}: ${path} is a pipe of another user)`)
      if (isPrivate && !isOwn(found)) throw cannotWrite(given, '(a pipe of another user, who could read it)')
      return { kind: 'pipe', path }
    } else {
      folder = path
      stat = found!
    }
  }
  throw cannotWrite(given, '(a folder)')
}

/**
 * Returns the names in a path, starting at its root. `..` is resolved later, because the folder before it may be a
 * link.
 */
function namesOf(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split(sep)
    .filter((name) => name !== '' && name !== '.')
}

/** Sticky bit of a folder. With this bit, only the owner of an entry or of the folder can remove the entry. */
const S_ISVTX = 0o1000
const PLANTED = 'in a folder that everybody can write to'

/**
 * Returns whether a link or a pipe in a folder like /tmp may have been put there by an attacker. The kernel has such
 * a check (fs.protected_symlinks, fs.protected_fifos), but it does not apply here: this program reads links itself,
 * and opens pipes without O_CREAT.
 */
function isPlanted(found: Stats, folder: Stats): boolean {
  const isShared = (folder.mode & S_ISVTX) !== 0 && (folder.mode & constants.S_IWOTH) !== 0
  return isShared && !isOwn(found) && found.uid !== folder.uid
}

/** Returns whether the file belongs to this user. Always true on platforms without users. */
function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

function descriptor(given: string, fd: number): OutputTarget {
  const stat = statOf(fd)
  // Descriptors that Node opened for itself (epoll, eventfd) have no file type, so they are refused.
  const takesOutput = stat?.isFile() || stat?.isFIFO() || stat?.isCharacterDevice() || stat?.isSocket()
  if (!takesOutput) throw cannotWrite(given, `(descriptor ${fd} is not open)`)
  return { kind: 'descriptor', fd }
}

function statOf(fd: number): Stats | null {
  try {
    return fstatSync(fd)
  } catch {
    return null
  }
}
