import { SpoolError, TallystickError } from '../errors.ts'

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full: make room',
  EDQUOT: 'the quota of the disk is used up: make room',
  EROFS: 'the disk is read-only',
  EACCES: 'its owner must be who runs this process',
  EPERM: 'its owner must be who runs this process',
  EIO: 'the disk fails',
  ELOOP: 'a symbolic link is no file of a spool: remove it',
}

export function asSpoolError(cause: unknown, path: string): TallystickError {
  if (cause instanceof TallystickError) return cause
  const { code = '', message } = cause as NodeJS.ErrnoException
  const advice = ADVICE[code]
  return new SpoolError(`${path}: ${message}${advice ? `. What to do: ${advice}` : ''}`, {
    cause,
  })
}
