import { parseCount } from './arguments.ts'
import type { Io } from './io.ts'

const TERMINAL_LIMIT_DEFAULT = 50

/** Options of every command that lists. */
export const LIMIT_OPTIONS = { limit: { type: 'string' } } as const
export const LIMIT_HELP = `  --limit N        only the first N; without it ${TERMINAL_LIMIT_DEFAULT} on a terminal, otherwise all`

type Values = { readonly limit?: string | undefined; readonly json?: boolean | undefined }

/** How many of them are shown. */
export function limitOf(values: Values, { stdout }: Io): number {
  const unsaid = stdout.isTTY && !values.json ? TERMINAL_LIMIT_DEFAULT : Number.POSITIVE_INFINITY
  return parseCount(values.limit, '--limit') ?? unsaid
}

/** The first of them, as many as `--limit` says. Where nobody said, and there are more than are shown, that is said. */
export async function* limited<T>(
  items: AsyncIterable<T>,
  values: Values,
  io: Io,
): AsyncGenerator<T, void, undefined> {
  let left = limitOf(values, io)
  for await (const item of items) {
    if (left === 0) {
      io.stderr.write('tallystick: there are more: --limit N shows N of them\n')
      return
    }
    yield item
    // A given limit ends the list without waiting for another page.
    if (--left === 0 && values.limit !== undefined) return
  }
}
