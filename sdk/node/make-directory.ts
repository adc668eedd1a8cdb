import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates a directory and its parents, by default only for their owner. Returns whether the directory was missing.
 * Appends each created directory to `made`, outermost first. Throws errors of the file system.
 *
 * Node's recursive `mkdir` is not used, because it never returns if an existing directory answers ENOENT, as `/proc`
 * does.
 */
export function makeDirectory(path: string, mode = 0o700, made: string[] = []): boolean {
  const directory = resolve(path)
  if (isDirectory(directory)) return false
  const parent = dirname(directory)
  if (parent !== directory) makeDirectory(parent, mode, made)
  try {
    mkdirSync(directory, { mode })
    made.push(directory)
    return true
  } catch (error) {
    // EEXIST is no error if the path is a directory, which another process has created meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(directory)) throw error
    return false
  }
}

/** Returns whether the path is a directory. Throws errors of the file system other than ENOENT and ENOTDIR. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}
