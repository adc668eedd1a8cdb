import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a directory and those above it, for its owner only; whether it was missing. Throws what the file system says. The recursive `mkdir` of Node never
 * returns where a directory that is there answers ENOENT, as `/proc` does.
 */
export function makeDirectory(path: string): boolean {
  const directory = resolve(path)
  if (isDirectory(directory)) return false
  const parent = dirname(directory)
  if (parent !== directory) makeDirectory(parent)
  try {
    mkdirSync(directory, { mode: 0o700 })
    return true
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(directory)) throw error
    return false
  }
}

/** false: it is something else, or nothing. Throws what else the file system says: a directory may not be searched, say. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}
