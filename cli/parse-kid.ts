import { UsageError } from './run.ts'

export const THREADS_MAX = 256

export function parseKid(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase()
  throw new UsageError('--key takes a kid: 64 hex digits, as in /.well-known/tallystick-keys.json')
}
