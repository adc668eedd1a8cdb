import { SpoolError, TallystickError } from '../errors.ts'

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full: make room',
  EDQUOT: 'the quota of the disk is used up: make room',
  EROFS: 'the disk is read-only',
  EACCES: 'its owner must be who runs this process',
  EPERM: 'its owner must be who runs this process',
  EIO: 'the disk fails',
  EEXIST: 'something else stands in its place: remove it, or name another directory',
  ENOTDIR: 'something that is no directory stands above it: name another directory',
  EMFILE: 'this process has too many files open: raise its limit (ulimit -n)',
  ENFILE: 'this machine has too many files open: raise its limit (fs.file-max)',
  ELOOP: 'a symbolic link is no file of a spool: remove it',
}

/** Errors that pass without help, when other files are closed. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])

/** Returns whether the disk has no space, inode or quota left. */
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
