import { SpoolError, TallystickError } from '../errors.ts'

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full: free some space',
  EDQUOT: 'the disk quota is used up: free some space',
  EROFS: 'the disk is read-only',
  EACCES: 'it must belong to the user of this process',
  EPERM: 'it must belong to the user of this process',
  EIO: 'the disk has errors: check or replace it',
  EEXIST: 'something else has its name: remove that, or use another directory',
  ENOTDIR: 'its path contains something that is not a directory: use another directory',
  EMFILE: 'this process has too many files open: raise its limit (ulimit -n)',
  ENFILE: 'this machine has too many files open: raise its limit (fs.file-max)',
  ELOOP: 'a spool cannot use a symbolic link: remove it',
}

/** Error codes that mean too many open files. A retry can succeed after other files are closed. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])

/** Returns whether the error means that the disk has no space, no inodes or no quota left. */
export function isFull(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

export function asSpoolError(cause: unknown, path: string): TallystickError {
  if (cause instanceof TallystickError) return cause
  const { code = '', message } = cause as NodeJS.ErrnoException
  const advice = ADVICE[code]
  return new SpoolError(`${path}: ${message}${advice ? `. What to do: ${advice}` : ''}`, {
    cause,
    retryable: PASSING.has(code),
  })
}
