import { existsSync, fstatSync, type Stats } from 'node:fs'
import { lstat, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { SourceError } from '../src/verify/source.ts'

/** Target of an output, after links. */
export type OutputPlace =
  /** A regular file, or nothing yet: written beside it and renamed. */
  | { readonly kind: 'file'; readonly path: string; readonly exists: boolean }
  /** A descriptor that this process inherited: /dev/stdout, /dev/fd/63 of `>(…)`. */
  | { readonly kind: 'descriptor'; readonly fd: number }
  | { readonly kind: 'pipe'; readonly path: string }
  | { readonly kind: 'device'; readonly path: string }

/** As many as Linux follows. */
const LINKS_MAX = 40
/** A descriptor: on Linux, where /dev/fd leads to /proc, and elsewhere. */
const DESCRIPTOR = /^(?:\/proc\/(?<pid>\d+)(?:\/task\/\d+)?|\/dev)\/fd\/(?<fd>\d+)$/

/**
 * Finds what an output's path means. Only a regular file, or nothing, may be replaced: everything else is written to. Throws SourceError
 * for what takes no output: a folder, a socket, a descriptor that is not open.
 */
export async function findOutputPlace(given: string): Promise<OutputPlace> {
  try {
    return await follow(given)
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw cannotWrite(given, explain(given, (error as NodeJS.ErrnoException).code))
  }
}

function explain(given: string, code: string | undefined): string {
  if (code === 'ELOOP') return LOOP
  const folder = dirname(resolve(given))
  if (code === 'ENOENT' && !existsSync(folder)) return `(there is no folder ${folder})`
  if (code === 'ENOENT') return '(its link leads into a folder that is not there)'
  if (code === 'ENOTDIR') return `(${folder} is not a folder)`
  return `(${code})`
}

const LOOP = '(its symbolic links lead in a circle)'

export function cannotWrite(path: string, why: string): SourceError {
  return new SourceError('io', `${path} cannot be written ${why}`)
}

async function follow(given: string): Promise<OutputPlace> {
  if (given.endsWith('/')) throw cannotWrite(given, '(a folder)')
  let path = resolve(given)
  for (let links = 0; links <= LINKS_MAX; links++) {
    path = join(await realpath(dirname(path)), basename(path))
    const { pid, fd } = DESCRIPTOR.exec(path)?.groups ?? {}
    if (fd !== undefined && (pid === undefined || Number(pid) === process.pid))
      return descriptor(given, Number(fd))
    // A descriptor of another process: the name that its link shows may be none of the file system.
    if (fd !== undefined) return { kind: 'device', path }
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (found === null || found.isFile()) return { kind: 'file', path, exists: found !== null }
    if (found.isDirectory()) throw cannotWrite(given, '(a folder)')
    if (found.isSocket()) throw cannotWrite(given, '(a socket: name a file, a pipe or a device)')
    if (!found.isSymbolicLink()) return { kind: found.isFIFO() ? 'pipe' : 'device', path }
    path = resolve(dirname(path), await readlink(path))
  }
  throw cannotWrite(given, LOOP)
}

function descriptor(given: string, fd: number): OutputPlace {
  const stat = statOf(fd)
  // Descriptors that Node has opened for itself (epoll, eventfd) have no type.
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
