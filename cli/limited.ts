import { parseCount } from './arguments.ts'
import type { Io } from './io.ts'

const TERMINAL_LIMIT_DEFAULT = 50

export const LIMIT_OPTIONS = { limit: { type: 'string' } } as const
export const LIMIT_HELP = `  --limit N        only the first N. Default: ${TERMINAL_LIMIT_DEFAULT} on a terminal, otherwise all`

type Values = { readonly limit?: string | undefined; readonly json?: boolean | undefined }

export function limitOf(values: Values, { stdout }: Io): number {
  const defaultLimit = stdout.isTTY && !values.json ? TERMINAL_LIMIT_DEFAULT : Number.POSITIVE_INFINITY
  return parseCount(values.limit, '--limit') ?? defaultLimit
}

/**
 * Yields at most `--limit` items. Without the option it stops at the default limit and reports that there are more
 * items.
 */
export async function* limited<T>(
  items: AsyncIterable<T>,
  values: Values,
  io: Io,
): AsyncGenerator<T, void, undefined> {
  let left = limitOf(values, io)
  for await (const item of items) {
    if (left === 0) {
      io.stderr.write('tallystick: there are more; --limit N shows the first N\n')
      return
    }
    yield item
    // With `--limit` the list ends without reading another page.
    if (--left === 0 && values.limit !== undefined) return
  }
}
