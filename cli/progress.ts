import { plain } from '../sdk/plain.ts'
import type { Out } from './io.ts'

const REDRAW_EVERY_MS = 100
const BAR_WIDTH = 24

type Progress = { readonly entries: number; readonly done: number; readonly total: number }

/** Opens a line on a terminal's stderr that is redrawn. If stderr is a file or a pipe, prints nothing. */
function openLine<T>(out: Out, draw: (value: T, seconds: number) => string) {
  if (!out.isTTY) return { update: (_value: T) => {}, close: () => {} }
  const startedAt = performance.now()
  let drawnAt = 0
  return {
    update(value: T): void {
      const now = performance.now()
      if (now - drawnAt < REDRAW_EVERY_MS) return
      drawnAt = now
      // The text is escaped, because the numbers come from a server that may be hostile.
      out.write(`\r${plain(draw(value, (now - startedAt) / 1000))}\x1b[K`)
    },
    close(): void {
      if (drawnAt > 0) out.write('\r\x1b[K')
    },
  }
}

export function openProgressBar(out: Out) {
  return openLine(out, drawBar)
}

/** Opens a counter such as `1234 records  567/s`, for work whose end is unknown. */
export function openCounter(out: Out) {
  return openLine(out, (records: number, seconds) => counted(records, 'records', seconds))
}

function counted(count: number, what: string, seconds: number): string {
  return `${count} ${what}  ${Math.round(count / Math.max(seconds, 0.001))}/s`
}

/** Draws `[#####---] 21 %  1234 entries  5678/s`. */
export function drawBar({ entries, done, total }: Progress, seconds: number): string {
  const part = total === 0 ? 1 : Math.min(1, Math.max(0, done / total))
  const filled = Math.round(part * BAR_WIDTH)
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled)
  return `[${bar}] ${Math.floor(part * 100)} %  ${counted(entries, 'entries', seconds)}`
}
