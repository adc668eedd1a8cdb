import type { Out } from './io.ts'

const REDRAW_EVERY_MS = 100
const BAR_WIDTH = 24

type Progress = { readonly entries: number; readonly done: number; readonly total: number }

/** One line on a terminal's stderr, redrawn; nothing where stderr is a file or a pipe. */
export function openProgressBar(out: Out = process.stderr) {
  if (!out.isTTY) return { update: (_progress: Progress) => {}, close: () => {} }
  const startedAt = performance.now()
  let drawnAt = 0
  return {
    update(progress: Progress): void {
      const now = performance.now()
      if (now - drawnAt < REDRAW_EVERY_MS) return
      drawnAt = now
      out.write(`\r${drawBar(progress, (now - startedAt) / 1000)}\x1b[K`)
    },
    close(): void {
      if (drawnAt > 0) out.write('\r\x1b[K')
    },
  }
}

/** `[#####---] 21 %  1234 entries  5678/s`. */
export function drawBar({ entries, done, total }: Progress, seconds: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const filled = Math.round(part * BAR_WIDTH)
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled)
  return `[${bar}] ${Math.floor(part * 100)} %  ${entries} entries  ${Math.round(entries / Math.max(seconds, 0.001))}/s`
}

/** `1234 records  567/s` on a terminal's stderr, redrawn: for what has no known end. */
export function openCounter(out: Out) {
  if (!out.isTTY) return { update: (_records: number) => {}, close: () => {} }
  const startedAt = performance.now()
  let drawnAt = 0
  return {
    update(records: number): void {
      const now = performance.now()
      if (now - drawnAt < REDRAW_EVERY_MS) return
      drawnAt = now
      const seconds = Math.max((now - startedAt) / 1000, 0.001)
      out.write(`\r${records} records  ${Math.round(records / seconds)}/s\x1b[K`)
    },
    close(): void {
      if (drawnAt > 0) out.write('\r\x1b[K')
    },
  }
}
