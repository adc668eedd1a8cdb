/*
 * Line plots as SVG, each readable on its own: title, unit, axes, and the name of each line at its end. They follow the reader's
 * choice of light or dark, in a page and as a file.
 */

export type Line = { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }

export type Plot = {
  readonly title: string
  readonly unit: string
  /** Lines over seconds. */
  readonly lines: readonly Line[]
  /** Moments that divide the plot: where a run begins. */
  readonly marks?: readonly { readonly at: number; readonly name: string }[]
  /** `log`: for values that span decades, as latencies do. */
  readonly scale?: 'linear' | 'log'
}

const WIDTH = 760
const HEIGHT = 260
const MARGIN = { top: 38, right: 150, bottom: 34, left: 62 }
const INNER = { width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom }
const LABEL_HEIGHT = 14
const TICKS = 5
/** Told apart by most eyes, on white and on black: Okabe and Ito's, the yellow left out. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1']

const STYLE = `<style>
.plot{font:12px system-ui,sans-serif;fill:#24292f;background:#fff}
.plot .grid{stroke:#d8dee4}.plot .mark{stroke:#8c959f;stroke-dasharray:3 3}
.plot .title{font-weight:600;font-size:13px}.plot .quiet{fill:#57606a}
@media (prefers-color-scheme:dark){.plot{fill:#e6edf3;background:#0d1117}.plot .grid{stroke:#30363d}.plot .mark{stroke:#6e7681}.plot .quiet{fill:#8b949e}}
</style>`

export function drawPlot({ title, unit, lines, marks = [], scale = 'linear' }: Plot): string {
  const drawn = lines.filter(({ points }) => points.length > 0)
  const x = makeTimeAxis(drawn)
  const y = makeAxis(drawn, scale)
  return [
    `<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeText(title)}">`,
    STYLE,
    `<text class="title" x="${MARGIN.left}" y="18">${escapeText(title)}${drawUnit(unit)}</text>`,
    ...y.ticks.map((tick) => drawTick(y.at(tick), formatTick(tick))),
    ...x.ticks.map((tick) => {
      const text = `${formatTick(tick)}${tick === x.ticks.at(-1) ? ' s' : ''}`
      return `<text class="quiet" x="${round(x.at(tick))}" y="${HEIGHT - 12}" text-anchor="middle">${text}</text>`
    }),
    ...marks.map(({ at, name }) => drawMark(x.at(at), name)),
    ...drawn.map(({ points }, i) =>
      drawLine(
        points.map(([a, b]) => [x.at(a), y.at(b)]),
        colour(i),
      ),
    ),
    ...drawLabels(drawn, y.at),
    '</svg>',
  ].join('\n')
}

function drawUnit(unit: string): string {
  return unit === '' ? '' : `<tspan class="quiet" font-weight="400">, ${escapeText(unit)}</tspan>`
}

type Axis = { readonly ticks: readonly number[]; at(value: number): number }

function makeTimeAxis(lines: readonly Line[]): Axis {
  const end = Math.max(1, ...lines.flatMap(({ points }) => points.map(([x]) => x)))
  const { step } = niceScale(end, TICKS + 2)
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step)
  return { ticks, at: (value) => MARGIN.left + (value / end) * INNER.width }
}

function makeAxis(lines: readonly Line[], scale: 'linear' | 'log'): Axis {
  const values = lines.flatMap(({ points }) => points.map(([, y]) => y))
  return scale === 'log' ? makeLogAxis(values.filter((value) => value > 0)) : makeLinearAxis(values)
}

/** From 0: an axis that begins elsewhere makes small changes look large. */
function makeLinearAxis(values: readonly number[]): Axis {
  const { step, max } = niceScale(Math.max(0, ...values), TICKS)
  const ticks = Array.from({ length: Math.round(max / step) + 1 }, (_, i) => i * step)
  return { ticks, at: (value) => MARGIN.top + INNER.height * (1 - value / max) }
}

/** Whole decades. */
function makeLogAxis(values: readonly number[]): Axis {
  const low = Math.floor(Math.log10(values.length === 0 ? 1 : Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(values.length === 0 ? 10 : Math.max(...values))))
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  const at = (value: number) => {
    const share = (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)
    return MARGIN.top + INNER.height * (1 - share)
  }
  return { ticks, at }
}

/** The smallest step of 1, 2 or 5 times a power of ten with which `count` steps reach the value. Exported for its test. */
export function niceScale(value: number, count: number): { readonly step: number; readonly max: number } {
  const rough = value > 0 ? value / count : 1 / count
  const power = 10 ** Math.floor(Math.log10(rough))
  // A quotient such as 0.3 / 0.1 lies a little above 3.
  const step = [1, 2, 5, 10].map((n) => n * power).find((candidate) => candidate >= rough * (1 - 1e-9))!
  return { step, max: Math.max(step, Math.ceil(value / step - 1e-9) * step) }
}

function drawTick(y: number, text: string): string {
  const at = round(y)
  return (
    `<line class="grid" x1="${MARGIN.left}" x2="${MARGIN.left + INNER.width}" y1="${at}" y2="${at}"/>` +
    `<text class="quiet" x="${MARGIN.left - 8}" y="${round(y + 4)}" text-anchor="end">${text}</text>`
  )
}

function drawMark(x: number, name: string): string {
  const at = round(x)
  return (
    `<line class="mark" x1="${at}" x2="${at}" y1="${MARGIN.top}" y2="${MARGIN.top + INNER.height}"/>` +
    `<text class="quiet" x="${round(x + 3)}" y="${MARGIN.top + 10}" font-size="10">${escapeText(name)}</text>`
  )
}

function drawLine(points: readonly (readonly number[])[], stroke: string): string {
  const path = points.map(([x, y]) => `${round(x!)},${round(y!)}`).join(' ')
  return `<polyline fill="none" stroke="${stroke}" stroke-width="1.6" stroke-linejoin="round" points="${path}"/>`
}

/** The name of each line at its end, moved apart where they would lie over each other. */
function drawLabels(lines: readonly Line[], at: (value: number) => number): string[] {
  const wanted = lines
    .map(({ name, points }, i) => ({ name, i, y: at(points.at(-1)![1]), last: points.at(-1)![1] }))
    .sort((a, b) => a.y - b.y)
  const foot = MARGIN.top + INNER.height
  let lowest = MARGIN.top - LABEL_HEIGHT
  return wanted.map(({ name, i, y, last }, n) => {
    // Those that are still to come need room above the foot.
    const highest = foot - (wanted.length - 1 - n) * LABEL_HEIGHT
    lowest = Math.max(Math.min(y, highest), lowest + LABEL_HEIGHT)
    const text = `${escapeText(name)} <tspan class="quiet">${formatTick(last)}</tspan>`
    return `<text fill="${colour(i)}" x="${MARGIN.left + INNER.width + 8}" y="${round(lowest + 4)}">${text}</text>`
  })
}

const colour = (i: number) => COLOURS[i % COLOURS.length]!
const round = (value: number) => Math.round(value * 10) / 10

function formatTick(value: number): string {
  if (value >= 10_000) return `${Number((value / 1000).toPrecision(3))}k`
  return String(Number(value.toPrecision(3)))
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
