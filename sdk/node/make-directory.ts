import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a directory and its parents, by default for their owner only. Returns whether it was missing, and adds each directory that was made to
 * `made`, the outermost first. Throws errors of the file system. Node's recursive `mkdir` never returns if an existing directory answers ENOENT, as
 * `/proc` does.
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
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(directory)) throw error
    return false
  }
}

/** Whether the path is a directory. Throws errors of the file system other than ENOENT and ENOTDIR. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}
